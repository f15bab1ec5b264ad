/* SPDX-License-Identifier: MIT */
/* paths.c - see paths.h. */
#include "src/recognition/paths.h"

#include <errno.h>
#include <string.h>

#include "src/base/hashmap.h"

struct paths {
	struct stacks *stacks;
	const struct modules *modules;
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
	*ret = paths;
	return 0;
}

void paths_free(struct paths *paths)
{
	if (!paths)
		return;
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

int paths_add(struct paths *paths, const struct event *event)
{
	uint32_t count = event->stack_bytes / (uint32_t)sizeof(uint64_t), stack;
	uint64_t address;
	int error;

	if (count > STACKS_MAX_FRAMES)
		count = STACKS_MAX_FRAMES;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&address, event->stack + i * sizeof(address), sizeof(address));
		paths->frame[i] = frame_of(paths, address);
	}
	error = stacks_intern(paths->stacks, paths->frame, count,
			      event->flags & RING_F_TRUNCATED ? STACK_TRUNCATED : 0, &stack);
	return error ? error : hashmap_put(&paths->now, event->path, stack);
}

uint32_t paths_find(const struct paths *paths, uint64_t name)
{
	uint64_t stack;

	if (hashmap_get(&paths->now, name, &stack) || hashmap_get(&paths->before, name, &stack))
		return (uint32_t)stack;
	return 0;
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
