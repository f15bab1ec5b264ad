/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_held.c - the blocks that threads inside malloc have in hand.
 *
 * free, and what waits in it for a lock, knows a block by its chunk, 16 bytes before what the
 * program was given; so does malloc, until it returns. Such an address lies in the
 * block before. Under load every other picture has a thread with a block that nothing else names.
 * A thread is in there if it runs (or ran, when a signal came) malloc's code, or libc's with a
 * return address to it on top of its stack (the lock, memcpy, mmap). Counted are its registers,
 * and its stack as far as malloc's frames may reach. malloc.c makes one stretch of code; its
 * exported functions tell where, and where there are no names (static programs) the code that has
 * main_arena's address in it, which no other file of libc can name.
 * Rejected: to count such addresses everywhere. Dead slots of live frames have them of blocks that
 * were freed or lost long ago.
 */
#include "src/heap/glibc/heap_glibc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOP_WORDS	32u		/* the frames of what malloc calls */
#define CALL_WORDS	128u		/* of its functions, one in the other */
#define FRAME_WORDS	32u		/* of the outermost of them */
#define STACK_WORDS	(CALL_WORDS + FRAME_WORDS)
#define STATIC_FUNCTIONS (16u << 10)	/* those without names, before or behind the others */
#define HANDLER_WORDS	2048u		/* a handler's frames, below the signal's */
/* Words of struct ucontext: from r8 on 15 registers, then rsp, rip, flags, cs. */
enum { UC_FLAGS = 0, UC_LINK = 1, UC_GREGS = 5, UC_RSP = 20, UC_RIP = 21, UC_CS = 23, UC_WORDS };
#define USER_CS		0x33u
#define CONTEXTS	8u		/* handlers in handlers, of one thread */
#define CODE_BYTES	(64ull << 20)	/* searched for references, of a mapping */
#define REFERENCE_GAP	4096u		/* malloc.c has some 80 in 20 KiB */
#define REFERENCES	8u		/* at least */

/* malloc.c's code. */
struct malloc_code {
	uint64_t low, high;
};

/* By names. */
static struct malloc_code named_code(const struct glibc *glibc)
{
	static const char *const names[] = { "malloc", "free", "realloc", "calloc", "memalign",
					     "mallopt", "posix_memalign", "malloc_trim" };
	struct malloc_code code = { UINT64_MAX, 0 };
	struct elf_symbol function;
	struct elf_image image;

	if (elf_image_open(&glibc->picture->reader, glibc->code_low, &image) < 0)
		image = (struct elf_image){ 0 };
	for (size_t i = 0; image.phdr_count && i < ARRAY_SIZE(names); i++) {
		if (elf_image_lookup(&image, names[i], &function) < 0)
			continue;
		if (function.address < code.low)
			code.low = function.address;
		if (function.address + function.size > code.high)
			code.high = function.address + function.size;
	}
	return code;
}

/* A stretch of code in which references to main_arena are not far from each other. */
struct references {
	uint64_t low, high;
	size_t count;
};

static void note_reference(struct references *now, struct references *best, uint64_t at)
{
	if (!now->count || at - now->high > REFERENCE_GAP)
		*now = (struct references){ .low = at };
	now->high = at;
	now->count++;
	if (now->count > best->count)
		*best = *now;
}

/* Four bytes of code at address: main_arena's, or the distance to it? */
static bool is_reference(const struct glibc *glibc, uint64_t address, const uint8_t *code)
{
	int32_t distance;
	uint32_t plain;

	memcpy(&distance, code, sizeof(distance));
	memcpy(&plain, code, sizeof(plain));
	return address + sizeof(distance) + (uint64_t)(int64_t)distance - glibc->main <
		       glibc->state->bytes ||
	       plain - glibc->main < glibc->state->bytes;
}

static void read_references(const struct glibc *glibc, const struct procmap *map,
			    struct references *best)
{
	uint64_t end = map->end < glibc->code_high ? map->end : glibc->code_high;
	struct references now = { 0 };
	uint8_t code[4096 + 3];

	for (uint64_t at = map->start; at < end && at - map->start < CODE_BYTES; at += 4096) {
		size_t got = picture_read_some(glibc->picture, at, code, sizeof(code));

		for (size_t i = 0; i < 4096 && i + 4 <= got; i++)
			if (is_reference(glibc, at + i, code + i))
				note_reference(&now, best, at + i);
	}
}

static struct malloc_code referring_code(const struct glibc *glibc)
{
	const struct procmaps *maps = &glibc->picture->maps;
	struct references best = { 0 };

	for (size_t i = 0; i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];

		if ((map->prot & PROCMAP_X) && map->start >= glibc->code_low &&
		    map->start < glibc->code_high)
			read_references(glibc, map, &best);
	}
	if (best.count < REFERENCES)
		return (struct malloc_code){ 0, 0 };
	return (struct malloc_code){ best.low, best.high };
}

