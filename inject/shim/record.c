/* SPDX-License-Identifier: MIT */
/*
 * record.c - room in a ring, and the record in it (docs/RING.md).
 *
 * Room is checked, then reserved by a compare-exchange on head: an addition
 * could not be taken back when the ring turns out to be full. The commit word
 * is stored BUSY at once, so that the reader knows a record in the making by its
 * length, and DONE last. Nothing spins: after three lost races the record is
 * dropped and counted, like one that finds no room; with RING_OVERFLOW_BLOCK it
 * waits for room, but never beyond the deadline.
 *
 * An eighth of each ring is kept for what must not be lost while allocations
 * are: a lost free leaves a block alive for ever.
 */
#include "inject/shim/block_bits.h"
#include "inject/shim/loss.h"
#include "inject/shim/place.h"
#include "inject/shim/shadow.h"
#include "inject/shim/standstill.h"

#define TRIES 3u

static enum place_result reserve(struct place *place, uint64_t kept)
{
	enum place_result result = PLACE_CONTENDED;

	for (uint32_t i = 0; i < TRIES && result == PLACE_CONTENDED; i++)
		result = place_reserve(place, kept);
	return result;
}

/*
 * RING_OVERFLOW_BLOCK: until there is room, or recording ends (mode, deadline,
 * epoch; a fork child that came out of a signal handler has no control block).
 * The time is taken anew, or it would lie before events that were read meanwhile.
 */
static bool reserve_waiting(struct ring_control *control, struct place *place, uint64_t kept)
{
	uint64_t begin = place->time;
	struct standstill still;
	bool reserved = false;
	uint32_t cpu;

	standstill_begin(&still, place);
	for (uint32_t turn = 0;; turn++) {
		uint32_t seen = shim_load_acquire(&control->wake);

		place->time = arch_clock(control, &cpu);
		if (shim_load(&control->mode) == RING_MODE_OFF ||
		    !shim_epoch_open(control, place->time))
			break;
		reserved = reserve(place, kept) == PLACE_RESERVED;
		if (reserved || standstill_is_for_ever(control, place, &still))
			break;
		shim_wake_reader(control);
		shim_wait(control, seen, turn);
		if (shim_control() != control)
			return false;
	}
	shim_add(&place->head->blocked, 1);
	shim_add(&place->head->blocked_cycles, arch_clock(control, &cpu) - begin);
	return reserved;
}

static bool reserve_or_wait(struct ring_control *control, struct place *place, uint64_t kept)
{
	if (reserve(place, kept) == PLACE_RESERVED)
		return true;
	if (shim_load(&control->overflow) != RING_OVERFLOW_BLOCK)
		return false;
	return reserve_waiting(control, place, kept);
}

/*
 * While the reader can't keep up, to find out where an allocation comes from would be for nothing.
 * pressed: from now on it is counted only, until there is room for many.
 */
static void press(struct ring_control *control, const struct shim_event *event)
{
	if (event->kind != RING_ALLOC || shim_load(&control->mode) != RING_MODE_ALL ||
	    shim_load(&control->overflow) != RING_OVERFLOW_DROP ||
	    (shim_load(&control->pressed) & RING_PRESSED))
		return;
	/* An exchange: the reader looks at it after it has said that it sleeps. */
	(void)__atomic_exchange_n(&control->pressed, RING_PRESSED | RING_WAS_PRESSED,
				  __ATOMIC_SEQ_CST);
	shim_wake_reader(control);
}

static bool drop_at_once(struct ring_control *control, const struct shim_call *call,
			 const struct shim_event *event)
{
	if (event->kind != RING_ALLOC || !shim_is_pressed(control))
		return false;
	if (event->address != 0)	/* else it is counted elsewhere: shim_record_audit() */
		shim_loss_alloc(control, call->thread, event->size);
	return true;
}

static uint32_t lines_for(const struct shim_event *event, const struct shim_stack_plan *plan)
{
	if (event->kind == RING_CALL)
		return 2;
	if (!(plan->flags & RING_F_STACK))
		return 1;
	return 2 + (plan->bytes + RING_LINE - 1) / RING_LINE;
}

/* What still waits for room when recording ends comes after its end, and is not lost. */
static bool still_recording(struct ring_control *control, uint64_t time)
{
	return place_still_on(control, time) && shim_load(&control->mode) != RING_MODE_OFF;
}

/* A free without the stack that it could do without: as any other. */
static bool find_room_plain(struct place *place, struct shim_stack_plan *plan)
{
	*plan = (struct shim_stack_plan){ 0 };
	place->lines = 1;
	return reserve(place, 0) == PLACE_RESERVED;
}

