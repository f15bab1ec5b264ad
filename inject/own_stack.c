/* SPDX-License-Identifier: MIT */
/*
 * own_stack.c - a thread's own stack, by the kernel's name for it or the thread control block.
 *
 * That sp lies below the control block in one mapping is not enough: the kernel joins neighbours,
 * and memory for fibers' stacks is mapped right below the first thread's control block, which is
 * on no stack at all. A signal frame below such a fiber's sp was written over the next one's stack.
 */
#include "inject/own_stack.h"

#include <string.h>

#include "inject/remote_mem.h"

/* glibc's struct pthread: its size at the least, and what of a stack is beyond its begin. */
enum { CONTROL_BLOCK_WORDS = 280, BEYOND_CONTROL_BLOCK = 8192 };
enum { SMALLEST_STACK = 16384 };	/* PTHREAD_STACK_MIN of glibc */

bool own_stack_is_main(const struct procmap *map, pid_t pid, pid_t tid)
{
	return tid == pid && strcmp(map->path, "[stack]") == 0;
}

/*
 * Of a stack that ends in map and may begin with its guard, in the mapping right below it, which
 * nobody may touch. 0: what is no such place, as a small number before a pointer (a thread's id).
 */
static uint64_t first_of_stack(const struct procmaps *maps, const struct procmap *map,
			       uint64_t begin)
{
	const struct procmap *guard = procmaps_find(maps, begin);

	if (begin >= map->start)
		return begin;
	if (!guard || guard->end != map->start ||
	    (guard->prot & (PROCMAP_R | PROCMAP_W | PROCMAP_X)))
		return 0;
	return map->start;
}

/*
 * The begin of the stack at whose end the control block at thread_pointer lies, for a thread at sp:
 * two words of it, begin and size, add up to that end. 0: it says nothing; above sp: sp lies on
 * another stack, below it.
 */
static uint64_t find_begin(const struct target *target, const struct procmaps *maps,
			   const struct procmap *map, uint64_t sp, uint64_t thread_pointer)
{
	uint64_t word[CONTROL_BLOCK_WORDS], above = 0;

	if (remote_read(target, thread_pointer, word, sizeof(word)) != 0)
		return 0;
	for (size_t i = 0; i + 1 < CONTROL_BLOCK_WORDS; i++) {
		uint64_t beyond = word[i] + word[i + 1] - thread_pointer, low;

		if (word[i] >= thread_pointer || beyond == 0 || beyond > BEYOND_CONTROL_BLOCK)
			continue;
		low = first_of_stack(maps, map, word[i]);
		if (low && low <= sp)
			return low;
		if (low && word[i + 1] >= SMALLEST_STACK)
			above = low;
	}
	return above;
}

bool own_stack_find(const struct target *target, const struct procmaps *maps, pid_t tid,
		    uint64_t sp, uint64_t thread_pointer, struct own_stack *ret)
{
	const struct procmap *map = procmaps_find(maps, sp);

	if (!map)
		return false;
	if (own_stack_is_main(map, target->ref.pid, tid)) {
		*ret = (struct own_stack){ map->start, map->end };
		return true;
	}
	if (sp >= thread_pointer || thread_pointer >= map->end)
		return false;
	ret->low = find_begin(target, maps, map, sp, thread_pointer);
	ret->high = thread_pointer;
	return sp >= ret->low && (ret->low || tid != target->ref.pid);
}
