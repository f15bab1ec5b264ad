/* SPDX-License-Identifier: MIT */
/*
 * hazards_frames.c - frames that need more than rsp to be left, ends of functions, longjmp,
 * recursion, and return addresses that lie where they no longer mean anything.
 */
#include "tests/victims/hazards.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 400 };

/* --- the CFA comes from rbp, from a word of the frame, from rbx ---------------- */

VICTIM_FRAME static int hazard_alloca(int bytes)
{
	char *room = victim_seen(alloca((size_t)bytes));

	room[0] = 1;
	HAZARD_ALLOC(10);
	return room[0] + hazard_sink;
}

/* The frame between saves rbp at a place that moves. */
VICTIM_FRAME static int hazard_alloca_caller(int n)
{
	char *room = victim_seen(alloca((size_t)(n % 7) * 32 + 16));
	int r = n & 1 ? hazard_alloca(n % 37 * 16 + 16) : hazard_alloca(n % 23 * 16 + 16);

	return r + room[0];
}

VICTIM_FRAME static int hazard_vla(int n)
{
	int room[n % 61 + 1];

	victim_seen(room);
	room[0] = n;
	HAZARD_ALLOC(11);
	return room[0] + hazard_sink;
}

/* Aligned beyond what the ABI promises: the caller's stack pointer is a word of the frame. */
VICTIM_FRAME static int hazard_realigned(int bytes)
{
	char aligned[64] __attribute__((aligned(64)));
	char *room = victim_seen(alloca((size_t)bytes));

	victim_seen(aligned);
	aligned[0] = room[0] = 1;
	HAZARD_ALLOC(12);
	return aligned[0] + room[0] + hazard_sink;
}

VICTIM_FRAME static int hazard_realigned_caller(int n)
{
	return hazard_realigned(n % 9 * 16 + 32) + hazard_vla(n) + hazard_sink;
}

/*
 * bare: nothing describes it, and it has moved rsp. rbx: the CFA is rbx + 16, and rsp is
 * aligned anew. Both allocate once.
 */
void *hazard_asm_bare(size_t bytes);
void *hazard_asm_rbx(size_t bytes);
__asm__(".text\n"
	".type hazard_asm_bare, @function\n"
	"hazard_asm_bare:\n"
	"	push %rbx\n"
	"	sub $48, %rsp\n"
	"	call malloc@PLT\n"
	"	add $48, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	".size hazard_asm_bare, . - hazard_asm_bare\n"
	".type hazard_asm_rbx, @function\n"
	"hazard_asm_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset rbx, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa rbx, 16\n"
	"	and $-64, %rsp\n"
	"	sub $128, %rsp\n"
	"	call malloc@PLT\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa rsp, 16\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size hazard_asm_rbx, . - hazard_asm_rbx\n");

VICTIM_FRAME static void hazard_asm_caller(int n)
{
	char *room = victim_seen(alloca((size_t)(n % 5) * 16 + 16));

	room[0] = 1;
	free(hazard_asm_rbx(13));
	free(hazard_asm_bare(14));
	hazard_sink += room[0] - 1;
}

/* --- ends of functions --------------------------------------------------------- */

static jmp_buf back;

__attribute__((noreturn)) VICTIM_FRAME static void hazard_never_returns(void)
{
	HAZARD_ALLOC(15);
	longjmp(back, 1);
}

/* The return address is the next function's first. */
VICTIM_FRAME static void hazard_ends_in_call(int n)
{
	hazard_sink += n;
	hazard_never_returns();
}

VICTIM_FRAME static void hazard_lands(int n)
{
	if (!setjmp(back))
		hazard_ends_in_call(n % 9);
	HAZARD_ALLOC(16);
}

VICTIM_FRAME static int hazard_jumped_over(int depth)
{
	char *room = victim_seen(alloca((size_t)depth * 16 + 16));

	room[0] = 1;
	if (depth == 0) {
		HAZARD_ALLOC(17);
		longjmp(back, 1);
	}
	return hazard_jumped_over(depth - 1) + room[0];
}

VICTIM_FRAME static void hazard_lands_again(int n)
{
	if (!setjmp(back))
		hazard_sink += hazard_jumped_over(n % 13);
	HAZARD_ALLOC(18);
}

/* malloc's caller is then its caller's caller. */
VICTIM_FRAME static void *hazard_tail(size_t bytes)
{
	return malloc(bytes + 1);
}

VICTIM_FRAME static void hazard_tail_caller(void)
{
	free(victim_seen(hazard_tail(victim_size(19))));
	hazard_sink++;
}

