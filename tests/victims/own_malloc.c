/* SPDX-License-Identifier: MIT */
/*
 * own_malloc.c - a program that has an allocator of its own in the file that calls it.
 *
 * Its malloc and free call nothing, so the compiler knows which registers they change (gcc
 * -fipa-ra), and keeps what it likes in the others during a call: sum_around_calls() has more
 * values alive than there are registers that any function must preserve.
 * Commands: 'g' runs the cases and prints the truth, 'c' checks: "check ok", 'q' ends.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES	(64u << 20)
#define CLASSES		40
#define ROUNDS		300000

/* --- the allocator: classes of powers of two, their sizes in front ---------- */

struct head {
	struct head *next;
	size_t size, class;
	char *start;
};

static char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static size_t used;
static struct head *unused[CLASSES];
static int lock;

static struct head *head_of(void *block)
{
	return (struct head *)block - 1;
}

static VICTIM_INLINED void *take(size_t align, size_t size)
{
	size_t whole = size + align + sizeof(struct head), class;
	char *start = NULL, *block = NULL;

	if (size > ARENA_BYTES)
		return NULL;
	class = 64u - (size_t)__builtin_clzll(whole - 1);
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	if (unused[class]) {
		start = unused[class]->start;
		unused[class] = unused[class]->next;
	} else if (used + ((size_t)1 << class) <= ARENA_BYTES) {
		start = arena + used;
		used += (size_t)1 << class;
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	if (start) {
		block = start + sizeof(struct head) + align - 1;
		block -= (uintptr_t)block % align;
		*head_of(block) = (struct head){ NULL, size, class, start };
	}
	return block;
}

__attribute__((noinline)) void *malloc(size_t size)
{
	return take(16, size);
}

__attribute__((noinline)) void free(void *block)
{
	struct head *head, kept;

	if (!block)
		return;
	kept = *head_of(block);
	head = (struct head *)(void *)kept.start;
	*head = kept;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	head->next = unused[kept.class];
	unused[kept.class] = head;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

__attribute__((noinline)) void *calloc(size_t count, size_t size)
{
	size_t bytes;
	char *block = __builtin_mul_overflow(count, size, &bytes) ? NULL : take(16, bytes);

	for (size_t i = 0; block && i < bytes; i++)
		*(volatile char *)&block[i] = 0;
	return block;
}

__attribute__((noinline)) void *realloc(void *old, size_t size)
{
	char *block = take(16, size), *from = old;

	for (size_t i = 0; block && old && i < size && i < head_of(old)->size; i++)
		((volatile char *)block)[i] = from[i];
	if (block || size == 0)
		free(old);
	return block;
}

__attribute__((noinline)) void *memalign(size_t align, size_t size)
{
	return take(align < 16 ? 16 : align, size);
}

__attribute__((noinline)) int posix_memalign(void **ret, size_t align, size_t size)
{
	*ret = memalign(align, size);
	return *ret ? 0 : ENOMEM;
}

/* --- who calls it ----------------------------------------------------------- */

static struct truth_block kept[64];

VICTIM_FRAME static void case_all(void)
{
	void *block = NULL;
	TRUTH_FUNCTION();

	for (size_t i = 0; i < 20; i++)
		TRUTH_ALLOC(&kept[i], 7 * i + 1, malloc(7 * i + 1));
	TRUTH_ALLOC(&kept[20], 30 * 5, calloc(30, victim_size(5)));
	TRUTH_ALLOC(&kept[21], 1000, memalign(256, 1000));
	TRUTH_ALLOC(&kept[22], 700, posix_memalign(&block, 64, 700) ? NULL : block);
	TRUTH_REALLOC(&kept[23], 77, realloc(victim_seen(NULL), 77));
	TRUTH_REALLOC(&kept[20], 5000, realloc(kept[20].p, 5000));
	TRUTH_REALLOC(&kept[20], ARENA_BYTES, realloc(kept[20].p, ARENA_BYTES));
	TRUTH_ALLOC(&kept[24], ARENA_BYTES, malloc(victim_size(ARENA_BYTES)));
	for (int i = 0; i < 10; i++)
		TRUTH_FREE(&kept[2 * i], free);
}

/* The same sums with calls and without. */
#define MIX()	(a += b, c ^= a, d += c, e ^= d, f += e, g ^= f, h += g, i ^= h, b += i * 5 + 1)
#define START	a = seed, b = a * 3, c = a * 7, d = a * 11, e = a * 13, f = a * 17, g = a * 19, \
		h = a * 23, i = a * 29
#define SUM	(a + b + c + d + e + f + g + h + i)

VICTIM_FRAME static uint64_t sum_alone(uint64_t seed)
{
	uint64_t START;

	for (int round = 0; round < ROUNDS; round++)
		MIX();
	return SUM;
}

VICTIM_FRAME static uint64_t sum_around_calls(uint64_t seed)
{
	uint64_t START;

	for (int round = 0; round < ROUNDS; round++) {
		void *block = victim_seen(malloc(64));

		MIX();
		free(victim_seen(block));
	}
	return SUM;
}

int main(void)
{
	struct truth_claims claims = { .totals = 1, .peaks = 1 };
	char command;
	TRUTH_FUNCTION();

	victim_setup();
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 'c')
			victim_say("check %s\n", sum_around_calls(5) == sum_alone(5) ?
				   "ok" : "failed: registers are not what they were");
		if (command != 'g')
			continue;
		TRUTH_CALL(case_all());
		truth_print(claims);
	}
	return 0;
}
