/* SPDX-License-Identifier: MIT */
/*
 * truth_c.c - every allocator call of C with an outcome known in advance.
 *
 * Each function below is one case of the contract: calls that succeed, calls
 * that fail and must not count, reallocs that move, stay, fail, allocate and
 * free. The victim refuses to print a truth (status 3) when libc did not do what
 * a case is about, for instance when a realloc that should move stayed.
 * Commands: 'g' runs the cases and prints the truth, 'q' ends.
 *
 * Built with -static it is also the static victim.
 */
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_SIZE	(victim_size(PTRDIFF_MAX / 2))

/* Kept until the end, so that the live figures are not all zero. */
static struct truth_block kept[64];
static int kept_count;

/* Allocated before the window. */
static void *old_free, *old_realloc;

static struct truth_block *keep(void)
{
	return &kept[kept_count++];
}

static void expect(int truth, const char *what)
{
	if (!truth)
		victim_fail(what);
}

VICTIM_FRAME static void case_malloc(void)
{
	struct truth_block freed = { 0 };
	TRUTH_FUNCTION();

	for (size_t size = 1; size < 20; size++)
		TRUTH_ALLOC(keep(), size * 7, malloc(size * 7));
	TRUTH_ALLOC(keep(), 0, malloc(victim_size(0)));
	TRUTH_ALLOC(&freed, 5000, malloc(5000));
	TRUTH_FREE(&freed, free);
	TRUTH_ALLOC(keep(), 300000, malloc(300000));
}

VICTIM_FRAME static void case_malloc_fails(void)
{
	struct truth_block none = { 0 };
	TRUTH_FUNCTION();

	expect(!TRUTH_ALLOC(&none, HUGE_SIZE, malloc(HUGE_SIZE)), "malloc of a huge size");
	free(victim_seen(NULL));
}

VICTIM_FRAME static void case_calloc(void)
{
	struct truth_block none = { 0 };
	TRUTH_FUNCTION();

	TRUTH_ALLOC(keep(), 12 * 34, calloc(victim_size(12), 34));
	TRUTH_ALLOC(keep(), 0, calloc(victim_size(0), 34));
	expect(!TRUTH_ALLOC(&none, 0, calloc(victim_size(SIZE_MAX / 4), 8)), "calloc overflow");
	expect(!TRUTH_ALLOC(&none, 0, calloc(victim_size(SIZE_MAX / 16), 8)), "calloc huge");
}

VICTIM_FRAME static void case_realloc_null(void)
{
	struct truth_block *block = keep();
	TRUTH_FUNCTION();

	TRUTH_REALLOC(block, 77, realloc(victim_seen(NULL), 77));
}

VICTIM_FRAME static void case_realloc_zero(void)
{
	struct truth_block block = { 0 };
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, 99, malloc(99));
	expect(!TRUTH_REALLOC(&block, 0, realloc(block.p, victim_size(0))), "realloc(p, 0)");
}

VICTIM_FRAME static void case_realloc_moves(void)
{
	struct truth_block block = { 0 };
	uintptr_t before;
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, 1000, malloc(1000));
	/* A block of the same size lies behind it, whatever is free: it can't grow in place. */
	TRUTH_ALLOC(keep(), 1000, malloc(1000));
	before = (uintptr_t)block.p;
	TRUTH_REALLOC(&block, 9000, realloc(block.p, victim_size(9000)));
	expect((uintptr_t)block.p != before, "realloc that moves");
	kept[kept_count++] = block;
}

VICTIM_FRAME static void case_realloc_stays(void)
{
	struct truth_block block = { 0 };
	uintptr_t before;
	TRUTH_FUNCTION();

	TRUTH_ALLOC(&block, 4000, malloc(4000));
	before = (uintptr_t)block.p;
	TRUTH_REALLOC(&block, 3992, realloc(block.p, victim_size(3992)));
	TRUTH_REALLOC(&block, 1600, realloc(block.p, victim_size(1600)));
	expect((uintptr_t)block.p == before, "realloc that stays");
	kept[kept_count++] = block;
}

VICTIM_FRAME static void case_realloc_fails(void)
{
	struct truth_block *block = keep();
	TRUTH_FUNCTION();

	TRUTH_ALLOC(block, 640, malloc(640));
	expect(!TRUTH_REALLOC(block, HUGE_SIZE, realloc(block->p, HUGE_SIZE)), "realloc fails");
	memset(block->p, 1, 640);
}

VICTIM_FRAME static void case_reallocarray(void)
{
	struct truth_block *block = keep();
	size_t huge;
	TRUTH_FUNCTION();

	TRUTH_REALLOC(block, 30 * 5, reallocarray(victim_seen(NULL), 30, 5));
	TRUTH_REALLOC(block, 3000 * 5, reallocarray(block->p, 3000, 5));
	huge = victim_size(SIZE_MAX / 2);
	expect(!TRUTH_REALLOC(block, 1, reallocarray(block->p, huge, 8)), "reallocarray overflow");
	expect(errno == ENOMEM, "reallocarray errno");
}

VICTIM_FRAME static void case_posix_memalign(void)
{
	struct truth_block none = { 0 };
	void *p = NULL;
	TRUTH_FUNCTION();

	truth_at(__LINE__ + 1);
	expect(posix_memalign(&p, 64, 700) == 0, "posix_memalign");
	truth_allocated(keep(), p, 700);
	p = NULL;
	expect(posix_memalign(&p, victim_size(24), 700) == EINVAL, "posix_memalign EINVAL");
	expect(posix_memalign(&p, 64, HUGE_SIZE) == ENOMEM, "posix_memalign ENOMEM");
	expect(!p, "posix_memalign wrote a pointer");
	truth_at(__LINE__ + 1);
	expect(posix_memalign(&p, 4096, 4097) == 0, "posix_memalign page");
	truth_allocated(&none, p, 4097);
	TRUTH_FREE(&none, free);
}

