/* SPDX-License-Identifier: MIT */
/*
 * wide_names.c - functions whose names are not ASCII: of two columns a character, of other
 * alphabets. Allocates at each, frees some, loses one: before it is ready, and for each "g".
 * Übergröße, 日本語: also in the source, which a view prints.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/victims/victim.h"

static void *volatile kept[64];

static __attribute__((noinline)) void größe(int n)
{
	kept[n] = malloc(100);	/* größer als nötig */
}

static __attribute__((noinline)) void 日本語の関数(int n)
{
	kept[n] = calloc(3, 50);	/* 割り当て */
}

static __attribute__((noinline)) void выделить(int n)
{
	kept[n] = strdup("a string");
	größe(n + 1);
}

static void work(void)
{
	for (int i = 0; i < 20; i++)
		größe(i);
	for (int i = 20; i < 40; i++)
		日本語の関数(i);
	for (int i = 40; i < 60; i += 2)
		выделить(i);
	for (int i = 0; i < 60; i += 3)
		free(kept[i]);
	kept[1] = NULL;
}

int main(void)
{
	char command;

	work();
	victim_say("ready %d\n", (int)getpid());
	while (read(STDIN_FILENO, &command, 1) == 1 && command == 'g') {
		work();
		victim_say("work ok\n");
	}
	return 0;
}
