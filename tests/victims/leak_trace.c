/* SPDX-License-Identifier: MIT */
/* leak_trace.c - one block that is held from many sides, see leak_holders.c. */
#include "leak_holders.h"

struct node {
	struct node *next, *parent;
};

struct node *g_shared_node;
struct {
	struct node *first, *second;
} g_pair;
struct node *g_pointer;
struct node *g_array[3];

static void __attribute__((noinline)) forget(void)
{
	char volatile waste[16384];

	memset((char *)waste, 0, sizeof(waste));
}

static void __attribute__((noinline)) build(void)
{
	struct node *shared = make("shared", sizeof(*shared)), *far, *child;

	g_shared_node = g_pair.second = shared;
	g_pointer = make("near", sizeof(*g_pointer));
	g_pointer->next = shared;
	g_array[1] = far = make("far", sizeof(*far));
	far->next = make("farther", sizeof(*far));
	far->next->next = shared;
	/* Back from what it holds itself: no chain. */
	shared->next = child = make("child", sizeof(*child));
	child->parent = shared;
}

int main(void)
{
	build();
	forget();
	wait_for_test();
}
