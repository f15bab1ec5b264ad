/* SPDX-License-Identifier: MIT */
/* test_figures.c - what a session tells of itself, and one that was taken over. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/daemon/figures.h"

struct fixture {
	struct figures figures;
	int analyst;
	struct screen_outbox out;
};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(figures_open(&f->figures, &f->analyst), 0);
}

static void end(struct fixture *f)
{
	screen_outbox_done(&f->out);
	cleanup_fd(&f->analyst);
	figures_close(&f->figures);
	assert_int_equal(f->figures.socket, -1);
	assert_null(f->figures.in.bytes);
}

/* A state with points, sites of which every second one grows, threads; bytes are left out. */
static void put_state(struct fixture *f, const struct screen_state *state, size_t left_out)
{
	const struct screen_point point = { 0 };
	const struct screen_thread thread = { 0 };

	assert_int_equal(screen_outbox_begin(&f->out, SCREEN_STATE), 0);
	assert_int_equal(apart_put(&f->out.bytes, state, sizeof(*state)), 0);
	for (uint32_t i = 0; i < state->point_count; i++)
		assert_int_equal(apart_put(&f->out.bytes, &point, sizeof(point)), 0);
	for (uint32_t i = 0; i < state->site_count; i++) {
		const struct screen_site site = { .id = i, .growing = i % 2 };

		assert_int_equal(apart_put(&f->out.bytes, &site, sizeof(site)), 0);
	}
	for (uint32_t i = 0; i < state->thread_count; i++)
		assert_int_equal(apart_put(&f->out.bytes, &thread, sizeof(thread)), 0);
	f->out.bytes.count -= left_out;
	assert_int_equal(screen_outbox_end(&f->out, 0), 0);
}

static bool sent(struct fixture *f)
{
	assert_int_equal(screen_send(f->analyst, &f->out), 0);
	assert_int_equal(screen_outbox_waiting(&f->out), 0);
	return figures_take(&f->figures, 7);
}

static void take_the_last_ones(void **state)
{
	const struct screen_state first = { .time = 1, .live_bytes = 10 };
	const struct screen_state last = { .time = 2, .live_bytes = 20, .point_count = 3,
					   .site_count = 5, .thread_count = 2 };
	struct fixture f;

	(void)state;
	begin(&f);
	assert_false(figures_take(&f.figures, 1));
	assert_false(f.figures.known);
	put_state(&f, &first, 0);
	assert_int_equal(screen_outbox_begin(&f.out, SCREEN_NOTE), 0);
	assert_int_equal(apart_put_text(&f.out.bytes, "of no interest"), 0);
	assert_int_equal(screen_outbox_end(&f.out, 0), 0);
	put_state(&f, &last, 0);
	assert_true(sent(&f));
	assert_true(f.figures.known);
	assert_int_equal(f.figures.state.live_bytes, 20);
	assert_int_equal(f.figures.growing, 2);
	assert_true(f.figures.time == 7);
	assert_null(f.figures.in.bytes);	/* not held until the next ones */
	assert_false(figures_take(&f.figures, 8));
	end(&f);
	assert_int_equal(f.figures.state.live_bytes, 20);
}

/* An analyst that never stops has no more of memattachd's time than others. */
static void take_some_at_a_time(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 1; i <= 100; i++)
		put_state(&f, &(struct screen_state){ .live_bytes = i }, 0);
	assert_true(sent(&f));
	assert_true(f.figures.state.live_bytes < 100);
	assert_true(figures_take(&f.figures, 8));
	assert_int_equal(f.figures.state.live_bytes, 100);
	assert_false(figures_take(&f.figures, 9));
	end(&f);
}

