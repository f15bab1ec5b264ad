/* SPDX-License-Identifier: MIT */
/*
 * test_shim_fork.c - a signal handler that forks while the thread waits for room in a ring: the
 * child goes on from the middle of that wait, where nothing of what it waited for is mapped.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/made_rules.h"
#include "tests/unit/shim_user.h"

#define RING_BYTES	65536u
#define LINES		(RING_BYTES / RING_LINE)
#define BLOCKS		(2u * LINES)
#define BELOW		2048u	/* words of a made-up stack that the hook may use, */
#define ABOVE		64u	/* and of its frames */

/* Who waits: f, until the handler was there. */
static struct {
	struct shim_user f;
	bool in_child;
	unsigned int forks;
	int status;
	void *block[BLOCKS];
	unsigned int count;
	uint64_t stack[BELOW + ABOVE];
} w;

static uint64_t lines_taken(void)
{
	const struct ring_head *head = &w.f.host.control->ring[0];

	return head->head - head->tail;
}

static void fork_here(int number)
{
	pid_t child = fork();

	(void)number;
	if (child == 0) {
		w.in_child = true;
		return;
	}
	w.forks++;
	if (child < 0 || waitpid(child, &w.status, 0) != child)
		w.status = -1;
	w.f.host.control->ring[0].tail = w.f.host.control->ring[0].head;
}

/* What call does waits for room, and the handler comes in the middle of it. */
static void call_while_full(void (*call)(void))
{
	const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	struct sigaction action = { .sa_handler = fork_here }, before;

	w.forks = 0;
	w.status = -1;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	call();
	if (w.in_child)
		_exit(0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_int_equal(w.forks, 1);	/* else it did not wait */
	assert_int_equal(w.status, 0);
	assert_true(w.f.host.control->ring[0].blocked > 0);
}

static void begin(const struct shim_host_options *options)
{
	memset(&w, 0, sizeof(w));
	user_begin(&w.f, options);
	w.f.host.control->overflow = RING_OVERFLOW_BLOCK;
}

/* One record of an allocation more waits, those of frees don't yet. */
static void fill_for_allocs(void)
{
	while (lines_taken() + 2 <= LINES / 8 * 7)
		w.block[w.count++] = w.f.hook.malloc(8);
}

static void fill_for_all(void)
{
	fill_for_allocs();
	while (lines_taken() < LINES)
		w.f.hook.free(w.block[--w.count]);
}

static void end(void)
{
	while (w.count > 0)
		free(w.block[--w.count]);
	shim_host_close(&w.f.host);
}

static void call_malloc(void)
{
	free(w.f.hook.malloc(8));
}

static void call_free(void)
{
	w.f.hook.free(w.block[--w.count]);
}

static void call_realloc(void)
{
	void *block = w.f.hook.realloc(w.block[--w.count], 100);

	assert_non_null(block);
	free(block);
}

/* Its path is to be told first. */
static void call_by_new_path(void)
{
	void *hook;

	memcpy(&hook, &w.f.hook.malloc, sizeof(hook));
	call_on(hook, w.stack + BELOW, 0, 0);
}

static void *map_hook;
static void call_munmap(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*hook)(void *, size_t);

	memcpy(&hook, &map_hook, sizeof(hook));
	assert_int_equal(hook(page, 4096), 0);
}

static const struct shim_host_options plain = { .ring_bytes = RING_BYTES, .table_slots = 4096 };

static void malloc_waits(void **state)
{
	(void)state;
	begin(&plain);
	fill_for_allocs();
	call_while_full(call_malloc);
	end();
}

static void new_path_waits(void **state)
{
	struct shim_host_options options = plain;
	struct made_rules made = { .low = w.stack, .high = w.stack + BELOW + ABOVE };

	(void)state;
	options.recognise = true;
	begin(&options);
	made.rule[0] = (struct rules_rule){ .kind = RULES_END };
	for (uint32_t i = 1; i < MADE_PLACES; i++)
		made.rule[i] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 16 };
	for (uint32_t i = 0; i < 5; i++)
		w.stack[BELOW + 2 * i] = MADE_PLACE(1 + i);
	w.stack[BELOW + 10] = MADE_PLACE(0);
	fill_for_allocs();
	made_rules_publish(&made, w.f.host.control);
	w.f.host.control->main_stack_low = (uint64_t)w.stack;
	w.f.host.control->main_stack_high = (uint64_t)(w.stack + BELOW + ABOVE);
	call_while_full(call_by_new_path);
	end();
}

static void free_waits(void **state)
{
	(void)state;
	for (uint64_t calls = 0; calls < 2; calls++) {	/* the short way, and the long one */
		begin(&plain);
		fill_for_all();
		w.f.host.control->calls = calls;
		call_while_full(call_free);
		end();
	}
}

static void realloc_waits(void **state)
{
	(void)state;
	for (uint64_t calls = 0; calls < 2; calls++) {
		begin(&plain);
		fill_for_all();
		w.f.host.control->calls = calls;
		call_while_full(call_realloc);
		end();
	}
}

static void munmap_waits(void **state)
{
	(void)state;
	begin(&plain);
	map_hook = shim_host_hook(&w.f.host, RING_SHAPE_MUNMAP, (const void *)munmap, 0, 0, 0);
	fill_for_all();
	call_while_full(call_munmap);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malloc_waits), cmocka_unit_test(new_path_waits),
		cmocka_unit_test(free_waits), cmocka_unit_test(realloc_waits),
		cmocka_unit_test(munmap_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
