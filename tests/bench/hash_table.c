/* SPDX-License-Identifier: MIT */
/*
 * hash_table.c - insertions of arrays of random sizes into a table of each thread's own.
 *
 * A key that is there already gets a new array for its old one; the table's buckets double
 * when there are as many entries; all is freed at the end. Keys are drawn from as many as
 * there are insertions, so that about five in eight are new. Units are insertions, 7,000,000
 * in the full form, shared by the threads.
 */
#include "tests/bench/bench.h"

#define BUCKETS 64u		/* at first */
#define LARGEST 512u		/* of an array, in steps of 8 */

struct entry {
	struct entry *next;
	uint64_t key;
	void *array;
	size_t size;
};

struct table {
	struct bench_truth *truth;
	struct entry **buckets;
	size_t bucket_count;	/* a power of two */
	size_t entries;
};

static struct entry **bucket_of(const struct table *t, uint64_t key)
{
	return &t->buckets[(key * 0x9e3779b97f4a7c15ull >> 32) & (t->bucket_count - 1)];
}

static void make_buckets(struct table *t, size_t count)
{
	t->buckets = bench_malloc(t->truth, count * sizeof(struct entry *));
	t->bucket_count = count;
	for (size_t i = 0; i < count; i++)
		t->buckets[i] = NULL;
}

static void free_buckets(struct bench_truth *truth, struct entry **buckets, size_t count)
{
	bench_free(truth, (void *)buckets, count * sizeof(struct entry *));
}

/* Entries stay where they are, only their chains are made anew. */
static void grow(struct table *t)
{
	struct entry **old = t->buckets;
	size_t count = t->bucket_count;

	make_buckets(t, 2 * count);
	for (size_t i = 0; i < count; i++) {
		for (struct entry *e = old[i], *next; e; e = next) {
			struct entry **bucket = bucket_of(t, e->key);

			next = e->next;
			e->next = *bucket;
			*bucket = e;
		}
	}
	free_buckets(t->truth, old, count);
}

static struct entry *find(const struct table *t, uint64_t key)
{
	struct entry *e = *bucket_of(t, key);

	while (e && e->key != key)
		e = e->next;
	return e;
}

static struct entry *add(struct table *t, uint64_t key)
{
	struct entry *e = bench_malloc(t->truth, sizeof(*e));
	struct entry **bucket;

	if (t->entries++ == t->bucket_count)
		grow(t);
	bucket = bucket_of(t, key);
	*e = (struct entry){ .next = *bucket, .key = key };
	*bucket = e;
	return e;
}

static void insert(struct table *t, uint64_t key, size_t size)
{
	struct entry *e = find(t, key);

	if (!e)
		e = add(t, key);
	else
		bench_free(t->truth, e->array, e->size);
	e->array = bench_malloc(t->truth, size);
	e->size = size;
}

static void free_all(struct table *t)
{
	for (size_t i = 0; i < t->bucket_count; i++) {
		for (struct entry *e = t->buckets[i], *next; e; e = next) {
			next = e->next;
			bench_free(t->truth, e->array, e->size);
			bench_free(t->truth, e, sizeof(*e));
		}
	}
	free_buckets(t->truth, t->buckets, t->bucket_count);
}

static void hash_table(struct bench_worker *w)
{
	struct table t = { .truth = &w->truth };
	uint64_t insertions = bench_share(w);

	if (!insertions)
		return;
	make_buckets(&t, BUCKETS);
	for (uint64_t i = 0; i < insertions; i++) {
		uint64_t key = bench_random(&w->state) % insertions;

		insert(&t, key, 8 + (bench_random(&w->state) % LARGEST & ~(size_t)7));
	}
	free_all(&t);
}

int main(int argc, char **argv)
{
	struct bench b = bench_begin(argc, argv);

	return bench_run(&b, hash_table);
}
