/* SPDX-License-Identifier: MIT */
/*
 * line.c - which registers mean something, by the shape of an entry point, and what came
 * of a call. Arguments and results are a target's: any number is possible in any place.
 */
#include "src/trace/line.h"

#include <linux/mman.h>

#define FAILED UINT64_MAX	/* MAP_FAILED, (void *)-1 of sbrk */

static const struct {
	uint8_t argument[6];	/* enum trace_type */
	uint8_t result;
} signature[RING_SHAPE_COUNT] = {
	[RING_SHAPE_MALLOC] = { { TRACE_BYTES }, TRACE_POINTER },
	[RING_SHAPE_CALLOC] = { { TRACE_BYTES, TRACE_BYTES }, TRACE_POINTER },
	[RING_SHAPE_MEMALIGN] = { { TRACE_BYTES, TRACE_BYTES }, TRACE_POINTER },
	[RING_SHAPE_NEW_ALIGNED] = { { TRACE_BYTES, TRACE_BYTES }, TRACE_POINTER },
	[RING_SHAPE_POSIX_MEMALIGN] = { { TRACE_POINTER, TRACE_BYTES, TRACE_BYTES }, TRACE_INT },
	[RING_SHAPE_REALLOC] = { { TRACE_POINTER, TRACE_BYTES }, TRACE_POINTER },
	[RING_SHAPE_REALLOCARRAY] = { { TRACE_POINTER, TRACE_BYTES, TRACE_BYTES }, TRACE_POINTER },
	[RING_SHAPE_FREE] = { { TRACE_POINTER }, TRACE_END },
	[RING_SHAPE_MMAP] = { { TRACE_POINTER, TRACE_BYTES, TRACE_PROT, TRACE_MAP_FLAGS,
				TRACE_INT, TRACE_SIGNED }, TRACE_POINTER },
	[RING_SHAPE_MUNMAP] = { { TRACE_POINTER, TRACE_BYTES }, TRACE_INT },
	[RING_SHAPE_MREMAP] = { { TRACE_POINTER, TRACE_BYTES, TRACE_BYTES, TRACE_REMAP_FLAGS,
				  TRACE_POINTER }, TRACE_POINTER },
	[RING_SHAPE_BRK] = { { TRACE_POINTER }, TRACE_INT },
	[RING_SHAPE_SBRK] = { { TRACE_SIGNED }, TRACE_POINTER },
};

static uint16_t shape_of(const struct trace_line *call)
{
	return call->shape < RING_SHAPE_COUNT ? call->shape : (uint16_t)RING_SHAPE_NONE;
}

enum trace_type trace_argument_type(const struct trace_line *call, unsigned int i)
{
	uint16_t shape = shape_of(call);

	if (i >= 6 || (shape == RING_SHAPE_MREMAP && i == 4 &&
		       !(call->argument[3] & MREMAP_FIXED)))
		return TRACE_END;
	return (enum trace_type)signature[shape].argument[i];
}

enum trace_type trace_result_type(const struct trace_line *call)
{
	return (enum trace_type)signature[shape_of(call)].result;
}

bool trace_is_mapping(const struct trace_line *call)
{
	return ring_shape_class(call->shape) == RING_CLASS_MAPPING;
}

static bool multiply(uint64_t count, uint64_t size, uint64_t *ret)
{
	return !__builtin_mul_overflow(count, size, ret);
}

/* Of what gives: how much was asked for. False: more than a number can say, or it only takes. */
static bool size_asked(const struct trace_line *call, uint64_t *ret)
{
	const uint64_t *argument = call->argument;

	switch (shape_of(call)) {
	case RING_SHAPE_CALLOC:
		return multiply(argument[0], argument[1], ret);
	case RING_SHAPE_REALLOCARRAY:
		return multiply(argument[1], argument[2], ret);
	case RING_SHAPE_MALLOC:
	case RING_SHAPE_NEW_ALIGNED:
		*ret = argument[0];
		return true;
	case RING_SHAPE_MEMALIGN:
	case RING_SHAPE_REALLOC:
	case RING_SHAPE_MMAP:
	case RING_SHAPE_MUNMAP:
		*ret = argument[1];
		return true;
	case RING_SHAPE_POSIX_MEMALIGN:
	case RING_SHAPE_MREMAP:
		*ret = argument[2];
		return true;
	default:
		return false;
	}
}

bool trace_failed(const struct trace_line *call)
{
	uint64_t asked = 1;

	if (!call->end)
		return false;
	switch (shape_of(call)) {
	case RING_SHAPE_NONE:
	case RING_SHAPE_FREE:
	case RING_SHAPE_DL_STATE:
		return false;
	case RING_SHAPE_POSIX_MEMALIGN:
	case RING_SHAPE_MUNMAP:
	case RING_SHAPE_BRK:
		return (uint32_t)call->result != 0;
	case RING_SHAPE_MMAP:
	case RING_SHAPE_MREMAP:
	case RING_SHAPE_SBRK:
		return call->result == FAILED;
	case RING_SHAPE_REALLOC:
	case RING_SHAPE_REALLOCARRAY:	/* of 0 bytes it may give back and return NULL (glibc) */
		return call->result == 0 &&
		       !(size_asked(call, &asked) && asked == 0 && call->argument[0]);
	default:
		return call->result == 0;
	}
}

bool trace_size(const struct trace_line *call, uint64_t *ret)
{
	if (shape_of(call) != RING_SHAPE_FREE)
		return size_asked(call, ret);
	*ret = call->old_size;
	return call->old_known;
}

uint64_t trace_given(const struct trace_line *call)
{
	if (!call->end || trace_failed(call))
		return 0;
	switch (shape_of(call)) {
	case RING_SHAPE_POSIX_MEMALIGN:
		return call->block;
	case RING_SHAPE_FREE:
	case RING_SHAPE_MUNMAP:
	case RING_SHAPE_BRK:
	case RING_SHAPE_SBRK:
		return 0;
	default:
		return call->result;
	}
}

uint64_t trace_taken(const struct trace_line *call)
{
	switch (shape_of(call)) {
	case RING_SHAPE_FREE:
		return call->argument[0];
	case RING_SHAPE_REALLOC:
	case RING_SHAPE_REALLOCARRAY:
	case RING_SHAPE_MUNMAP:
	case RING_SHAPE_MREMAP:
		return call->end && !trace_failed(call) ? call->argument[0] : 0;
	default:
		return 0;
	}
}
