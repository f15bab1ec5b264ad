/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc_threads.c - is a thread in the midst of a change?
 *
 * While a thread fills or empties its cache, allocates or frees a large block, there are blocks
 * that are neither held nor free, and nothing in memory tells: the pointers that were fetched
 * for a cache look just like those of old. So each thread's calls are looked at. In the
 * functions that the library exports, with no other one of it called, all is whole (a
 * block that comes or goes is in a register); anywhere else in it, it may not be.
 * Its own background threads only give free pages back, and stay in it for ever.
 * Rejected: locks that are held, which are let go before a cache's head is moved.
 */
#include "src/heap/jemalloc/heap_jemalloc.h"

#include <errno.h>

#include "src/leak/roots/thread_frames.h"
#include "src/leak/roots/tls_map.h"

#define MAX_FRAMES	96u
#define MAX_EXPORTS	1024u
#define TLS_BYTES	(64u << 10)	/* below a thread pointer; searched for its storage */

struct export {
	uint64_t low, high;
};
struct look {
	struct jemalloc *jemalloc;
	struct cfi_rules *rules;
	size_t export_count;
	struct export export[MAX_EXPORTS];
};

static int note_export(void *context, const struct elf_symbol *symbol)
{
	struct look *look = context;

	if (symbol->type != STT_FUNC || symbol->section == SHN_UNDEF || !symbol->size)
		return 0;
	if (look->export_count < MAX_EXPORTS)
		look->export[look->export_count++] =
			(struct export){ symbol->address, symbol->address + symbol->size };
	return 0;
}

static bool is_exported(const struct look *look, uint64_t pc)
{
	for (size_t i = 0; i < look->export_count; i++)
		if (pc >= look->export[i].low && pc < look->export[i].high)
			return true;
	return false;
}

static bool is_inside(const struct look *look, uint64_t pc)
{
	return pc >= look->jemalloc->module->low && pc < look->jemalloc->module->high;
}

static int look_at(struct look *look, const struct picture_thread *thread)
{
	struct jemalloc *jemalloc = look->jemalloc;
	uint64_t pc[MAX_FRAMES], innermost = 0, outermost = 0;
	size_t count;

	count = thread_frames(jemalloc->picture, jemalloc->modules, look->rules, thread, pc,
			      MAX_FRAMES);
	for (size_t i = 0; i < count; i++) {
		if (!is_inside(look, pc[i]))
			continue;
		innermost = innermost ? innermost : pc[i];
		outermost = pc[i];
	}
	if (!innermost)
		return 0;
	jemalloc->entered = true;
	/* Who comes from outside comes in by an exported function, or at the end of a thread. */
	if (is_exported(look, innermost) ||
	    (!is_exported(look, outermost) &&
	     !jemalloc_has_cache(jemalloc, thread->registers.fs_base)))
		return 0;
	return jemalloc_fail(jemalloc, -EAGAIN, "thread %d is at work in it", (int)thread->tid);
}

static int read_exports(struct look *look)
{
	const struct jemalloc *jemalloc = look->jemalloc;
	struct elf_image image;
	int r = elf_image_open(&jemalloc->picture->reader, jemalloc->module->low, &image);

	if (r == 0)
		r = elf_image_each(&image, note_export, look);
	if (r < 0 || look->export_count == 0)
		return jemalloc_fail(look->jemalloc, -ENOTSUP, "its symbols can't be read");
	return 0;
}

int jemalloc_look_at_threads(struct jemalloc *jemalloc)
{
	const struct picture *picture = jemalloc->picture;
	_cleanup_free_ struct look *look = calloc(1, sizeof(*look));
	int first = 0, r;

	if (!look || cfi_rules_new(&look->rules) < 0)
		return -ENOMEM;
	look->jemalloc = jemalloc;
	r = read_exports(look);
	/* All of them: whether one is in it says what a heap means that is not whole. */
	for (size_t i = 0; i < picture->thread_count && r == 0; i++) {
		int found = look_at(look, &picture->thread[i]);

		first = first ? first : found;
	}
	cfi_rules_free(look->rules);
	return r ? r : first;
}

/* --- what it keeps for each thread -------------------------------------------- */

/* Its thread-local storage below that thread pointer, NULL: none is known. */
static const struct tls_block *find_storage(const struct jemalloc *jemalloc,
					    const struct tls_map *map, uint64_t pointer)
{
	uint64_t at = pointer - 1;

	while (pointer - at < TLS_BYTES) {
		const struct tls_block *block = tls_map_find(map, at);

		if (block && block->module == jemalloc->module)
			return block;
		at = block ? block->low - 1 : at - 8;
	}
	return NULL;
}

int jemalloc_own_storage(struct jemalloc *jemalloc, struct ranges *own)
{
	const struct picture *picture = jemalloc->picture;
	const struct tls_block *block = NULL;
	struct tls_map *map = NULL;
	uint64_t below = 0, bytes = 0;
	int r = tls_map_new(picture, jemalloc->modules, &map);

	for (size_t i = 0; i < picture->thread_count && r == 0; i++) {
		uint64_t pointer = picture->thread[i].registers.fs_base;

		block = block ? block : find_storage(jemalloc, map, pointer);
		/* Static storage: at the same distance for all. */
		if (block && !below) {
			below = pointer - block->low;
			bytes = block->high - block->low;
		}
		if (below && below < pointer && pointer < JEMALLOC_TOP)
			r = ranges_add(own, pointer - below, pointer - below + bytes);
	}
	tls_map_free(map);
	return r;
}
