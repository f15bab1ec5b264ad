/* SPDX-License-Identifier: MIT */
/*
 * screen_view.c - one picture: header, list, stack, last line.
 *
 * Everything is drawn anew each time into ncurses' memory; ncurses sends what differs from what
 * the terminal shows, which is little: that is what makes it bearable over a slow line.
 */
#include "src/screen/screen_view.h"

#include <string.h>

#include "src/report/human.h"
#include "src/screen/keys.h"
#include "src/screen/screen_put.h"

#include <ncurses.h>

#define STACK_SHARE	3	/* of what is left for lists, the stack gets one part of so many */
#define STACK_LEAST	5
#define LIST_LEAST	4
/* A terminal without room for all that there is to show, and one that nothing can be shown on. */
#define FULL_COLUMNS	72
#define FULL_LINES	16
#define LEAST_COLUMNS	20
#define LEAST_LINES	4

static const char hints[] =
	"? help  / filter  <> sort  p pause  m mark  d diff  t threads  s save  q detach";
static const char leak_hints[] = "? help  L search anew  [ ] scroll the stack  q back";

static void put_frame(const struct model_name *frame, int y)
{
	int taken = view_put(y, 3, COLS - 3, VIEW_NAME,
			     frame->function[0] ? frame->function : "?");

	(void)view_put(y, taken < 40 ? 45 : taken + 5, COLS, VIEW_DIM, frame->place);
}

/* An estimate's interval stands where there is room for it: at the selected site only. */
static void put_interval(const struct model *model, int y)
{
	const struct screen_site *site;
	char text[80];

	if (model->sites.selected >= model->row_count)
		return;
	site = &model->site[model->row[model->sites.selected]];
	if (site->live_low >= site->live_high)
		return;
	(void)snprintf(text, sizeof(text), "95 %%: %s to %s live ",
		       human_bytes((double)site->live_low).text,
		       human_bytes((double)site->live_high).text);
	view_put_right(y, COLS / 2, COLS - COLS / 2, VIEW_BAR, text);
}

void view_stack(const struct model *model, uint32_t site, int y, int end)
{
	uint32_t i = model->stack_top;

	if (model->stack_site != site) {
		(void)view_put(y, 3, COLS, VIEW_DIM, "...");
		return;
	}
	for (; i < model->stack_count && y < end; i++)
		put_frame(&model->stack[i], y++);
	if (model->stack_count == 0)
		(void)view_put(y, 3, COLS, VIEW_DIM, "unknown");
	else if (i < model->stack_count)
		view_put_right(end - 1, COLS - 20, 19, VIEW_BAR, " ] more ");
}

static void put_stack(const struct model *model, int y, int end)
{
	uint32_t id = model->sites.selected_id;

	view_fill(y, VIEW_BAR);
	if (!id) {
		(void)view_put(y, 1, COLS, VIEW_BAR, "stack");
		return;
	}
	(void)view_putf(y, 1, COLS, VIEW_BAR, "stack of the selected site%s",
			model->stack_site == id && model->stack_left_out ? " (cut)" : "");
	put_interval(model, y);
	view_stack(model, id, y + 1, end);
}

static void put_help_end(const struct model *model, int y, uint32_t count)
{
	uint32_t page = model->help_page;

	if (model->note[0])
		(void)view_put(y, 0, COLS, VIEW_WARN, model->note);
	else if (count <= page)
		(void)view_put(y, 0, COLS, VIEW_DIM, "any key: back");
	else
		(void)view_putf(y, 0, COLS, VIEW_DIM, "%u to %u of %u; Up Down PgUp PgDn Home End "
				"j k: more; any other key: back", model->help_top + 1,
				model->help_top + page, count);
}

static void put_help(struct model *model, int end)
{
	uint32_t count = keys_help_count();
	struct key_help line;
	int y = 0;

	model->help_page = (uint32_t)(end - 1);
	if (model->help_top + model->help_page > count)
		model->help_top = count > model->help_page ? count - model->help_page : 0;
	(void)view_put(y++, 1, COLS, VIEW_BOLD, "Keys");
	for (size_t i = model->help_top; (line = keys_help(i)).keys && y < end; i++, y++) {
		(void)view_put(y, 3, 14, VIEW_NAME, line.keys);
		(void)view_put(y, 17, COLS - 17, VIEW_PLAIN, line.text);
	}
	put_help_end(model, end, count);
}