/* Empty, where it can't be told. */
static struct malloc_code find_code(const struct glibc *glibc)
{
	struct malloc_code code = named_code(glibc);

	if (code.low >= code.high)
		code = referring_code(glibc);
	if (code.low >= code.high)
		return code;
	code.low = code.low > glibc->code_low + STATIC_FUNCTIONS ? code.low - STATIC_FUNCTIONS :
								   glibc->code_low;
	code.high = glibc->code_high - code.high > STATIC_FUNCTIONS ?
			    code.high + STATIC_FUNCTIONS : glibc->code_high;
	return code;
}

static bool is_in(const struct malloc_code *code, uint64_t address)
{
	return address >= code->low && address < code->high;
}

/* How many words of its stack are malloc's; 0: the thread is elsewhere. */
static size_t malloc_words(const struct malloc_code *code, uint64_t rip, const uint64_t *word,
			   size_t count)
{
	size_t outermost = 0;
	bool inside = is_in(code, rip);

	for (size_t i = 0; i < count && i < CALL_WORDS; i++) {
		if (!is_in(code, word[i]) || (!inside && i >= TOP_WORDS))
			continue;
		inside = true;
		outermost = i;
	}
	if (!inside)
		return 0;
	return outermost + FRAME_WORDS < count ? outermost + FRAME_WORDS : count;
}

int glibc_hold(struct heap *heap, uint64_t chunk, int32_t tid)
{
	struct heap_held *grown = heap->held;
	size_t count = heap->held_count;

	if (chunk % 16 != 0 || chunk < GLIBC_PAGE || chunk >> 47)
		return 0;
	if ((count & (count - 1)) == 0)	/* full at every power of two */
		grown = reallocarray(grown, count ? count * 2 : 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	heap->held = grown;
	heap->held[heap->held_count++] = (struct heap_held){ chunk + GLIBC_HEADER, tid };
	return 0;
}

/* Where a thread stands, or stood when a signal came. */
struct state {
	uint64_t rip, rsp;
	uint64_t other[15];
	int32_t tid;
};

static int add_state(const struct glibc *glibc, const struct malloc_code *code,
		     const struct state *state, struct heap *heap)
{
	uint64_t word[STACK_WORDS];
	size_t count;
	int error = 0;

	if (state->rip < glibc->code_low || state->rip >= glibc->code_high)
		return 0;
	count = picture_read_some(glibc->picture, state->rsp & ~7ull, word, sizeof(word)) /
		sizeof(*word);
	count = malloc_words(code, state->rip, word, count);
	for (size_t i = 0; count && !error && i < ARRAY_SIZE(state->other); i++)
		error = glibc_hold(heap, state->other[i], state->tid);
	for (size_t i = 0; !error && i < count; i++)
		error = glibc_hold(heap, word[i], state->tid);
	return error;
}

/* The start of a struct ucontext, as the kernel writes it for a handler, of what ran in libc? */
static bool is_context(const struct glibc *glibc, const uint64_t *word)
{
	return word[UC_FLAGS] < 0x100 && word[UC_LINK] == 0 && (word[UC_CS] & 0xffff) == USER_CS &&
	       word[UC_RIP] >= glibc->code_low && word[UC_RIP] < glibc->code_high;
}

/* What a signal has interrupted: its registers lie on the handler's stack. */
static int add_interrupted(const struct glibc *glibc, const struct malloc_code *code,
			   const struct picture_thread *thread, struct heap *heap)
{
	uint64_t word[HANDLER_WORDS];
	size_t count = picture_read_some(glibc->picture, thread->registers.rsp & ~7ull, word,
					 sizeof(word)) / sizeof(*word);
	unsigned int contexts = 0;
	int error = 0;

	for (size_t i = 0; !error && i + UC_WORDS <= count && contexts < CONTEXTS; i++) {
		struct state state = { .tid = thread->tid };

		if (!is_context(glibc, word + i))
			continue;
		contexts++;
		state.rip = word[i + UC_RIP];
		state.rsp = word[i + UC_RSP];
		memcpy(state.other, word + i + UC_GREGS, sizeof(state.other));
		error = add_state(glibc, code, &state, heap);
	}
	return error;
}

static int add_thread(const struct glibc *glibc, const struct malloc_code *code,
		      const struct picture_thread *thread, struct heap *heap)
{
	const struct user_regs_struct *r = &thread->registers;
	const struct state state = {
		.rip = r->rip, .rsp = r->rsp, .tid = thread->tid,
		.other = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
			   r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
	};

	return add_state(glibc, code, &state, heap) ?:
	       add_interrupted(glibc, code, thread, heap);
}

int glibc_add_held(const struct glibc *glibc, struct heap *heap)
{
	const struct picture *picture = glibc->picture;
	const struct malloc_code code = find_code(glibc);
	int error = 0;

	for (size_t i = 0; !error && i < picture->thread_count; i++)
		error = add_thread(glibc, &code, &picture->thread[i], heap);
	return error;
}
