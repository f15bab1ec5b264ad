/* SPDX-License-Identifier: MIT */
/*
 * queue.c - random pushes and pops: of four steps three push until there are as many objects
 * as there are to be, then three pop until there is none. A queue of each thread's own.
 *
 * Objects come in sixteen sizes, 16 to 256 bytes. Units are the objects that live at once,
 * 30,000,000 in the full form, shared by the threads; each takes two allocations.
 */
#include "tests/bench/bench.h"

struct object {
	struct object *next;
	uint32_t size;
	uint32_t number;
};

struct queue {
	struct bench_truth *truth;
	struct object *first, **last;
	uint64_t length;
};

static void push(struct queue *q, uint64_t random)
{
	size_t size = 16 + (random >> 32 & 15) * 16;
	struct object *object = bench_malloc(q->truth, size);

	object->next = NULL;
	object->size = (uint32_t)size;
	object->number = (uint32_t)q->length++;
	*q->last = object;
	q->last = &object->next;
}

static void pop(struct queue *q)
{
	struct object *object = q->first;

	if (!object)
		return;
	q->first = object->next;
	if (!q->first)
		q->last = &q->first;
	q->length--;
	bench_free(q->truth, object, object->size);
}

static void step(struct queue *q, uint64_t random, bool fill)
{
	if ((random & 3) != 0 ? fill : !fill)
		push(q, random);
	else
		pop(q);
}

static void queue(struct bench_worker *w)
{
	struct queue q = { .truth = &w->truth, .last = &q.first };
	uint64_t most = bench_share(w);

	while (q.length < most)
		step(&q, bench_random(&w->state), true);
	while (q.length)
		step(&q, bench_random(&w->state), false);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, queue);
}
