/* SPDX-License-Identifier: MIT */
/*
 * path_table.h - call paths by the names that the shim gives them (docs/RECOGNITION.md).
 *
 * A path comes once, as its list of return addresses, and is interned; later events name it.
 */
#ifndef MEMATTACH_PATHS_H
#define MEMATTACH_PATHS_H

#include "src/modules/modules.h"
#include "src/modules/stacks.h"
#include "src/ring/event.h"

struct paths;
/* stacks and modules are borrowed. 0 or -ENOMEM. */
int paths_new(struct stacks *stacks, const struct modules *modules, struct paths **ret)
	_must_check_;
void paths_free(struct paths *paths);
/* event: RING_PATH. Its addresses are copied before they are looked at. 0 or -ENOMEM. */
int paths_add(struct paths *paths, const struct event *event) _must_check_;
/* The stack of the path called name, 0: never told (or long forgotten). */
uint32_t paths_find(const struct paths *paths, uint64_t name);
/* name will be asked for soon. */
void paths_foresee(const struct paths *paths, uint64_t name);
/* As paths_find, but looks only where name most likely is. */
uint32_t paths_glance(const struct paths *paths, uint64_t name);
/*
 * True when there are so many names that the shim should begin with new ones: paths_renew() has
 * been called then, which keeps those of the time before for events that are still to come.
 */
bool paths_are_many(const struct paths *paths, uint64_t most);
void paths_renew(struct paths *paths);
/* Memory that they take. */
size_t paths_bytes(const struct paths *paths);

#endif
