/* SPDX-License-Identifier: MIT */
/*
 * place.h - where a record goes: room in a ring, its first line, and handing it over (record.c).
 *
 * In a header so that what most calls need is compiled into one function (exact.c).
 */
#ifndef MEMATTACH_SHIM_PLACE_H
#define MEMATTACH_SHIM_PLACE_H

#include "inject/shim/paths.h"

#define PLACE_FETCH_AHEAD 4u	/* lines: what two calls write */

/*
 * True while events are to be recorded at now: the epoch has not lapsed. Ends
 * the epoch when its deadline has passed.
 */
static inline bool shim_epoch_open(struct ring_control *control, uint64_t now)
{
	uint64_t epoch = shim_load(&control->epoch);
	uint64_t lapsed = shim_load(&control->lapsed);

	if (lapsed >= epoch)
		return false;
	if (__builtin_expect(now <= shim_load(&control->deadline), 1))
		return true;
	/* A compare-exchange: a thread that slept here must not re-open a later epoch's lapse. */
	shim_exchange_if(&control->lapsed, lapsed, epoch);
	return false;
}

/* A try to reserve. */
enum place_result { PLACE_RESERVED, PLACE_FULL, PLACE_CONTENDED };

/* Where one record goes. */
struct place {
	struct ring_head *head;
	uint8_t *ring;
	uint64_t mask;		/* ring_lines - 1 */
	uint64_t position;
	uint64_t tail;		/* as of the last try: the reader's may be further on */
	uint32_t lines;
	uint64_t time;
};

/* Any ring is right for any CPU: a thread may move between here and the reservation. */
static inline struct place place_for(struct ring_control *control, uint32_t cpu, uint32_t lines)
{
	uint32_t ring = cpu < control->ring_count ? cpu : cpu % control->ring_count;

	return (struct place){
		.head = &control->ring[ring],
		.ring = (uint8_t *)control + control->rings_offset + ring * control->ring_bytes,
		.mask = control->ring_lines - 1,
		.lines = lines,
	};
}

static inline uint64_t *place_word(const struct place *place, uint64_t position)
{
	return (uint64_t *)(place->ring + (position & place->mask) * RING_LINE);
}

/* Lines that event must leave free for others. What a free copies of its stack is a luxury. */
static inline uint64_t place_kept(const struct ring_control *control,
				  const struct shim_event *event)
{
	bool may_go = event->kind == RING_ALLOC || event->kind == RING_MAP ||
		      event->kind == RING_CALL || event->kind == RING_PATH || event->with_stack;

	return may_go ? control->ring_lines / 8 : 0;
}

/* A RING_PAD record: its kind and its commit word, nothing else. */
static inline void place_fill_end(const struct place *place, uint64_t position, uint32_t lines)
{
	struct ring_record *record = (struct ring_record *)place_word(place, position);

	record->kind = RING_PAD;
	shim_store_release(&record->commit, ring_commit_word(position, lines, RING_DONE));
}

/*
 * One try for lines in a row, after filler if they would wrap. Acquires tail:
 * its partner is the reader's release after it has read what lay here.
 */
static inline enum place_result place_reserve(struct place *place, uint64_t kept)
{
	uint64_t head = shim_load(&place->head->head);
	uint64_t lines = place->mask + 1;
	uint64_t line = head & place->mask;
	/* One line never wraps. */
	uint64_t filler = place->lines > 1 && line + place->lines > lines ? lines - line : 0;

	place->tail = shim_load_acquire(&place->head->tail);
	if (head + filler + place->lines - place->tail + kept > lines)
		return PLACE_FULL;
	if (!shim_exchange_if(&place->head->head, head, head + filler + place->lines))
		return PLACE_CONTENDED;
	place->position = head + filler;
	/* Whoever comes next would wait for them; the reader, on another CPU, had them last. */
	arch_fetch_to_write(place_word(place,
				       place->position + place->lines - 1 + PLACE_FETCH_AHEAD));
	/* Release: the reader that sees BUSY for this lap reads nothing older behind it. */
	shim_store_release(place_word(place, place->position),
			   ring_commit_word(place->position, place->lines, RING_BUSY));
	if (filler)
		place_fill_end(place, head, (uint32_t)filler);
	return PLACE_RESERVED;
}

/* The first line, but for its commit word, flags and stack_bytes. */
static inline struct ring_record *place_fill(const struct place *place,
					     const struct shim_call *call,
					     const struct shim_event *event, uint64_t caller)
{
	struct ring_record *record = (struct ring_record *)place_word(place, place->position);

	record->time = place->time;
	record->address = event->address;
	record->size = event->size;
	record->old_address = event->old_address;
	record->thread = call->thread;
	record->caller = caller;
	record->kind = (uint8_t)event->kind;
	record->align_log2 = (uint8_t)event->align_log2;
	record->entry = call->entry;
	return record;
}

/* Release: the reader acquires this word before it reads the record. */
static inline void place_commit(struct ring_control *control, const struct place *place)
{
	shim_store_release(place_word(place, place->position),
			   ring_commit_word(place->position, place->lines, RING_DONE));
	if (place->position + place->lines - place->tail > control->ring_lines / 2)
		shim_wake_reader(control);
}

/* After a wait, or any time: is this still the process, and the epoch, that it was? */
static inline bool place_still_on(struct ring_control *control, uint64_t time)
{
	return shim_control() == control && shim_epoch_open(control, time);
}

/* Is this block's event, one of 64 at random, timed (record.c)? It stands for all. */
static inline bool place_is_timed(const struct ring_control *control, uint64_t address)
{
	uint64_t salt = shim_load(&control->beat);

	return ((address >> 4) + salt) * SHIM_GOLDEN >> 58 == 0;
}

/*
 * A record without a stack, where there is room at once: all that most calls need. false: nothing
 * was recorded. place: of one line, with its time; path: of SHIM_PATH.
 */
static inline __attribute__((always_inline)) bool
place_line(struct ring_control *control, const struct shim_call *call,
	   const struct shim_event *event, struct place *place, enum shim_path known,
	   uint64_t path)
{
	struct ring_record *record;

	if (place_reserve(place, place_kept(control, event)) != PLACE_RESERVED)
		return false;
	record = place_fill(place, call, event, known == SHIM_PATH ? path : call->caller);
	record->flags = event->flags | (known == SHIM_PATH ? RING_F_PATH : 0);
	record->stack_bytes = known == SHIM_PATH && event->interval ?
				      ring_interval_pack(event->interval) : 0;
	place_commit(control, place);
	return true;
}

#endif
