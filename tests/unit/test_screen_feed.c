/* SPDX-License-Identifier: MIT */
/* test_screen_feed.c - what the analyst tells the screen; a screen that does not listen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "src/screen/feed.h"
#include "src/screen/model.h"
#include "tests/unit/sample_session.h"

#define BLOCKS 12u

struct bench {
	struct sample sample;
	struct modules *modules;
	struct symbolizer *symbolizer;
	struct session_names *names;
	struct feed *feed;
	struct model *model;
	struct screen_inbox in;
	int screen;			/* the screen's end */
};

static int no_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	(void)context;
	(void)address;
	(void)buffer;
	(void)bytes;
	return -EFAULT;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct feed_names names;
	int pair[2];

	sample_init(&b->sample, true);
	sample_fill(&b->sample, 0);
	assert_int_equal(modules_new(&(struct module_source){ .context = NULL }, &b->modules), 0);
	assert_int_equal(symbolizer_new(b->modules, &b->symbolizer), 0);
	assert_int_equal(session_names_new(b->modules, b->symbolizer, &b->names), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	names = (struct feed_names){ .symbolizer = b->symbolizer, .names = b->names };
	assert_int_equal(feed_new(pair[0], &names, &b->feed), 0);
	b->screen = pair[1];
	assert_int_equal(model_new(&b->model), 0);
	*state = b;
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	model_free(b->model);
	feed_free(b->feed);
	session_names_free(b->names);
	symbolizer_free(b->symbolizer);
	modules_free(b->modules);
	cleanup_fd(&b->screen);
	screen_inbox_done(&b->in);
	sample_done(&b->sample);
	free(b);
	return 0;
}

static void show(struct bench *b)
{
	static const struct elf_reader memory = { .read = no_memory };
	struct snapshot *snapshot = sample_take(&b->sample, false, SNAPSHOT_ATTACHED);
	const struct feed_figures figures = {
		.snapshot = snapshot, .interval = 1, .live = b->sample.live,
		.ticks = &b->sample.ticks, .memory = &memory,
	};

	feed_show(b->feed, &figures);
	snapshot_free(snapshot);
}

/* All that has come; how many messages. */
static unsigned int hear(struct bench *b)
{
	unsigned int count = 0;

	while (screen_receive(b->screen, &b->in, NULL) == 1) {
		assert_int_equal(model_take(b->model, b->in.header.type, b->in.bytes,
					    b->in.header.bytes), 0);
		count++;
	}
	return count;
}

static void figures_arrive(void **state)
{
	struct bench *b = *state;
	struct snapshot *snapshot = sample_take(&b->sample, false, SNAPSHOT_ATTACHED);
	const struct screen_state *now = &b->model->state;

	feed_begin(b->feed, &snapshot->target, "1.2");
	show(b);
	assert_int_equal(hear(b), 2);
	assert_int_equal(b->model->pid, snapshot->target.pid);
	assert_string_equal(b->model->version, "1.2");
	assert_int_equal(now->live_bytes, snapshot->totals.live_bytes);
	assert_int_equal(now->alloc_count, snapshot->totals.alloc_count);
	assert_int_equal(now->site_count, snapshot->site_count);
	for (uint32_t i = 0; i < now->site_count; i++) {
		assert_int_equal(b->model->site[i].id, snapshot->site[i].id);
		assert_int_equal(b->model->site[i].live_bytes, snapshot->site[i].live_bytes);
		assert_int_equal(b->model->site[i].alloc_count, snapshot->site[i].alloc_count);
	}
	snapshot_free(snapshot);
}

/* Threads' sums are those of the sample. */
static void threads_arrive(void **state)
{
	struct bench *b = *state;
	uint64_t allocs = 0;

	show(b);
	(void)hear(b);
	assert_int_equal(b->model->state.thread_count, live_threads(b->sample.live));
	assert_true(b->model->state.thread_count > 0);
	for (uint32_t i = 0; i < b->model->state.thread_count; i++) {
		allocs += b->model->thread[i].alloc_count;
		assert_int_equal(b->model->thread[i].tid, 0);	/* no memory, no id */
	}
	assert_int_equal(allocs, b->model->state.alloc_count);
}

