/* SPDX-License-Identifier: MIT */
/*
 * shim_heap.c - the malloc family: what to record before and after the original.
 *
 * An allocation is recorded after the original (its address is the result), a
 * free before it: nobody can get the address again before its free has a time.
 * realloc is both; if it fails, an UNDO says that the old block lives on. Only
 * what took effect counts: no NULL results, no free(NULL).
 *
 * RING_MODE_SAMPLE decides before the original, so that an unsampled call gets
 * no frame. Frees are looked up in the address table, nested or not: a block
 * that is in there is going away now, whoever gives it back.
 *
 * RING_MODE_COUNT records nothing: the same calls are counted at the same places (counts.c).
 */
#include "inject/shim/block_bits.h"
#include "inject/shim/counts.h"
#include "inject/shim/exact.h"
#include "inject/shim/loss.h"
#include "inject/shim/nested.h"

void shim_call_open(const struct ring_control *control, struct shim_call *call)
{
	uint32_t index = arch_island_index(call);

	call->entry = (uint16_t)(index & 0xffffu);
	call->span = (uint16_t)((index & RING_ISLAND_SPAN ? SHIM_SPAN : 0) |
				(index & RING_ISLAND_OUTER ? SHIM_SPAN_OUTER : 0));
	call->state = 0;
	call->carried = 0;
	call->thread = arch_thread_pointer(control, index);
}

