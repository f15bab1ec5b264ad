/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_threads.c - what threads are at that leaves a heap which agrees with itself and yet
 * is not whole.
 *
 * realloc in place writes the new size of a block before it writes the header of what is left
 * behind it. If that was a free chunk until then, there may be a header from before at that
 * very place, which leads over blocks that are live: seen in one of some ten thousand pictures of a
 * thread that does nothing but allocate. malloc and free write in an order that the lists of free
 * chunks betray. A thread in realloc is told by its own address; one in the part of it that has no
 * name by an address near it, and the return address on top of its stack. Rejected: to take any
 * thread inside malloc for it, or one that copies the block; under load there is one in nearly
 * every picture.
 */
#include "src/heap/glibc/heap_glibc.h"

#include <sys/syscall.h>

#define STACK_WORDS 32u		/* the frame of that part */
/* What is made of one source file lies together; malloc.c is half as long. */
#define NEAR (64u << 10)

/* A call that malloc, free and realloc make for a block with a mapping of its own. */
static bool is_mapping_call(long number)
{
	return number == SYS_mmap || number == SYS_munmap || number == SYS_mremap ||
	       number == SYS_madvise || number == SYS_prctl;
}

static bool is_in_code(const struct glibc *glibc, const struct user_regs_struct *r)
{
	return r->rip >= glibc->code_low && r->rip < glibc->code_high;
}

bool glibc_may_map(const struct glibc *glibc)
{
	const struct picture *picture = glibc->picture;

	for (size_t i = 0; i < picture->thread_count; i++) {
		const struct user_regs_struct *r = &picture->thread[i].registers;
		long number = (long)r->orig_rax;

		if (is_in_code(glibc, r) && (number < 0 || is_mapping_call(number)))
			return true;
	}
	return false;
}

static bool is_in(const struct elf_symbol *function, uint64_t address)
{
	return address - function->address < function->size;
}

static bool is_thread_in(const struct glibc *glibc, const struct elf_symbol *function,
			 const struct user_regs_struct *r)
{
	uint64_t words[STACK_WORDS];
	size_t got;

	if (!is_in_code(glibc, r) || (long)r->orig_rax >= 0 ||
	    r->rip - function->address + NEAR > 2 * NEAR)
		return false;
	if (is_in(function, r->rip))
		return true;
	got = picture_read_some(glibc->picture, r->rsp, words, sizeof(words)) / sizeof(*words);
	for (size_t i = 0; i < got; i++) {
		if (is_in(function, words[i]))
			return true;
	}
	return false;
}

bool glibc_in_realloc(const struct glibc *glibc)
{
	const struct picture *picture = glibc->picture;
	struct elf_symbol function;
	struct elf_image image;

	if (elf_image_open(&picture->reader, glibc->code_low, &image) < 0 ||
	    elf_image_lookup(&image, "realloc", &function) < 0)
		return false;
	for (size_t i = 0; i < picture->thread_count; i++) {
		if (is_thread_in(glibc, &function, &picture->thread[i].registers))
			return true;
	}
	return false;
}
