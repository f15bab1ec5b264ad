/* SPDX-License-Identifier: MIT */
/* reader_losses.c - what the target counted as lost, and how long it waited. */
#include "src/ring/reader_private.h"

/* What threads lost at once: nothing before there was pressure. */
static void losses_add_lanes(const struct reader *reader, struct reader_losses *sum)
{
	if (!__atomic_load_n(&reader->control->pressed, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < RING_LANES; i++) {
		const struct ring_lane *lane = &reader->control->lane[i];

		sum->alloc += ring_load(&lane->lost_alloc);
		sum->free += ring_load(&lane->lost_free);
		sum->alloc_bytes += ring_load(&lane->lost_alloc_bytes);
		/* Under pressure nothing is drawn, and frees are of lost blocks. */
		sum->hidden += ring_load(&lane->lost_alloc);
		sum->hidden_bytes += ring_load(&lane->lost_alloc_bytes);
	}
}

void reader_losses_sum(const struct reader *reader, struct reader_losses *ret)
{
	*ret = (struct reader_losses){
		.table = ring_load(&reader->control->lost_table),
		.threads = ring_load(&reader->control->lost_threads),
	};
	for (uint32_t i = 0; i < reader->ring_count; i++) {
		const struct ring_head *head = reader->ring[i].shared;

		ret->alloc += ring_load(&head->lost_alloc);
		ret->free += ring_load(&head->lost_free);
		ret->stack += ring_load(&head->lost_stack);
		ret->map += ring_load(&head->lost_map);
		ret->alloc_bytes += ring_load(&head->lost_alloc_bytes);
		ret->hidden += ring_load(&head->hidden_alloc);
		ret->hidden_bytes += ring_load(&head->hidden_bytes);
		ret->free_booked += ring_load(&head->lost_free);
		ret->blocked += ring_load(&head->blocked);
		ret->blocked_ticks += ring_load(&head->blocked_cycles);
		ret->call += ring_load(&head->lost_call);
		ret->spent_ticks += ring_load(&head->spent_cycles);
	}
	losses_add_lanes(reader, ret);
}

void reader_losses(const struct reader *reader, struct reader_losses *ret)
{
	const struct reader_losses *base = &reader->base;

	reader_losses_sum(reader, ret);
	ret->alloc -= base->alloc;
	ret->free -= base->free;
	ret->stack -= base->stack;
	ret->map -= base->map;
	ret->alloc_bytes -= base->alloc_bytes;
	ret->hidden -= base->hidden;
	ret->hidden_bytes -= base->hidden_bytes;
	ret->free_booked -= base->free_booked;
	ret->blocked -= base->blocked;
	ret->blocked_ticks -= base->blocked_ticks;
	ret->call -= base->call;
	ret->spent_ticks -= base->spent_ticks;
	ret->table -= base->table;
	ret->threads -= base->threads;
	ret->corrupt = reader->corrupt;
	ret->abandoned = reader->abandoned;
}

uint64_t reader_lost_records(void *context)
{
	const struct reader *reader = context;
	struct reader_losses losses;

	reader_losses(reader, &losses);
	return losses.alloc + losses.free + losses.map + losses.corrupt + reader->unreachable;
}
