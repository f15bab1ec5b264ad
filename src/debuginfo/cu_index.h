/* SPDX-License-Identifier: MIT */
/*
 * cu_index.h - source frames of an address, from one file's DWARF.
 *
 * Built lazily: a table of the compile units' ranges when opened, an index of
 * functions and inlined calls per compile unit when one of its addresses is asked for.
 */
#ifndef MEMATTACH_CU_INDEX_H
#define MEMATTACH_CU_INDEX_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define CU_MAX_FRAMES 64u

/* Strings are libdw's: they live as long as the Dwarf. */
struct source_frame {
	const char *linkage_name;	/* mangled; NULL: none */
	const char *name;		/* as in the source, unqualified; NULL: unknown */
	const char *file;		/* NULL: unknown */
	const char *directory;		/* what file is relative to; NULL: nothing */
	uint32_t line, column;		/* 0: unknown; of the code in this frame */
	uint64_t low;			/* of the last frame: where its function begins */
	bool inlined;			/* into the next frame */
};

struct cu_index;
/* dwarf is borrowed. 0 or -ENOMEM. */
int cu_index_new(Dwarf *dwarf, struct cu_index **ret) _must_check_;
void cu_index_free(struct cu_index *index);
/*
 * The frames at pc, innermost first; how many there are, at most CU_MAX_FRAMES.
 * 0: pc is in no known function (*ret_line_only then has file and line if those are known,
 * else its file is NULL). -ENOMEM.
 */
int cu_index_find(struct cu_index *index, Dwarf_Addr pc,
		  struct source_frame frame[CU_MAX_FRAMES], struct source_frame *ret_line_only);

#endif