/* Who frees what another thread allocated. */
static void others_frees_are_told(void **state)
{
	struct bench *b = *state;
	struct live_thread_figures before, after;

	for (uint64_t i = 0; i < BLOCKS; i++)
		sample_apply(&b->sample, (struct event){ .kind = RING_ALLOC, .thread = 77,
							 .address = 0x700000 + i * 64, .size = 10 },
			     b->sample.stack[0]);
	before = live_thread_figures(b->sample.live, live_threads(b->sample.live) - 1);
	assert_int_equal(before.pointer, 77);
	assert_int_equal(before.alloc_count, BLOCKS);
	assert_int_equal(before.alloc_bytes, BLOCKS * 10);
	for (uint64_t i = 0; i < BLOCKS; i++)
		sample_apply(&b->sample, (struct event){ .kind = RING_FREE,
							 .thread = i < 4 ? 77 : 78,
							 .address = 0x700000 + i * 64 }, 0);
	before = live_thread_figures(b->sample.live, live_threads(b->sample.live) - 2);
	after = live_thread_figures(b->sample.live, live_threads(b->sample.live) - 1);
	assert_int_equal(before.free_count, 4);
	assert_int_equal(before.freed_others, 0);
	assert_int_equal(after.pointer, 78);
	assert_int_equal(after.free_count, BLOCKS - 4);
	assert_int_equal(after.freed_others, BLOCKS - 4);
}

static void names_arrive(void **state)
{
	struct bench *b = *state;

	show(b);
	(void)hear(b);
	for (int i = 0; i < 10000 && b->model->name_count < sites_count(b->sample.sites); i++) {
		feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
		(void)hear(b);
	}
	for (uint32_t i = 0; i < b->model->state.site_count; i++)
		assert_true(model_name(b->model, b->model->site[i].id)->function[0]);
}

static void stack_arrives(void **state)
{
	struct bench *b = *state;
	struct screen_outbox out = { .sent = 0 };
	struct screen_want want;
	int error;

	show(b);
	(void)hear(b);
	model_wants(b->model, &want);
	assert_true(want.stack);
	error = screen_outbox_begin(&out, SCREEN_WANT);
	assert_int_equal(error, 0);
	error = apart_put(&out.bytes, &want, sizeof(want));
	assert_int_equal(screen_outbox_end(&out, error), 0);
	assert_int_equal(screen_send(b->screen, &out), 0);
	screen_outbox_done(&out);
	for (int i = 0; i < 10000 && !b->model->stack_count; i++) {
		feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
		(void)hear(b);
	}
	assert_int_equal(b->model->stack_site, want.stack);
	assert_true(b->model->stack_count > 0);
}

static void say_budget(struct bench *b, double percent)
{
	struct screen_outbox out = { .sent = 0 };
	int error = screen_outbox_begin(&out, SCREEN_BUDGET);

	assert_int_equal(error, 0);
	error = apart_put(&out.bytes, &percent, sizeof(percent));
	assert_int_equal(screen_outbox_end(&out, error), 0);
	assert_int_equal(screen_send(b->screen, &out), 0);
	screen_outbox_done(&out);
	feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
}

static void budgets_are_heard_once(void **state)
{
	static const double nonsense[] = { 0, -1, 101, INFINITY, NAN };
	struct bench *b = *state;

	assert_true(feed_budget(b->feed) == 0);
	say_budget(b, 0.25);
	say_budget(b, 0.5);
	assert_true(feed_budget(b->feed) == 0.5);
	assert_true(feed_budget(b->feed) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		say_budget(b, nonsense[i]);
		assert_true(feed_budget(b->feed) == 0);
	}
}

static void readers_are_heard_once(void **state)
{
	struct bench *b = *state;
	struct screen_outbox out = { .sent = 0 };
	int error = screen_outbox_begin(&out, SCREEN_NAME_RECORDING);

	assert_false(feed_wants_names(b->feed));
	assert_int_equal(screen_outbox_end(&out, error), 0);
	assert_int_equal(screen_send(b->screen, &out), 0);
	screen_outbox_done(&out);
	feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
	assert_true(feed_wants_names(b->feed));
	assert_false(feed_wants_names(b->feed));
}

