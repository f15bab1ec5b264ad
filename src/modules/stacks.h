/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - call stacks, each kept once and named by a small number.
 *
 * A frame is (module, offset), never a bare address, so that a stack keeps its
 * names after its library was closed or another one was loaded in its place.
 */
#ifndef MEMATTACH_STACKS_H
#define MEMATTACH_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define STACKS_MAX_FRAMES 1024u

enum frame_flag {
	FRAME_RETURN = 1u << 0,	/* offset is a return address: the call lies before it */
	FRAME_SIGNAL = 1u << 1,	/* a signal handler's trampoline; offset is no return address */
	FRAME_GUESSED = 1u << 2, /* found by the frame pointer: its callee has no unwind tables */
};
struct frame {
	uint32_t module;	/* id in modules.h; 0: no module, offset is the address */
	uint32_t flags;		/* enum frame_flag */
	uint64_t offset;	/* virtual address in the module's ELF file (address - bias) */
};

enum stack_flag {
	STACK_TRUNCATED = 1u << 0,	/* did not reach the thread's start */
	STACK_CALLER_ONLY = 1u << 1,	/* only the caller's address was known */
	STACK_OTHER = 1u << 2,		/* none: of sites that were put together (site_evict.h) */
};
struct stack {
	uint32_t frame_count;	/* innermost first, the hooked entry point itself not included */
	uint32_t flags;		/* enum stack_flag */
	const struct frame *frame;
};

struct stacks;
int stacks_new(struct stacks **ret) _must_check_;
void stacks_free(struct stacks *stacks);
/* From now on frames of this module (memattach's own, in the target) are left out of stacks. */
void stacks_hide_module(struct stacks *stacks, uint32_t module);
/* Takes them out of a list of frames, as stacks_intern() does. How many are left. */
uint32_t stacks_drop_hidden(const struct stacks *stacks, struct frame *frame, uint32_t count);
/*
 * The id (from 1) of this list of frames; lists that are equal in frames and
 * flags have equal ids. More than STACKS_MAX_FRAMES are cut and marked
 * truncated. 0 or -ENOMEM (nothing changed then).
 */
int stacks_intern(struct stacks *stacks, const struct frame *frame, uint32_t count,
		  uint32_t flags, uint32_t *ret_id) _must_check_;
/*
 * The stack of id; an empty one for an id that does not exist, or no more. Borrowed until the
 * next stacks_sweep.
 */
struct stack stacks_get(const struct stacks *stacks, uint32_t id);
/* That stack will be looked at soon. */
void stacks_foresee(const struct stacks *stacks, uint32_t id);
/*
 * A number below 2^31 that a user of the stacks keeps with one; 0 to begin with, and of one that is
 * not there. It lies where looking at the stack has looked already.
 */
uint32_t stacks_tag(const struct stacks *stacks, uint32_t id);
void stacks_set_tag(struct stacks *stacks, uint32_t id, uint32_t tag);
/* True: there was one with this id, and it was dropped. */
bool stacks_is_dropped(const struct stacks *stacks, uint32_t id);
/* Ids that were given, and how many of them still have a stack. */
uint32_t stacks_count(const struct stacks *stacks);
uint32_t stacks_kept_count(const struct stacks *stacks);
/* Memory that they take. */
size_t stacks_bytes(const struct stacks *stacks);
/*
 * Drops all stacks but those for which stacks_keep was called since the last time. Ids stay what
 * they are, those of what was dropped are never given again. 0 and how many, or -ENOMEM
 * (nothing changed).
 */
void stacks_keep(struct stacks *stacks, uint32_t id);
int stacks_sweep(struct stacks *stacks, uint32_t *ret_dropped) _must_check_;

#endif
