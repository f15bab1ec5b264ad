/* SPDX-License-Identifier: MIT */
/*
 * recorded_names.h - modules, frames, their names and stacks of a recording. For those that read
 * recordings (read.c, symbolize.c).
 */
#ifndef MEMATTACH_RECORDING_NAMES_H
#define MEMATTACH_RECORDING_NAMES_H

#include <uthash.h>

#include "src/base/hashmap.h"
#include "src/recording/db.h"
#include "src/modules/stacks.h"
#include "src/symbolize/symbolize.h"

/* One machine frame and its source-level frames. */
struct named_frame {
	struct frame frame;
	bool recorded;		/* its names are the recording's, not only module and offset */
	size_t count;		/* at least 1 */
	struct symbol_frame *symbol;
	uint64_t printed_bytes;	/* extent.c */
	UT_hash_handle hh;
};

struct named_module {
	uint32_t id;
	uint32_t kind;		/* enum module_kind, or what the file says */
	char *path, *build_id;
	UT_hash_handle hh;
};

struct recording_names {
	struct named_frame **by_id;	/* frame id - 1; borrowed from frames */
	uint32_t frame_count;
	struct named_frame *frames;	/* a uthash */
	struct named_module *modules;	/* a uthash */
	char **string;			/* all strings of symbols */
	size_t string_count;
	struct hashmap stacks;		/* id in the file -> in struct stacks */
};

/* Into names, which is zeroed, and stacks, which is empty. 0, -EBADMSG, -ENOMEM. */
int recording_names_read(sqlite3 *db, struct recording_names *names, struct stacks *stacks)
	_must_check_;
/* And names itself. NULL is ignored. */
void recording_names_free(struct recording_names *names);
/* Of the stack with this id in the file; 0: there is none. */
uint32_t recording_names_stack(const struct recording_names *names, uint64_t id);
/* NULL: it is not in the recording. */
const struct named_frame *recording_names_find(const struct recording_names *names,
					       const struct frame *frame);
/* For struct report_names; context: the names. */
const struct symbol_frame *recording_names_frame(void *context, const struct frame *frame,
						 size_t *ret_count);

#endif
