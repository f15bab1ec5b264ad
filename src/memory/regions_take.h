/* SPDX-License-Identifier: MIT */
/* regions_take.h - the mappings of a running process, which is not stopped for it. */
#ifndef MEMATTACH_MEMORY_REGIONS_TAKE_H
#define MEMATTACH_MEMORY_REGIONS_TAKE_H

#include "src/base/procmaps.h"
#include "src/base/ranges.h"
#include "src/elf/elf_image.h"
#include "src/memory/regions.h"
#include "src/modules/modules.h"

/* All borrowed. */
struct regions_input {
	int maps_fd, pagemap_fd;	/* -1, or one that tells nothing: no resident sizes */
	const struct elf_reader *reader;	/* of the memory */
	const struct modules *modules;
	/* Called between reads; NULL: nothing else is to be done meanwhile. */
	void (*idle)(void *context);
	void *idle_context;
};
/*
 * *ret (regions_free), and in *ret_present which of the private anonymous memory is resident:
 * sorted, emptied before, complete where *ret_told. 0; -ESRCH it has ended; -errno.
 */
int regions_take(const struct regions_input *input, struct regions **ret,
		 struct ranges *ret_present, bool *ret_told) _must_check_;
/* The stack that holds the stack pointer of thread tid, if it has one of its own. */
void regions_note_thread(struct regions *regions, int32_t tid, uint64_t stack_pointer);
/*
 * What a walk of the heaps found to be an allocator's (ranges: normalized): memory of no file that
 * it fills by half becomes REGION_ALLOCATOR.
 */
void regions_note_heap(struct regions *regions, const struct ranges *heap);

#endif
