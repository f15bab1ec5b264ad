/* SPDX-License-Identifier: MIT */
/*
 * unwind_plug.c - a plug-in for unwind_victim, built twice.
 *
 * UNWIND_PLUG_INNER names its inner function: both builds have the same layout and
 * size, so that the second lands where the first was, and other names.
 */
#include "tests/victims/frame.h"

int unwind_plug(int (*callback)(int), int n);
int UNWIND_PLUG_INNER(int (*callback)(int), int n);

FRAME int UNWIND_PLUG_INNER(int (*callback)(int), int n)
{
	int r = callback(n);

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

FRAME int unwind_plug(int (*callback)(int), int n)
{
	int r = UNWIND_PLUG_INNER(callback, n + 1);

	__asm__ volatile("" : "+r"(r));
	return r + 2;
}
