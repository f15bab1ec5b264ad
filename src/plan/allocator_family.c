/* SPDX-License-Identifier: MIT */
/* allocator_family.c - whose malloc it is, by what else its module defines. */
#include <string.h>

#include "src/plan/allocators.h"

static bool has_marker(const struct allocator_module *module, const char *name)
{
	struct elf_symbol symbol;

	return allocators_lookup(module, name, &symbol) == 0;
}

/* Wrappers' markers come before libc's. */
const char *allocator_family(const struct allocator_module *module, const char *prefix)
{
	if (*prefix)
		return "jemalloc";
	if (has_marker(module, "mi_version"))
		return "mimalloc";
	if (has_marker(module, "tc_version"))
		return "tcmalloc";
	if (has_marker(module, "mallctl"))
		return "jemalloc";
	/* Where local names are known: musl has an __libc_malloc, too. */
	if (has_marker(module, "__libc_malloc_impl"))
		return "musl";
	if (has_marker(module, "gnu_get_libc_version") ||
	    (module->has_symtab && has_marker(module, "__libc_malloc")))
		return "glibc";
	if (has_marker(module, "__libc_start_main") || has_marker(module, "__malloc_donate"))
		return "musl";
	return "other";
}

/* Those with caches for threads, or heaps of theirs. musl's malloc has neither. */
bool allocator_uses_tls(const char *family)
{
	static const char *const name[] = { "glibc", "jemalloc", "tcmalloc", "mimalloc" };

	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		if (strcmp(family, name[i]) == 0)
			return true;
	return false;
}

/*
 * Those that are known ask the C library for memory and for locks, from malloc and from free: what
 * that changes no compiler knows, so it takes it for everything.
 */
bool allocator_is_known_to_callers(const char *family)
{
	return strcmp(family, "other") == 0;
}