/* --- recursion, on both sides of every limit ----------------------------------- */

VICTIM_FRAME static int hazard_deep(int depth)
{
	int r;

	if (depth == 0) {
		HAZARD_ALLOC(20);
		return hazard_sink;
	}
	r = hazard_deep(depth - 1);
	return r + *(volatile int *)&hazard_sink;
}

static void deep(void)
{
	static const int depth[] = { 90, 500, 515, 700, 1010, 1030, 1500, 6000 };
	unsigned long calls = 0;

	for (size_t i = 0; i < sizeof(depth) / sizeof(depth[0]); i++) {
		for (int more = 0; more < 12; more++, calls++)
			(void)hazard_deep(depth[i] + more % 4 * (more & 1));
	}
	hazard_did("hazard_deep", calls);
}

void hazard_frames(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		(void)hazard_alloca_caller(i);
		(void)hazard_realigned_caller(i);
		hazard_asm_caller(i);
		hazard_lands(i);
		hazard_lands_again(i);
		hazard_tail_caller();
	}
	hazard_did("hazard_alloca_caller", ROUNDS);
	hazard_did("hazard_alloca", ROUNDS);
	hazard_did("hazard_vla", ROUNDS);
	hazard_did("hazard_realigned", ROUNDS);
	hazard_did("hazard_realigned_caller", 2 * ROUNDS);
	hazard_did("hazard_asm_rbx", ROUNDS);
	hazard_did("hazard_asm_bare", ROUNDS);
	hazard_did("hazard_never_returns", ROUNDS);
	hazard_did("hazard_ends_in_call", ROUNDS);
	hazard_did("hazard_lands", 2 * ROUNDS);
	hazard_did("hazard_jumped_over", ROUNDS);
	hazard_did("hazard_lands_again", 2 * ROUNDS);
	hazard_did("hazard_tail_caller", ROUNDS);
	deep();
}

/* --- stale return addresses ----------------------------------------------------- */

/*
 * What a matcher would hold of the last stack if it looked at return addresses alone: where
 * they lay, counted from the stack pointer, and what they were.
 */
static struct {
	ptrdiff_t at[2];
	void *address[2];
	void *(*path)(int);
} known;
static struct {
	void **slot[2];
} now;
static unsigned long accepted, misled;

static void matcher_look(char *sp, void *(*path)(int))
{
	bool same = true;

	for (int i = 0; i < 2; i++)
		same &= known.path && *(void **)(sp + known.at[i]) == known.address[i];
	accepted += same;
	misled += same && known.path != path;
	if (same)
		return;
	known.path = path;
	for (int i = 0; i < 2; i++) {
		known.at[i] = (char *)now.slot[i] - sp;
		known.address[i] = *now.slot[i];
	}
}

#define OWN_SLOT() ((void **)__builtin_frame_address(0) + 1)

VICTIM_FRAME static void hazard_stale_leaf(int bytes, void *(*path)(int))
{
	char *room = victim_seen(alloca((size_t)bytes));

	now.slot[0] = OWN_SLOT();
	matcher_look(room, path);
	HAZARD_ALLOC(21);
	victim_seen(room);
}

VICTIM_FRAME static void *hazard_stale_far(int bytes)
{
	char room[512];

	victim_seen(room);
	now.slot[1] = OWN_SLOT();
	hazard_stale_leaf(bytes, hazard_stale_far);
	return victim_seen(NULL);
}

VICTIM_FRAME static void *hazard_stale_near(int bytes)
{
	char room[128];

	victim_seen(room);
	now.slot[1] = OWN_SLOT();
	hazard_stale_leaf(bytes, hazard_stale_near);
	return victim_seen(NULL);
}

/*
 * In turns, from one call instruction, with so much more room in the nearer one's leaf that at
 * some distance the return address that the farther one left lies where it lay.
 */
void hazard_stale(void)
{
	static void *(*const path[2])(int) = { hazard_stale_far, hazard_stale_near };
	unsigned long calls = 0;

	for (int more = 0; more <= 512; more += 16) {
		for (int i = 0; i < 40; i++, calls++)
			(void)path[i & 1](i & 1 ? 64 + more : 64);
	}
	hazard_did("hazard_stale_far", calls / 2);
	hazard_did("hazard_stale_near", calls / 2);
	hazard_did("hazard_stale_leaf", calls);
	victim_say("naive %lu accepted, %lu misled\n", accepted, misled);
}
