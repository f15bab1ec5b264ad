/* SPDX-License-Identifier: MIT */
/*
 * test_report_names.c - names in a recording while it is written: for whom, which frames first, how
 * many, what happens when answers are late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>

#include "src/session/session_report.h"
#include "tests/unit/sample_recording.h"

#define FRAMES		100u	/* of a stack */
#define TURNS		100000u

struct bench {
	struct sample sample;
	struct target_view view;
	struct session_report report;
	struct watch watch;
	uint32_t module;
	uint32_t questions, asked;	/* of the remote: questions, frames */
	struct frame first;		/* of the last question */
	bool late;			/* what it answers */
};

static int ask_one(void *context, const struct frame *frame,
		   struct symbol_frame ret[SYMBOLIZER_MAX_FRAMES], size_t *ret_count)
{
	const struct bench *b = context;

	ret[0] = (struct symbol_frame){ .function = "one", .offset = frame->offset };
	*ret_count = 1;
	return b->late ? -EAGAIN : 0;
}

static int ask_many(void *context, const struct frame *frame, uint32_t count, symbolizer_tell *tell,
		    void *told)
{
	struct bench *b = context;

	b->questions++;
	b->first = frame[0];
	for (uint32_t i = 0; !b->late && i < count; i++, b->asked++)
		tell(told, &frame[i], &(struct symbol_frame){ .function = "many",
							      .offset = frame[i].offset }, 1);
	return b->late ? -EAGAIN : 0;
}

static int begin(void **state)
{
	struct module_source source = { .open_file = NULL };
	struct bench *b = calloc(1, sizeof(*b));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct session_report *r = &b->report;
	const struct symbolizer_remote remote = { ask_one, ask_many, b };

	assert_int_equal(sample_recording_begin(NULL), 0);
	sample_init(&b->sample, true);
	assert_int_equal(modules_new(&source, &b->view.modules), 0);
	assert_int_equal(modules_add_file(b->view.modules, "/proc/self/exe", fd, false,
					  &b->module), 0);
	assert_int_equal(symbolizer_new(b->view.modules, &r->symbolizer), 0);
	assert_int_equal(session_names_new(b->view.modules, r->symbolizer, &r->names), 0);
	symbolizer_set_remote(r->symbolizer, &remote);
	assert_int_equal(recording_open(sample_path, &r->recording), 0);
	r->view = &b->view;
	b->watch.sites = b->sample.sites;
	b->watch.stacks = b->sample.stacks;
	*state = b;
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	(void)recording_close(b->report.recording);
	session_names_free(b->report.names);
	symbolizer_free(b->report.symbolizer);
	modules_free(b->view.modules);
	sample_done(&b->sample);
	free(b);
	return sample_recording_end(NULL);
}

/* A block of so many bytes, by a stack of FRAMES frames; the sample's own are in the first ten. */
static void add_path(struct bench *b, uint32_t number, uint64_t bytes)
{
	struct frame frame[FRAMES];
	uint32_t id;

	for (uint32_t i = 0; i < FRAMES; i++)
		frame[i] = (struct frame){ .module = i == 50 ? 0 : b->module,
					   .flags = FRAME_RETURN,
					   .offset = (number + 1) * 0x1000ull + i };
	assert_int_equal(stacks_intern(b->sample.stacks, frame, FRAMES, 0, &id), 0);
	sample_alloc(&b->sample, 0x100000 + number * 0x10000ull, bytes, 0, id);
}

static void add_interval(struct bench *b)
{
	b->sample.now += 1000000000;
	sample_add(b->report.recording, &b->sample);
	session_report_names_interval(&b->report);
}

/*
 * Until nothing is missing, as if turns were seconds apart. A reader is there for as long as it
 * takes: where a disk is slow, the turns take more than the two minutes after the last question.
 */
static void turn_until_done(struct bench *b)
{
	uint32_t turns = 0;

	b->report.naming.until = INFINITY;
	while (session_report_names_are_due(&b->report, &b->watch) && turns++ < TURNS) {
		session_report_names_turn(&b->report, &b->watch, false);
		b->report.naming.next_write = b->report.naming.next_slice = 0;
	}
	assert_in_range(turns, 0, TURNS - 1);
}

