/* SPDX-License-Identifier: MIT */
/*
 * wide_names.c - functions whose names are not ASCII: of two columns a character, of combining
 * characters, of other alphabets. Allocates at each, frees some, loses one; then ends.
 * Übergröße, 日本語: also in the source, which a view prints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
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
	return 0;
}
