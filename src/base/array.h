/* SPDX-License-Identifier: MIT */
/* array.h - arrays that grow by doubling. */
#ifndef MEMATTACH_BASE_ARRAY_H
#define MEMATTACH_BASE_ARRAY_H

#include <stdlib.h>

/*
 * Room for one more element of size bytes behind count of them, *room being what the array has
 * room for: the array, which may have moved. NULL without memory: all is as it was.
 */
static inline void *array_room(void *array, size_t size, size_t count, size_t *room)
{
	size_t more = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return array;
	grown = reallocarray(array, more, size);
	if (grown)
		*room = more;
	return grown;
}

#endif
