/* SPDX-License-Identifier: MIT */
/* path_table.c - see path_table.h. */
#include "src/recognition/path_table.h"

#include <errno.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/unwind/unwind_repeats.h"
#include "src/unwind/unwind_walk.h"

struct paths {
	struct stacks *stacks;
	const struct modules *modules;
	struct unwind_repeats *repeats;
	struct hashmap now, before;	/* name -> stack; of this epoch, and of the one before */
	struct frame frame[STACKS_MAX_FRAMES];
};

int paths_new(struct stacks *stacks, const struct modules *modules, struct paths **ret)
{
	struct paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	paths->stacks = stacks;
	paths->modules = modules;
	if (unwind_repeats_new(modules, &paths->repeats) < 0) {
		free(paths);
		return -ENOMEM;
	}
	*ret = paths;
	return 0;
}

void paths_free(struct paths *paths)
{
	if (!paths)
		return;
	unwind_repeats_free(paths->repeats);
	hashmap_done(&paths->now);
	hashmap_done(&paths->before);
	free(paths);
}

/* A call lies before its return address, which may be another module's first. */
static struct frame frame_of(const struct paths *paths, uint64_t address)
{
	const struct module *module = modules_find(paths->modules, address - 1);

	return (struct frame){
		.module = module ? module->id : 0,
		.flags = FRAME_RETURN,
		.offset = address - (module ? module->bias : 0),
	};
}

/* Code that is left by its frame pointer; what no module holds has a rule as that only. */
static bool is_jit(const struct paths *paths, const struct frame *frame)
{
	return frame->module == 0 ||
	       modules_get(paths->modules, frame->module)->kind == MODULE_JIT;
}

/*
 * The frames of event's return addresses, as the unwinder would find them: it goes on from JIT
 * code only to where a call may return to. Returns how many.
 */
static uint32_t frames_of(struct paths *paths, const struct event *event)
{
	uint32_t count = event->stack_bytes / (uint32_t)sizeof(uint64_t);
	uint64_t address;

	if (count > STACKS_MAX_FRAMES)
		count = STACKS_MAX_FRAMES;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&address, event->stack + i * sizeof(address), sizeof(address));
		paths->frame[i] = frame_of(paths, address);
		if (i == 0 || !is_jit(paths, &paths->frame[i - 1]))
			continue;
		if (!unwind_may_return_to(paths->modules, address))
			return i;
		paths->frame[i].flags |= FRAME_GUESSED;
	}
	return count;
}

int paths_add(struct paths *paths, const struct event *event)
{
	uint32_t count = unwind_repeats_keep(paths->repeats, paths->frame,
					     frames_of(paths, event)), stack;
	bool cut = event->flags & RING_F_TRUNCATED ||
		   count * sizeof(uint64_t) < event->stack_bytes;
	int error = stacks_intern(paths->stacks, paths->frame, count, cut ? STACK_TRUNCATED : 0,
				  &stack);

	return error ? error : hashmap_put(&paths->now, event->path, stack);
}

uint32_t paths_find(const struct paths *paths, uint64_t name)
{
	uint64_t stack;

	if (hashmap_get(&paths->now, name, &stack) || hashmap_get(&paths->before, name, &stack))
		return (uint32_t)stack;
	return 0;
}

void paths_foresee(const struct paths *paths, uint64_t name)
{
	hashmap_foresee(&paths->now, name);
}

uint32_t paths_glance(const struct paths *paths, uint64_t name)
{
	uint64_t stack;

	return hashmap_glance(&paths->now, name, &stack) ? (uint32_t)stack : 0;
}

bool paths_are_many(const struct paths *paths, uint64_t most)
{
	return hashmap_count(&paths->now) > most;
}

size_t paths_bytes(const struct paths *paths)
{
	return hashmap_bytes(&paths->now) + hashmap_bytes(&paths->before);
}

void paths_renew(struct paths *paths)
{
	hashmap_done(&paths->before);
	paths->before = paths->now;
	paths->now = (struct hashmap){ .slot = NULL };
}
