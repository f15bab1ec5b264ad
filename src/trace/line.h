/* SPDX-License-Identifier: MIT */
/* line.h - one line of the log of calls, before it is text; and what calls mean. */
#ifndef MEMATTACH_TRACE_LINE_H
#define MEMATTACH_TRACE_LINE_H

#include "inject/abi/ring_abi.h"
#include "src/modules/stacks.h"

enum trace_kind {
	TRACE_CALL = 0,
	TRACE_LOST,		/* count calls found no room in a ring */
	TRACE_LATE,		/* count calls found no room in the log's own queue */
	TRACE_GAP,		/* nothing was recorded for count TSC cycles */
};
/* The books' word on a free, or on a realloc's old block, when it begins. */
enum trace_wrong { TRACE_RIGHT = 0, TRACE_FREED_TWICE, TRACE_FREED_NO_BLOCK };
struct trace_line {
	enum trace_kind kind;
	uint16_t entry;		/* index in the hook plan */
	uint16_t shape;		/* enum ring_shape */
	bool open;		/* it was announced and has not returned yet */
	bool old_known;
	uint8_t wrong;		/* enum trace_wrong */
	uint32_t tid;		/* 0: unknown */
	uint64_t time;		/* TSC: its place in the log */
	uint64_t begin, end;	/* TSC around the call; end 0: not known */
	uint64_t argument[6];
	uint64_t result, block;	/* block: posix_memalign's */
	uint64_t old_size;	/* of the block that is given back, if it is known */
	uint64_t thread;	/* thread pointer */
	struct frame caller;
	uint32_t stack;		/* of what it allocated: id in stacks; 0: not known */
	uint16_t skip_frames;	/* innermost frames of stack that are the allocator's own */
	uint64_t count;
};

/* What an argument or a result is, for printing. */
enum trace_type {
	TRACE_END = 0,		/* no more arguments, no result */
	TRACE_BYTES,
	TRACE_POINTER,
	TRACE_SIGNED,
	TRACE_INT,		/* the low 32 bits: descriptors, error numbers */
	TRACE_PROT, TRACE_MAP_FLAGS, TRACE_REMAP_FLAGS,
};
/* Of argument i < 6. Arguments that no shape is known to have are left out. */
enum trace_type trace_argument_type(const struct trace_line *call, unsigned int i);
enum trace_type trace_result_type(const struct trace_line *call);
/* mmap and its like. */
bool trace_is_mapping(const struct trace_line *call);
/* False also while it is not known (end 0). */
bool trace_failed(const struct trace_line *call);
/*
 * The bytes that it was about: asked for, or, of what gives back, those of what is given back.
 * False: not known, or there are none.
 */
bool trace_size(const struct trace_line *call, uint64_t *ret);
/* The block or mapping that lives since; 0: none. */
uint64_t trace_given(const struct trace_line *call);
/* That does not live any more; 0: none. */
uint64_t trace_taken(const struct trace_line *call);

#endif
