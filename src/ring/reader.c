/* SPDX-License-Identifier: MIT */
/*
 * reader.c - from ring records to events, in causal order.
 *
 * What must hold: whenever record D was written by someone who could know of
 * record U (the free before a reuse of its address, the allocation before its
 * free), U is handed over first. The writers give us this: the time in a record
 * is read before its slot is reserved, and U is committed before anything that
 * depends on it is stamped. So D.time is later than U's reservation and commit.
 * From it follow the four rules of a drain:
 *
 *  1. T is read first, then all heads; only records with time < T are taken. What
 *     they depend on was reserved before T, so it lies below the heads.
 *  2. A BUSY record (a hole) is passed over and taken by a later drain: it was not
 *     committed when we looked, which was after T, so no record with time < T
 *     depends on it. Nothing beyond a hole is released, since its writer still writes.
 *  3. Where a slot was reserved and its commit word not yet stored, the ring can't be
 *     parsed further, and what lies behind it may be what other rings' records depend
 *     on. But all of it was reserved after the last T at which the head had not passed
 *     that slot, and after the time of any record in front of the slot. So the later of
 *     these bounds the batch, for all rings, holes included. (That T alone would not do: in a
 *     ring that filled since then everything would wait for the writer, who may be a thread
 *     that was interrupted there and now waits for room.)
 *  4. Rings are merged by time; within a ring the order of slots is kept (a record
 *     behind another one was reserved, hence committed, after the other's time).
 *
 * A lock or a global sequence number would order everything without this argument,
 * and cost the target one contended cache line per event: rejected.
 *
 * Hostile rings: every word is loaded once into a local copy, checked, and the copy
 * is used. Positions advance by at least a line up to a head that is read once, so a
 * drain ends. A ring that makes no sense is emptied unread and counted.
 *
 * Released lines are wiped where a commit word could be taken for a new one: stack
 * bytes, which strangers may have chosen, would otherwise be parsed as a header during
 * the instant between reservation and commit. A record's own first line needs none: its
 * commit word is good for its position alone. Not to write there leaves the line
 * where it is, in the cache of the CPU that will write there again.
 */
#include "src/ring/reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "src/base/ticks.h"
#include "src/ring/reader_private.h"
#include "src/ring/ring_record.h"

#define SCAN_AHEAD	16u	/* lines */

