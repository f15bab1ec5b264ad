/* SPDX-License-Identifier: MIT */
/*
 * shim_cost.c - nanoseconds that a hook adds to one call, path by path.
 *
 * The originals do nothing, the reader only gives room back: what is measured is
 * the shim alone, hot, on one thread, in processor time. Best of several rounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/made_rules.h"

#define CALLS 200000u
#define ROUNDS 15u
#define BELOW 2048u	/* words of a made-up stack that the hook may use, */
#define ABOVE 128u	/* and of its frames */

/* With the word that glibc has before a block, for its usable size. */
static struct {
	uint64_t before, header;
	char block[64];
} chunk __attribute__((aligned(16))) = { .header = 0x50 | 1 };
#define block chunk.block
static void *fake_malloc(size_t size)
{
	(void)size;
	return block;
}
static void fake_free(void *address)
{
	__asm__ volatile("" : : "r"(address));
}

struct bench {
	struct shim_host host;
	void *(*malloc)(size_t);
	void (*free)(void *);
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Gives all room back, as a reader that is never behind. */
static void release(struct bench *b)
{
	b->host.control->ring[0].tail = b->host.control->ring[0].head;
}

static void no_release(struct bench *b)
{
	(void)b;
}

static double time_malloc(struct bench *b, void (*after)(struct bench *))
{
	double best = 1e9, begin;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		begin = now();
		for (unsigned int i = 0; i < CALLS; i++) {
			b->malloc(64);
			after(b);
		}
		begin = now() - begin;
		best = begin < best ? begin : best;
	}
	return best / CALLS;
}

/* Addresses 48 bytes apart over `spread` blocks, in an order that caches don't guess. */
static double time_free(struct bench *b, unsigned int spread, void (*after)(struct bench *))
{
	double best = 1e9, begin;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		begin = now();
		for (unsigned int i = 0; i < CALLS; i++) {
			b->free(block + (i * 7919ull % spread) * 48);
			after(b);
		}
		begin = now() - begin;
		best = begin < best ? begin : best;
	}
	return best / CALLS;
}

/* A block that lives from the one call to the other: no suspect free (live_bits.c). */
static double time_pair(struct bench *b, void (*after)(struct bench *))
{
	double best = 1e9, begin;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		begin = now();
		for (unsigned int i = 0; i < CALLS; i++) {
			b->free(b->malloc(64));
			after(b);
		}
		begin = now() - begin;
		best = begin < best ? begin : best;
	}
	return best / CALLS;
}

static void row(const char *what, double ns)
{
	printf("%-52s %7.1f ns\n", what, ns);
}

/* As in a session of the present mode; the functions have caches for threads. */
static void hook_both(struct bench *b)
{
	void *hook = shim_host_hook(&b->host, RING_SHAPE_MALLOC, (const void *)fake_malloc, 0, 0,
				    RING_ISLAND_TLS);

	memcpy(&b->malloc, &hook, sizeof(hook));
	hook = shim_host_hook(&b->host, RING_SHAPE_FREE, (const void *)fake_free, 0, 0,
			      RING_ISLAND_TLS);
	memcpy(&b->free, &hook, sizeof(hook));
}

static void measure_sampled(struct bench *b)
{
	b->host.control->mode = RING_MODE_SAMPLE;
	hook_both(b);
	b->host.control->interval = 1ull << 47;
	row("malloc, not sampled", time_malloc(b, no_release));
	row("free, not sampled, 16 blocks", time_free(b, 16, no_release));
	row("free, not sampled, 100,000 blocks", time_free(b, 100000, no_release));
	row("malloc and free, not sampled", time_pair(b, no_release));
	b->host.control->interval = 512 * 1024;
	b->host.control->stack_limit = 8192;
	row("malloc(64), 1 of 8192 sampled, 8 KiB of stack", time_malloc(b, release));
}

static void measure_all(struct bench *b)
{
	static const uint32_t limit[] = { 0, 512, 2048, 8192 };
	char what[64];

	b->host.control->mode = RING_MODE_ALL;
	hook_both(b);
	for (unsigned int i = 0; i < 4; i++) {
		b->host.control->stack_limit = limit[i];
		snprintf(what, sizeof(what), "malloc, recorded, %u bytes of stack", limit[i]);
		row(what, time_malloc(b, release));
	}
	b->host.control->stack_limit = 512;
	row("malloc and free, recorded, 512 bytes of stack", time_pair(b, release));
	row("free, recorded, suspect, 512 bytes of stack", time_free(b, 16, release));
}

