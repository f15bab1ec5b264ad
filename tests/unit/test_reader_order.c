/* SPDX-License-Identifier: MIT */
/*
 * test_reader_order.c - threads that really allocate, pass blocks to each other and
 * free, write records as the shim does, each to any ring, and are held up at the two
 * points that matter: between reservation and header, and between header and commit.
 * Whatever comes of it, each address's history must come out in order: no missed
 * free, no unknown free, no double free, and nothing left alive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <x86intrin.h>

#include "src/live/live.h"
#include "src/ring/reader.h"
#include "tests/unit/ring_writer.h"

#define THREADS		4u
#define RINGS		3u
#define LINES		1024u
#define SLOTS		64u
#define OPERATIONS	30000u

static struct ring_writer writer;
static void *exchange[SLOTS];	/* blocks pass from thread to thread here */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* As the shim's: not read before what came before it is done. ticks_now() may be early. */
static uint64_t stamp(void)
{
	_mm_lfence();
	return __rdtsc();
}

static void maybe_yield(uint64_t *seed)
{
	if (next_random(seed) % 16 == 0)
		sched_yield();
}

/* One record of one line, waiting for room. The time is read before the reservation. */
static void write_record(uint64_t *seed, enum ring_kind kind, const void *block, uint64_t size,
			 uint64_t thread)
{
	uint32_t ring = (uint32_t)(next_random(seed) % RINGS);
	struct ring_head *head = &writer.control->ring[ring];
	struct ring_record *record;
	uint64_t time, position;

	for (;;) {
		time = stamp();
		maybe_yield(seed);
		position = __atomic_load_n(&head->head, __ATOMIC_RELAXED);
		if (position + 1 - __atomic_load_n(&head->tail, __ATOMIC_ACQUIRE) > LINES)
			sched_yield();
		else if (__atomic_compare_exchange_n(&head->head, &position, position + 1, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
	}
	maybe_yield(seed);
	record = ring_writer_at(&writer, ring, position);
	__atomic_store_n(&record->commit, ring_commit_word(position, 1, RING_BUSY),
			 __ATOMIC_RELEASE);
	maybe_yield(seed);
	record->time = time;
	record->address = (uint64_t)(uintptr_t)block;
	record->size = size;
	record->thread = thread;
	record->flags = 0;
	record->kind = (uint8_t)kind;
	__atomic_store_n(&record->commit, ring_commit_word(position, 1, RING_DONE),
			 __ATOMIC_RELEASE);
}

static void release(uint64_t *seed, void *block, uint64_t thread)
{
	if (!block)
		return;
	write_record(seed, RING_FREE, block, 0, thread);
	free(block);
}

static void *allocate_and_free(void *context)
{
	uint64_t thread = (uint64_t)(uintptr_t)context, seed = thread * 0x9e3779b97f4a7c15u;

	for (unsigned int i = 0; i < OPERATIONS; i++) {
		uint64_t size = 16 + next_random(&seed) % 48;
		void *block = malloc(size);

		write_record(&seed, RING_ALLOC, block, size, thread);
		release(&seed, __atomic_exchange_n(&exchange[next_random(&seed) % SLOTS], block,
						   __ATOMIC_ACQ_REL), thread);
	}
	return NULL;
}

struct books {
	struct live *live;
	uint64_t events, error;
};

static void book(void *context, const struct event *event)
{
	struct books *books = context;

	books->events++;
	if (live_apply(books->live, event, 1) < 0)
		books->error++;
}

static void keeps_every_history_in_order(void **state)
{
	struct live_options options = { .exact = true, .complete = true };
	struct books books = { 0 };
	struct reader_source source;
	struct reader *reader;
	struct reader_losses losses;
	struct stacks *stacks;
	struct sites *sites;
	pthread_t thread[THREADS];
	uint64_t seed = 1;

	(void)state;
	ring_writer_init(&writer, RINGS, LINES);
	source = (struct reader_source){ .mapping = writer.mapping, .bytes = writer.bytes };
	assert_int_equal(reader_new(&source, &reader), 0);
	assert_int_equal(stacks_new(&stacks), 0);
	assert_int_equal(sites_new(stacks, &sites), 0);
	assert_int_equal(live_new(&options, sites, &books.live), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, allocate_and_free,
						(void *)(i + 1)), 0);
	while (books.events < THREADS * OPERATIONS * 2ul - SLOTS) {
		if (reader_drain(reader, book, &books) == 0)
			sched_yield();
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int i = 0; i < SLOTS; i++)
		release(&seed, exchange[i], 99);
	reader_finish(reader, book, &books);
	reader_losses(reader, &losses);
	assert_int_equal(books.error, 0);
	assert_int_equal(losses.corrupt + losses.abandoned, 0);
	assert_int_equal(books.events, THREADS * OPERATIONS * 2ul);
	assert_int_equal(sites_oddities(sites)->missed_free, 0);
	assert_int_equal(sites_oddities(sites)->free_unknown, 0);
	assert_int_equal(sites_oddities(sites)->double_free, 0);
	assert_int_equal(live_count(books.live), 0);
	live_free(books.live);
	sites_free(sites);
	stacks_free(stacks);
	reader_free(reader);
	ring_writer_done(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_every_history_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
