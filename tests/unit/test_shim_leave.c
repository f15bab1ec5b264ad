/* SPDX-License-Identifier: MIT */
/*
 * test_shim_leave.c - what hooks leave on a stack: no word that looks like a return address of
 * theirs, or no thread whose later frames keep it could be told from one that is inside
 * (inject/quiesce/stack_scan.c); and no address of a block, or a leak search would find later
 * frames point to it.
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
#define OLD ((uint64_t)&chunk[514])
#define KEPT ((uint64_t)&chunk[770])	/* in a register that calls keep */
#define TIMES 3

/* A block as glibc has them, whose size is in front of it. */
static _Alignas(16) const uint64_t chunk[1024] = { 0, 8192 + 1, [513] = 2048 + 1 };

static volatile uint64_t hidden_old, hidden_kept;	/* ~OLD, ~KEPT */

typedef uint64_t (*entry_fn)(uint64_t, uint64_t, uint64_t, uint64_t);

struct caller {
	struct shim_host host;
	entry_fn entry[RING_SHAPE_COUNT];
	uint32_t shape;		/* the one that is called; RING_SHAPE_NONE: all of them */
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

/*
 * Calls entry(~hidden, ...) with a block in a register that the hook saves. Addresses of blocks are
 * in memory inverted only, so that the compiler can leave none on the stack itself.
 */
static void call_with_kept(entry_fn entry, uint64_t hidden)
{
	uint64_t first = hidden, second = 4096, third = 8192, fourth = 1;

	__asm__ volatile("mov	%[kept], %%rbx\n\t"
			 "not	%%rbx\n\t"
			 "not	%%rdi\n\t"
			 "mov	%%rsp, %%r12\n\t"
			 "sub	$128, %%rsp\n\t"	/* the red zone */
			 "and	$-16, %%rsp\n\t"
			 "call	*%[entry]\n\t"
			 "mov	%%r12, %%rsp\n\t"
			 "xor	%%edi, %%edi\n\t"
			 "xor	%%esi, %%esi\n\t"
			 "xor	%%edx, %%edx\n\t"
			 "xor	%%ecx, %%ecx\n\t"
			 "xor	%%eax, %%eax\n\t"
			 "xor	%%ebx, %%ebx"
			 : "+D"(first), "+S"(second), "+d"(third), "+c"(fourth)
			 : [entry] "r"(entry), [kept] "r"(hidden_kept)
			 : "rax", "rbx", "r8", "r9", "r10", "r11", "r12", "xmm0", "memory", "cc");
}

static void *call_all(void *context)
{
	static uint64_t block;	/* posix_memalign's: not on the stack */
	const struct caller *caller = context;

	for (int i = 0; i < TIMES; i++)
		for (uint32_t shape = RING_SHAPE_NONE + 1; shape < RING_SHAPE_COUNT; shape++)
			if (caller->shape == RING_SHAPE_NONE || caller->shape == shape)
				call_with_kept(caller->entry[shape],
					       shape == RING_SHAPE_POSIX_MEMALIGN ?
						       ~(uint64_t)&block :
						       hidden_old);
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

/* How many words of the stack are the address of a block. */
static unsigned int blocks_left(const struct caller *caller)
{
	unsigned int count = 0;

	for (size_t i = 0; i < STACK_BYTES / sizeof(uint64_t); i++) {
		uint64_t word = caller->stack[i];

		if (word != BLOCK && word != OLD && word != KEPT)
			continue;
		print_message("shape %u: %s at %zu bytes below the top\n", caller->shape,
			      word == BLOCK ? "result" : word == OLD ? "argument" : "register",
			      STACK_BYTES - i * sizeof(uint64_t));
		count++;
	}
	return count;
}

/* A call of one kind after another, each on a stack of its own. */
static void no_block_is_left(struct caller *caller)
{
	unsigned int left = 0;

	for (caller->shape = RING_SHAPE_NONE + 1; caller->shape < RING_SHAPE_COUNT;
	     caller->shape++) {
		call_on_own_stack(caller);
		left += blocks_left(caller);
		assert_int_equal(munmap(caller->stack, STACK_BYTES), 0);
	}
	assert_int_equal(left, 0);
	caller->shape = RING_SHAPE_NONE;
}

static void nothing_is_left(const struct shim_host_options *options, uint64_t calls, bool armed)
{
#ifndef __OPTIMIZE__
	print_message("the shim was not optimised: its own code leaves words\n");
	skip();
#endif
	struct caller caller = { .shape = RING_SHAPE_NONE };
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
	if (armed)	/* else what the originals leave is all there is */
		no_block_is_left(&caller);
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
	nothing_is_left(&(struct shim_host_options){ .mode = RING_MODE_ALL, .recognise = true,
						     .stack_limit = 4096 },
			0, true);
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

	hidden_old = ~OLD;
	hidden_kept = ~KEPT;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
