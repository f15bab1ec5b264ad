/* SPDX-License-Identifier: MIT */
/* test_screen_model.c - the live screen's tables: order, filter, selection, marks; bad messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/screen/keys.h"

static struct apart_answer message;

static void begin(void)
{
	message.count = 0;
}

static void put(const void *bytes, size_t count)
{
	assert_int_equal(apart_put(&message, bytes, count), 0);
}

static void put_text(const char *text)
{
	assert_int_equal(apart_put_text(&message, text), 0);
}

static int send(struct model *model, uint32_t type)
{
	/* of its own, so that a sanitizer sees a read beyond the end */
	char *bytes = malloc(message.count ? message.count : 1);
	int error;

	memcpy(bytes, message.bytes, message.count);
	error = model_take(model, type, bytes, message.count);
	free(bytes);
	return error;
}

static int send_state(struct model *model, struct screen_state state,
		      const struct screen_site *site)
{
	begin();
	put(&state, sizeof(state));
	put(site, state.site_count * sizeof(*site));
	return send(model, SCREEN_STATE);
}

static int name_site(struct model *model, uint32_t id, const char *function, const char *place)
{
	begin();
	put(&id, sizeof(id));
	put_text(function);
	put_text(place);
	return send(model, SCREEN_NAMES);
}

static const struct screen_site three[] = {
	{ .id = 1, .live_bytes = 300, .live_count = 3, .alloc_bytes = 300, .alloc_count = 3,
	  .growth = -5, .first_time = 1 },
	{ .id = 2, .live_bytes = 200, .live_count = 2, .alloc_bytes = 900, .alloc_count = 9,
	  .temporary_count = 7, .growth = 50, .first_time = 9 },
	{ .id = 3, .live_bytes = 100, .live_count = 1, .alloc_bytes = 600, .alloc_count = 6,
	  .temporary_count = 1, .growth = 20, .first_time = 4 },
};

static struct model *new_model(void)
{
	struct model *model;

	assert_int_equal(model_new(&model), 0);
	model->page = 2;
	assert_int_equal(send_state(model, (struct screen_state){ .time = 10, .site_count = 3,
								  .live_bytes = 600 }, three), 0);
	assert_int_equal(name_site(model, 1, "alpha", "a.c:1"), 0);
	assert_int_equal(name_site(model, 2, "Beta", "b.c:2"), 0);
	assert_int_equal(name_site(model, 3, "gamma", "lib.so"), 0);
	return model;
}

static void press(struct model *model, const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(keys_press(model, (unsigned char)*keys), KEYS_NOTHING);
}

static void assert_order(const struct model *model, const char *ids)
{
	char seen[16] = "";

	assert_true(model->row_count < sizeof(seen));
	for (uint32_t i = 0; i < model->row_count; i++)
		seen[i] = (char)('0' + model->site[model->row[i]].id);
	assert_string_equal(seen, ids);
}

static void sorts_by_each_column(void **state)
{
	struct model *model = new_model();
	static const char *const order[COLUMN_COUNT] = {
		[COLUMN_LIVE] = "123", [COLUMN_GROWTH] = "231", [COLUMN_ALLOCATED] = "231",
		[COLUMN_TEMPORARY] = "231", [COLUMN_AGE] = "132", [COLUMN_NAME] = "123",
	};

	(void)state;
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		assert_int_equal(model->column, i);
		assert_order(model, order[i]);
		press(model, ">");
	}
	assert_int_equal(model->column, COLUMN_LIVE);
	press(model, "<");
	assert_int_equal(model->column, COLUMN_NAME);
	press(model, "r");
	assert_order(model, "321");
	press(model, ">r");
	assert_order(model, "321");
	model_free(model);
}

