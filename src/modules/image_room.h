/* SPDX-License-Identifier: MIT */
/* image_room.h - what copies of a target's files and code may take of this process's memory. */
#ifndef MEMATTACH_IMAGE_ROOM_H
#define MEMATTACH_IMAGE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* All modules of a session share one; any thread takes from it and gives back. */
struct image_room {
	uint64_t left;		/* bytes */
	bool said;		/* that it was too little for some file */
};

/* False: so many bytes are not left, and none are taken. room NULL: there is no limit. */
static inline bool image_room_take(struct image_room *room, uint64_t bytes)
{
	uint64_t left = room ? __atomic_load_n(&room->left, __ATOMIC_RELAXED) : 0;

	if (!room)
		return true;
	do {
		if (left < bytes)
			return false;
	} while (!__atomic_compare_exchange_n(&room->left, &left, left - bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static inline void image_room_give(struct image_room *room, uint64_t bytes)
{
	if (room)
		(void)__atomic_add_fetch(&room->left, bytes, __ATOMIC_RELAXED);
}

#endif
