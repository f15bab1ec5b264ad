/* SPDX-License-Identifier: MIT */
/* shim_name.c - see shim_name.h. */
#include "inject/attach/shim_name.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/remote_memfd.h"
#include "inject/tracee/remote_mem.h"

#define MAX_MODULES 65536u
/* Whoever reads it meanwhile sees a mixture of both, which ends where the longer one does. */
#define SHOWN_NAME MEMFD_SHIM_PATH " (deleted)"
/* The odd form is longer than the shown name, and no program opens a library by it. */
#define PATH_FORMAT "/proc/thread-self/fd/../fd/../fd/%d"

_Static_assert(sizeof(SHOWN_NAME) < sizeof(PATH_FORMAT) - 1, "the name has room in the path's");

void shim_name_path(int fd, char ret_path[SHIM_PATH_BYTES])
{
	(void)snprintf(ret_path, SHIM_PATH_BYTES, PATH_FORMAT, fd);
}

/* The entry of the module at base, from entry at on in the direction of the list's end. */
static int find_entry(const struct target *target, uint64_t at, uint64_t base,
		      struct link_map *ret)
{
	for (unsigned int i = 0; at && i < MAX_MODULES; i++) {
		int error = remote_read(target, at, ret, sizeof(*ret));

		if (error)
			return error;
		if (ret->l_addr == base)
			return 0;
		at = (uint64_t)(uintptr_t)ret->l_next;
	}
	return -ENOENT;
}

int shim_name_replace(const struct target *target, uint64_t list, uint64_t base, const char *path)
{
	static const char name[] = SHOWN_NAME;
	struct link_map entry;
	int error = find_entry(target, list, base, &entry);
	uint64_t at;

	if (error)
		return error;
	at = (uint64_t)(uintptr_t)entry.l_name;
	error = remote_expect(target, at, path, strlen(path) + 1);
	return error ? error : remote_write(target, at, name, sizeof(name));
}
