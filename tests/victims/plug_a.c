/* SPDX-License-Identifier: MIT */
/*
 * plug_a.c - a plug-in whose one function allocates (see plug.h).
 *
 * Its function has a name of its own, and the call another line than in its twin, so
 * that a frame taken for the other library's shows at once.
 */
#include "tests/victims/plug.h"
#include "tests/victims/victim.h"

#include <stdlib.h>

plug_allocate_fn plug_allocate_a;

VICTIM_FRAME void *plug_allocate_a(size_t size, int *ret_line)
{
	void *p;

	*ret_line = __LINE__ + 1;
	p = malloc(size);
	return victim_seen(p);
}