static void selection_stays_with_its_site(void **state)
{
	struct model *model = new_model();
	struct screen_site moved[3];

	(void)state;
	assert_int_equal(model->sites.selected_id, 1);
	press(model, "j");
	assert_int_equal(model->sites.selected_id, 2);
	memcpy(moved, three, sizeof(moved));
	moved[1].live_bytes = 1000;
	assert_int_equal(send_state(model, (struct screen_state){ .site_count = 3 }, moved), 0);
	assert_order(model, "213");
	assert_int_equal(model->sites.selected_id, 2);
	assert_int_equal(model->sites.selected, 0);
	/* with its site gone the line stays */
	assert_int_equal(send_state(model, (struct screen_state){ .site_count = 1 }, moved), 0);
	assert_int_equal(model->sites.selected_id, 1);
	assert_int_equal(send_state(model, (struct screen_state){ .site_count = 0 }, moved), 0);
	assert_int_equal(model->sites.selected_id, 0);
	press(model, "jk");
	assert_int_equal(model->sites.selected, 0);
	model_free(model);
}

/* Whichever it is: what came first is not what the user has chosen. */
static void selection_is_the_first_until_it_moves(void **state)
{
	struct model *model = new_model();
	struct screen_site moved[3];

	(void)state;
	memcpy(moved, three, sizeof(moved));
	moved[1].live_bytes = 1000;
	assert_int_equal(send_state(model, (struct screen_state){ .site_count = 3 }, moved), 0);
	assert_order(model, "213");
	assert_int_equal(model->sites.selected_id, 2);
	assert_int_equal(model->sites.selected, 0);
	model_free(model);
}

static void moves_and_scrolls(void **state)
{
	struct model *model = new_model();

	(void)state;
	keys_press(model, SCREEN_KEY_END);
	assert_int_equal(model->sites.selected, 2);
	assert_int_equal(model->sites.top, 1);	/* a page is two rows */
	keys_press(model, SCREEN_KEY_DOWN);
	assert_int_equal(model->sites.selected, 2);
	keys_press(model, SCREEN_KEY_PAGE_UP);
	assert_int_equal(model->sites.selected, 0);
	assert_int_equal(model->sites.top, 0);
	keys_press(model, SCREEN_KEY_PAGE_DOWN);
	assert_int_equal(model->sites.selected, 2);
	keys_press(model, SCREEN_KEY_HOME);
	assert_int_equal(model->sites.selected, 0);
	keys_press(model, SCREEN_KEY_UP);
	assert_int_equal(model->sites.selected, 0);
	model_free(model);
}

static void filters_while_typing(void **state)
{
	struct model *model = new_model();

	(void)state;
	press(model, "/BET");
	assert_true(model->typing);
	assert_order(model, "2");
	assert_int_equal(model->sites.selected_id, 2);
	keys_press(model, SCREEN_KEY_BACKSPACE);
	keys_press(model, SCREEN_KEY_BACKSPACE);
	keys_press(model, SCREEN_KEY_BACKSPACE);
	keys_press(model, SCREEN_KEY_BACKSPACE);
	assert_string_equal(model->filter, "");
	assert_order(model, "123");
	press(model, "lib.q");	/* q is a letter here */
	assert_order(model, "");
	keys_press(model, SCREEN_KEY_BACKSPACE);
	assert_order(model, "3");
	keys_press(model, SCREEN_KEY_ENTER);
	assert_false(model->typing);
	assert_order(model, "3");
	assert_int_equal(keys_press(model, 'q'), KEYS_QUIT);
	keys_press(model, SCREEN_KEY_ESCAPE);
	assert_order(model, "123");
	model_free(model);
}

/* A name that comes while a filter is on is let through, or sorted in, once all have come. */
static void late_names_settle(void **state)
{
	struct model *model = new_model();

	(void)state;
	press(model, "/zeta");
	assert_order(model, "");
	assert_int_equal(name_site(model, 2, "zeta", ""), 0);
	model_settle(model);
	assert_order(model, "2");
	keys_press(model, SCREEN_KEY_ESCAPE);
	press(model, "<");
	assert_order(model, "132");
	assert_int_equal(name_site(model, 3, "aa", ""), 0);
	model_settle(model);
	assert_order(model, "312");
	model_free(model);
}