/* Room for the whole record; failing that, for the record without its stack bytes. */
static bool find_room(struct ring_control *control, struct place *place,
		      const struct shim_event *event, struct shim_stack_plan *plan)
{
	uint64_t kept = place_kept(control, event);

	if (reserve_or_wait(control, place, kept))
		return true;
	if (event->with_stack)
		return place_still_on(control, place->time) && find_room_plain(place, plan);
	if (plan->bytes == 0 || !place_still_on(control, place->time))
		return false;
	if (plan->flags & RING_F_PATH) {	/* the copy was for the audit alone */
		plan->bytes = 0;
		plan->flags = RING_F_PATH;
		place->lines = 1;
		return reserve(place, kept) == PLACE_RESERVED;
	}
	plan->bytes = 0;
	plan->flags |= RING_F_CALLER_ONLY | RING_F_TRUNCATED;
	place->lines = lines_for(event, plan);
	if (reserve(place, kept) != PLACE_RESERVED)
		return false;
	shim_add(&place->head->lost_stack, 1);
	return true;
}

/* Everything but the commit word. */
static void fill(struct ring_control *control, const struct shim_call *call,
		 const struct shim_event *event, struct shim_stack_plan *plan,
		 const struct place *place)
{
	uint64_t caller = plan->flags & RING_F_PATH ? plan->path : call->caller;
	struct ring_record *record = place_fill(place, call, event, caller);
	struct ring_stack *stack = (struct ring_stack *)(record + 1);

	if (plan->flags & RING_F_STACK) {
		arch_stack_fill(stack, call);
		stack->interval = event->interval;
		shim_stack_copy(control, call, plan, (uint8_t *)(stack + 1));
	}
	if (event->kind == RING_CALL) {
		record->size = ring_call_detail(shim_load(&place->head->lost_call),
						(uint32_t)event->size);
		arch_copy_words(record + 1, event->call, RING_LINE / 8);
	}
	record->flags = event->flags | plan->flags;
	record->stack_bytes = plan->flags & RING_F_STACK ? (uint16_t)(plan->bytes / 8) :
			      plan->flags & RING_F_PATH	 ? ring_interval_pack(event->interval) :
							   0;
}

static bool wants_stack(const struct shim_event *event)
{
	return event->kind == RING_ALLOC || event->kind == RING_MAP || event->kind == RING_BRK ||
	       event->with_stack;
}

/* What a name is enough for: there is room for most intervals beside it. */
static bool may_be_known(const struct ring_control *control, const struct shim_event *event)
{
	return (event->kind == RING_ALLOC || event->kind == RING_MAP || event->kind == RING_BRK) &&
	       shim_load(&control->recognise) &&
	       (event->interval == 0 || ring_interval_pack(event->interval) != 0);
}

static struct shim_stack_plan plan_stack(struct ring_control *control, const struct shim_call *call,
					 const struct shim_event *event, enum shim_path known,
					 uint64_t path)
{
	struct shim_stack_plan plan = { 0 };

	if (known != SHIM_PATH && wants_stack(event))
		plan = shim_stack_plan(control, call);
	if (known != SHIM_PATH_NONE) {
		plan.flags |= RING_F_PATH;
		plan.path = path;
	} else {
		plan.flags |= (uint16_t)(path << RING_COPIED_SHIFT);
	}
	return plan;
}

#define UNPROVEN_LEAST	256u

/*
 * Where no end of the stack is proven (fibers), most of a copy may be memory beyond it. Whole
 * copies of RING_MAX_STACK_BYTES would fill a ring by a short burst, and all that comes then would
 * be without its stack. So each takes a 64th of a ring that is empty, and less by the third power
 * of the room that is left: some 330 copies until a quarter is left, which events need.
 */
static uint32_t unproven_most(const struct place *place)
{
	uint64_t all = place->mask + 1;
	uint64_t used = shim_load(&place->head->head) - shim_load(&place->head->tail);
	uint64_t left = used < all ? all - used : 0;
	uint64_t most = left * left / all * left / all & ~7ull; /* lines; a 64th, in bytes */

	if (left < all / 4)	/* of which allocations may have half (place_kept) */
		return 0;
	return most > UNPROVEN_LEAST ? (uint32_t)most : UNPROVEN_LEAST;
}

/* True if the stack is left out altogether, and missed. */
static bool leave_room(const struct ring_control *control, const struct place *place,
		       struct shim_stack_plan *plan)
{
	uint32_t most;

	if (!plan->through_kernel || shim_load(&control->overflow) == RING_OVERFLOW_BLOCK)
		return false;
	most = unproven_most(place);
	if (plan->bytes <= most)
		return false;
	plan->bytes = most;
	if (most == 0 && (plan->flags & RING_F_PATH)) {	/* the copy was for the audit alone */
		plan->flags = RING_F_PATH;
		return false;
	}
	plan->flags |= RING_F_TRUNCATED;
	if (most == 0)
		plan->flags |= RING_F_CALLER_ONLY;
	return most == 0;
}

