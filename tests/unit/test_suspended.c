/* SPDX-License-Identifier: MIT */
/* test_suspended.c - words that are found, waited for, and passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/load.h"
#include "inject/quiesce/suspended.h"
#include "inject/tracee/tracee.h"

/* The target is a child, which was forked before anything here dealt with such words. */
#define LOW 0x5a00001234560000ull
#define HIGH (LOW + 0x1000)
#define PAGE 4096
#define ROOM (1ull << 40)
#define GUARD 102	/* MADV_GUARD_INSTALL, linux 6.13 */
#define SOON 50000000ull
#define LONG 20000000000ull

#define SELECTORS 0x002b000000000033ull
enum { BYTES = 1 << 20, PLACE = 600 << 10 };	/* beyond what is read at once */
enum { AT_ONCE = 256 << 10, AFTER_IP = 16 };

static struct target child;
static struct quiesce_todo todo;
static struct suspended_words words;
static uint64_t memory, large, ours, other, shared;
static bool guarded;	/* the second page of memory */

static uint64_t map(size_t bytes, int flags, int fd)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_true(at != MAP_FAILED);
	return (uintptr_t)at;
}

static uint64_t map_named(const char *name, int flags)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	uint64_t at;

	assert_int_equal(ftruncate(fd, PAGE), 0);
	at = map(PAGE, flags, fd);
	(void)close(fd);
	return at;
}