static int64_t rows(void)
{
	return sample_ask("SELECT count(*) FROM symbols");
}

static void nobody_reads(void **state)
{
	struct bench *b = *state;

	add_path(b, 0, 100);
	for (int i = 0; i < 10; i++) {
		add_interval(b);
		session_report_names_turn(&b->report, &b->watch, false);
		assert_false(session_report_names_are_due(&b->report, &b->watch));
	}
	assert_int_equal(b->questions, 0);
	assert_int_equal(rows(), 0);
}

static void the_largest_come_first(void **state)
{
	struct bench *b = *state;
	const uint32_t largest = 7;

	for (uint32_t i = 0; i < 10; i++)
		add_path(b, i, i == largest ? 1 << 20 : 100 + i);
	add_interval(b);
	session_report_names_want(&b->report);
	session_report_names_turn(&b->report, &b->watch, true);	/* the rings fill up */
	assert_int_equal(b->questions, 0);
	for (int i = 0; i < 1000 && !b->questions; i++)
		session_report_names_turn(&b->report, &b->watch, false);
	assert_int_equal(b->questions, 1);
	assert_int_equal(b->first.offset, (largest + 1) * 0x1000);
	assert_int_equal(rows(), 0);	/* not within the first second */
	turn_until_done(b);
	assert_int_equal(b->asked, 10 * (FRAMES - 1));	/* one each is in no module */
	assert_int_equal(rows(), 10 * (FRAMES - 1));
	/* What is new comes with the next interval, without a question by anybody. */
	add_path(b, 10, 100);
	turn_until_done(b);
	assert_int_equal(rows(), 10 * (FRAMES - 1));
	add_interval(b);
	assert_int_equal(rows(), 11 * (FRAMES - 1));
	/* Two minutes later nobody reads any more. */
	b->report.naming.until = 1;
	add_path(b, 11, 100);
	assert_false(session_report_names_are_due(&b->report, &b->watch));
	add_interval(b);
	session_report_names_turn(&b->report, &b->watch, false);
	assert_int_equal(rows(), 11 * (FRAMES - 1));
	session_report_names_want(&b->report);
	turn_until_done(b);
	assert_int_equal(rows(), 12 * (FRAMES - 1));
}

static void no_more_than_20000(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < 250; i++)
		add_path(b, i, 100);
	add_interval(b);
	session_report_names_want(&b->report);
	turn_until_done(b);
	assert_int_equal(b->asked, 20000);
	assert_int_equal(rows(), 20000);
	for (uint32_t i = 250; i < 260; i++)
		add_path(b, i, 1 << 20);
	add_interval(b);
	session_report_names_want(&b->report);
	turn_until_done(b);
	assert_int_equal(b->asked, 20000);
	assert_int_equal(rows(), 20000);
}

static void late_answers_are_awaited(void **state)
{
	struct bench *b = *state;
	uint32_t questions;

	add_path(b, 0, 100);
	add_interval(b);
	session_report_names_want(&b->report);
	b->late = true;
	for (int i = 0; i < 1000 && !b->questions; i++)
		session_report_names_turn(&b->report, &b->watch, false);
	questions = b->questions;
	assert_true(b->report.naming.next_slice > 0);
	b->report.naming.next_slice += 1000;
	session_report_names_turn(&b->report, &b->watch, false);
	assert_int_equal(b->questions, questions);
	assert_true(session_report_names_are_due(&b->report, &b->watch));
	b->report.naming.next_slice = 0;
	b->late = false;
	turn_until_done(b);
	assert_int_equal(rows(), sample_ask("SELECT count(*) FROM frames WHERE module = 1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_reads, begin, end),
		cmocka_unit_test_setup_teardown(the_largest_come_first, begin, end),
		cmocka_unit_test_setup_teardown(no_more_than_20000, begin, end),
		cmocka_unit_test_setup_teardown(late_answers_are_awaited, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
