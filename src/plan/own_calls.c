/* SPDX-License-Identifier: MIT */
/*
 * own_calls.c - finds glibc's __malloc_arena_thread_freeres, which has no name outside.
 *
 * When a thread ends, glibc (2.26 and later) calls free for every block in its tcache,
 * each of which the program has freed already, and for the tcache itself, which no
 * hooked entry gave out. Booked as calls of the program they were double frees and
 * frees of unknown blocks, one thread end after the other.
 *
 * In libc.so everybody calls free through the linkage table, because a program may
 * bring its own; only malloc's own object file calls the function itself. So what
 * calls it directly, near it, belongs to malloc. In a static program everybody calls it
 * directly; there the symbol table has the name, or nobody can tell.
 *
 * Telling such calls by their stacks (no frame outside libc) was rejected: it fails
 * for static programs, and it would be found out one copied stack a block too late.
 */
#include "src/plan/own_calls.h"

#include <errno.h>
#include <string.h>

#include "src/base/give_back.h"
#include "src/plan/code_ranges.h"

#define REACH		0x8000u	/* malloc's object file is some 20 KiB */
#define CALL_BYTES	5u
#define CALL_OPCODE	0xe8u
#define FREERES		"__malloc_arena_thread_freeres"

/* The code around free that can be read, and where it begins. */
struct window {
	uint64_t low;
	size_t bytes;
	uint8_t code[2 * REACH];
};

static int window_read(const struct elf_image *image, uint64_t free, struct window *window)
{
	for (uint16_t i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *phdr = &image->phdr[i];
		uint64_t low = phdr->p_vaddr + image->bias, high = low + phdr->p_filesz;

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X) || free < low ||
		    free >= high || high > image->high)
			continue;
		if (free - low > REACH)
			low = free - REACH;
		if (high - free > REACH)
			high = free + REACH;
		window->low = low;
		window->bytes = (size_t)(high - low);
		return image->reader.read(image->reader.context, low, window->code, window->bytes);
	}
	return -EBADMSG;
}

/* Address behind the next call of free at or after offset *at, 0: none. Moves *at behind it. */
static uint64_t next_call(const struct window *window, uint64_t free, size_t *at)
{
	for (; *at + CALL_BYTES <= window->bytes; (*at)++) {
		uint64_t back = window->low + *at + CALL_BYTES;
		int32_t distance;

		if (window->code[*at] != CALL_OPCODE)
			continue;
		memcpy(&distance, &window->code[*at + 1], sizeof(distance));
		if (back + (uint64_t)(int64_t)distance != free)
			continue;
		*at += CALL_BYTES;
		return back;
	}
	return 0;
}

/* The function that holds the call before back. */
static int add_function(const struct elf_image *image, uint64_t back,
			struct ring_range ret[OWN_CALLS_MAX], uint32_t *count)
{
	struct code_ranges ranges;
	const struct entry_span *function;
	int error = code_ranges_near(image, NULL, back - CALL_BYTES, back, &ranges);

	if (error)
		return error;
	function = code_ranges_find(&ranges, back - CALL_BYTES);
	if (!function)
		return -ENOENT;
	for (uint32_t i = 0; i < *count; i++)
		if (ret[i].low == function->low)
			return 0;
	if (*count == OWN_CALLS_MAX)
		return -ENOENT;		/* no glibc that we know */
	ret[(*count)++] = (struct ring_range){ function->low, function->high };
	return 0;
}

static int find_by_name(const struct allocator_module *module,
			struct ring_range ret[OWN_CALLS_MAX], uint32_t *ret_count)
{
	struct elf_symbol symbol;
	int error = allocators_lookup(module, FREERES, &symbol);

	if (error || symbol.size == 0)
		return -ENOENT;
	ret[0] = (struct ring_range){ symbol.address, symbol.address + symbol.size };
	*ret_count = 1;
	return 0;
}

int own_calls_find(const struct allocator_module *module, uint64_t free,
		   struct ring_range ret[OWN_CALLS_MAX], uint32_t *ret_count)
{
	static struct window window;
	uint32_t count = 0;
	uint64_t back;
	size_t at = 0;
	int error;

	if (module->is_exe)
		return find_by_name(module, ret, ret_count);
	error = window_read(&module->image, free, &window);
	while (!error && (back = next_call(&window, free, &at)) != 0)
		error = add_function(&module->image, back, ret, &count);
	if (!error)
		*ret_count = count;
	give_back_buffer(&window, sizeof(window));	/* that was it, for as long as we watch */
	return error;
}
