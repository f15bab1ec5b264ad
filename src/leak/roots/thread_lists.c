/* SPDX-License-Identifier: MIT */
/*
 * thread_lists.c - the second half of thread_data.h: threads that ended.
 *
 * glibc links every struct pthread into one of three rings: stacks in use, stacks that the
 * application gave (the main thread is there), stacks kept for the next thread. A ring's head is a
 * list_t among libc's, ld.so's or libpthread's variables, and the three heads are near
 * each other: neighbours in ld.so's _rtld_global since 2.34, variables of one source file in
 * libpthread before, or in a static program. So: go round the rings of the live threads; where a
 * ring passes something that is no control block, that is a head; then look through the 32 KiB
 * on either side of it for other rings of control blocks.
 *
 * A thread on these rings with no live thread behind it has ended. musl unmaps its stacks.
 */
#include "src/leak/roots/thread_data.h"

#include <errno.h>
#include <string.h>

#include "src/base/hashmap.h"

#define LIST_OFFSET	0x2c0u
#define TID_OFFSET	0x2d0u
#define JOINID_FIRST	0x500u	/* joinid is near 0x620; before it lie the application's values */
#define JOINID_LAST	0x690u
#define ENDED_MAX	65536u
#define RING_MAX	(1u << 20)
#define HEADS_MAX	16u
#define NEAR_BYTES	(32u << 10)

struct walk {
	const struct picture *picture;
	const uint64_t *live;
	size_t live_count;
	struct hashmap visited;		/* list nodes, heads included */
	uint64_t head[HEADS_MAX];
	size_t head_count;
	struct thread_ended *ended;
	size_t count, room;
	size_t steps;			/* left, over all rings */
};

static bool is_tcb(const struct picture *picture, uint64_t address)
{
	uint64_t words[3];

	return address % 16 == 0 && address >= 0x10000 &&
	       !picture_read(picture, address, words, sizeof(words)) && words[0] == address &&
	       words[2] == address;
}

static bool is_live(const struct walk *walk, uint64_t tcb)
{
	size_t low = 0, high = walk->live_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (walk->live[middle] == tcb)
			return true;
		if (walk->live[middle] < tcb)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* joinid is the thread itself once it is detached. */
static bool is_detached(const struct picture *picture, uint64_t tcb)
{
	uint64_t words[(JOINID_LAST - JOINID_FIRST) / 8];
	size_t got = picture_read_some(picture, tcb + JOINID_FIRST, words, sizeof(words)) / 8;

	for (size_t i = 0; i < got; i++) {
		if (words[i] == tcb)
			return true;
	}
	return false;
}

/* Its end clears the tid (by the kernel); pthread_join then sets it to -1. */
static bool is_waited_for(const struct picture *picture, uint64_t tcb)
{
	return (uint32_t)picture_word(picture, tcb + TID_OFFSET) == 0 &&
	       !is_detached(picture, tcb);
}

static int add_ended(struct walk *walk, uint64_t tcb)
{
	struct thread_ended ended = { .waited_for = is_waited_for(walk->picture, tcb) };
	size_t room = walk->room ? walk->room * 2 : 16;
	struct thread_ended *grown;

	/* Without a stack it would be the main thread, which pthread_exit has ended. */
	if (walk->count == ENDED_MAX || thread_data_read(walk->picture, tcb, &ended.data))
		return 0;
	if (walk->count == walk->room) {
		grown = reallocarray(walk->ended, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		walk->ended = grown;
		walk->room = room;
	}
	walk->ended[walk->count++] = ended;
	return 0;
}

/* A node that was reached: a thread, or a ring's head. */
static int see_node(struct walk *walk, uint64_t node)
{
	uint64_t tcb = node - LIST_OFFSET;

	if (hashmap_put(&walk->visited, node, 0))
		return -ENOMEM;
	if (!is_tcb(walk->picture, tcb)) {
		if (walk->head_count < HEADS_MAX)
			walk->head[walk->head_count++] = node;
		return 0;
	}
	return is_live(walk, tcb) ? 0 : add_ended(walk, tcb);
}

/* Goes round the ring of node until it is closed, torn, or joins one that is known. */
static int walk_ring(struct walk *walk, uint64_t node)
{
	uint64_t unused;

	while (walk->steps > 0 && !hashmap_get(&walk->visited, node, &unused)) {
		uint64_t next = picture_word(walk->picture, node);
		int error = see_node(walk, node);

		walk->steps--;
		if (error)
			return error;
		if (next < 0x10000 || next % 8 || picture_word(walk->picture, next + 8) != node)
			return 0;
		node = next;
	}
	return 0;
}

/* (next, prev) at address: a head of a ring that holds threads? */
static bool is_head(const struct picture *picture, uint64_t address, uint64_t next,
		    uint64_t previous)
{
	if (next < 0x10000 || next % 16 || previous < 0x10000 || previous % 16 || next == address)
		return false;
	return picture_word(picture, next + 8) == address &&
	       picture_word(picture, previous) == address && is_tcb(picture, next - LIST_OFFSET);
}

/* Rings whose heads lie near this one. */
static int look_near(struct walk *walk, uint64_t head)
{
	_cleanup_free_ uint64_t *words = malloc(2 * NEAR_BYTES);
	const struct procmap *map = procmaps_find(&walk->picture->maps, head);
	uint64_t low = head - NEAR_BYTES;
	size_t got;
	int error = 0;

	if (!words)
		return -ENOMEM;
	if (!map)
		return 0;
	/* .data and .bss are neighbours, but may be two mappings. */
	while (map > walk->picture->maps.map && map[-1].end == map->start && map->start > low)
		map--;
	if (map->start > low)
		low = map->start;
	got = picture_read_some(walk->picture, low, words, 2 * NEAR_BYTES) / 8;
	for (size_t i = 0; !error && i + 1 < got; i++) {
		if (is_head(walk->picture, low + i * 8, words[i], words[i + 1]))
			error = walk_ring(walk, words[i]);
	}
	return error;
}

static int walk_all(struct walk *walk)
{
	int error = 0;

	for (size_t i = 0; !error && i < walk->live_count; i++) {
		if (is_tcb(walk->picture, walk->live[i]))
			error = walk_ring(walk, walk->live[i] + LIST_OFFSET);
	}
	/* More heads may be added meanwhile, up to HEADS_MAX. */
	for (size_t i = 0; !error && i < walk->head_count; i++)
		error = look_near(walk, walk->head[i]);
	return error;
}

int thread_data_ended(const struct picture *picture, const uint64_t *tcb, size_t count,
		      struct thread_ended **ret, size_t *ret_count)
{
	struct walk walk = { .picture = picture, .live = tcb, .live_count = count,
			     .steps = RING_MAX };
	int error = walk_all(&walk);

	hashmap_done(&walk.visited);
	if (error) {
		free(walk.ended);
		return error;
	}
	*ret = walk.ended;
	*ret_count = walk.count;
	return 0;
}
