/* SPDX-License-Identifier: MIT */
/*
 * test_shim_leave.c - what hooks leave on a stack: no word that looks like a return address of
 * theirs, or no thread whose later frames keep it could be told from one that is inside
 * (inject/stack_scan.c).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/shim_host.h"

#define STACK_BYTES (256u * 1024u)
#define BLOCK ((uint64_t)&chunk[2])
#define TIMES 3

/* A block as glibc has them, whose size is in front of it. */
static _Alignas(16) const uint64_t chunk[1024] = { 0, 8192 + 1 };

typedef uint64_t (*entry_fn)(uint64_t, uint64_t, uint64_t, uint64_t);

struct caller {
	struct shim_host host;
	entry_fn entry[RING_SHAPE_COUNT];
	uint64_t *stack;
};

/* Stands in for all of them: nothing is allocated, mapped or freed. */
static uint64_t original(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return BLOCK;
}

static uint64_t original_posix_memalign(uint64_t ret, uint64_t b, uint64_t c, uint64_t d)
{
	(void)b;
	(void)c;
	(void)d;
	*(uint64_t *)ret = BLOCK;
	return 0;
}

static void open_host(struct caller *caller, const struct shim_host_options *options)
{
	shim_host_open(&caller->host, options);
	for (uint32_t shape = RING_SHAPE_NONE + 1; shape < RING_SHAPE_COUNT; shape++) {
		entry_fn from = shape == RING_SHAPE_POSIX_MEMALIGN ? original_posix_memalign :
								     original;
		const void *function;
		void *entry;

		memcpy(&function, &from, sizeof(function));
		entry = shim_host_hook(&caller->host, (enum ring_shape)shape, function, 0, 0, 0);
		memcpy(&caller->entry[shape], &entry, sizeof(entry));
		caller->host.control->entry[caller->host.control->entry_count - 1].arguments =
			ring_arguments_pack((struct ring_arguments){ .size = 2, .block = 1 });
	}
}

static void *call_all(void *context)
{
	const struct caller *caller = context;
	uint64_t block;

	for (int i = 0; i < TIMES; i++)
		for (uint32_t shape = RING_SHAPE_NONE + 1; shape < RING_SHAPE_COUNT; shape++)
			(void)caller->entry[shape](shape == RING_SHAPE_POSIX_MEMALIGN ?
							   (uint64_t)&block :
							   BLOCK,
						   4096, 8192, 1);
	return NULL;
}

static void call_on_own_stack(struct caller *caller)
{
	pthread_attr_t attributes;
	pthread_t thread;

	caller->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(caller->stack, MAP_FAILED);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstack(&attributes, caller->stack, STACK_BYTES), 0);
	assert_int_equal(pthread_create(&thread, &attributes, call_all, caller), 0);
	pthread_join(thread, NULL);
	(void)pthread_attr_destroy(&attributes);
}

/* How many words of the stack point into the hooks. */
static unsigned int words_left(const struct caller *caller)
{
	uint64_t from = (uint64_t)dlsym(caller->host.handle, "shim_hooks_low");
	uint64_t to = (uint64_t)dlsym(caller->host.handle, "shim_hooks_high");
	unsigned int count = 0;

	assert_true(from != 0 && from < to);
	for (size_t i = 0; i < STACK_BYTES / sizeof(uint64_t); i++)
		count += caller->stack[i] >= from && caller->stack[i] < to;
	return count;
}

static void nothing_is_left(const struct shim_host_options *options, uint64_t calls, bool armed)
{
	struct caller caller;
	uint64_t events;

	open_host(&caller, options);
	caller.host.control->calls = calls;
	if (armed)
		shim_host_arm(&caller.host);
	call_on_own_stack(&caller);
	events = caller.host.control->ring[0].head;
	if (armed)
		assert_true(events > TIMES * 4);
	else
		assert_int_equal(events, 0);
	assert_int_equal(words_left(&caller), 0);
	assert_int_equal(munmap(caller.stack, STACK_BYTES), 0);
	shim_host_close(&caller.host);
}

static void not_armed(void **state)
{
	(void)state;
	nothing_is_left(&(struct shim_host_options){ .mode = RING_MODE_ALL }, 0, false);
}

static void exact(void **state)
{
	(void)state;
	nothing_is_left(&(struct shim_host_options){ .mode = RING_MODE_ALL }, 0, true);
	nothing_is_left(&(struct shim_host_options){ .mode = RING_MODE_ALL }, RING_CALLS, true);
}

static void sampled(void **state)
{
	(void)state;
	nothing_is_left(&(struct shim_host_options){ .mode = RING_MODE_SAMPLE, .interval = 1,
						     .table_slots = 1024 },
			0, true);
}

static void counted(void **state)
{
	(void)state;
	nothing_is_left(&(struct shim_host_options){ .mode = RING_MODE_COUNT,
						     .counts = COUNTS_SITES },
			0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_armed),
		cmocka_unit_test(exact),
		cmocka_unit_test(sampled),
		cmocka_unit_test(counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