static void add_group(struct leak_report *report, enum leak_verdict verdict, const char *type)
{
	assert_int_equal(leak_report_add(report, &(struct leak_group){
		.verdict = verdict, .site = 1, .count = 2, .bytes = 80, .oldest = 7,
		.type = type ? strdup(type) : NULL, .address_count = 5,
		.address = { 1, 2, 3, 4, 5 } }), 0);
}

static void leaks_arrive(void **state)
{
	struct bench *b = *state;
	struct apart_answer put = { .bytes = NULL };
	struct leak_report *report;
	const struct model_leaks *leaks = &b->model->leaks;
	char long_type[5000];

	memset(long_type, 'T', sizeof(long_type));
	long_type[sizeof(long_type) - 1] = '\0';
	assert_int_equal(leak_report_new(&report), 0);
	report->kind[BLOCK_DEFINITELY_LOST] = (struct leak_sum){ 3, 120 };
	add_group(report, LEAK_DEFINITELY_LOST, long_type);
	for (unsigned int i = 1; i < SCREEN_MAX_GROUPS + 9; i++)
		add_group(report, LEAK_POSSIBLY_LOST, long_type);
	add_group(report, LEAK_REACHABLE, NULL);
	assert_int_equal(feed_put_leaks(&put, report, 12.5), 0);
	leak_report_free(report);
	feed_leaks(b->feed, put.bytes, put.count);
	free(put.bytes);
	for (int i = 0; i < 10000 && !leaks->found; i++) {
		feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
		(void)hear(b);
	}
	assert_true(leaks->found && leaks->head.time == 12.5);
	assert_int_equal(leaks->head.kind[SCREEN_DEFINITELY].bytes, 120);
	assert_int_equal(leaks->head.group_count, SCREEN_MAX_GROUPS);
	assert_int_equal(leaks->head.groups_total, SCREEN_MAX_GROUPS + 9);
	assert_int_equal(leaks->group[0].figures.address_count, SCREEN_GROUP_ADDRESSES);
	assert_int_equal(leaks->group[0].figures.oldest, 7);
	assert_int_equal(strlen(leaks->group[0].text[GROUP_TYPE]), 1023);
	assert_null(leaks->group[0].text[GROUP_HELD_BY]);
	assert_string_equal(leaks->uncovered, "no allocator was found: only blocks seen since the "
					      "attach");
}

/* However long nobody reads, what waits does not grow, and nothing blocks. */
static void deaf_screen_costs_nothing(void **state)
{
	struct bench *b = *state;
	unsigned int heard = 0, more;

	for (int i = 0; i < 20000; i++) {
		show(b);
		feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
	}
	do {
		more = hear(b);
		heard += more;
		feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
	} while (more);
	assert_true(heard > 0 && heard < 2000);
	show(b);
	assert_true(hear(b) > 0);
}

static void dead_or_mad_screen_is_left(void **state)
{
	struct bench *b = *state;
	const struct screen_header nonsense = { 4711, 0 };

	assert_int_equal(write(b->screen, &nonsense, sizeof(nonsense)), sizeof(nonsense));
	feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
	assert_int_equal(screen_receive(b->screen, &b->in, NULL), -EPIPE);
	show(b);
	feed_turn(b->feed, b->sample.sites, b->sample.stacks, false);
	assert_false(feed_wants_snapshot(b->feed));
	feed_end(b->feed);
	feed_await_end(b->feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(figures_arrive, begin, end),
		cmocka_unit_test_setup_teardown(threads_arrive, begin, end),
		cmocka_unit_test_setup_teardown(others_frees_are_told, begin, end),
		cmocka_unit_test_setup_teardown(names_arrive, begin, end),
		cmocka_unit_test_setup_teardown(stack_arrives, begin, end),
		cmocka_unit_test_setup_teardown(budgets_are_heard_once, begin, end),
		cmocka_unit_test_setup_teardown(readers_are_heard_once, begin, end),
		cmocka_unit_test_setup_teardown(leaks_arrive, begin, end),
		cmocka_unit_test_setup_teardown(deaf_screen_costs_nothing, begin, end),
		cmocka_unit_test_setup_teardown(dead_or_mad_screen_is_left, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
