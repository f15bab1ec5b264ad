/* SPDX-License-Identifier: MIT */
/*
 * shim_layout.c - program headers and dynamic symbols of the shim that is
 * linked into this program. Nothing of it comes from a target, so the keeper
 * may read it; every other ELF file is read by the analyst.
 */
#include "inject/attach/shim_layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define PAGE 4096ull

static const char *const hook_name[RING_SHAPE_COUNT] = {
	[RING_SHAPE_MALLOC] = "shim_hook_malloc",
	[RING_SHAPE_CALLOC] = "shim_hook_calloc",
	[RING_SHAPE_MEMALIGN] = "shim_hook_memalign",
	[RING_SHAPE_NEW_ALIGNED] = "shim_hook_new_aligned",
	[RING_SHAPE_POSIX_MEMALIGN] = "shim_hook_posix_memalign",
	[RING_SHAPE_REALLOC] = "shim_hook_realloc",
	[RING_SHAPE_REALLOCARRAY] = "shim_hook_reallocarray",
	[RING_SHAPE_FREE] = "shim_hook_free",
	[RING_SHAPE_MMAP] = "shim_hook_mmap",
	[RING_SHAPE_MUNMAP] = "shim_hook_munmap",
	[RING_SHAPE_MREMAP] = "shim_hook_mremap",
	[RING_SHAPE_BRK] = "shim_hook_brk",
	[RING_SHAPE_SBRK] = "shim_hook_sbrk",
	[RING_SHAPE_DL_STATE] = "shim_hook_dl_state",
	[RING_SHAPE_PRCTL] = "shim_hook_prctl",
	[RING_SHAPE_SYSCALL] = "shim_hook_syscall",
};

static const char *const keeping_name[RING_SHAPE_COUNT] = {
	[RING_SHAPE_MALLOC] = "shim_hook_kept_malloc",
	[RING_SHAPE_CALLOC] = "shim_hook_kept_calloc",
	[RING_SHAPE_MEMALIGN] = "shim_hook_kept_memalign",
	[RING_SHAPE_NEW_ALIGNED] = "shim_hook_kept_new_aligned",
	[RING_SHAPE_POSIX_MEMALIGN] = "shim_hook_kept_posix_memalign",
	[RING_SHAPE_REALLOC] = "shim_hook_kept_realloc",
	[RING_SHAPE_REALLOCARRAY] = "shim_hook_kept_reallocarray",
	[RING_SHAPE_FREE] = "shim_hook_kept_free",
	[RING_SHAPE_CUSTOM_ALLOC] = "shim_hook_custom_alloc",
	[RING_SHAPE_CUSTOM_REALLOC] = "shim_hook_custom_realloc",
	[RING_SHAPE_CUSTOM_FREE] = "shim_hook_custom_free",
};

static uint64_t page_up(uint64_t v) { return (v + PAGE - 1) & ~(PAGE - 1); }

static const Elf64_Shdr *find_dynsym(const uint8_t *image, const Elf64_Ehdr *ehdr)
{
	const Elf64_Shdr *shdr = (const Elf64_Shdr *)(const void *)(image + ehdr->e_shoff);

	for (unsigned int i = 0; i < ehdr->e_shnum; i++)
		if (shdr[i].sh_type == SHT_DYNSYM)
			return &shdr[i];
	return NULL;
}

static void note_symbol(struct shim_layout *layout, const char *name, uint64_t value)
{
	if (strcmp(name, "shim_root") == 0)
		layout->root = value;
	if (strcmp(name, "shim_hooks_low") == 0)
		layout->hooks_low = value;
	if (strcmp(name, "shim_hooks_custom") == 0)
		layout->hooks_custom = value;
	if (strcmp(name, "shim_hooks_high") == 0)
		layout->hooks_high = value;
	for (unsigned int i = 0; i < RING_SHAPE_COUNT; i++) {
		if (hook_name[i] && strcmp(name, hook_name[i]) == 0)
			layout->hook[i] = value;
		if (keeping_name[i] && strcmp(name, keeping_name[i]) == 0)
			layout->keeping[i] = value;
	}
}

static void read_segments(const uint8_t *image, const Elf64_Ehdr *ehdr, struct shim_layout *layout)
{
	const Elf64_Phdr *phdr = (const Elf64_Phdr *)(const void *)(image + ehdr->e_phoff);

	for (unsigned int i = 0; i < ehdr->e_phnum; i++) {
		uint64_t end = page_up(phdr[i].p_vaddr + phdr[i].p_memsz);

		if (phdr[i].p_type != PT_LOAD)
			continue;
		if ((phdr[i].p_flags & PF_X) && end > layout->text_bytes)
			layout->text_bytes = end;
		if ((phdr[i].p_flags & PF_W) && end > layout->data_end)
			layout->data_end = end;
		if (end > layout->total_bytes)
			layout->total_bytes = end;
	}
}

int shim_layout_read(const void *image, size_t bytes, struct shim_layout *ret)
{
	const Elf64_Ehdr *ehdr = image;
	struct shim_layout layout = { 0 };
	const Elf64_Shdr *dynsym, *strings;
	const Elf64_Sym *symbol;

	if (bytes < sizeof(*ehdr) || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	dynsym = find_dynsym(image, ehdr);
	if (!dynsym)
		return -ENOEXEC;
	strings = (const Elf64_Shdr *)(const void *)((const uint8_t *)image + ehdr->e_shoff) +
		  dynsym->sh_link;
	symbol = (const Elf64_Sym *)(const void *)((const uint8_t *)image + dynsym->sh_offset);
	for (uint64_t i = 0; i < dynsym->sh_size / sizeof(*symbol); i++)
		note_symbol(&layout, (const char *)image + strings->sh_offset + symbol[i].st_name,
			    symbol[i].st_value);
	read_segments(image, ehdr, &layout);
	if (!layout.root || layout.root % PAGE || layout.root < layout.text_bytes ||
	    layout.data_end <= layout.root || layout.total_bytes != layout.data_end + PAGE ||
	    !layout.hooks_low || layout.hooks_custom <= layout.hooks_low ||
	    layout.hooks_high <= layout.hooks_custom)
		return -ENOEXEC;
	layout.file_bytes = page_up(bytes);
	*ret = layout;
	return 0;
}