/* A message that comes in pieces counts once it is whole. */
static void take_pieces(void **state)
{
	const struct screen_state whole = { .live_bytes = 30, .site_count = 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	put_state(&f, &whole, 0);
	for (size_t i = 0; i < f.out.bytes.count; i++) {
		assert_int_equal(f.figures.known, false);
		assert_int_equal(send(f.analyst, f.out.bytes.bytes + i, 1, 0), 1);
		assert_int_equal(figures_take(&f.figures, 1), i + 1 == f.out.bytes.count);
	}
	assert_int_equal(f.figures.state.live_bytes, 30);
	f.out.bytes.count = 0;
	end(&f);
}

static void make_numbers_of_what_is_none(void **state)
{
	const struct screen_state odd = { .time = NAN, .byte_rate = INFINITY,
					  .overhead_percent = -INFINITY, .alloc_rate = 5,
					  .live_bytes = UINT64_MAX, .live_count = 7,
					  .lost_map = 1ull << 63, .gaps = INT64_MAX };
	struct fixture f;

	(void)state;
	begin(&f);
	put_state(&f, &odd, 0);
	assert_true(sent(&f));
	assert_true(f.figures.state.time == 0 && f.figures.state.byte_rate == 0);
	assert_true(f.figures.state.overhead_percent == 0 && f.figures.state.alloc_rate == 5);
	/* JSON's integers end somewhere: one process with more would spoil the answer about all. */
	assert_true(f.figures.state.live_bytes == 1ull << 53);
	assert_true(f.figures.state.lost_map == 1ull << 53);
	assert_true(f.figures.state.gaps == 1ull << 53);
	assert_int_equal(f.figures.state.live_count, 7);
	end(&f);
}

/* What is not as long as it says is not believed, and nothing more is heard. */
static void hear_no_nonsense(void **state)
{
	const struct screen_state good = { .live_bytes = 1 };
	static const struct {
		struct screen_state state;
		size_t left_out;
	} bad[] = {
		{ { .site_count = 2 }, 1 },
		{ { .site_count = SCREEN_MAX_SITES + 1 },
		  (SCREEN_MAX_SITES + 1) * sizeof(struct screen_site) },
		{ { .point_count = SCREEN_MAX_POINTS + 1 }, 0 },
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		begin(&f);
		put_state(&f, &good, 0);
		put_state(&f, &bad[i].state, bad[i].left_out);
		assert_true(sent(&f));
		assert_int_equal(f.figures.state.live_bytes, 1);	/* those from before stay */
		assert_int_equal(f.figures.socket, -1);
		end(&f);
	}
}

static void hear_no_endless_message(void **state)
{
	const struct screen_header header = { SCREEN_STATE, SCREEN_MAX_BYTES + 1 };
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(send(f.analyst, &header, sizeof(header), 0), sizeof(header));
	assert_false(figures_take(&f.figures, 1));
	assert_int_equal(f.figures.socket, -1);
	end(&f);
}

static void see_the_end(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	cleanup_fd(&f.analyst);
	assert_false(figures_take(&f.figures, 1));
	assert_int_equal(f.figures.socket, -1);
	assert_false(figures_take(&f.figures, 1));
	end(&f);
}

/* An answer, of so many bytes after a struct screen_saved's first. */
static void put_saved(struct fixture *f, int error, size_t left_out)
{
	const struct screen_saved saved = { .error = error };

	assert_int_equal(screen_outbox_begin(&f->out, SCREEN_SAVED), 0);
	assert_int_equal(apart_put(&f->out.bytes, &saved, sizeof(saved)), 0);
	f->out.bytes.count -= left_out;
	assert_int_equal(screen_outbox_end(&f->out, 0), 0);
}

static void put_note(struct fixture *f, enum screen_type type, const char *text)
{
	assert_int_equal(screen_outbox_begin(&f->out, type), 0);
	assert_int_equal(apart_put_text(&f->out.bytes, text), 0);
	assert_int_equal(screen_outbox_end(&f->out, 0), 0);
}

/* The analyst gets the file with the question, and answers once. */
static void ask_for_a_snapshot(void **state)
{
	struct screen_inbox in = { .got = 0 };
	struct fixture f;
	char text[8] = "";
	int got = -1;

	(void)state;
	begin(&f);
	assert_int_equal(figures_ask_snapshot(&f.figures, 7, memfd_create("test", 0)), 0);
	assert_int_equal(figures_ask_leaks(&f.figures, 8), -EBUSY);
	assert_int_equal(screen_receive(f.analyst, &in, &got), 1);
	assert_int_equal(in.header.type, SCREEN_SAVE);
	assert_int_equal(write(got, "written", 7), 7);
	assert_false(f.figures.asked.there);
	put_saved(&f, 0, 0);
	assert_false(sent(&f));
	assert_true(f.figures.asked.there);
	assert_int_equal(f.figures.asked.id, 7);
	assert_int_equal(f.figures.asked.error, 0);
	assert_int_equal(pread(f.figures.asked.file, text, sizeof(text), 0), 7);
	assert_string_equal(text, "written");
	figures_asked_done(&f.figures);
	assert_int_equal(f.figures.asked.id, 0);
	assert_int_equal(figures_ask_leaks(&f.figures, 9), 0);
	put_saved(&f, 0, 0);	/* not what was asked */
	assert_false(sent(&f));
	assert_int_equal(f.figures.socket, -1);
	assert_int_equal(f.figures.asked.error, -EPIPE);
	figures_asked_done(&f.figures);
	assert_int_equal(figures_ask_leaks(&f.figures, 10), -EPIPE);
	cleanup_fd(&got);
	screen_inbox_done(&in);
	end(&f);
}

/* What was found is kept as it came, and not looked at. */
static void ask_for_leaks(void **state)
{
	struct screen_header header = { 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(figures_ask_leaks(&f.figures, 7), 0);
	put_note(&f, SCREEN_LEAKS_NONE, "why");
	assert_false(sent(&f));
	assert_true(f.figures.asked.there);
	assert_int_equal(f.figures.asked.error, 0);
	assert_int_equal(pread(f.figures.asked.file, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(header.type, SCREEN_LEAKS_NONE);
	assert_int_equal(lseek(f.figures.asked.file, 0, SEEK_END), sizeof(header) + header.bytes);
	put_note(&f, SCREEN_LEAKS_NONE, "again");	/* one answer to one question */
	assert_false(sent(&f));
	assert_int_equal(f.figures.socket, -1);
	figures_asked_done(&f.figures);
	end(&f);
}

static void take_no_answer_unasked(void **state)
{
	struct fixture f;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		begin(&f);
		if (kind == 2)
			assert_int_equal(figures_ask_snapshot(&f.figures, 7,
							      memfd_create("test", 0)), 0);
		if (kind == 0)
			put_note(&f, SCREEN_LEAKS_FOUND, "unasked");
		else
			put_saved(&f, 0, kind == 2 ? 1 : 0);	/* unasked; too short */
		assert_false(sent(&f));
		assert_int_equal(f.figures.socket, -1);
		figures_asked_done(&f.figures);
		end(&f);
	}
}

/* --- the largest call paths ------------------------------------------------- */

/* So many, of which the number first has the most live bytes. */
static void put_sites(struct fixture *f, uint32_t count, uint32_t first)
{
	const struct screen_state state = { .site_count = count };

	assert_int_equal(screen_outbox_begin(&f->out, SCREEN_STATE), 0);
	assert_int_equal(apart_put(&f->out.bytes, &state, sizeof(state)), 0);
	for (uint32_t i = 1; i <= count; i++) {
		const struct screen_site site = { .id = i, .growth = NAN, .live_count = UINT64_MAX,
						  .live_bytes = i == first ? 1000 : i };

		assert_int_equal(apart_put(&f->out.bytes, &site, sizeof(site)), 0);
	}
	assert_int_equal(screen_outbox_end(&f->out, 0), 0);
}

static void put_name(struct fixture *f, uint32_t site, const char *function)
{
	assert_int_equal(screen_outbox_begin(&f->out, SCREEN_NAMES), 0);
	assert_int_equal(apart_put(&f->out.bytes, &site, sizeof(site)), 0);
	assert_int_equal(apart_put_text(&f->out.bytes, function), 0);
	assert_int_equal(apart_put_text(&f->out.bytes, "place"), 0);
	assert_int_equal(screen_outbox_end(&f->out, 0), 0);
}

/* What the analyst is asked to name: count, and the first of them. */
static void assert_wants(struct fixture *f, uint32_t count, uint32_t first)
{
	struct screen_inbox in = { .got = 0 };
	struct screen_want want;

	assert_int_equal(screen_receive(f->analyst, &in, NULL), 1);
	assert_int_equal(in.header.type, SCREEN_WANT);
	assert_int_equal(in.header.bytes, sizeof(want));
	memcpy(&want, in.bytes, sizeof(want));
	assert_int_equal(want.stack, 0);
	assert_int_equal(want.count, count);
	assert_int_equal(want.site[0], first);
	screen_inbox_done(&in);
}

static void assert_wants_nothing(struct fixture *f)
{
	char byte;

	assert_int_equal(recv(f->analyst, &byte, 1, MSG_DONTWAIT), -1);
}

static void name_the_largest(void **state)
{
	char endless[1000];
	struct fixture f;

	(void)state;
	memset(endless, 'x', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	begin(&f);
	put_sites(&f, 9, 5);
	assert_true(sent(&f));
	assert_int_equal(f.figures.top.count, 0);	/* nobody wants them */
	assert_wants_nothing(&f);
	top_sites_keep(&f.figures.top, 3);
	put_sites(&f, 9, 5);
	assert_true(sent(&f));
	assert_int_equal(f.figures.top.count, 3);
	assert_int_equal(f.figures.top.now[0].site.id, 5);
	assert_int_equal(f.figures.top.now[1].site.id, 9);
	assert_int_equal(f.figures.top.now[2].site.id, 8);
	assert_true(f.figures.top.now[2].site.growth == 0);
	assert_int_equal(f.figures.top.now[2].site.live_count, 1ull << 53);
	assert_wants(&f, 3, 5);
	put_name(&f, 8, "eight");
	put_name(&f, 5, endless);
	put_name(&f, 7, "not one of them");
	assert_false(sent(&f));
	assert_true(f.figures.top.now[0].named);
	assert_int_equal(strlen(f.figures.top.now[0].function), TOP_SITES_FUNCTION - 1);
	assert_false(f.figures.top.now[1].named);
	assert_string_equal(f.figures.top.now[2].function, "eight");
	put_sites(&f, 8, 2);			/* 9 is gone, 2 is new, 8 is still named */
	assert_true(sent(&f));
	assert_int_equal(f.figures.top.now[1].site.id, 8);
	assert_string_equal(f.figures.top.now[1].function, "eight");
	assert_wants(&f, 2, 2);
	put_name(&f, 2, "two");
	put_name(&f, 7, "seven");
	assert_false(sent(&f));
	put_sites(&f, 8, 2);
	assert_true(sent(&f));
	assert_wants_nothing(&f);
	put_sites(&f, 2, 1);			/* fewer than are kept */
	assert_true(sent(&f));
	assert_int_equal(f.figures.top.count, 2);
	end(&f);
	assert_int_equal(f.figures.top.count, 2);
	figures_done(&f.figures);
	assert_int_equal(f.figures.top.count, 0);
}

/* A name of a site alone, one that is cut off. */
static void take_no_torn_names(void **state)
{
	struct fixture f;
	uint32_t site = 1;

	(void)state;
	begin(&f);
	assert_int_equal(screen_outbox_begin(&f.out, SCREEN_NAMES), 0);
	assert_int_equal(apart_put(&f.out.bytes, &site, sizeof(site)), 0);
	assert_int_equal(screen_outbox_end(&f.out, 0), 0);
	assert_false(sent(&f));
	assert_int_equal(f.figures.socket, -1);
	end(&f);
}

/* --- searches for leaks ----------------------------------------------------- */

static void asked(struct fixture *f, bool is)
{
	struct screen_header header = { 0 };
	ssize_t n = recv(f->analyst, &header, sizeof(header), MSG_DONTWAIT);

	assert_int_equal(n == (ssize_t)sizeof(header), is);
	assert_int_equal(header.type, is ? SCREEN_LEAKS : 0);
	assert_int_equal(header.bytes, 0);
}

static void put_found(struct fixture *f, size_t bytes)
{
	const struct screen_leaks found = { .time = NAN, .group_count = 1,
					    .kind[SCREEN_DEFINITELY] = { 3, 300 } };

	assert_int_equal(screen_outbox_begin(&f->out, SCREEN_LEAKS_FOUND), 0);
	assert_int_equal(apart_put(&f->out.bytes, &found, bytes), 0);
	assert_int_equal(screen_outbox_end(&f->out, 0), 0);
}

static void search_and_find(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(figures_search(&f.figures), 0);
	asked(&f, true);
	assert_int_equal(figures_search(&f.figures), 0);
	asked(&f, false);			/* one is under way */
	put_found(&f, sizeof(struct screen_leaks));
	assert_false(sent(&f));			/* no figures */
	assert_int_equal(f.figures.search.answers, 1);
	assert_false(f.figures.search.under_way);
	assert_int_equal(f.figures.search.found.kind[SCREEN_DEFINITELY].bytes, 300);
	assert_true(f.figures.search.found.time == 0 && f.figures.search.time == 7);
	assert_true(f.figures.search.known && f.figures.search.found_time == 7);
	assert_string_equal(f.figures.search.why, "");
	end(&f);
	assert_int_equal(f.figures.search.answers, 1);
}

static void search_in_vain(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(figures_search(&f.figures), 0);
	assert_int_equal(screen_outbox_begin(&f.out, SCREEN_LEAKS_NONE), 0);
	assert_int_equal(apart_put_text(&f.out.bytes, "torn"), 0);
	assert_int_equal(screen_outbox_end(&f.out, 0), 0);
	assert_false(sent(&f));
	assert_string_equal(f.figures.search.why, "torn");
	assert_int_equal(figures_search(&f.figures), 0);
	put_found(&f, 8);			/* nonsense */
	assert_false(sent(&f));
	assert_int_equal(f.figures.search.answers, 2);
	assert_true(f.figures.search.why[0] && !f.figures.search.under_way);
	assert_int_equal(figures_search(&f.figures), -EPIPE);
	end(&f);
}

/* One answer is for both who asked; whoever asks second sends no question. */
static void search_for_two(void **state)
{
	struct fixture f;

	(void)state;
	for (int second = 0; second < 2; second++) {
		begin(&f);
		if (second == 0)
			assert_int_equal(figures_search(&f.figures), 0);
		assert_int_equal(figures_ask_leaks(&f.figures, 7), 0);
		if (second == 1)
			assert_int_equal(figures_search(&f.figures), 0);
		asked(&f, true);
		asked(&f, false);
		put_found(&f, sizeof(struct screen_leaks));
		assert_false(sent(&f));
		assert_int_equal(f.figures.search.answers, 1);
		assert_true(f.figures.asked.there && f.figures.asked.file >= 0);
		figures_asked_done(&f.figures);
		end(&f);
	}
}

static void tell_what_may_be_spent(void **state)
{
	struct screen_inbox in = { .got = 0 };
	struct fixture f;
	double percent;

	(void)state;
	begin(&f);
	assert_int_equal(figures_set_budget(&f.figures, 0.25), 0);
	assert_int_equal(screen_receive(f.analyst, &in, NULL), 1);
	assert_int_equal(in.header.type, SCREEN_BUDGET);
	assert_int_equal(in.header.bytes, sizeof(percent));
	memcpy(&percent, in.bytes, sizeof(percent));
	assert_true(percent == 0.25);
	screen_inbox_done(&in);
	/* Who hears nothing is told some of it, whole messages, and no more. */
	for (int i = 0; i < 1000000; i++)
		if (figures_set_budget(&f.figures, i) != 0)
			break;
	assert_int_equal(figures_set_budget(&f.figures, 1), -EAGAIN);
	while (screen_receive(f.analyst, &in, NULL) == 1)
		assert_int_equal(in.header.type, SCREEN_BUDGET);
	screen_inbox_done(&in);
	figures_close(&f.figures);
	assert_int_equal(figures_set_budget(&f.figures, 1), -EPIPE);
	end(&f);
}

static void tell_that_somebody_reads(void **state)
{
	struct screen_inbox in = { .got = 0 };
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(figures_want_names(&f.figures), 0);
	assert_int_equal(screen_receive(f.analyst, &in, NULL), 1);
	assert_int_equal(in.header.type, SCREEN_NAME_RECORDING);
	assert_int_equal(in.header.bytes, 0);
	screen_inbox_done(&in);
	figures_close(&f.figures);
	assert_int_equal(figures_want_names(&f.figures), -EPIPE);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ask_for_a_snapshot),
		cmocka_unit_test(ask_for_leaks),
		cmocka_unit_test(take_no_answer_unasked),
		cmocka_unit_test(name_the_largest),
		cmocka_unit_test(take_no_torn_names),
		cmocka_unit_test(take_the_last_ones),
		cmocka_unit_test(take_some_at_a_time),
		cmocka_unit_test(take_pieces),
		cmocka_unit_test(make_numbers_of_what_is_none),
		cmocka_unit_test(hear_no_nonsense),
		cmocka_unit_test(hear_no_endless_message),
		cmocka_unit_test(see_the_end),
		cmocka_unit_test(search_and_find),
		cmocka_unit_test(search_in_vain),
		cmocka_unit_test(search_for_two),
		cmocka_unit_test(tell_what_may_be_spent),
		cmocka_unit_test(tell_that_somebody_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
