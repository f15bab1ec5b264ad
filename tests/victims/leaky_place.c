/* SPDX-License-Identifier: MIT */
/*
 * leaky_place.c - begins again, elsewhere, when a number of the program's own lies where its heap
 * will be.
 *
 * For static programs that are not position-independent: their heap begins anywhere in the first
 * GiB, and what the C library and the kernel note of the processor (0x1000000 bytes of cache, bits
 * of features) is a pointer into a lost block as soon as the heap lies there. No search can tell,
 * so the book would be wrong. Such numbers stand in the program's data and behind its environment
 * before main(), where it is run.
 */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <unistd.h>

#include "tests/victims/victim.h"

/* What all kinds together take, and more. */
enum { HEAP_BYTES = 64 << 20 };

/* Its end at the beginning, which the C library knows, too. */
static uintptr_t heap;

static int names_heap(const void *from, const void *end)
{
	for (const uintptr_t *at = from; at + 1 <= (const uintptr_t *)end; at++)
		if (*at > heap && *at - heap < HEAP_BYTES)
			return 1;
	return 0;
}

/* Of the program itself, which comes first. */
static int data_names_heap(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *start = (const char *)info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) &&
		    names_heap((const void *)(((uintptr_t)start + 7) & ~(uintptr_t)7),
			       start + p->p_memsz))
			return 1;
	}
	return -1;
}

/* The auxiliary vector is behind the environment. */
static int kernel_names_heap(char *envp[])
{
	ElfW(auxv_t) *entry;

	while (*envp)
		envp++;
	for (entry = (ElfW(auxv_t) *)(envp + 1); entry->a_type != AT_NULL; entry++)
		;
	return names_heap(envp + 1, entry);
}

__attribute__((constructor)) static void choose_place(int argc, char *argv[], char *envp[])
{
	int kept = personality(0xffffffff) & ADDR_NO_RANDOMIZE;

	(void)argc;
	heap = (uintptr_t)sbrk(0);
	if (!kept && (dl_iterate_phdr(data_names_heap, NULL) > 0 || kernel_names_heap(envp))) {
		execve((const char *)getauxval(AT_EXECFN), argv, envp);
		victim_fail("execve of itself");
	}
	heap = 0;
}
