/* SPDX-License-Identifier: MIT */
/*
 * shim_name.h - the name of the shim in the dynamic loader's list of modules.
 *
 * The name that dlopen is given leads to a descriptor of the process that opens it. Debuggers,
 * and crash reporters within a program, open the names in that list: each would open a descriptor
 * of its own, and wait for ever where that is a pipe. So the name is replaced as soon as dlopen has
 * returned, by the one that the kernel shows for the same mapping, which no file has.
 */
#ifndef MEMATTACH_SHIM_NAME_H
#define MEMATTACH_SHIM_NAME_H

#include "inject/tracee/target.h"

enum { SHIM_PATH_BYTES = 64 };

/* The path for dlopen by which a thread reaches its process's descriptor fd. */
void shim_name_path(int fd, char ret_path[SHIM_PATH_BYTES]);
/*
 * Replaces path, which dlopen was given, in the entry of the module at base; list is the address
 * of any entry of the loader's list (struct link_map), which is checked as it is read. pre: the
 * memory at base is ours. Nothing has to undo it: dlclose frees the name. 0; -ENOENT: there is no
 * such entry; -ESTALE: it has another name; -errno.
 */
int shim_name_replace(const struct target *target, uint64_t list, uint64_t base, const char *path)
	_must_check_;

#endif
