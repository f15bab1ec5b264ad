/* SPDX-License-Identifier: MIT */
/*
 * allocator_usable.c - how the usable size of an allocator's blocks can be known in the target.
 *
 * Of glibc's blocks it stands in the word before them, which free reads first, too: no call is
 * needed. Of the others that are known here their own function tells it, which takes no lock and
 * looks at no more than their free does. What another allocator's does nobody knows: it is
 * not called.
 *
 * A program of before glibc 2.34 can put functions of its own into malloc and free
 * (__free_hook): whose blocks those are is not known either.
 */
#include "src/plan/allocators.h"

#include <stdio.h>
#include <string.h>

static bool has_own_hook(const struct allocator_module *module)
{
	const struct elf_reader *reader = &module->image.reader;
	struct elf_symbol symbol;
	uint64_t hook;

	return allocators_lookup(module, "__free_hook", &symbol) == 0 &&
	       (reader->read(reader->context, symbol.address, &hook, sizeof(hook)) < 0 || hook);
}

static bool find_function(const struct allocator_module *module, const char *prefix,
			  const char *name, struct counts_usable *ret)
{
	char full[SYMTAB_NAME_BYTES];
	struct elf_symbol symbol;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	if (allocators_lookup(module, full, &symbol) < 0 || symbol.type != STT_FUNC ||
	    symbol.address < module->image.low || symbol.address >= module->image.high)
		return false;
	*ret = (struct counts_usable){ COUNTS_USABLE_CALL, symbol.address };
	return true;
}

struct counts_usable allocator_usable(const struct allocator_module *module, const char *family,
				      const char *prefix)
{
	static const struct {
		const char *family, *function;
	} known[] = {
		{ "jemalloc", "malloc_usable_size" }, { "musl", "malloc_usable_size" },
		{ "tcmalloc", "tc_malloc_size" }, { "tcmalloc", "malloc_usable_size" },
		{ "mimalloc", "mi_usable_size" }, { "mimalloc", "malloc_usable_size" },
	};
	struct counts_usable usable = { COUNTS_USABLE_NONE, 0 };

	if (strcmp(family, "glibc") == 0 && !has_own_hook(module))
		usable.kind = COUNTS_USABLE_CHUNK;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(family, known[i].family) == 0 &&
		    find_function(module, prefix, known[i].function, &usable))
			break;
	return usable;
}
