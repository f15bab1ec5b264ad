/* SPDX-License-Identifier: MIT */
/*
 * debug_file.c - a module's file as src/leak asks it.
 */
#include "src/debuginfo/debug_file.h"

#include <gelf.h>

#define MAX_HEADERS	256u

/*
 * The thread-local block. Only a program's own has a fixed place, below fs (variant II); a library
 * is told from a program by its having no interpreter.
 */
static void find_thread_local(struct debug_file *file, Elf *elf)
{
	bool program;
	uint64_t align;
	size_t count;
	GElf_Ehdr header;
	GElf_Phdr phdr;

	if (!elf || !gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) != 0)
		return;
	program = header.e_type == ET_EXEC;
	for (size_t i = 0; i < count && i < MAX_HEADERS; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr))
			continue;
		program |= phdr.p_type == PT_INTERP;
		if (phdr.p_type != PT_TLS)
			continue;
		file->tls_low = phdr.p_vaddr;
		file->tls_bytes = phdr.p_memsz;
		align = phdr.p_align ? phdr.p_align : 1;
		if (align < 65536 && phdr.p_memsz < UINT32_MAX)
			file->tls_end = (phdr.p_memsz + align - 1) / align * align;
	}
	if (!program)
		file->tls_end = 0;
}

void debug_file_open(const struct module *module, struct dwarf_files *files,
		     struct debug_file *ret)
{
	Dwfl_Module *opened;
	Dwarf_Addr bias = 0;

	*ret = (struct debug_file){ .file = NULL };
	if (module->kind != MODULE_SHIM)
		ret->file = dwarf_files_get(files, module);
	if (!ret->file)
		return;
	opened = dwarf_file_module(ret->file);
	find_thread_local(ret, dwfl_module_getelf(opened, &bias));
	ret->symbol_bias = bias;
	ret->dwarf = dwarf_file_dwarf(ret->file, &bias);
	if (ret->dwarf)
		ret->dwarf_bias = bias;
}
