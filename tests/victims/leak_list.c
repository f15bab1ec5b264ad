/* SPDX-License-Identifier: MIT */
/* leak_list.c - a list of 200,000, linked with or against the order of addresses. */
#include "leak_holders.h"

#define COUNT 200000

struct node {
	struct node *next;
	long number;
};

struct node *g_head;

int main(void)
{
	static struct node *node[COUNT];

	for (int i = 0; i < COUNT; i++)
		node[i] = calloc(1, sizeof(*node[i]));
#ifdef UPWARDS
	for (int i = 0; i + 1 < COUNT; i++)
		node[i]->next = node[i + 1];
	g_head = node[0];
	tell("tail", node[COUNT - 1]);
#else
	for (int i = 1; i < COUNT; i++)
		node[i]->next = node[i - 1];
	g_head = node[COUNT - 1];
	tell("tail", node[0]);
#endif
	/* All the others lie between these two: told as ranges of equal blocks. */
	printf("range %p %zu\n", (void *)node[0], (size_t)((char *)node[COUNT - 1] -
							   (char *)node[0]));
	memset(node, 0, sizeof(node));
	wait_for_test();
}