VICTIM_FRAME static void case_aligned(void)
{
	struct truth_block none = { 0 };
	TRUTH_FUNCTION();

	TRUTH_ALLOC(keep(), 128, aligned_alloc(victim_size(32), 128));
	expect(!TRUTH_ALLOC(&none, 1, aligned_alloc(32, HUGE_SIZE)), "aligned_alloc ENOMEM");
	TRUTH_ALLOC(keep(), 129, memalign(victim_size(256), 129));
	expect(!TRUTH_ALLOC(&none, 1, memalign(victim_size(SIZE_MAX / 2 + 2), 16)), "EINVAL");
	TRUTH_ALLOC(keep(), 5000, valloc(victim_size(5000)));
	TRUTH_ALLOC(keep(), 5001, pvalloc(victim_size(5001)));
	expect(!TRUTH_ALLOC(&none, 1, valloc(HUGE_SIZE)), "valloc ENOMEM");
	expect(!TRUTH_ALLOC(&none, 1, pvalloc(HUGE_SIZE)), "pvalloc ENOMEM");
}

/* Temporary: freed at once. Not temporary: another allocation in between. */
VICTIM_FRAME static void case_temporary(void)
{
	struct truth_block first = { 0 }, second = { 0 };
	TRUTH_FUNCTION();

	for (size_t i = 1; i <= 50; i++) {
		TRUTH_ALLOC(&first, i, malloc(i));
		TRUTH_FREE(&first, free);
	}
	for (size_t i = 1; i <= 30; i++) {
		TRUTH_ALLOC(&first, 24, malloc(victim_size(24)));
		TRUTH_ALLOC(&second, 40, malloc(victim_size(40)));
		TRUTH_FREE(&first, free);
		TRUTH_FREE(&second, free);
	}
}

static VICTIM_INLINED void inlined_inner(struct truth_block *block)
{
	TRUTH_FUNCTION();

	TRUTH_ALLOC(block, 48, malloc(victim_size(48)));
}

static VICTIM_INLINED void inlined_middle(struct truth_block *block)
{
	TRUTH_FUNCTION();

	TRUTH_CALL(inlined_inner(block));
}

VICTIM_FRAME static void case_inlined(void)
{
	TRUTH_FUNCTION();

	TRUTH_CALL(inlined_middle(keep()));
	TRUTH_CALL(inlined_inner(keep()));
}

VICTIM_FRAME static void recurse(int depth)
{
	TRUTH_FUNCTION();

	if (depth > 0)
		TRUTH_CALL(recurse(depth - 1));
	else
		TRUTH_ALLOC(keep(), 56, malloc(victim_size(56)));
}

/* A function pointer to malloc: through the GOT's data, not through the PLT. */
VICTIM_FRAME static void case_pointer(void)
{
	void *(*volatile allocate)(size_t) = malloc;
	void (*volatile release)(void *) = free;
	struct truth_block block = { 0 };
	TRUTH_FUNCTION();

	TRUTH_ALLOC(keep(), 72, allocate(72));
	TRUTH_ALLOC(&block, 88, allocate(88));
	TRUTH_FREE(&block, release);
}

/* Blocks from before the attach: their size is not known to anybody who came later. */
VICTIM_FRAME static void case_older_blocks(void)
{
	struct truth_block *block = keep();
	TRUTH_FUNCTION();

	truth_freed_unknown();
	free(old_free);
	truth_freed_unknown();
	TRUTH_ALLOC(block, 2000, realloc(old_realloc, victim_size(2000)));
}

/* The peak is reached in here, and is higher than what lives at the end. */
VICTIM_FRAME static void case_peak(void)
{
	struct truth_block blocks[40] = { 0 };
	TRUTH_FUNCTION();

	for (size_t i = 0; i < 40; i++)
		TRUTH_ALLOC(&blocks[i], 50000 + i, malloc(50000 + i));
	for (size_t i = 0; i < 40; i++)
		TRUTH_FREE(&blocks[i], free);
}

VICTIM_FRAME static void run(void)
{
	TRUTH_FUNCTION();

	TRUTH_CALL(case_malloc());
	TRUTH_CALL(case_malloc_fails());
	TRUTH_CALL(case_calloc());
	TRUTH_CALL(case_realloc_null());
	TRUTH_CALL(case_realloc_zero());
	TRUTH_CALL(case_realloc_moves());
	TRUTH_CALL(case_realloc_stays());
	TRUTH_CALL(case_realloc_fails());
	TRUTH_CALL(case_reallocarray());
	TRUTH_CALL(case_posix_memalign());
	TRUTH_CALL(case_aligned());
	TRUTH_CALL(case_temporary());
	TRUTH_CALL(case_inlined());
	TRUTH_CALL(recurse(7));
	TRUTH_CALL(case_pointer());
	TRUTH_CALL(case_older_blocks());
	TRUTH_CALL(case_peak());
}

int main(void)
{
	struct truth_claims claims = { .totals = 1, .peaks = 1 };
	TRUTH_FUNCTION();

	victim_setup();
	old_free = victim_seen(malloc(123));
	old_realloc = victim_seen(malloc(456));
	victim_ready();
	if (victim_await() != 'g')
		return 0;
	TRUTH_CALL(run());
	truth_print(claims);
	while (victim_await() != 'q')
		;
	return 0;
}
