/* SPDX-License-Identifier: MIT */
/*
 * allocator_table.c - every entry point that memattach knows by name.
 *
 * Order matters where several names share an address: the first one names it.
 * Entries with RING_SHAPE_NONE change blocks in a way that no record describes
 * (resize in place, a heap as first argument, free on failure); they are listed
 * so that a user is told that they are not seen.
 */
#include "inject/allocators.h"

#define STD(name, shape) { name, NULL, ALLOCATOR_STANDARD, RING_SHAPE_##shape, false }
#define JE(name, shape) { name, NULL, ALLOCATOR_JEMALLOC, RING_SHAPE_##shape, false }
#define TC(name, shape) { name, NULL, ALLOCATOR_TCMALLOC, RING_SHAPE_##shape, false }
#define TC_THROWS(name, shape) { name, NULL, ALLOCATOR_TCMALLOC, RING_SHAPE_##shape, true }
#define MI(name, shape) { name, NULL, ALLOCATOR_MIMALLOC, RING_SHAPE_##shape, false }
#define MI_THROWS(name, shape) { name, NULL, ALLOCATOR_MIMALLOC, RING_SHAPE_##shape, true }
#define MAP(name, shape) { name, NULL, ALLOCATOR_MAPPING, RING_SHAPE_##shape, false }
#define NEW(name, display, shape, throws) \
	{ name, "operator new" display, ALLOCATOR_OPERATOR, RING_SHAPE_##shape, throws }
#define DELETE(name, display) \
	{ name, "operator delete" display, ALLOCATOR_OPERATOR, RING_SHAPE_FREE, false }

const char *const allocator_prefixes[] = { "", "je_", "_rjem_", "rjem_", "_rjem_je_", NULL };

const struct allocator_name allocator_names[] = {
	STD("malloc", MALLOC),
	STD("calloc", CALLOC),
	STD("realloc", REALLOC),
	STD("free", FREE),
	STD("cfree", FREE),
	STD("reallocarray", REALLOCARRAY),
	STD("memalign", MEMALIGN),
	STD("aligned_alloc", MEMALIGN),
	STD("posix_memalign", POSIX_MEMALIGN),
	STD("valloc", MALLOC),
	STD("pvalloc", MALLOC),
	STD("free_sized", FREE),
	STD("free_aligned_sized", FREE),
	STD("vfree", FREE),
	STD("__libc_memalign", MEMALIGN),
	STD("__libc_valloc", MALLOC),
	STD("__libc_pvalloc", MALLOC),
	STD("__posix_memalign", POSIX_MEMALIGN),
	STD("_aligned_malloc", NEW_ALIGNED),
	STD("reallocf", NONE),
	STD("reallocarr", NONE),

	NEW("_Znwm", "(size_t)", MALLOC, true),
	NEW("_Znam", "[](size_t)", MALLOC, true),
	NEW("_ZnwmRKSt9nothrow_t", "(size_t, nothrow_t)", MALLOC, false),
	NEW("_ZnamRKSt9nothrow_t", "[](size_t, nothrow_t)", MALLOC, false),
	NEW("_ZnwmSt11align_val_t", "(size_t, align_val_t)", NEW_ALIGNED, true),
	NEW("_ZnamSt11align_val_t", "[](size_t, align_val_t)", NEW_ALIGNED, true),
	NEW("_ZnwmSt11align_val_tRKSt9nothrow_t", "(size_t, align_val_t, nothrow_t)",
	    NEW_ALIGNED, false),
	NEW("_ZnamSt11align_val_tRKSt9nothrow_t", "[](size_t, align_val_t, nothrow_t)",
	    NEW_ALIGNED, false),
	DELETE("_ZdlPv", "(void*)"),
	DELETE("_ZdaPv", "[](void*)"),
	DELETE("_ZdlPvm", "(void*, size_t)"),
	DELETE("_ZdaPvm", "[](void*, size_t)"),
	DELETE("_ZdlPvRKSt9nothrow_t", "(void*, nothrow_t)"),
	DELETE("_ZdaPvRKSt9nothrow_t", "[](void*, nothrow_t)"),
	DELETE("_ZdlPvSt11align_val_t", "(void*, align_val_t)"),
	DELETE("_ZdaPvSt11align_val_t", "[](void*, align_val_t)"),
	DELETE("_ZdlPvmSt11align_val_t", "(void*, size_t, align_val_t)"),
	DELETE("_ZdaPvmSt11align_val_t", "[](void*, size_t, align_val_t)"),
	DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t", "(void*, align_val_t, nothrow_t)"),
	DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t", "[](void*, align_val_t, nothrow_t)"),

	JE("mallocx", MALLOC),
	JE("rallocx", REALLOC),
	JE("sdallocx", FREE),
	JE("dallocx", FREE),
	JE("xallocx", NONE),

	TC("tc_malloc", MALLOC),
	TC("tc_calloc", CALLOC),
	TC("tc_realloc", REALLOC),
	TC("tc_free", FREE),
	TC("tc_cfree", FREE),
	TC("tc_free_sized", FREE),
	TC("tc_malloc_skip_new_handler", MALLOC),
	TC("tc_memalign", MEMALIGN),
	TC("tc_posix_memalign", POSIX_MEMALIGN),
	TC("tc_valloc", MALLOC),
	TC("tc_pvalloc", MALLOC),
	TC_THROWS("tc_new", MALLOC),
	TC_THROWS("tc_newarray", MALLOC),
	TC("tc_new_nothrow", MALLOC),
	TC("tc_newarray_nothrow", MALLOC),
	TC_THROWS("tc_new_aligned", NEW_ALIGNED),
	TC_THROWS("tc_newarray_aligned", NEW_ALIGNED),
	TC("tc_new_aligned_nothrow", NEW_ALIGNED),
	TC("tc_newarray_aligned_nothrow", NEW_ALIGNED),
	TC("tc_delete", FREE),
	TC("tc_deletearray", FREE),
	TC("tc_delete_nothrow", FREE),
	TC("tc_deletearray_nothrow", FREE),
	TC("tc_delete_sized", FREE),
	TC("tc_deletearray_sized", FREE),
	TC("tc_delete_aligned", FREE),
	TC("tc_deletearray_aligned", FREE),
	TC("tc_delete_sized_aligned", FREE),
	TC("tc_deletearray_sized_aligned", FREE),
	TC("tc_delete_aligned_nothrow", FREE),
	TC("tc_deletearray_aligned_nothrow", FREE),

	MI("mi_malloc", MALLOC),
	MI("mi_calloc", CALLOC),
	MI("mi_realloc", REALLOC),
	MI("mi_free", FREE),
	MI("mi_cfree", FREE),
	MI("mi_free_size", FREE),
	MI("mi_free_aligned", FREE),
	MI("mi_free_size_aligned", FREE),
	MI("mi_zalloc", MALLOC),
	MI("mi_malloc_small", MALLOC),
	MI("mi_zalloc_small", MALLOC),
	MI("mi_mallocn", CALLOC),
	MI("mi_reallocn", REALLOCARRAY),
	MI("mi_rezalloc", REALLOC),
	MI("mi_recalloc", REALLOCARRAY),
	MI("mi_reallocarray", REALLOCARRAY),
	MI("mi_malloc_aligned", NEW_ALIGNED),
	MI("mi_malloc_aligned_at", NEW_ALIGNED),
	MI("mi_zalloc_aligned", NEW_ALIGNED),
	MI("mi_zalloc_aligned_at", NEW_ALIGNED),
	MI("mi_calloc_aligned", CALLOC),
	MI("mi_calloc_aligned_at", CALLOC),
	MI("mi_realloc_aligned", REALLOC),
	MI("mi_realloc_aligned_at", REALLOC),
	MI("mi_rezalloc_aligned", REALLOC),
	MI("mi_rezalloc_aligned_at", REALLOC),
	MI("mi_recalloc_aligned", REALLOCARRAY),
	MI("mi_recalloc_aligned_at", REALLOCARRAY),
	MI("mi_posix_memalign", POSIX_MEMALIGN),
	MI("mi_memalign", MEMALIGN),
	MI("mi_aligned_alloc", MEMALIGN),
	MI("mi_valloc", MALLOC),
	MI("mi_pvalloc", MALLOC),
	MI_THROWS("mi_new", MALLOC),
	MI("mi_new_nothrow", MALLOC),
	MI_THROWS("mi_new_n", CALLOC),
	MI_THROWS("mi_new_aligned", NEW_ALIGNED),
	MI("mi_new_aligned_nothrow", NEW_ALIGNED),
	MI_THROWS("mi_new_realloc", REALLOC),
	MI_THROWS("mi_new_reallocn", REALLOCARRAY),
	MI("mi_expand", NONE),
	MI("mi_reallocf", NONE),
	MI("mi_reallocarr", NONE),
	MI("mi_heap_malloc", NONE),

	MAP("mmap", MMAP),
	MAP("mmap64", MMAP),
	MAP("munmap", MUNMAP),
	MAP("mremap", MREMAP),
	MAP("brk", BRK),
	MAP("sbrk", SBRK),
	{ 0 }
};
