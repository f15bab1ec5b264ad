/* SPDX-License-Identifier: MIT */
/*
 * suspended.c - one pass over all memory that a stack may lie in, while the target runs.
 *
 * One is enough, since such words only become fewer: what was looked at has none, and gets none.
 * A hook wipes its word as it leaves (FRAME_LEAVE in shim_hooks.S), so one that is found is a call
 * that is under way, and is waited for at its place; or what longjmp or an exception has left on a
 * stack that is not surely a thread's own, or a copy. Who was interrupted by a signal may call out
 * when it goes on, which makes a word: where frames are searched for, too, the pass begins anew
 * after each find.
 * Memory that nothing was ever written to is passed over: reading it would fill it with pages.
 */
#include "inject/quiesce/suspended.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "inject/abi/memfd_names.h"
#include "inject/arch/x86_64/frame.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/tracee.h"
#include "src/base/pagemap.h"
#include "src/base/procmaps.h"

#define PAGE 4096ull
#define PAUSE_NS 5000000
enum { CHUNK_WORDS = 1 << 15, RANGES = 256 };

struct look {
	const struct target *target;
	const struct suspended_words *words;
	uint64_t deadline_ns;
	const struct quiesce_todo *todo;
	struct suspended_search *search;
};

/* It is not by chance that it can't be read: there is no such memory any more. */
static bool is_gone(const struct look *l, uint64_t address)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	return procmaps_read(l->target->maps, &maps) == 0 && !procmaps_find(&maps, address);
}

/* Private, or shared with forked processes only: what coroutines' stacks are made of. */
static bool may_hold_a_stack(const struct procmap *map)
{
	if (!(map->prot & PROCMAP_W) || strcmp(map->path, MEMFD_SHIM_PATH) == 0)
		return false;
	return !(map->prot & PROCMAP_SHARED) || strcmp(map->path, "/dev/zero") == 0;
}

/* The words of a signal frame after the one that says where the thread goes on. */
enum { FRAME_WORDS = FRAME_SELECTORS_AFTER_IP / sizeof(uint64_t) };

static bool is_call(const struct look *l, uint64_t word)
{
	return word >= l->words->low && word < l->words->high;
}

/* ip and selectors stand in a signal frame, in its order. */
static bool is_frame(const struct look *l, uint64_t ip, uint64_t selectors)
{
	if (!frame_is_selectors(selectors))
		return false;
	for (size_t i = 0; i < l->words->count; i++)
		if (ip >= l->words->range[i].low && ip < l->words->range[i].high)
			return true;
	return false;
}

/* Does such a word, or such a frame, stand at address? 1, 0, -errno: it can't be read. */
static int is_one_at(const struct look *l, uint64_t address)
{
	uint64_t word[1 + FRAME_WORDS];
	size_t got = remote_read_some(l->target, address, word, sizeof(word));

	if (got < sizeof(*word))
		return -EIO;
	return is_call(l, word[0]) ||
	       (got == sizeof(word) && is_frame(l, word[0], word[FRAME_WORDS]));
}

/* Below where a thread was outside, on its own stack: nobody returns by what is there. */
static bool is_dead(const struct look *l, uint64_t address)
{
	for (size_t i = 0; i < l->todo->dead_count; i++)
		if (address >= l->todo->dead[i].low && address < l->todo->dead[i].high)
			return true;
	return false;
}

/* Until what stands at address is no such word. 0 or -ETIME. */
static int wait_at(const struct look *l, uint64_t address)
{
	const struct timespec pause = { 0, PAUSE_NS };

	l->search->at = address;
	for (;;) {
		int one = is_one_at(l, address);

		if (one == 0 || (one < 0 && is_gone(l, address)))
			return 0;
		if (tracee_now_ns() > l->deadline_ns)
			return -ETIME;
		(void)nanosleep(&pause, NULL);
	}
}

static int look_at_words(const struct look *l, uint64_t at, const uint64_t *word, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		uint64_t address = at + i * sizeof(*word);
		int one;

		if (frame_is_selectors(word[i]) && l->words->count)
			address -= FRAME_SELECTORS_AFTER_IP;
		else if (!is_call(l, word[i]))
			continue;
		one = is_dead(l, address) ? 0 : is_one_at(l, address);
		if (one == 0 || (one < 0 && is_gone(l, address)))
			continue;
		error = wait_at(l, address);
		if (!error && l->words->count) {	/* a frame's thread may call out now */
			l->search->at = 0;
			error = -ETIME;
		}
	}
	return error;
}

/*
 * A page that is gone meanwhile is passed over, and so is one that is not in memory and can't be
 * read: guard pages (MADV_GUARD_INSTALL) count as swapped out, and can't be told from one that
 * could not be read back in. Another that can't be read is an error.
 */
static int look_at_range(const struct look *l, const struct pagemap_range *range)
{
	static uint64_t word[CHUNK_WORDS];	/* one keeper, one thread */
	uint64_t at = range->low;
	int error = 0;

	while (!error && at < range->high) {
		uint64_t left = range->high - at;
		size_t bytes = left < sizeof(word) ? (size_t)left : sizeof(word);
		size_t got = remote_read_some(l->target, at, word, bytes);

		error = look_at_words(l, at, word, got / sizeof(*word));
		at += got & ~(PAGE - 1);
		if (!error && got < bytes) {
			if ((range->categories & PAGEMAP_PRESENT) && !is_gone(l, at))
				error = -EIO;
			at += PAGE;
		}
	}
	return error;
}

/* left_out: what pages of that kind hold is not the process's own. */
static int look_at_map(const struct look *l, const struct pagemap *pagemap, uint64_t at,
		       uint64_t end, uint64_t left_out)
{
	struct pagemap_range range[RANGES];
	int error = 0;

	while (!error && at < end) {
		int count = pagemap_next_kinds(pagemap, &at, end, range, RANGES);

		if (count < 0)
			return count;
		for (int i = 0; !error && i < count; i++)
			if (!(range[i].categories & left_out))
				error = look_at_range(l, &range[i]);
	}
	return error;
}

int suspended_calls_wait(const struct target *target, const struct suspended_words *words,
			 const struct quiesce_todo *todo, uint64_t deadline_ns,
			 struct suspended_search *search)
{
	const struct look look = { target, words, deadline_ns, todo, search };
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	struct pagemap pagemap;
	int error = procmaps_read(target->maps, &maps);

	if (error)
		return error;
	pagemap_init(&pagemap, target->pagemap);
	if (pagemap.way == PAGEMAP_UNKNOWN)
		return -ENOTSUP;
	for (size_t i = 0; !error && i < maps.count; i++) {
		const struct procmap *map = &maps.map[i];
		uint64_t from = search->at > map->start ? search->at & ~(PAGE - 1) : map->start;

		if (may_hold_a_stack(map) && from < map->end)
			error = look_at_map(&look, &pagemap, from, map->end,
					    map->prot & PROCMAP_SHARED ? 0 : PAGEMAP_OF_FILE);
	}
	search->complete = !error;
	return error;
}
