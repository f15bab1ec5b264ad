/* SPDX-License-Identifier: MIT */
/*
 * heap_musl.h - what the parts of the walker of musl's mallocng share.
 *
 * heap_musl_find finds the allocator's context, heap_musl_threads tells who is in the middle of
 * malloc, heap_musl_groups reads and checks the groups of slots, heap_musl_slots tells which slots
 * hold blocks. heap_musl.c is in charge.
 *
 * mallocng, from musl 1.2.1 on; x86-64, where the page size is a constant:
 * struct malloc_context: secret@0, init_done@8 (int), avail_meta@24, avail_meta_count@32,
 * avail_meta_area_count@40, meta_alloc_shift@48, meta_area_head@56, meta_area_tail@64,
 * avail_meta_areas@72, active[48]@80, usage_by_class[48]@464, ..., brk@920.
 * A meta area is a page: secret@0, next@8, nslots@16 (int), metas from 24 on, of 40 bytes each:
 * prev@0, next@8, mem@16, avail_mask@24, freed_mask@28 (int), and bits@32: last_idx:5,
 * freeable:1, sizeclass:6, maplen:52.
 * A group begins with the address of its meta and active_idx:5 at 8; its slots begin at 16.
 *
 * Their functions return 0; -ENOMEM; -EAGAIN where what was read does not agree with itself
 * (musl->why says what); -ENOTSUP where it is beyond a limit (the same).
 */
#ifndef MEMATTACH_LEAK_HEAP_MUSL_H
#define MEMATTACH_LEAK_HEAP_MUSL_H

#include "src/heap/heap.h"
#include "src/heap/heap_window.h"

#define MUSL_PAGE	4096u
#define MUSL_UNIT	16u	/* also the header of a group */
#define MUSL_HEADER	4u	/* of a slot, before it; the last of the slot are the next one's */
#define MUSL_CLASSES	48u
#define MUSL_ALONE	63u	/* class of a block with a mapping of its own */

#define MUSL_CONTEXT_BYTES 928u
#define MUSL_AREA_SLOTS	101u
#define MUSL_AREA_HEAD	24u
#define MUSL_META_BYTES	40u

#define MUSL_MAX_GROUPS	(16u << 20)
#define MUSL_MAX_AREAS	(1u << 18)
#define MUSL_MAX_AT_HAND 4096u
#define MUSL_MAX_HALFWAY 64u	/* slots in the middle of malloc or free, and one a thread */

/* A meta in use, and what it tells of its group. */
struct musl_group {
	uint64_t mem;		/* of the group */
	uint64_t meta;
	uint64_t map_bytes;	/* of its mapping; 0: within another's slot, or donated */
	uint32_t free;		/* a bit for each slot that is in no use */
	uint8_t last;		/* slots - 1 */
	uint8_t size_class;	/* below MUSL_CLASSES, or MUSL_ALONE */
	bool donated;		/* a rest of a library's data page that ld.so has given away */
	bool claimed;		/* a slot in use holds it; of nested ones only */
};
struct musl_sums {
	uint64_t live_count, live_bytes, free_count, free_bytes, mapped, halfway;
};
struct musl {
	const struct picture *picture;
	uint64_t code_low, code_high;	/* of the module it is in */
	uint64_t context;
	uint64_t words[MUSL_CONTEXT_BYTES / 8];	/* of it */
	struct musl_group *group;	/* owned; ascending by mem after musl_read_groups */
	size_t group_count, group_room;
	struct ranges areas;		/* of metas */
	struct ranges segments;		/* in which blocks lie: the outermost groups; normalized */
	uint64_t at_hand[MUSL_MAX_AT_HAND];	/* words of threads in malloc: metas, if they are */
	size_t at_hand_count;
	struct heap_pages pages;
	uint64_t long_steps;		/* places of far aligned blocks that may still be tried */
	struct musl_sums sums;
	char why[128];
};

enum musl_context_word {
	MUSL_SECRET = 0, MUSL_INIT_DONE = 1, MUSL_AVAIL_META = 3, MUSL_AVAIL_COUNT = 4,
	MUSL_AVAIL_AREAS = 5, MUSL_ALLOC_SHIFT = 6, MUSL_HEAD = 7, MUSL_TAIL = 8,
	MUSL_USAGE = 58,
};
enum musl_found { MUSL_NONE = 0, MUSL_MALLOCNG, MUSL_OLDMALLOC };

/*
 * Finds the context: an enum musl_found (MUSL_OLDMALLOC: the allocator of musl before 1.2.1), or
 * -ENOMEM. Sets code_low, code_high, context and words of ret.
 */
int musl_find(const struct picture *picture, const struct modules *modules,
	      struct musl *ret) _must_check_;
/* "1.2.3" out of the library that has the context, false: it does not say. */
bool musl_version(const struct musl *musl, const struct modules *modules, char *ret, size_t bytes);

/* Reads all metas, and checks that their groups are there and fit; fills group and segments. */
int musl_read_groups(struct musl *musl) _must_check_;
/* The group at mem, NULL: none. */
struct musl_group *musl_group_at(const struct musl *musl, uint64_t mem);
/* Bytes from one slot of it to the next. */
uint64_t musl_stride(const struct musl_group *group);

/*
 * Goes through all slots in use; sets sums. heap: blocks are added to it, NULL: only check. After
 * it, every nested group must have been met.
 */
int musl_walk_slots(struct musl *musl, struct heap *heap) _must_check_;

/* Could this thread be inside malloc or free? */
bool musl_is_inside(const struct musl *musl, const struct picture_thread *thread);
/* Collects what threads inside malloc have at hand: what may be a meta. */
void musl_look_at_hands(struct musl *musl);

/* Sets why and returns error. */
int musl_fail(struct musl *musl, int error, const char *format, ...) _printf_(3, 4);

#endif