static void types_utf8(void **state)
{
	struct model *model = new_model();

	(void)state;
	press(model, "/");
	keys_press(model, 0xe4);
	keys_press(model, 0x20ac);
	keys_press(model, 0x1f600);
	assert_string_equal(model->filter, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	keys_press(model, SCREEN_KEY_BACKSPACE);
	assert_string_equal(model->filter, "\xc3\xa4\xe2\x82\xac");
	keys_press(model, 0x9b);	/* a control: not typed */
	keys_press(model, 0x07);
	assert_string_equal(model->filter, "\xc3\xa4\xe2\x82\xac");
	for (int i = 0; i < 1000; i++)
		keys_press(model, 0x1f600);
	assert_true(strlen(model->filter) < sizeof(model->filter));
	keys_press(model, SCREEN_KEY_ESCAPE);
	assert_string_equal(model->filter, "");
	assert_false(model->typing);
	model_free(model);
}

static void marks_a_moment(void **state)
{
	struct model *model = new_model();
	struct screen_site later[4];
	struct model_figures figures;

	(void)state;
	press(model, "d");	/* nothing is marked: said, not shown */
	assert_false(model->differences);
	assert_true(model->note[0]);
	press(model, "m");
	memcpy(later, three, sizeof(three));
	later[2].live_bytes = 700;
	later[0].live_bytes = 250;
	later[3] = (struct screen_site){ .id = 4, .live_bytes = 50, .live_count = 1 };
	assert_int_equal(send_state(model, (struct screen_state){ .time = 14, .site_count = 4 },
				    later), 0);
	press(model, "d");
	assert_order(model, "3421");
	figures = model_figures(model, &model->site[2]);
	assert_true(figures.live == 600 && figures.growth == 150 && figures.allocated == 0);
	figures = model_figures(model, &model->site[3]);
	assert_true(figures.live == 50 && figures.blocks == 1);
	figures = model_figures(model, &model->site[0]);
	assert_true(figures.live == -50);
	press(model, "d");
	assert_order(model, "3124");	/* live, with growth no matter */
	model_free(model);
}

static void pauses(void **state)
{
	struct model *model = new_model();

	(void)state;
	press(model, "p");
	assert_int_equal(send_state(model, (struct screen_state){ .time = 11, .site_count = 1 },
				    three), 0);
	assert_int_equal(model->state.site_count, 3);
	assert_int_equal(name_site(model, 1, "renamed", ""), 0);
	assert_string_equal(model_name(model, 1)->function, "renamed");
	press(model, " ");
	assert_int_equal(send_state(model, (struct screen_state){ .time = 12, .site_count = 1 },
				    three), 0);
	assert_int_equal(model->state.site_count, 1);
	model_free(model);
}

static void asks_for_what_is_seen(void **state)
{
	struct model *model;
	struct screen_want want;

	(void)state;
	assert_int_equal(model_new(&model), 0);
	model->page = 2;
	assert_int_equal(send_state(model, (struct screen_state){ .site_count = 3 }, three), 0);
	model_wants(model, &want);
	assert_int_equal(want.stack, 1);
	assert_int_equal(want.count, 2);
	assert_int_equal(want.site[0], 1);
	assert_int_equal(want.site[1], 2);
	assert_int_equal(name_site(model, 1, "alpha", ""), 0);
	keys_press(model, SCREEN_KEY_END);
	model_wants(model, &want);
	assert_int_equal(want.stack, 3);
	assert_int_equal(want.count, 2);
	assert_int_equal(want.site[1], 3);
	model_free(model);
}

static void help_and_views(void **state)
{
	struct model *model = new_model();
	struct key_help help;
	size_t lines = 0;

	(void)state;
	press(model, "?");
	assert_int_equal(model->view, MODEL_HELP);
	press(model, "q");	/* leaves the help, and no more */
	assert_int_equal(model->view, MODEL_SITES);
	press(model, "t");
	assert_int_equal(model->view, MODEL_THREADS);
	press(model, "jjt");
	assert_int_equal(model->view, MODEL_SITES);
	assert_int_equal(keys_press(model, 's'), KEYS_SAVE);
	assert_int_equal(keys_press(model, 'q'), KEYS_QUIT);
	assert_int_equal(keys_press(model, 'L'), KEYS_LEAKS);
	assert_int_equal(keys_press(model, 'Z'), KEYS_NOTHING);
	while ((help = keys_help(lines)).keys) {
		assert_true(strlen(help.keys) <= 12 && strlen(help.text) <= 62);
		lines++;
	}
	assert_true(lines > 10 && lines <= 21);	/* a terminal of 24 lines shows all */
	model_free(model);
}

static void scrolls_the_help(void **state)
{
	struct model *model = new_model();
	uint32_t last = keys_help_count() - 8;

	(void)state;
	press(model, "t?");
	model->help_page = 8;
	press(model, "kjj");
	assert_int_equal(model->help_top, 2);
	keys_press(model, SCREEN_KEY_END);
	assert_int_equal(model->help_top, last);
	keys_press(model, SCREEN_KEY_PAGE_DOWN);
	assert_int_equal(model->help_top, last);
	keys_press(model, SCREEN_KEY_PAGE_UP);
	assert_int_equal(model->help_top, last - 8);
	assert_int_equal(keys_press(model, SCREEN_KEY_REDRAW), KEYS_REDRAW);
	assert_int_equal(model->view, MODEL_HELP);
	press(model, "q");
	assert_int_equal(model->view, MODEL_THREADS);
	press(model, "?");
	assert_int_equal(model->help_top, 0);
	model->help_page = keys_help_count();
	press(model, "j");	/* all of it is shown: leaves it, as any key */
	assert_int_equal(model->view, MODEL_THREADS);
	model_free(model);
}

static int send_saved(struct model *model, int error)
{
	const struct screen_saved saved = { .error = error, .sites = 3, .bytes = 1024 };

	begin();
	put(&saved, sizeof(saved));
	return send(model, SCREEN_SAVED);
}

static void saves_one_at_a_time(void **state)
{
	struct model *model = new_model();

	(void)state;
	assert_int_equal(keys_press(model, 's'), KEYS_SAVE);
	begin();
	put_text("memattach-1-1.json");
	assert_int_equal(send(model, SCREEN_FILE), 0);
	assert_int_equal(keys_press(model, 's'), KEYS_NOTHING);
	assert_non_null(strstr(model->note, "one at a time"));
	assert_int_equal(send_saved(model, 0), 0);
	assert_string_equal(model->note, "saved 3 sites, 1.00 KiB, to memattach-1-1.json");
	assert_false(model->unsaved);
	assert_int_equal(keys_press(model, 's'), KEYS_SAVE);
	assert_int_equal(send_saved(model, -EFBIG), 0);
	assert_string_equal(model->note, "can't write memattach-1-1.json: File too large");
	assert_true(model->unsaved);
	assert_int_equal(keys_press(model, 's'), KEYS_SAVE);
	model_free(model);
}

/* Keys can be pressed before there are figures. */
static void searches_at_once(void **state)
{
	struct model *model;

	(void)state;
	assert_int_equal(model_new(&model), 0);
	assert_int_equal(keys_press(model, 'L'), KEYS_LEAKS);
	assert_true(model->leaks.searching);
	model_free(model);
}

static int send_leaks(struct model *model, struct screen_leaks head,
		      const struct screen_group *group, const char *const text[4])
{
	begin();
	put(&head, sizeof(head));
	put_text("older blocks\033[2J");
	for (uint32_t i = 0; i < head.group_count && head.group_count < 3; i++) {
		put(&group[i], sizeof(*group));
		for (int k = 0; k < 4; k++)
			put_text(text[k]);
	}
	return send(model, SCREEN_LEAKS_FOUND);
}

static const char *const group_text[4] = { "struct node", "head\033", NULL, "a freed block" };

static void shows_leaks(void **state)
{
	const struct screen_group two[] = {
		{ .site = 3, .bytes = 40, .count = 1, .oldest = (double)NAN },
		{ .site = 0, .likely_site = 9, .verdict = SCREEN_OLD },
	};
	struct model *model = new_model();
	struct screen_want want;

	(void)state;
	assert_int_equal(keys_press(model, 'L'), KEYS_LEAKS);
	assert_int_equal(model->view, MODEL_LEAKS);
	assert_true(model->leaks.searching);
	assert_int_equal(keys_press(model, 'L'), KEYS_NOTHING);	/* one at a time */
	press(model, "q");	/* leaves the view, and no more */
	assert_int_equal(model->view, MODEL_SITES);
	assert_int_equal(send_leaks(model, (struct screen_leaks){ .group_count = 2 }, two,
				    group_text), 0);
	assert_true(!model->leaks.searching && model->leaks.unseen && model->note[0]);
	press(model, "L");	/* shows what was not seen yet */
	assert_int_equal(model->view, MODEL_LEAKS);
	assert_string_equal(model->leaks.uncovered, "older blocks?[2J");
	assert_string_equal(model_group(model)->text[GROUP_VARIABLE], "head?");
	assert_null(model_group(model)->text[GROUP_HELD_BY]);
	assert_true(model_group(model)->figures.oldest == -1);
	model_wants(model, &want);
	assert_int_equal(want.stack, 3);
	assert_true(want.count == 1 && want.site[0] == 9);
	press(model, "jj");
	assert_int_equal(model->groups.selected, 1);
	model_wants(model, &want);
	assert_int_equal(want.stack, 0);
	assert_int_equal(keys_press(model, 'L'), KEYS_LEAKS);
	begin();
	put_text("its allocator\a is at work");
	assert_int_equal(send(model, SCREEN_LEAKS_NONE), 0);
	assert_string_equal(model->leaks.problem, "its allocator? is at work");
	assert_int_equal(model->leaks.head.group_count, 2);	/* what was found before stays */
	keys_press(model, SCREEN_KEY_ESCAPE);
	assert_int_equal(model->view, MODEL_SITES);
	assert_int_equal(send_leaks(model, (struct screen_leaks){ .group_count = 0 }, two,
				    group_text), 0);
	press(model, "Lk");
	assert_null(model_group(model));
	model_free(model);
}

static void refuses_odd_leaks(void **state)
{
	struct screen_group odd = { .verdict = SCREEN_VERDICTS };
	struct model *model = new_model();
	struct screen_leaks head = { .group_count = 1, .time = (double)NAN };

	(void)state;
	assert_int_equal(send_leaks(model, head, &odd, group_text), -EBADMSG);
	odd = (struct screen_group){ .address_count = SCREEN_GROUP_ADDRESSES + 1 };
	assert_int_equal(send_leaks(model, head, &odd, group_text), -EBADMSG);
	odd.address_count = 0;
	assert_int_equal(send_leaks(model, head, &odd, group_text), 0);
	assert_true(model->leaks.head.time == 0);
	put("x", 1);
	assert_int_equal(send(model, SCREEN_LEAKS_FOUND), -EBADMSG);
	message.count -= 9;	/* within the last text */
	assert_int_equal(send(model, SCREEN_LEAKS_FOUND), -EBADMSG);
	head.group_count = SCREEN_MAX_GROUPS + 1;
	assert_int_equal(send_leaks(model, head, &odd, group_text), -EBADMSG);
	assert_int_equal(model->leaks.head.group_count, 1);	/* and nothing of it stayed */
	model_free(model);
}

static void scrolls_the_stack(void **state)
{
	struct model *model = new_model();
	uint32_t head[3] = { 1, 2, 0 };

	(void)state;
	press(model, "]");
	assert_int_equal(model->stack_top, 0);
	begin();
	put(head, sizeof(head));
	for (int i = 0; i < 4; i++)
		put_text(i % 2 ? "x.c:1" : "f");
	assert_int_equal(send(model, SCREEN_STACK), 0);
	press(model, "]]]");
	assert_int_equal(model->stack_top, 1);
	press(model, "[[");
	assert_int_equal(model->stack_top, 0);
	press(model, "]");
	head[0] = 2;
	memcpy(message.bytes, head, sizeof(head));
	assert_int_equal(send(model, SCREEN_STACK), 0);
	assert_int_equal(model->stack_top, 0);
	model_free(model);
}

static void makes_names_harmless(void **state)
{
	struct model *model = new_model();

	(void)state;
	assert_int_equal(name_site(model, 1, "\033]0;evil\a\033[2J", "a\nb\xff"), 0);
	assert_string_equal(model_name(model, 1)->function, "?]0;evil??[2J");
	assert_string_equal(model_name(model, 1)->place, "a?b\xef\xbf\xbd");
	begin();
	put_text("\033[31mnote");
	assert_int_equal(send(model, SCREEN_NOTE), 0);
	assert_string_equal(model->note, "?[31mnote");
	model_free(model);
}

static void mends_figures(void **state)
{
	struct model *model = new_model();
	const struct screen_site odd[] = {
		{ .id = 1, .growth = (double)NAN, .live_bytes = UINT64_MAX },
		{ .id = 2, .growth = (double)INFINITY, .first_time = -(double)INFINITY },
		{ .id = 2, .growth = 1, .alloc_bytes = UINT64_MAX },
	};
	const struct screen_state now = { .time = (double)NAN, .alloc_rate = -1,
					  .mode = UINT32_MAX, .site_count = 3,
					  .live_bytes = UINT64_MAX };

	(void)state;
	press(model, "md>");
	assert_int_equal(send_state(model, now, odd), 0);
	assert_true(model->state.time == 0 && model->state.alloc_rate == 0);
	assert_true(model->state.mode <= SCREEN_COUNTS);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(isfinite(model_figures(model, &model->site[i]).growth));
	press(model, "m>>>>>>");
	model_free(model);
}

static void refuses_nonsense(void **state)
{
	struct model *model = new_model();
	const uint32_t head[3] = { 1, 1000000, 0 };
	struct screen_state now = { .site_count = SCREEN_MAX_SITES + 1 };

	(void)state;
	begin();
	put(&now, sizeof(now));
	assert_int_equal(send(model, SCREEN_STATE), -EBADMSG);
	now.site_count = 3;	/* which do not follow */
	message.count = 0;
	put(&now, sizeof(now));
	assert_int_equal(send(model, SCREEN_STATE), -EBADMSG);
	now.point_count = UINT32_MAX;
	message.count = 0;
	put(&now, sizeof(now));
	assert_int_equal(send(model, SCREEN_STATE), -EBADMSG);
	begin();
	put(head, sizeof(head));
	assert_int_equal(send(model, SCREEN_STACK), -EBADMSG);
	begin();	/* a stack that breaks off within a frame */
	put((uint32_t[]){ 1, 2, 0 }, sizeof(head));
	put_text("function");
	put("\xff", 1);
	assert_int_equal(send(model, SCREEN_STACK), -EBADMSG);
	begin();
	put(head, 6);
	assert_int_equal(send(model, SCREEN_NAMES), -EBADMSG);
	begin();
	put(head, sizeof(head));
	assert_int_equal(send(model, SCREEN_NOTE), -EBADMSG);
	assert_int_equal(send(model, SCREEN_WANT), -EBADMSG);
	assert_int_equal(send(model, 0), -EBADMSG);
	assert_int_equal(send(model, UINT32_MAX), -EBADMSG);
	assert_order(model, "123");	/* and nothing of it stayed */
	model_free(model);
}

static int done(void **state)
{
	(void)state;
	free(message.bytes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_by_each_column),
		cmocka_unit_test(selection_stays_with_its_site),
		cmocka_unit_test(selection_is_the_first_until_it_moves),
		cmocka_unit_test(moves_and_scrolls),
		cmocka_unit_test(filters_while_typing),
		cmocka_unit_test(late_names_settle),
		cmocka_unit_test(types_utf8),
		cmocka_unit_test(marks_a_moment),
		cmocka_unit_test(pauses),
		cmocka_unit_test(asks_for_what_is_seen),
		cmocka_unit_test(help_and_views),
		cmocka_unit_test(scrolls_the_help),
		cmocka_unit_test(saves_one_at_a_time),
		cmocka_unit_test(searches_at_once),
		cmocka_unit_test(shows_leaks),
		cmocka_unit_test(refuses_odd_leaks),
		cmocka_unit_test(scrolls_the_stack),
		cmocka_unit_test(makes_names_harmless),
		cmocka_unit_test(mends_figures),
		cmocka_unit_test(refuses_nonsense),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, done);
}
