/* SPDX-License-Identifier: MIT */
/*
 * regions.h - every mapping of a process at one moment: what it is for, how large it is, how much
 * of it is in memory. A value that never changes once it is made.
 */
#ifndef MEMATTACH_MEMORY_REGIONS_H
#define MEMATTACH_MEMORY_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define REGIONS_MAX 65536u	/* one by one; twice the kernel's own limit of mappings is rare */

/* The numbers stand in recordings. */
enum region_kind {
	REGION_TEXT = 0,	/* code of a program or library */
	REGION_RODATA,		/* what else of such a file can't be written */
	REGION_DATA,		/* variables, also those protected once they were set (RELRO) */
	REGION_BSS,		/* variables that begin as zeros */
	REGION_HEAP,		/* the brk area behind the program */
	REGION_ALLOCATOR,	/* mapped by allocators: arenas, large blocks */
	REGION_STACK,
	REGION_ANONYMOUS,	/* private memory of no file, of nothing of the above */
	REGION_FILE,		/* private mapping of a file that is no program or library */
	REGION_SHARED,		/* shared with whoever maps it, be it a file's or not */
	REGION_JIT,		/* executable, and of no program or library */
	REGION_RESERVED,	/* no access: guards, the rest of what is set aside for an arena */
	REGION_KERNEL,		/* vdso, vvar, vsyscall */
	REGION_MEMATTACH,	/* ours, as long as it is attached */
	REGION_KINDS
};
/* "text", "rodata", ... */
const char *region_kind_name(enum region_kind kind);

/* Bytes; each but size is 0 where it is not known (see struct regions). */
struct region_sizes {
	uint64_t size;
	uint64_t resident;	/* in memory */
	uint64_t own;		/* of that: no file's and nobody else's, but for forked children */
	uint64_t swapped;
	uint64_t huge;		/* of resident: in huge pages */
};
struct region {
	uint64_t start, end;	/* end exclusive; equal: the sum of those beyond REGIONS_MAX */
	uint64_t offset;	/* in the file */
	uint32_t prot;		/* enum procmap_prot */
	enum region_kind kind;
	int32_t tid;		/* of a stack whose thread is known; else 0 */
	bool deleted;		/* the file is */
	char *path;		/* owned; "" none. Of bss: that of its program or library */
	struct region_sizes sizes;
};
struct regions {
	bool pages_known;	/* resident, own, swapped */
	bool huge_known;
	uint64_t rss_bytes;	/* by the kernel's counters, which lag; 0 not known */
	uint64_t left_out;	/* mappings beyond REGIONS_MAX: their sum stands last, of no kind */
	size_t count;
	struct region *region;	/* owned; by start */
};

/* Frees it all. NULL is ignored. */
void regions_free(struct regions *regions);
/* to += from, up to UINT64_MAX: a recording may say anything. */
void region_sizes_add(struct region_sizes *to, const struct region_sizes *from);
/* x + y, up to UINT64_MAX. */
static inline uint64_t memory_sum(uint64_t x, uint64_t y)
{
	return x > UINT64_MAX - y ? UINT64_MAX : x + y;
}

/* Sums over some of the regions. */
struct region_sum {
	const char *path;	/* borrowed; by kind: NULL */
	uint64_t mappings;
	struct region_sizes sizes;
};
/* ret[kind], and their sum. */
void regions_by_kind(const struct regions *regions, struct region_sum ret[REGION_KINDS],
		     struct region_sum *ret_all);
/* A sum a file, by resident bytes, then size; *ret is the caller's. 0 or -ENOMEM. */
int regions_by_file(const struct regions *regions, struct region_sum **ret, size_t *ret_count)
	_must_check_;

#endif