static int begin(void **state)
{
	struct pidref ref = PIDREF_NONE;
	pid_t pid;

	(void)state;
	memory = map(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	memset((void *)(uintptr_t)memory, 0x11, BYTES);
	guarded = madvise((void *)(uintptr_t)(memory + PAGE), PAGE, GUARD) == 0;
	large = (uintptr_t)mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	shared = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	ours = map_named(MEMFD_SHIM_NAME, MAP_PRIVATE);
	other = map_named("other", MAP_SHARED);
	pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	words = (struct suspended_words){ .low = LOW, .high = HIGH };
	return pidref_open(pid, &ref) || target_open(&ref, &child);
}

static int end(void **state)
{
	pid_t pid = child.ref.pid;

	(void)state;
	(void)kill(pid, SIGKILL);
	target_done(&child);
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static void put(uint64_t at, uint64_t word)
{
	assert_int_equal(pwrite(child.mem, &word, sizeof(word), (off_t)at), sizeof(word));
}

static int wait_for(uint64_t limit_ns, struct suspended_search *search)
{
	return suspended_calls_wait(&child, &words, &todo, tracee_now_ns() + limit_ns, search);
}

static void nothing_is_there(void **state)
{
	struct suspended_search search = { 0, false };

	(void)state;
	assert_int_equal(wait_for(SOON, &search), 0);
	assert_true(search.complete);
}

static void a_word_is_found(void **state)
{
	struct suspended_search search = { 0, false };

	(void)state;
	put(memory + PLACE, HIGH - 1);
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	assert_false(search.complete);
	assert_int_equal(search.at, memory + PLACE);
	put(memory + PLACE, 0);
	assert_int_equal(wait_for(SOON, &search), 0);
	assert_true(search.complete);
}

static void only_the_range_counts(void **state)
{
	struct suspended_search search = { 0, false };

	(void)state;
	put(memory + PLACE, HIGH);
	put(memory + PLACE + 8, LOW - 1);
	assert_int_equal(wait_for(SOON, &search), 0);
	search = (struct suspended_search){ 0, false };
	put(memory + PLACE + 16, LOW);
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	assert_int_equal(search.at, memory + PLACE + 16);
	put(memory + PLACE + 16, 0);
}

static void *take_away(void *context)
{
	const struct timespec pause = { 0, 100000000 };

	(void)context;
	(void)nanosleep(&pause, NULL);
	put(memory + PLACE, 0);
	return NULL;
}

static void a_word_that_goes_is_waited_for(void **state)
{
	struct suspended_search search = { 0, false };
	uint64_t began = tracee_now_ns();
	pthread_t thread;

	(void)state;
	put(memory + PLACE, LOW);
	assert_int_equal(pthread_create(&thread, NULL, take_away, NULL), 0);
	assert_int_equal(wait_for(LONG, &search), 0);
	assert_true(tracee_now_ns() - began >= 100000000);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* What was looked at gets none any more: not looked at again. */
static void it_goes_on_where_it_was(void **state)
{
	struct suspended_search search = { 0, false };

	(void)state;
	put(memory + PLACE, LOW);
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	put(memory + PLACE, 0);
	put(memory, LOW);
	assert_int_equal(wait_for(SOON, &search), 0);
	put(memory, 0);
}

/* What lay below a thread's stack pointer as it was outside. */
static void dead_stacks_do_not_count(void **state)
{
	struct quiesce_dead dead[2] = { { 0, 1 }, { memory + PLACE, memory + PLACE + 16 } };
	struct suspended_search search = { 0, false };

	(void)state;
	todo.dead = dead;
	todo.dead_count = 2;
	put(memory + PLACE, LOW);
	put(memory + PLACE + 8, LOW);
	assert_int_equal(wait_for(SOON, &search), 0);
	search = (struct suspended_search){ 0, false };
	put(memory + PLACE + 16, LOW);
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	assert_int_equal(search.at, memory + PLACE + 16);
	todo.dead_count = 0;
	for (uint64_t at = memory + PLACE; at <= memory + PLACE + 16; at += 8)
		put(at, 0);
}

/* What a handler interrupted in our code goes on there by the kernel's frame, wherever it lies. */
static void a_signal_frame_is_found(void **state)
{
	static const struct stack_range range[2] = { { .low = 1, .high = 2 },
						     { .low = HIGH, .high = HIGH + 0x1000 } };
	static const uint64_t place[] = { PLACE, AT_ONCE - 8, AT_ONCE - 16 };

	(void)state;
	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		struct suspended_search search = { 0, false };
		uint64_t at = memory + place[i];

		put(at, HIGH + 0x10);
		put(at + AFTER_IP, SELECTORS);
		words.count = 0;	/* not asked for */
		assert_int_equal(wait_for(SOON, &search), 0);
		words.range = range;
		words.count = 2;
		search = (struct suspended_search){ 0, false };
		assert_int_equal(wait_for(SOON, &search), -ETIME);
		assert_int_equal(search.at, at);
		put(at + AFTER_IP, SELECTORS + 8);	/* the word alone is none */
		assert_int_equal(wait_for(SOON, &search), 0);
		put(at + AFTER_IP, SELECTORS);
		put(at, HIGH + 0x1000);			/* it goes on elsewhere */
		search = (struct suspended_search){ 0, false };
		assert_int_equal(wait_for(SOON, &search), 0);
		put(at + AFTER_IP, 0);
		put(at, 0);
	}
	words.count = 0;
}

/* Coroutines run on memory that is private, or shared with children; ours is not theirs. */
static void other_memory_is_passed_over(void **state)
{
	struct suspended_search search = { 0, false };

	(void)state;
	put(ours, LOW);
	put(other, LOW);
	assert_int_equal(wait_for(SOON, &search), 0);
	search = (struct suspended_search){ 0, false };
	put(shared, LOW);
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	assert_int_equal(search.at, shared);
	put(shared, 0);
}

/* Of a terabyte one page is read; the others stay what they were, none. */
static void untouched_memory_stays_so(void **state)
{
	struct suspended_search search = { 0, false };
	uint64_t entry;

	(void)state;
	if (large == (uintptr_t)MAP_FAILED)	/* vm.overcommit_memory=2 */
		skip();
	put(large + ROOM / 2, LOW);
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	assert_int_equal(search.at, large + ROOM / 2);
	put(large + ROOM / 2, 0);
	assert_int_equal(wait_for(SOON, &search), 0);
	assert_int_equal(pread(child.pagemap, &entry, sizeof(entry), (off_t)(large / PAGE * 8)),
			 sizeof(entry));
	assert_int_equal(entry >> 62, 0);
}

/* It can't be read, and shows as swapped out: what glibc's stacks end with, from 2.42 on. */
static void guard_pages_are_passed_over(void **state)
{
	struct suspended_search search = { 0, false };

	(void)state;
	if (!guarded)
		skip();
	assert_int_equal(wait_for(SOON, &search), 0);
	put(memory + BYTES - 8, LOW);
	search = (struct suspended_search){ 0, false };
	assert_int_equal(wait_for(SOON, &search), -ETIME);
	put(memory + BYTES - 8, 0);
}

static void unread_memory_is_an_error(void **state)
{
	struct suspended_search search = { 0, false };
	int kept = child.mem;

	(void)state;
	child.mem = -1;
	assert_int_equal(wait_for(SOON, &search), -EIO);
	child.mem = kept;
	assert_false(search.complete);
}

static void an_unknown_memory_is_an_error(void **state)
{
	struct suspended_search search = { 0, false };
	int kept = child.pagemap;

	(void)state;
	child.pagemap = -1;
	assert_int_equal(wait_for(SOON, &search), -ENOTSUP);
	child.pagemap = kept;
	assert_false(search.complete);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_there),
		cmocka_unit_test(a_word_is_found),
		cmocka_unit_test(only_the_range_counts),
		cmocka_unit_test(a_word_that_goes_is_waited_for),
		cmocka_unit_test(it_goes_on_where_it_was),
		cmocka_unit_test(dead_stacks_do_not_count),
		cmocka_unit_test(a_signal_frame_is_found),
		cmocka_unit_test(other_memory_is_passed_over),
		cmocka_unit_test(untouched_memory_stays_so),
		cmocka_unit_test(guard_pages_are_passed_over),
		cmocka_unit_test(unread_memory_is_an_error),
		cmocka_unit_test(an_unknown_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
