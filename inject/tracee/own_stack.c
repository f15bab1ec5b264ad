/* SPDX-License-Identifier: MIT */
/*
 * own_stack.c - a thread's own stack, by the kernel's name for it or the thread control block.
 *
 * That sp lies below the control block in one mapping is not enough: the kernel joins neighbours,
 * and memory for fibers' stacks is mapped right below the first thread's control block, which is
 * on no stack at all. A signal frame below such a fiber's sp was written over the next one's stack.
 */
#include "inject/tracee/own_stack.h"

#include <string.h>

#include "inject/tracee/remote_mem.h"

/* glibc's struct pthread: its size at the least, and what of a stack is beyond its begin. */
enum { CONTROL_BLOCK_WORDS = 280, BEYOND_CONTROL_BLOCK = 8192 };
enum { SMALLEST_STACK = 16384, SMALLEST_GIVEN = 2048 };	/* PTHREAD_STACK_MIN of glibc, musl */

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
 * musl's map_base, map_size, stack, stack_size, of a thread whose stack the program gave: it has
 * no map, map_size is that of all of it, and stack ends right below what libc keeps on top.
 */
static bool is_given_by_program(const uint64_t word[4], uint64_t thread_pointer)
{
	return word[0] == 0 && word[1] - word[3] <= BEYOND_CONTROL_BLOCK &&
	       word[2] < thread_pointer &&
	       thread_pointer - word[2] <= BEYOND_CONTROL_BLOCK && word[3] >= SMALLEST_GIVEN &&
	       word[3] < word[2];
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
	size_t count = remote_read_some(target, thread_pointer, word, sizeof(word)) / 8;

	for (size_t i = 0; i + 1 < count; i++) {
		uint64_t beyond = word[i] + word[i + 1] - thread_pointer, low;

		if (word[i] >= thread_pointer || beyond == 0 || beyond > BEYOND_CONTROL_BLOCK)
			continue;
		low = first_of_stack(maps, map, word[i]);
		if (low && low <= sp)
			return low;
		if (low && word[i + 1] >= SMALLEST_STACK)
			above = low;
	}
	for (size_t i = 0; !above && i + 3 < count; i++)
		if (is_given_by_program(&word[i], thread_pointer))
			above = first_of_stack(maps, map, word[i + 2] - word[i + 3]);
	return above;
}

bool own_stack_find(const struct target *target, const struct procmaps *maps, pid_t tid,
		    uint64_t sp, uint64_t thread_pointer, struct own_stack *ret)
{
	const struct procmap *map = procmaps_find(maps, sp);

	if (!map)
		return false;
	if (own_stack_is_main(map, target->ref.pid, tid)) {
		*ret = (struct own_stack){ map->start, map->end, true };
		return true;
	}
	if (sp >= thread_pointer || thread_pointer >= map->end)
		return false;
	*ret = (struct own_stack){ .high = thread_pointer };
	ret->low = find_begin(target, maps, map, sp, thread_pointer);
	return sp >= ret->low && (ret->low || tid != target->ref.pid);
}