static bool is_small(void)
{
	return COLS < FULL_COLUMNS || LINES < FULL_LINES;
}

/* In the last line, instead of the keys: a user can't miss what he does not know of. */
static void put_small(const struct model *model, int y)
{
	const char *keys = model->view == MODEL_LEAKS ? "? help  q back" : "? help  q detach";
	char text[40];
	int width = snprintf(text, sizeof(text), "small: %dx%d has all", FULL_COLUMNS, FULL_LINES);
	int left = COLS - width;

	if (left > (int)strlen(keys))
		(void)view_put(y, 0, left, VIEW_DIM, keys);
	else
		left = 0;
	(void)view_put(y, left, COLS - left, VIEW_WARN, text);
}

static void put_too_small(void)
{
	(void)view_put(0, 0, COLS, VIEW_WARN, "too small");
	(void)view_putf(1, 0, COLS, VIEW_PLAIN, "from %dx%d", LEAST_COLUMNS, LEAST_LINES);
	(void)view_put(2, 0, COLS, VIEW_DIM, "q detach");
}

/* What is shown of what there is. */
static void put_count(const struct model *model, int y)
{
	const struct screen_state *state = &model->state;
	char text[MODEL_FILTER_BYTES + 100];

	if (model->view == MODEL_THREADS)
		(void)snprintf(text, sizeof(text), " %u threads", state->threads_total);
	else if (model->view == MODEL_LEAKS)
		(void)snprintf(text, sizeof(text), " %u groups", model->leaks.head.groups_total);
	else if (model->filter[0])
		(void)snprintf(text, sizeof(text), " %s of %s sites with %s",
			       human_exact(model->row_count).text,
			       human_exact(state->sites_total).text, model->filter);
	else
		(void)snprintf(text, sizeof(text), " %s sites",
			       human_exact(state->sites_total).text);
	view_put_right(y, COLS / 2, COLS - COLS / 2, VIEW_DIM, text);
}

static void put_last_line(const struct model *model, int y)
{
	bool leaks = model->view == MODEL_LEAKS, half = model->filter[0] && !leaks;

	(void)curs_set(model->typing);
	if (model->typing) {
		int x = view_putf(y, 0, COLS / 2, VIEW_BOLD, "/%s", model->filter);

		put_count(model, y);
		(void)move(y, x);
		return;
	}
	if (!model->note[0] && is_small()) {
		put_small(model, y);
		return;
	}
	if (model->note[0])
		(void)view_put(y, 0, COLS, VIEW_WARN, model->note);
	else if (half || COLS >= 120)
		put_count(model, y);
	if (!model->note[0])
		(void)view_put(y, 0, half ? COLS / 2 : COLS, VIEW_DIM, leaks ? leak_hints : hints);
}

static void put_sites(struct model *model, int y, int end)
{
	int room = end - y, stack = room / STACK_SHARE + 1;

	if (stack < STACK_LEAST)
		stack = STACK_LEAST;
	if (!model->show_stack || room - stack < LIST_LEAST)
		stack = 0;
	(void)view_sites(model, y, end - stack);
	if (stack)
		put_stack(model, end - stack, end);
}

static void put_lists(struct model *model, int end)
{
	int y = view_header(model, 0);

	if (model->view == MODEL_THREADS)
		(void)view_threads(model, y, end);
	else if (model->view == MODEL_LEAKS)
		(void)view_leaks(model, y, end);
	else
		put_sites(model, y, end);
	put_last_line(model, end);
}

void view_draw(struct model *model)
{
	(void)erase();
	if (!model->has_state)
		(void)view_putf(0, 0, COLS, VIEW_BOLD, "memattach: watching process %d ...",
				model->pid);
	else if (COLS < LEAST_COLUMNS || LINES < LEAST_LINES)
		put_too_small();
	else if (model->view == MODEL_HELP)
		put_help(model, LINES - 1);
	else
		put_lists(model, LINES - 1);
	(void)refresh();
}