/* Pairs with the shim's acquire load of tail in its room check. */
static void ring_store_release(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Word by word: wider loads of what was just stored so would wait until it has arrived. */
static void ring_copy_line(const uint64_t *line, void *copy)
{
	for (size_t i = 0; i < LINE_WORDS; i++) {
		uint64_t word = ring_load(line + i);

		memcpy((uint64_t *)copy + i, &word, sizeof(word));
	}
}

static void ring_wipe(const struct reader *reader, const struct reader_ring *ring,
		      uint64_t position, uint64_t lines)
{
	for (uint64_t i = 0; i < lines; i++)
		__atomic_store_n(ring_line(reader, ring, position + i), 0, __ATOMIC_RELAXED);
}

bool reader_is_pressed(const struct reader *reader)
{
	return __atomic_load_n(&reader->control->pressed, __ATOMIC_RELAXED) & RING_PRESSED;
}

/* Has room for many been made? Then allocations are recorded again. */
static void reader_relieve(const struct reader *reader)
{
	uint32_t *pressed = &reader->control->pressed;

	if (reader_is_pressed(reader) && reader_backlog(reader) <= RELIEVED)
		__atomic_store_n(pressed, RING_WAS_PRESSED, __ATOMIC_RELAXED);
}

/* Tells the target of the room; a thread may wait for it on control->wake. */
static void ring_publish(struct reader *reader, struct reader_ring *ring)
{
	struct ring_control *control = reader->control;

	if (ring->tail == ring->published)
		return;
	ring->published = ring->tail;
	ring_store_release(&ring->shared->tail, ring->tail);
	reader_relieve(reader);
	if (__atomic_load_n(&control->overflow, __ATOMIC_RELAXED) != RING_OVERFLOW_BLOCK ||
	    !__atomic_load_n(&control->may_wait, __ATOMIC_RELAXED))
		return;
	__atomic_add_fetch(&control->wake, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &control->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Empties a ring that makes no sense, up to head. */
static void ring_reset(struct reader *reader, struct reader_ring *ring, uint64_t head)
{
	reader->corrupt++;
	ring_wipe(reader, ring, 0, reader->ring_lines);
	ring->tail = ring->parsed = ring->limit = ring->seen = head;
	ring->hole_count = ring->hole_cursor = 0;
	ring_publish(reader, ring);
}

/* Positions wrap; those that are compared lie within two rings of each other. */
static bool position_below(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

/* What lies at a position. */
enum slot { SLOT_UNWRITTEN, SLOT_BUSY, SLOT_DONE, SLOT_NONSENSE };

static enum slot slot_at(const struct reader *reader, const struct reader_ring *ring,
			 uint64_t position, uint64_t limit, uint32_t *ret_lines)
{
	uint64_t word = ring_load_acquire(ring_line(reader, ring, position));
	uint64_t line = position & (reader->ring_lines - 1u);
	uint32_t lines = ring_commit_lines(word);
	enum ring_state state = ring_commit_state(word);

	if (ring_commit_position(word) != (position & POSITION_MASK) || state == RING_EMPTY)
		return SLOT_UNWRITTEN;
	if (lines == 0 || lines > limit - position || line + lines > reader->ring_lines)
		return SLOT_NONSENSE;
	*ret_lines = lines;
	if (state == RING_BUSY)
		return SLOT_BUSY;
	return state == RING_DONE ? SLOT_DONE : SLOT_NONSENSE;
}

/* Rule 3: what can't be parsed lies behind the record at position, if that one is there. */
static void ring_raise_bound(const struct reader *reader, struct reader_ring *ring,
			     uint64_t position, uint64_t head)
{
	const struct ring_record *record = (const void *)ring_line(reader, ring, position);
	uint32_t lines;
	uint64_t time;

	if (slot_at(reader, ring, position, head, &lines) != SLOT_DONE ||
	    record->kind == RING_PAD)
		return;
	time = ring_load(&record->time);
	if (time > ring->bound && time <= reader->now)
		ring->bound = time;
}

/* The first slot from parsed on that can't be parsed yet (then bound is set), or head. */
static uint64_t ring_scan(struct reader *reader, struct reader_ring *ring, uint64_t head)
{
	uint64_t position = ring->parsed, before = position, two_before = position;
	uint32_t busy = ring->hole_count, lines;

	while (position != head) {
		enum slot slot;

		/*
		 * Where the next one lies is known when this one has arrived, from another CPU;
		 * lines beyond head are about to be written there: not to be taken away.
		 */
		if (head - position > SCAN_AHEAD)
			__builtin_prefetch(ring_line(reader, ring, position + SCAN_AHEAD));
		slot = slot_at(reader, ring, position, head, &lines);
		if (slot == SLOT_NONSENSE) {
			ring_reset(reader, ring, head);
			return head;
		}
		if (slot == SLOT_UNWRITTEN || (slot == SLOT_BUSY && ++busy > HOLES_MAX))
			break;
		two_before = before;
		before = position;
		position += lines;
	}
	if (position == head)
		return position;
	/* New since the last look: reserved after its T. Else it lay behind what bound is for. */
	if (!position_below(position, ring->seen))
		ring->bound = reader->last;
	if (before != position) {	/* that one may be a pad */
		ring_raise_bound(reader, ring, before, head);
		ring_raise_bound(reader, ring, two_before, head);
	}
	return position;
}

/* Rules 1 and 3: reads T, then the heads; returns the time below which records may be taken. */
static uint64_t reader_look(struct reader *reader)
{
	uint64_t head[RING_MAX_RINGS], bound;

	reader->last = reader->now;
	reader->now = reader->clock();
	bound = reader->finishing ? UINT64_MAX : reader->now;
	if (reader->not_after && reader->not_after < bound)
		bound = reader->not_after;
	for (uint32_t i = 0; i < reader->ring_count; i++)
		head[i] = ring_load_acquire(&reader->ring[i].shared->head);
	for (uint32_t i = 0; i < reader->ring_count; i++) {
		struct reader_ring *ring = &reader->ring[i];

		/* Never behind what we saw, never more than a ring ahead of the tail. */
		if (head[i] - ring->tail > reader->ring_lines ||
		    head[i] - ring->tail < ring->parsed - ring->tail)
			ring_reset(reader, ring, head[i]);
		ring->limit = ring_scan(reader, ring, head[i]);
		ring->hole_cursor = 0;
		if (ring->limit != head[i] && ring->bound < bound && !reader->finishing)
			bound = ring->bound;
		reader->unreachable += ring->limit != head[i] && reader->finishing;
		ring->head = head[i];
	}
	return bound;
}

/* Copies the record at position into the ring's place in the merge; false: it is not one. */
static bool ring_take(struct reader *reader, struct reader_ring *ring, uint64_t position,
		      uint32_t lines)
{
	ring_copy_line(ring_line(reader, ring, position), &ring->record);
	if (ring->record.kind == RING_PAD)
		return false;
	if (!record_valid(&ring->record, lines)) {
		reader->corrupt++;
		return false;
	}
	/* It lay there at the last look already: whatever it says, it is older than this one. */
	if (ring->record.time >= reader->now &&
	    (reader->finishing || position_below(position, ring->seen)))
		ring->record.time = reader->now ? reader->now - 1u : 0;
	ring->position = position;
	ring->lines = lines;
	return true;
}

/* Takes a hole out of the list; everything below the first one left can be released. */
static void ring_close_hole(struct reader_ring *ring, uint32_t i)
{
	ring->hole_count--;
	memmove(&ring->hole[i], &ring->hole[i + 1],
		(ring->hole_count - i) * sizeof(ring->hole[0]));
}

/* The next hole that was committed meanwhile and is old enough. */
static bool ring_next_hole(struct reader *reader, struct reader_ring *ring)
{
	while (ring->hole_cursor < ring->hole_count) {
		struct reader_hole hole = ring->hole[ring->hole_cursor];
		uint32_t lines;
		enum slot slot = slot_at(reader, ring, hole.position,
					 hole.position + hole.lines, &lines);

		if (slot == SLOT_BUSY && !reader->finishing) {
			ring->hole_cursor++;
			continue;
		}
		if (slot == SLOT_DONE && lines == hole.lines &&
		    ring_take(reader, ring, hole.position, lines)) {
			ring->from_hole = true;
			if (ring->record.time < reader->complete)
				return true;
			/* Stamped after the bound of rule 3: it stays, though it is committed. */
			ring->hole_cursor++;
			continue;
		}
		/* A pad, nonsense, or (finishing) a writer that is gone. */
		reader->abandoned += slot == SLOT_BUSY;
		ring_wipe(reader, ring, hole.position, hole.lines);
		ring_close_hole(ring, ring->hole_cursor);
	}
	return false;
}

static void ring_add_hole(struct reader_ring *ring, uint64_t position, uint32_t lines)
{
	ring->hole[ring->hole_count++] = (struct reader_hole){ position, lines };
	ring->hole_cursor = ring->hole_count;
}

/* The next record behind parsed that is old enough. */
static bool ring_next_new(struct reader *reader, struct reader_ring *ring)
{
	uint32_t lines;

	while (ring->parsed != ring->limit) {
		enum slot slot = slot_at(reader, ring, ring->parsed, ring->limit, &lines);

		if (slot == SLOT_BUSY && !reader->finishing && ring->hole_count < HOLES_MAX) {
			ring_add_hole(ring, ring->parsed, lines);
		} else if (slot == SLOT_BUSY && reader->finishing) {
			reader->abandoned++;
			ring_wipe(reader, ring, ring->parsed, lines);
		} else if (slot != SLOT_DONE) {
			/* It made sense a moment ago: somebody plays with the ring. */
			ring_reset(reader, ring, ring->head);
			return false;
		} else if (ring_take(reader, ring, ring->parsed, lines)) {
			ring->from_hole = false;
			return ring->record.time < reader->complete;
		} else {
			ring_wipe(reader, ring, ring->parsed, lines);
		}
		ring->parsed += lines;
	}
	return false;
}

static bool ring_next(struct reader *reader, struct reader_ring *ring)
{
	return ring_next_hole(reader, ring) || ring_next_new(reader, ring);
}

/* Everything below the first hole goes back to the target. */
static void ring_release(struct reader *reader, struct reader_ring *ring)
{
	ring->tail = ring->hole_count ? ring->hole[0].position : ring->parsed;
	if (ring->tail - ring->published >= reader->ring_lines / 4u)
		ring_publish(reader, ring);
}

/* The record that was handed over is done with. */
static void ring_consume(struct reader *reader, struct reader_ring *ring)
{
	ring_wipe(reader, ring, ring->position + 1u, ring->lines - 1u);
	if (ring->from_hole)
		ring_close_hole(ring, ring->hole_cursor);
	else
		ring->parsed += ring->lines;
	ring_release(reader, ring);
}

static void event_set_stack(const struct reader *reader, const struct reader_ring *ring,
			    struct event *event)
{
	struct ring_stack stack;

	ring_copy_line(ring_line(reader, ring, ring->position + 1u), &stack);
	event->registers = (struct unwind_registers){
		.rip = event->caller, .rsp = stack.rsp + 8u, .rbp = stack.rbp, .rbx = stack.rbx,
		.r12 = stack.r12, .r13 = stack.r13, .r14 = stack.r14, .r15 = stack.r15,
	};
	event->interval = stack.interval;
	event->stack_address = stack.rsp;
	event->stack_bytes = (uint32_t)ring->record.stack_bytes * 8u;
	if (event->stack_bytes)
		event->stack = (const uint8_t *)ring_line(reader, ring, ring->position + 2u);
}

static void event_set_path(const struct reader *reader, const struct reader_ring *ring,
			   struct event *event)
{
	event->stack_bytes = (uint32_t)ring->record.stack_bytes * 8u;
	event->stack = (const uint8_t *)ring_line(reader, ring, ring->position + 1u);
}

static void ring_hand_over(const struct reader *reader, const struct reader_ring *ring,
			   reader_event_fn fn, void *context)
{
	const struct ring_record *record = &ring->record;
	struct ring_call call;
	struct event event;

	record_event(record, &event);
	event.ring = (uint16_t)(ring - reader->ring);
	if (record->kind == RING_PATH)
		event_set_path(reader, ring, &event);
	if (record->flags & RING_F_STACK)
		event_set_stack(reader, ring, &event);
	if (record->kind == RING_CALL) {
		ring_copy_line(ring_line(reader, ring, ring->position + 1u), &call);
		event.call = &call;
	}
	fn(context, &event);
}

static uint64_t heap_time(const struct reader *reader, uint32_t at)
{
	return reader->ring[reader->heap[at]].record.time;
}

/* The heap of rings: the ring whose next record is earliest is heap[0]. */
static void heap_sift_down(struct reader *reader)
{
	uint32_t at = 0, count = reader->heap_count;
	uint16_t moved = reader->heap[0];
	uint64_t time = reader->ring[moved].record.time;

	for (;;) {
		uint32_t child = 2u * at + 1u;

		if (child >= count)
			break;
		if (child + 1u < count && heap_time(reader, child + 1u) < heap_time(reader, child))
			child++;
		if (heap_time(reader, child) >= time)
			break;
		reader->heap[at] = reader->heap[child];
		at = child;
	}
	reader->heap[at] = moved;
}

static void heap_add(struct reader *reader, uint16_t ring)
{
	uint32_t at = reader->heap_count++;
	uint64_t time = reader->ring[ring].record.time;

	while (at > 0 && heap_time(reader, (at - 1u) / 2u) > time) {
		reader->heap[at] = reader->heap[(at - 1u) / 2u];
		at = (at - 1u) / 2u;
	}
	reader->heap[at] = ring;
}

/* Rule 4. */
static int reader_merge(struct reader *reader, reader_event_fn fn, void *context)
{
	int events = 0;

	reader->heap_count = 0;
	for (uint32_t i = 0; i < reader->ring_count; i++) {
		if (ring_next(reader, &reader->ring[i]))
			heap_add(reader, (uint16_t)i);
	}
	while (reader->heap_count > 0) {
		struct reader_ring *ring = &reader->ring[reader->heap[0]];

		ring_hand_over(reader, ring, fn, context);
		events++;
		ring_consume(reader, ring);
		if (reader->foresee)
			reader_look_ahead(reader, ring);
		if (!ring_next(reader, ring)) {
			if (--reader->heap_count == 0)
				break;
			reader->heap[0] = reader->heap[reader->heap_count];
		}
		if (reader->heap_count > 1)
			heap_sift_down(reader);
	}
	return events;
}

void reader_foresee(struct reader *reader, reader_foresee_fn fn, void *context)
{
	reader->foresee = fn;
	reader->foresee_context = context;
}

void reader_hold(struct reader *reader, uint64_t not_after)
{
	reader->not_after = not_after;
}

/* A writer may wait for this reader, which waits for what that writer has interrupted. */
static void reader_tell_held_up(struct reader *reader)
{
	for (uint32_t i = 0; i < reader->ring_count; i++) {
		uint64_t *held_up = &reader->ring[i].shared->held_up;

		if (reader->ring[i].tail != reader->ring[i].head)
			__atomic_store_n(held_up, ring_load(held_up) + 1, __ATOMIC_RELAXED);
	}
}

int reader_drain(struct reader *reader, reader_event_fn fn, void *context)
{
	bool unfinished = false;
	int events;

	reader->complete = reader_look(reader);
	events = reader_merge(reader, fn, context);
	for (uint32_t i = 0; i < reader->ring_count; i++) {
		struct reader_ring *ring = &reader->ring[i];

		ring->seen = ring->head;
		ring_release(reader, ring);
		ring_publish(reader, ring);
		unfinished |= ring->hole_count > 0 || ring->limit != ring->head;
	}
	if (unfinished && !reader->not_after)
		reader_tell_held_up(reader);
	reader_relieve(reader);
	return events;
}

int reader_finish(struct reader *reader, reader_event_fn fn, void *context)
{
	int events;

	reader->not_after = 0;
	reader->finishing = true;
	events = reader_drain(reader, fn, context);
	for (uint32_t i = 0; i < reader->ring_count; i++) {
		struct reader_ring *ring = &reader->ring[i];

		if (ring->parsed == ring->seen)
			continue;
		/* Reserved, and its writer is gone; what lies behind it is out of reach. */
		reader->abandoned++;
		ring_wipe(reader, ring, 0, reader->ring_lines);
		ring->tail = ring->parsed = ring->limit = ring->seen;
		ring_publish(reader, ring);
	}
	reader->finishing = false;
	reader->complete = reader->now;
	return events;
}

/*
 * States of reader_asleep: 0 nobody waits; 1 we wait or are about to; back to 0 by
 * the shim, which then wakes us, or by ourselves. We store 1 before we look at the
 * heads, the shim moves a head before it looks at reader_asleep: one of us sees the other.
 */
void reader_wait_unless(const struct reader *reader, uint64_t nanoseconds,
			bool (*came)(void *context), void *context)
{
	uint32_t *asleep = &reader->control->reader_asleep;
	struct timespec timeout = { (time_t)(nanoseconds / 1000000000u),
				    (long)(nanoseconds % 1000000000u) };

	__atomic_store_n(asleep, 1, __ATOMIC_SEQ_CST);
	if (reader_backlog(reader) < 0.5 &&
	    !(__atomic_load_n(&reader->control->pressed, __ATOMIC_SEQ_CST) & RING_PRESSED) &&
	    !(came && came(context)))
		syscall(SYS_futex, asleep, FUTEX_WAIT, 1, &timeout, NULL, 0);
	__atomic_store_n(asleep, 0, __ATOMIC_RELAXED);
}

void reader_wait(const struct reader *reader, uint64_t nanoseconds)
{
	reader_wait_unless(reader, nanoseconds, NULL, NULL);
}

double reader_backlog(const struct reader *reader)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < reader->ring_count; i++) {
		const struct reader_ring *ring = &reader->ring[i];
		uint64_t filled = ring_load(&ring->shared->head) - ring->tail;

		if (filled > most)
			most = filled;
	}
	return most < reader->ring_lines ? (double)most / (double)reader->ring_lines : 1.0;
}

uint64_t reader_time(const struct reader *reader)
{
	return reader->complete;
}

/* The control block as far as the reader relies on it, read once. */
struct reader_layout {
	uint64_t rings_offset, ring_bytes, ring_lines;
	uint32_t ring_count;
};

static int layout_read(const struct reader_source *source, struct reader_layout *layout)
{
	const struct ring_control *control = source->mapping;

	if (source->bytes < RING_CONTROL_BYTES || ring_load(&control->magic) != RING_MAGIC ||
	    __atomic_load_n(&control->version, __ATOMIC_RELAXED) != RING_VERSION)
		return -EBADMSG;
	layout->rings_offset = ring_load(&control->rings_offset);
	layout->ring_bytes = ring_load(&control->ring_bytes);
	layout->ring_lines = ring_load(&control->ring_lines);
	layout->ring_count = __atomic_load_n(&control->ring_count, __ATOMIC_RELAXED);
	return 0;
}

static bool layout_fits(const struct reader_layout *layout, size_t bytes)
{
	if (layout->ring_count == 0 || layout->ring_count > RING_MAX_RINGS)
		return false;
	if (layout->ring_lines < 4 || (layout->ring_lines & (layout->ring_lines - 1u)) ||
	    layout->ring_lines > bytes / RING_LINE ||
	    layout->ring_bytes < layout->ring_lines * RING_LINE || layout->ring_bytes > bytes)
		return false;
	return layout->rings_offset >= RING_CONTROL_BYTES &&
	       layout->rings_offset % RING_LINE == 0 && layout->ring_bytes % RING_LINE == 0 &&
	       layout->rings_offset <= bytes &&
	       layout->ring_bytes <= (bytes - layout->rings_offset) / layout->ring_count;
}

static void ring_init(struct reader *reader, uint32_t i, uint8_t *rings, uint64_t ring_bytes)
{
	struct reader_ring *ring = &reader->ring[i];

	ring->shared = &reader->control->ring[i];
	ring->words = (uint64_t *)(void *)(rings + i * ring_bytes);
	ring->tail = ring->published = ring->parsed = ring->limit = ring->seen =
		ring_load(&ring->shared->tail);
}

int reader_new(const struct reader_source *source, struct reader **ret)
{
	struct reader_layout layout;
	struct reader *reader;

	if (layout_read(source, &layout) < 0 || !layout_fits(&layout, source->bytes))
		return -EBADMSG;
	reader = calloc(1, sizeof(*reader) + layout.ring_count * sizeof(reader->ring[0]));
	if (!reader)
		return -ENOMEM;
	reader->control = source->mapping;
	reader->clock = source->clock ? source->clock : ticks_now;
	reader->ring_lines = layout.ring_lines;
	reader->ring_count = layout.ring_count;
	for (uint32_t i = 0; i < layout.ring_count; i++)
		ring_init(reader, i, (uint8_t *)source->mapping + layout.rings_offset,
			  layout.ring_bytes);
	reader_losses_sum(reader, &reader->base);
	*ret = reader;
	return 0;
}

void reader_free(struct reader *reader)
{
	free(reader);
}