/* A pair of malloc and free by how much is counted. */
static void measure_counts(struct bench *b)
{
	static const char *const name[COUNTS_KINDS] = { "", "totals", "histogram", "sites" };
	struct counts_head *head =
		(void *)((uint8_t *)b->host.control + b->host.control->counts_offset);
	char what[64];

	b->host.control->mode = RING_MODE_COUNT;
	for (uint64_t kind = COUNTS_TOTALS; kind < COUNTS_KINDS; kind++) {
		head->kind = kind;
		snprintf(what, sizeof(what), "malloc and free, counted (%s%s)", name[kind],
			 kind == COUNTS_SITES ? ", no stacks" : "");
		row(what, time_pair(b, no_release));
	}
}

/* frames of 16 bytes each, then the end of the stack; places from first on, repeated. */
static void make_stack(uint64_t *top, uint32_t frames, uint32_t first)
{
	for (uint32_t i = 0; i < frames; i++)
		top[2 * i] = MADE_PLACE(1 + (first + i) % (MADE_PLACES - 1));
	top[2 * frames] = MADE_PLACE(0);
}

/* Calls from one stack after the other; the processor time of one. */
static double time_stacks(struct bench *b, uint64_t (*stack)[BELOW + ABOVE], uint32_t stacks)
{
	double begin = now();

	for (unsigned int i = 0; i < CALLS; i++) {
		call_on((void *)b->malloc, stack[i % stacks] + BELOW, 0, 0);
		release(b);
	}
	return (now() - begin) / CALLS;
}

/* What names add, by turns with records that have none. */
static double time_names(struct bench *b, uint64_t (*stack)[BELOW + ABOVE], uint32_t stacks)
{
	double best[2] = { 1e9, 1e9 }, one;

	for (unsigned int round = 0; round < 2 * ROUNDS; round++) {
		b->host.control->recognise = round & 1;
		one = time_stacks(b, stack, stacks);
		best[round & 1] = one < best[round & 1] ? one : best[round & 1];
	}
	return best[1] - best[0];
}

static void measure_paths(struct bench *b)
{
	static const uint32_t depth[] = { 12, 22, 42 };
	uint64_t stack[2][BELOW + ABOVE];
	struct made_rules made = { .low = stack[0], .high = stack[2] };
	char what[64];

	made.rule[0] = (struct rules_rule){ .kind = RULES_END };
	for (uint32_t i = 1; i < MADE_PLACES; i++)
		made.rule[i] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 16 };
	memset(stack, 0, sizeof(stack));
	b->host.control->mode = RING_MODE_ALL;
	b->host.control->stack_limit = 0;
	made_rules_publish(&made, b->host.control);
	for (uint32_t i = 0; i < sizeof(depth) / sizeof(depth[0]); i++) {
		make_stack(stack[0] + BELOW, depth[i], 0);
		make_stack(stack[1] + BELOW, depth[i], 7);
		snprintf(what, sizeof(what), "name of a stack of %u frames, added", depth[i]);
		row(what, time_names(b, stack, 1));
		snprintf(what, sizeof(what), "names of two in turn, %u frames, added", depth[i]);
		row(what, time_names(b, stack, 2));
	}
	b->host.control->recognise = 0;
}

static void measure(void **state)
{
	const struct shim_host_options options = {
		.ring_bytes = 1u << 20, .table_slots = 1u << 16, .counts = COUNTS_SITES,
		.recognise = true,
	};
	volatile char deep[10000];	/* stack to copy */
	struct bench b;

	(void)state;
	deep[0] = deep[sizeof(deep) - 1] = 0;
	shim_host_open(&b.host, &options);
	b.malloc = fake_malloc;
	b.free = fake_free;
	row("call of a function that does nothing", time_malloc(&b, no_release));
	hook_both(&b);
	row("malloc, not armed (fork child)", time_malloc(&b, no_release));
	shim_host_arm(&b.host);
	b.host.control->mode = RING_MODE_OFF;
	row("malloc, mode off", time_malloc(&b, no_release));
	row("malloc and free, mode off", time_pair(&b, no_release));
	measure_sampled(&b);
	b.host.control->recognise = 0;
	measure_all(&b);
	measure_paths(&b);
	measure_counts(&b);
	shim_host_close(&b.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(measure) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
