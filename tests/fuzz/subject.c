/* SPDX-License-Identifier: MIT */
/* subject.c - code and types whose debug information fuzz_debug.c forges. Never run. */
#include <stddef.h>

void *subject_allocate(size_t bytes);

struct node {
	struct node *next;
	union { long number; void *any; } value;
	char name[16];
};
struct shelf {
	struct node *first, row[3][2];
};
struct shelf *subject_shelf;
static struct node *table[16];
static __thread struct node *recent;

static inline struct node *make_node(struct node **at, long number)
{
	struct node *fresh = subject_allocate(sizeof(*fresh));

	fresh->value.number = number;
	*at = fresh;
	return fresh;
}

long subject_work(long count)
{
	long sum = 0;

	for (long i = 0; i < count; i++) {
		struct node *local = make_node(&table[i % 16], i);

		recent = local;
		subject_shelf->first = make_node(&local->next, i);
		sum += local->value.number + (recent == local);
	}
	return sum;
}
