/* SPDX-License-Identifier: MIT */
/*
 * custom.c - functions of the program's own that allocate and give back: --alloc-fn and its like.
 *
 * Their arguments are put into the order of malloc, realloc or free, their blocks get names that
 * no block of malloc's has (ring_custom_block()), and the rest is shim_heap.c's. So a pool that
 * cuts its blocks from one of malloc's is seen beside it: neither knows of the other. What such a
 * function asks malloc for is no nested call, but what it asks another of its own kind is.
 *
 * The frame stays around each that is not nested: the function may end in a jump to another of
 * them. So arguments on the stack have to be copied (System V AMD64 ABI 3.2.3: from the seventh on,
 * and structures): SHIM_CUSTOM_STACK_WORDS, whether there are any or not. They are not counted
 * (RING_MODE_COUNT): the usable sizes of their blocks are not known.
 */
#include "inject/shim/custom.h"
#include "inject/shim/nested.h"

static uint64_t argument_of(const struct shim_call *call, uint8_t number)
{
	return number >= 1 && number <= RING_ARGUMENTS ? call->argument[number - 1] : 0;
}

static uint64_t size_of(const struct shim_call *call, struct ring_arguments where)
{
	uint64_t size = argument_of(call, where.size), bytes;

	if (where.count == 0)
		return size;
	return __builtin_mul_overflow(argument_of(call, where.count), size, &bytes) ? UINT64_MAX :
										      bytes;
}

/* The target can write to control, too: any entry is in it, and any number is borne. */
static struct ring_arguments arguments_of(const struct ring_control *control,
					  const struct shim_call *call)
{
	const struct ring_entry *entry = &control->entry[call->entry % RING_MAX_ENTRIES];

	return ring_arguments_unpack(shim_load(&entry->arguments));
}

/*
 * What lies above the return address is readable up to the end of its page. Where arguments may
 * reach into the next one, it is there if they do; else a load there may fault: the kernel copies
 * what there is. False: nobody may.
 */
static bool copy_stack(struct ring_control *control, const struct shim_call *call,
		       uint64_t stack[static SHIM_CUSTOM_STACK_WORDS])
{
	const uint64_t *above = &call->caller + 1;
	uint64_t page = (SHIM_PAGE - (uint64_t)above % SHIM_PAGE) % SHIM_PAGE / 8;
	uint32_t words = SHIM_CUSTOM_STACK_WORDS;

	if (page < words && shim_stack_proven(control, call) < (words + 1) * 8) {
		if (!shim_load(&control->may_readv) || shim_load(&control->confined) != 0)
			return false;
		shim_stack_read(control, stack + page, above + page, (words - page) * 8);
		words = (uint32_t)page;
	}
	arch_copy_words(stack, above, words);
	return true;
}

bool shim_custom_begin(struct shim_call *call, enum ring_shape shape,
		       uint64_t stack[static SHIM_CUSTOM_STACK_WORDS])
{
	struct ring_control *control = shim_control();
	struct ring_arguments where;
	uint64_t size, block;

	if (!control || shim_load(&control->mode) == RING_MODE_OFF)
		return false;
	shim_call_open(control, call);
	if (shim_load(&control->mode) == RING_MODE_COUNT ||
	    shim_is_nested(control, call, RING_CLASS_CUSTOM) || !copy_stack(control, call, stack))
		return false;
	where = arguments_of(control, call);
	size = size_of(call, where);
	block = ring_custom_block(argument_of(call, where.block));
	call->argument[0] = shape == RING_SHAPE_CUSTOM_ALLOC ? size : block;
	call->argument[1] = size;
	if (shape == RING_SHAPE_CUSTOM_ALLOC)
		(void)shim_alloc_begin(call, RING_SHAPE_MALLOC);
	else if (shape == RING_SHAPE_CUSTOM_REALLOC)
		(void)shim_realloc_begin(call, RING_SHAPE_REALLOC);
	else
		(void)shim_free_begin(call, RING_SHAPE_FREE);
	if (shim_control() == control)
		shim_outer_begin(control, call, RING_CLASS_CUSTOM);
	return true;
}

void shim_custom_end(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint64_t result = call->result;

	if (control)
		shim_outer_end(control, call, RING_CLASS_CUSTOM);
	call->result = ring_custom_block(result);
	if (shape == RING_SHAPE_CUSTOM_ALLOC)
		shim_alloc_end(call, RING_SHAPE_MALLOC);
	else if (shape == RING_SHAPE_CUSTOM_REALLOC)
		shim_realloc_end(call, RING_SHAPE_REALLOC);
	else
		shim_free_end(call, RING_SHAPE_FREE);
	call->result = result;
}
