/* SPDX-License-Identifier: MIT */
/*
 * test_island_slots.c - the short paths of islands, held against their rules in C.
 *
 * Slots are called in some hundred thousand states at random: registers, sizes, what the slot of
 * the thread and the marks say, armed or not. In each it is known where the call has to go, what it
 * may count down, and that nothing else changes: no register but r10 and r11, no word of the stack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/abi/marks_abi.h"
#include "inject/abi/ring_abi.h"
#include "inject/attach/island_code.h"
#include "tests/unit/roll.h"

#define SLOTS	2048u
#define STATES	400000u
#define BYTES	(RING_CONTROL_BYTES + MARKS_BYTES + SLOTS * sizeof(struct ring_thread))

enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, REGISTERS };
enum went { NOWHERE, ORIGINAL, HOOK };

/* What the assembly below loads, and what it found at the end of the slot's code. */
uint64_t slot_in[REGISTERS], slot_out[REGISTERS], slot_rsp, slot_rsp_out, slot_went;
void slot_original(void);
void slot_hook(void);
/* Calls code with slot_in; the number of words below its stack pointer that were changed. */
uint64_t slot_call(const void *code);
__asm__(".text\n"
	".macro SLOT_EACH do\n"
	"	\\do rax, 0\n	\\do rbx, 8\n	\\do rcx, 16\n	\\do rdx, 24\n"
	"	\\do rsi, 32\n	\\do rdi, 40\n	\\do rbp, 48\n	\\do r8, 56\n"
	"	\\do r9, 64\n	\\do r10, 72\n	\\do r12, 88\n	\\do r13, 96\n"
	"	\\do r14, 104\n	\\do r15, 112\n	\\do r11, 80\n"
	".endm\n"
	".macro SLOT_LOAD register, at\n	mov slot_in+\\at(%rip), %\\register\n.endm\n"
	".macro SLOT_STORE register, at\n	mov %\\register, slot_out+\\at(%rip)\n.endm\n"
	"slot_call:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n"
	"	push %r15\n	push %rdi\n"
	"	mov %rsp, slot_rsp(%rip)\n"
	"	mov $0x5a5a5a5a5a5a5a5a, %rax\n"
	"	lea -264(%rsp), %rdi\n	mov $32, %ecx\n	rep stosq\n"
	"	SLOT_EACH SLOT_LOAD\n"
	"	call *(%rsp)\n"
	"	mov slot_rsp(%rip), %rsp\n"
	"	xor %eax, %eax\n"
	"	mov $0x5a5a5a5a5a5a5a5a, %rdx\n"
	"	lea -264(%rsp), %rdi\n	mov $32, %ecx\n"
	"1:	cmp %rdx, (%rdi)\n	je 2f\n	inc %rax\n"
	"2:	add $8, %rdi\n	dec %ecx\n	jnz 1b\n"
	"	pop %rdi\n	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n"
	"	pop %rbp\n	pop %rbx\n"
	"	ret\n"
	"slot_original:\n"
	"	movq $1, slot_went(%rip)\n	jmp 3f\n"
	"slot_hook:\n"
	"	movq $2, slot_went(%rip)\n"
	"3:	SLOT_EACH SLOT_STORE\n"
	"	mov %rsp, slot_rsp_out(%rip)\n"
	"	ret\n");

