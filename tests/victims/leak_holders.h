/* SPDX-License-Identifier: MIT */
/* leak_holders.h - between the two halves of the victim leak_holders. */
#ifndef LEAK_HOLDERS_H
#define LEAK_HOLDERS_H

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tells the test of a block: its name, address and usable size. */
static inline void *tell(const char *name, void *block)
{
	printf("%s %p %zu\n", name, block, malloc_usable_size(block));
	return block;
}
static inline void *make(const char *name, size_t bytes)
{
	return tell(name, calloc(1, bytes));
}
/* All is told; waits to be killed. */
static inline void wait_for_test(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

struct secret;		/* complete in the other half only */
struct secret *secret_new(void);

#endif