/* Any record: with its stack, if it is to have one; there may have to be waited for room. */
static __attribute__((noinline)) bool record_lines(struct ring_control *control,
						   const struct shim_call *call,
						   const struct shim_event *event,
						   struct place *place, enum shim_path known,
						   uint64_t path)
{
	struct shim_stack_plan plan = plan_stack(control, call, event, known, path);
	bool left_out = leave_room(control, place, &plan);

	place->lines = lines_for(event, &plan);
	if (!find_room(control, place, event, &plan)) {
		if (still_recording(control, place->time)) {
			shim_loss_count(place->head, event);
			press(control, event);
		}
		return false;
	}
	if (left_out)
		shim_add(&place->head->lost_stack, 1);
	fill(control, call, event, &plan, place);
	place_commit(control, place);
	return true;
}

/* The time comes after a path was told: what names it is later than that record. */
bool shim_record_known(struct ring_control *control, const struct shim_call *call,
		       const struct shim_event *event, enum shim_path known, uint64_t path)
{
	struct place place;
	uint64_t now;
	uint32_t cpu;

	/* A wait for room for the path may have ended in a fork child: no such memory there. */
	if (shim_control() != control)
		return false;
	now = arch_clock(control, &cpu);
	if (!place_still_on(control, now))
		return false;
	place = place_for(control, cpu, 1);
	place.time = now;
	if ((known == SHIM_PATH || (!wants_stack(event) && event->kind != RING_CALL)) &&
	    place_line(control, call, event, &place, known, path))
		return true;
	return record_lines(control, call, event, &place, known, path);
}

static inline bool record_now(struct ring_control *control, const struct shim_call *call,
			      const struct shim_event *event)
{
	enum shim_path known = SHIM_PATH_NONE;
	uint64_t path = 0;

	if (drop_at_once(control, call, event))
		return false;
	if (may_be_known(control, event))
		known = shim_path_find(control, call, &path);
	return shim_record_known(control, call, event, known, path);
}

/* An interrupted thread's time is no cost of ours: a record takes no longer than this. */
#define MOST_CYCLES (1ull << 18)

/* weight: how many it stands for. */
static __attribute__((noinline)) bool record_timed(struct ring_control *control,
						   const struct shim_call *call,
						   const struct shim_event *event, uint64_t begin,
						   uint64_t weight)
{
	uint32_t cpu;
	uint64_t cycles;
	/* The epoch's end is noticed here, where nothing else might look at the clock. */
	bool recorded = shim_epoch_open(control, begin) && record_now(control, call, event);

	if (shim_control() != control)
		return recorded;
	cycles = arch_clock(control, &cpu) - begin;
	if (cycles > MOST_CYCLES)
		cycles = MOST_CYCLES;
	shim_add(&place_for(control, cpu, 1).head->spent_cycles, cycles * weight);
	return recorded;
}

/* In sampled modes each record is timed. */
bool shim_record(struct ring_control *control, const struct shim_call *call,
		 const struct shim_event *event)
{
	uint32_t mode = shim_load(&control->mode), cpu;

	if (mode == RING_MODE_SAMPLE || place_is_timed(control, event->address))
		return record_timed(control, call, event, arch_clock(control, &cpu),
				    mode == RING_MODE_SAMPLE ? 1 : 64);
	return record_now(control, call, event);
}

bool shim_record_since(struct ring_control *control, const struct shim_call *call,
		       const struct shim_event *event, uint64_t begin)
{
	return record_timed(control, call, event, begin, 1);
}

void shim_record_audit(struct ring_control *control, const struct shim_call *call, uint64_t path)
{
	const struct shim_event event = { .kind = RING_ALLOC };

	(void)shim_record_known(control, call, &event, SHIM_PATH_AND_COPY, path);
}

bool shim_record_unknown(struct ring_control *control, const struct shim_call *call,
			 uint64_t size)
{
	const struct shim_event event = { .kind = RING_ALLOC, .size = size };

	return shim_record_known(control, call, &event, SHIM_PATH_NONE, 0);
}

static void fill_path(const struct shim_call *call, const struct shim_path_record *path,
		      const struct place *place)
{
	struct ring_record *record = (struct ring_record *)place_word(place, place->position);
	uint64_t *ra = (uint64_t *)(record + 1);

	record->time = place->time;
	record->address = path->name;
	record->size = 0;
	record->old_address = 0;
	record->thread = call->thread;
	record->caller = call->caller;
	record->kind = RING_PATH;
	record->align_log2 = 0;
	record->flags = path->truncated ? RING_F_TRUNCATED : 0;
	record->entry = call->entry;
	record->stack_bytes = (uint16_t)path->count;
	for (uint32_t i = path->count; i-- > 0; ra++)
		*ra = path->frame[i].ra;
}

bool shim_record_path(struct ring_control *control, const struct shim_call *call,
		      const struct shim_path_record *path)
{
	const struct shim_event event = { .kind = RING_PATH };
	struct place place;
	uint32_t cpu;
	uint64_t now = arch_clock(control, &cpu);

	if (!shim_epoch_open(control, now))
		return false;
	place = place_for(control, cpu, 1 + (path->count * 8 + RING_LINE - 1) / RING_LINE);
	place.time = now;
	if (!reserve_or_wait(control, &place, place_kept(control, &event)))
		return false;
	fill_path(call, path, &place);
	place_commit(control, &place);
	return true;
}