static const enum ring_shape shapes[] = {
	RING_SHAPE_MALLOC, RING_SHAPE_CALLOC, RING_SHAPE_MEMALIGN, RING_SHAPE_NEW_ALIGNED,
	RING_SHAPE_POSIX_MEMALIGN, RING_SHAPE_REALLOC, RING_SHAPE_FREE, RING_SHAPE_REALLOCARRAY,
	RING_SHAPE_MMAP,
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct fixture {
	struct ring_control *control;
	struct shim_root *root;
	struct ring_island_entry *island;	/* SHAPES of them */
	struct ring_thread *thread;		/* that of this thread */
	uint64_t self;
};

static void *memory(size_t bytes, int protection)
{
	void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void fill_islands(struct fixture *f, uint32_t flags, bool samples)
{
	static const uint8_t jump[6] = { 0xff, 0x25 };	/* jmp *0(%rip) */
	const uint64_t original = (uint64_t)slot_original;

	for (size_t i = 0; i < SHAPES; i++) {
		const struct island_code code = {
			.shape = shapes[i], .index = (uint32_t)i | flags, .samples = samples,
			.hook = (uint64_t)slot_hook, .root = (uint64_t)f->root,
		};

		island_code_fill(&f->island[i], &code);
		memcpy(f->island[i].original, jump, sizeof(jump));
		memcpy(f->island[i].original + sizeof(jump), &original, sizeof(original));
	}
}

static void begin(struct fixture *f, uint32_t flags, bool samples)
{
	uint64_t place;

	f->control = memory(BYTES, PROT_READ | PROT_WRITE);
	f->root = memory(4096, PROT_READ | PROT_WRITE);
	f->island = memory(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	f->control->thread_mask = ring_line_mask(SLOTS);
	__asm__("mov %%fs:0, %0" : "=r"(f->self));
	place = ((f->self >> 4) * 0x9e3779b97f4a7c15ull) >> 40;		/* shim_hash() */
	f->thread = (struct ring_thread *)((uint8_t *)f->control + RING_CONTROL_BYTES +
					   MARKS_BYTES) + place % SLOTS;
	fill_islands(f, flags, samples);
}

static void end(struct fixture *f)
{
	munmap(f->control, BYTES);
	munmap(f->root, 4096);
	munmap(f->island, 4096);
}

static uint64_t any_word(void)
{
	return roll(1ull << 32) << 32 | roll(1ull << 32);
}

static uint64_t any_size(void)
{
	static const uint64_t special[] = { 0, 1, 1ull << 62, (1ull << 63) - 1, 1ull << 63,
					    UINT64_MAX };
	uint64_t pick = roll(12);

	if (pick < 6)
		return special[pick];
	return pick == 6 ? any_word() : roll(1000);
}

static void any_state(struct fixture *f, enum ring_shape shape)
{
	for (int i = 0; i < REGISTERS; i++)
		slot_in[i] = any_word();
	slot_in[RDI] = any_size();
	slot_in[RSI] = any_size();
	slot_in[RDX] = any_size();
	if (shape == RING_SHAPE_REALLOC || shape == RING_SHAPE_FREE)
		slot_in[RDI] = roll(5) ? any_word() & 0xfffffffffff0 : 0;
	f->root->control = roll(16) ? (uint64_t)f->control : 0;
	f->control->interval = roll(3) ? 1000 : 0;
	f->thread->owner = roll(8) ? f->self : roll(2) ? 0 : f->self + 64;
	f->thread->interval = roll(8) ? 1000 : roll(2) ? 0 : 7;
	f->thread->countdown = (int64_t)(roll(3) ? roll(2000) : any_word() >> 10);
	*marks_of(f->control, slot_in[RDI]) = roll(4) == 0;
}

/* What an allocation asks for; false: not to be said in 63 bits. */
static bool asked(enum ring_shape shape, int64_t *ret)
{
	uint64_t size = shape == RING_SHAPE_POSIX_MEMALIGN ? slot_in[RDX] :
			shape == RING_SHAPE_MEMALIGN || shape == RING_SHAPE_REALLOC ?
							     slot_in[RSI] : slot_in[RDI];

	*ret = (int64_t)size;
	if (shape == RING_SHAPE_CALLOC)
		return !__builtin_mul_overflow((int64_t)slot_in[RDI], (int64_t)slot_in[RSI], ret) &&
		       *ret > 0;
	return *ret > 0;
}

/* sample.c, table.c: where does the call go? *ret_countdown: what is left then. */
static enum went expected(const struct fixture *f, enum ring_shape shape, int64_t *ret_countdown)
{
	bool marked = *marks_of(f->control, slot_in[RDI]) != 0;
	int64_t size;

	*ret_countdown = f->thread->countdown;
	if (shape == RING_SHAPE_REALLOCARRAY || shape == RING_SHAPE_MMAP)
		return HOOK;
	if (!f->root->control)
		return ORIGINAL;
	if (shape == RING_SHAPE_FREE)
		return marked ? HOOK : ORIGINAL;
	if ((shape == RING_SHAPE_REALLOC && marked) || !asked(shape, &size) ||
	    f->thread->owner != f->self || f->thread->interval != f->control->interval ||
	    f->thread->countdown <= size)
		return HOOK;
	*ret_countdown -= size;
	return ORIGINAL;
}

static void check_one(struct fixture *f, size_t i)
{
	struct ring_thread before;
	enum went where;

	any_state(f, shapes[i]);
	before = *f->thread;
	where = expected(f, shapes[i], &before.countdown);
	slot_went = NOWHERE;
	assert_int_equal(slot_call(f->island[i].code), 0);
	assert_int_equal(slot_went, where);
	assert_int_equal(slot_rsp_out, slot_rsp - 8);
	for (int r = 0; r < REGISTERS; r++)
		assert_true(r == R10 || r == R11 || slot_out[r] == slot_in[r]);
	if (where == HOOK)
		assert_int_equal(slot_out[R11], (uint64_t)f->island[i].original);
	assert_memory_equal(f->thread, &before, sizeof(before));
	*marks_of(f->control, slot_in[RDI]) = 0;
}

static void follow_the_rules(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, RING_ISLAND_TLS, true);
	for (unsigned int i = 0; i < STATES; i++)
		check_one(&f, i % SHAPES);
	end(&f);
}

/* Who may have no TCB, jumps on, or is not sampled: all but frees, or all, go to the hook. */
static void go_to_the_hook(void **state)
{
	static const struct {
		uint32_t flags;
		bool samples;
	} run[] = { { 0, true }, { RING_ISLAND_TLS | RING_ISLAND_SPAN, true },
		    { RING_ISLAND_TLS, false } };

	(void)state;
	for (size_t r = 0; r < sizeof(run) / sizeof(run[0]); r++) {
		struct fixture f;

		begin(&f, run[r].flags, run[r].samples);
		f.root->control = (uint64_t)f.control;
		*f.thread = (struct ring_thread){ .owner = f.self, .countdown = 1 << 20 };
		slot_in[RDI] = slot_in[RSI] = slot_in[RDX] = 16;
		for (size_t i = 0; i < SHAPES; i++) {
			bool free = shapes[i] == RING_SHAPE_FREE && run[r].samples;

			(void)slot_call(f.island[i].code);
			assert_int_equal(slot_went, free ? ORIGINAL : HOOK);
		}
		end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follow_the_rules),
		cmocka_unit_test(go_to_the_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
