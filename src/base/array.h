/* SPDX-License-Identifier: MIT */
/* array.h - arrays that grow by doubling, and those that are sorted. */
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

/*
 * The first index below count for which before is false, or count. pre: before is false for all
 * that come after one for which it is. i: the index's name in before.
 */
#define ARRAY_BISECT(count, i, before) ({ \
	size_t low_ = 0, high_ = (count); \
	\
	while (low_ < high_) { \
		size_t i = low_ + (high_ - low_) / 2; \
		\
		if (before) \
			low_ = i + 1; \
		else \
			high_ = i; \
	} \
	low_; \
})

#endif