/* count * size; what does not fit in 64 bits never succeeds. */
static uint64_t product(uint64_t count, uint64_t size)
{
	uint64_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

static uint64_t size_asked(const struct shim_call *call, enum ring_shape shape)
{
	const uint64_t *argument = call->argument;

	switch (shape) {
	case RING_SHAPE_CALLOC:
		return product(argument[0], argument[1]);
	case RING_SHAPE_REALLOCARRAY:
		return product(argument[1], argument[2]);
	case RING_SHAPE_MEMALIGN:
	case RING_SHAPE_REALLOC:
		return argument[1];
	case RING_SHAPE_POSIX_MEMALIGN:
		return argument[2];
	default:
		return argument[0];
	}
}

static uint32_t align_log2(const struct shim_call *call, enum ring_shape shape)
{
	uint64_t align = 0;

	if (shape == RING_SHAPE_MEMALIGN)
		align = call->argument[0];
	if (shape == RING_SHAPE_NEW_ALIGNED || shape == RING_SHAPE_POSIX_MEMALIGN)
		align = call->argument[1];
	return align ? 63u - (uint32_t)__builtin_clzll(align) : 0;
}

/* The new block, 0 if there is none. posix_memalign has just written through its first argument. */
static uint64_t block_of(const struct shim_call *call, enum ring_shape shape)
{
	if (shape != RING_SHAPE_POSIX_MEMALIGN)
		return call->result;
	return (uint32_t)call->result == 0 ? *(const uint64_t *)call->argument[0] : 0;
}

/* First of all in a begin() that returns true: what the original calls is nested from here on. */
static void outer_begin(struct ring_control *control, struct shim_call *call)
{
	if (__builtin_expect(call->span & SHIM_SPAN_OUTER, 0))
		shim_outer_begin(control, call, RING_CLASS_HEAP);
}

static void outer_end(struct ring_control *control, const struct shim_call *call)
{
	if (__builtin_expect(call->span & SHIM_SPAN_OUTER, 0))
		shim_outer_end(control, call, RING_CLASS_HEAP);
}

/* Decides whether this call's block will be recorded. */
static bool decide(struct ring_control *control, struct shim_call *call, enum ring_shape shape,
		   uint32_t mode)
{
	if (mode == RING_MODE_SAMPLE &&
	    !shim_sample(control, call, size_asked(call, shape), &call->carried))
		return false;
	if (shim_is_nested(control, call, RING_CLASS_HEAP))
		return false;
	call->state |= SHIM_RECORD;
	if (mode == RING_MODE_SAMPLE)
		call->state |= SHIM_SAMPLED;
	return true;
}

/* Before the original: how long it took since shim_sample() said so, for cost_goes_on(). */
static void cost_pause(const struct ring_control *control, struct shim_call *call)
{
	uint32_t cpu;

	if (call->state & SHIM_SAMPLED)
		call->begin = arch_clock(control, &cpu) - call->begin;
}

/* After it: when it would have begun if the original took no time. */
static uint64_t cost_goes_on(const struct ring_control *control, const struct shim_call *call)
{
	uint32_t cpu;

	return arch_clock(control, &cpu) - call->begin;
}

/* The address goes into the table first and out again if the record is not taken. */
static void record_sampled(struct ring_control *control, const struct shim_call *call,
			   struct shim_event *event)
{
	uint64_t begin = cost_goes_on(control, call);
	enum shim_table_result result = shim_table_insert(control, event->address);

	if (result == SHIM_TABLE_FULL) {
		event->flags |= RING_F_UNTRACKED;
		shim_add(&control->lost_table, 1);
	}
	if (!shim_record_since(control, call, event, begin) && result != SHIM_TABLE_FULL &&
	    shim_control() == control)
		shim_table_remove(control, event->address);
}

/*
 * While the reader can't keep up: all that is kept of the block is that it was lost, so that its
 * free will be. Where that can't be kept it goes the long way.
 */
static bool lose_at_once(struct ring_control *control, const struct shim_call *call,
			 uint64_t address, uint64_t size)
{
	if (!shim_is_pressed(control) || !shim_lost_set(control, address))
		return false;
	shim_loss_alloc(control, call->thread, size);
	return true;
}

/* RING_MODE_ALL: the block at address, where *live has bit, was recorded or not. */
static inline void note_new(struct ring_control *control, uint64_t address, uint64_t *live,
			    uint64_t bit, bool recorded)
{
	uint32_t pressed;

	if (shim_control() != control)
		return;
	if (live)
		shim_store(live, shim_load(live) | bit);
	pressed = shim_load(&control->pressed);
	if (__builtin_expect(pressed == 0, 1))
		return;
	if (!recorded && (pressed & RING_PRESSED))
		(void)shim_lost_set(control, address);
	else	/* of a block that lived there before */
		shim_lost_clear(control, address);
}

/*
 * RING_MODE_ALL, and it is not lost at once. That the block lives is noted when it is recorded:
 * nobody has it yet, so nobody can free it before, and its record need not wait for that place to
 * come from memory.
 */
static void record_new(struct ring_control *control, const struct shim_call *call,
		       const struct shim_event *event)
{
	uint64_t bit, *live = shim_live_word(control, event->address, &bit);

	note_new(control, event->address, live, bit, shim_record(control, call, event));
}

static void record_block(struct ring_control *control, const struct shim_call *call,
			 struct shim_event *event)
{
	if (call->state & SHIM_SAMPLED)
		record_sampled(control, call, event);
	else if (!lose_at_once(control, call, event->address, event->size))
		record_new(control, call, event);
}

/* Need the free of a block that nobody knows of not be recorded? */
static bool may_skip(const struct ring_control *control)
{
	return !shim_load(&control->calls) &&
	       shim_load(&control->lapsed) < shim_load(&control->epoch);
}

/*
 * The allocator will read what lies in front of the block and write into it: both come here while
 * this is recorded.
 */
static void fetch_freed(uint64_t address)
{
	arch_fetch_to_write((const void *)(address - 1));
	arch_fetch_to_write((const void *)address);
}

/* Is it one of a block that was lost? */
static bool is_lost(struct ring_control *control, uint64_t address)
{
	return shim_load(&control->pressed) && shim_lost_is_set(control, address);
}

/* It lives no more. With its stack? A free that is likely to be a wrong one, or all. */
static bool end_wants_stack(struct ring_control *control, uint64_t address, bool lost)
{
	return (!lost && !shim_live_clear(control, address)) || shim_load(&control->free_stacks);
}

/* A free in exact mode. */
static bool record_free(struct ring_control *control, const struct shim_call *call,
			uint64_t address)
{
	bool lost;

	fetch_freed(address);
	lost = is_lost(control, address);
	if (lost && may_skip(control)) {
		shim_loss_free(control, call->thread);
		return false;
	}
	return shim_exact_free(control, call, address,
			       end_wants_stack(control, address, lost));
}

/* The one that is part of a realloc: never skipped, as that may fail. */
static bool record_announced(struct ring_control *control, const struct shim_call *call,
			     struct shim_event *event)
{
	fetch_freed(event->address);
	event->with_stack |= end_wants_stack(control, event->address,
					     is_lost(control, event->address));
	return shim_record(control, call, event);
}

/* Is this call one that is to be counted? */
static bool count_begin(struct ring_control *control, struct shim_call *call)
{
	if (shim_is_nested(control, call, RING_CLASS_HEAP))
		return false;
	call->state |= SHIM_COUNTED;
	return true;
}

/* RING_MODE_ALL. What is lost costs as little as can be: no event is made of it. */
static void record_made(struct ring_control *control, const struct shim_call *call,
			const struct shim_made *made)
{
	uint64_t bit, *live;

	if (lose_at_once(control, call, made->address, made->size))
		return;
	live = shim_live_word(control, made->address, &bit);
	note_new(control, made->address, live, bit, shim_exact_alloc(control, call, made));
}

/* The short ways of the hooks: no begin(), so what that does is done here. */
void shim_made(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	struct shim_made made = { .address = call->result, .size = call->argument[0] };
	uint32_t mode;

	if (!control)
		return;
	shim_call_open(control, call);
	if (shape != RING_SHAPE_MALLOC) {
		made.address = block_of(call, shape);
		made.size = size_asked(call, shape);
		made.align_log2 = align_log2(call, shape);
	}
	if (made.address == 0 || shim_is_nested(control, call, RING_CLASS_HEAP))
		return;
	mode = shim_load(&control->mode);
	if (mode == RING_MODE_ALL)
		record_made(control, call, &made);
	else if (mode == RING_MODE_COUNT)
		shim_count_alloc(control, call, made.size, made.address);
}

void shim_goes(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint64_t address = call->argument[0];
	uint32_t mode;

	(void)shape;
	if (!control || address == 0)
		return;
	shim_call_open(control, call);
	if (shim_is_nested(control, call, RING_CLASS_HEAP))
		return;
	mode = shim_load(&control->mode);
	if (mode == RING_MODE_ALL)
		(void)record_free(control, call, address);
	else if (mode == RING_MODE_COUNT)
		shim_count_free(control, call, address);
}

bool shim_alloc_begin(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint32_t mode;

	if (!control)
		return false;
	mode = shim_load(&control->mode);
	shim_call_open(control, call);
	if (mode == RING_MODE_OFF)
		return false;
	outer_begin(control, call);
	if (mode == RING_MODE_COUNT)
		return count_begin(control, call) || call->span;
	if (!decide(control, call, shape, mode))
		return call->span;
	if (mode == RING_MODE_ALL)
		shim_trace_begin(control, call);
	cost_pause(control, call);
	return true;
}

void shim_alloc_end(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	struct shim_event event = {
		.kind = RING_ALLOC,
		.size = size_asked(call, shape),
		.interval = call->carried,
		.align_log2 = align_log2(call, shape),
	};

	if (!control)
		return;
	outer_end(control, call);
	if (!(call->state & (SHIM_RECORD | SHIM_COUNTED)))
		return;
	shim_trace_returned(control, call);
	event.address = block_of(call, shape);
	if (call->state & SHIM_COUNTED) {
		if (event.address != 0)
			shim_count_alloc(control, call, event.size, event.address);
		return;
	}
	if (event.address != 0)
		record_block(control, call, &event);
	shim_trace_end(control, call, shape);
}

/* Where not every call is recorded. */
static void free_otherwise(struct ring_control *control, struct shim_call *call, uint32_t mode,
			   uint64_t address)
{
	const struct shim_event event = { .kind = RING_FREE, .address = address };

	if (mode == RING_MODE_COUNT && address != 0 && count_begin(control, call))
		shim_count_free(control, call, address);
	if (mode == RING_MODE_SAMPLE && shim_table_remove(control, address))
		shim_record(control, call, &event);
}

bool shim_free_begin(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint64_t address = call->argument[0];
	uint32_t mode;

	(void)shape;
	if (!control || (address == 0 && !shim_load(&control->calls)))
		return false;
	mode = shim_load(&control->mode);
	shim_call_open(control, call);
	outer_begin(control, call);
	if (mode != RING_MODE_ALL) {
		free_otherwise(control, call, mode, address);
		return call->span;
	}
	if (shim_is_nested(control, call, RING_CLASS_HEAP))
		return call->span;
	if (address != 0 && record_free(control, call, address))
		call->state |= SHIM_ANNOUNCED;
	if (shim_control() != control)	/* a fork child, out of a wait for room */
		return false;
	return shim_trace_begin(control, call) || call->span;
}

void shim_free_end(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();

	if (!control)
		return;
	outer_end(control, call);
	shim_trace_returned(control, call);
	shim_trace_end(control, call, shape);
}

/* A size may be asked for that the reader does not believe: see src/ring/reader.c. */
static uint64_t size_believed(uint64_t size)
{
	return size < RING_SIZE_LIMIT ? size : RING_SIZE_LIMIT - 1;
}

/*
 * The old block of a realloc, counted as freed as long as the call does not fail. With
 * size 0 there may be no other record: it has the stack.
 */
static void realloc_announce(struct ring_control *control, struct shim_call *call, uint32_t mode,
			     uint64_t size)
{
	struct shim_event event = {
		.kind = RING_FREE,
		.flags = RING_F_REALLOC,
		.address = call->argument[0],
		.size = size_believed(size),
		.with_stack = size == 0,
	};

	if (event.address == 0)
		return;
	if (mode == RING_MODE_SAMPLE && !shim_table_remove(control, event.address))
		return;
	call->state |= SHIM_FREED;
	if (mode == RING_MODE_SAMPLE ? shim_record(control, call, &event) :
				       record_announced(control, call, &event))
		call->state |= SHIM_ANNOUNCED;
}

/* The old block is counted as freed once it is: what that takes has to be known before. */
static bool count_realloc_begin(struct ring_control *control, struct shim_call *call)
{
	if (!count_begin(control, call))
		return false;
	if (call->argument[0] != 0)
		call->carried = shim_count_usable(control, call, call->argument[0]);
	return true;
}

/* With size 0 and no result the old block was freed (glibc); else no result is a failure. */
static void count_realloc_end(struct ring_control *control, const struct shim_call *call,
			      uint64_t size)
{
	if (call->argument[0] != 0 && (call->result != 0 || size == 0))
		shim_count_freed(control, call, call->carried);
	if (call->result != 0 && shim_control() == control)
		shim_count_alloc(control, call, size, call->result);
}

/* reallocarray always keeps its frame: glibc's is a tail jump to realloc. */
bool shim_realloc_begin(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint32_t mode;

	if (!control)
		return false;
	mode = shim_load(&control->mode);
	shim_call_open(control, call);
	if (mode == RING_MODE_OFF)
		return false;
	call->span |= shape == RING_SHAPE_REALLOCARRAY ? SHIM_SPAN : 0;
	outer_begin(control, call);
	if (mode == RING_MODE_COUNT)
		return count_realloc_begin(control, call) || call->span;
	decide(control, call, shape, mode);
	cost_pause(control, call);
	if (mode == RING_MODE_SAMPLE || (call->state & SHIM_RECORD))
		realloc_announce(control, call, mode, size_asked(call, shape));
	if (shim_control() != control)	/* as shim_free_begin() */
		return false;
	if (mode == RING_MODE_ALL && (call->state & SHIM_RECORD))
		shim_trace_begin(control, call);
	return call->state != 0 || call->span;
}

/*
 * It failed: the old block lives on, and its later free must be found again. The stack says whose
 * failure it was, as that of a success would.
 */
static void realloc_undo(struct ring_control *control, const struct shim_call *call, uint32_t mode,
			 uint64_t size)
{
	struct shim_event event = {
		.kind = RING_UNDO,
		.flags = RING_F_REALLOC,
		.address = call->state & SHIM_ANNOUNCED ? call->argument[0] : 0,
		.size = size_believed(size),
		.interval = call->carried,
		.with_stack = (call->state & SHIM_RECORD) != 0,
	};
	enum shim_table_result result = SHIM_TABLE_FULL;

	if (mode == RING_MODE_SAMPLE && (call->state & SHIM_FREED)) {
		result = shim_table_insert(control, call->argument[0]);
		if (result == SHIM_TABLE_FULL) {
			event.flags |= RING_F_UNTRACKED;
			shim_add(&control->lost_table, 1);
		}
	}
	if (event.address == 0) {
		if (event.with_stack)
			shim_record(control, call, &event);
		return;
	}
	if (mode == RING_MODE_ALL)
		shim_live_set(control, event.address);
	if (!shim_record(control, call, &event) && result != SHIM_TABLE_FULL &&
	    shim_control() == control)
		shim_table_remove(control, event.address);
}

void shim_realloc_end(struct shim_call *call, enum ring_shape shape)
{
	struct ring_control *control = shim_control();
	uint64_t size = size_asked(call, shape);
	struct shim_event event = {
		.kind = RING_ALLOC,
		.flags = call->argument[0] ? RING_F_REALLOC : 0,
		.address = call->result,
		.size = size,
		.old_address = call->argument[0],
		.interval = call->carried,
	};

	if (!control)
		return;
	outer_end(control, call);
	if (call->state & SHIM_COUNTED) {
		count_realloc_end(control, call, size);
		return;
	}
	shim_trace_returned(control, call);
	/* realloc(p, 0) that returns NULL has freed p (glibc): nothing to undo. */
	if (call->result == 0 && (call->state & (SHIM_FREED | SHIM_RECORD)) && size != 0)
		realloc_undo(control, call, shim_load(&control->mode), size);
	if (call->result != 0 && (call->state & SHIM_RECORD))
		record_block(control, call, &event);
	shim_trace_end(control, call, shape);
}
