/* SPDX-License-Identifier: MIT */
/* carried.c - see carried.h. */
#include "cli/front/carried.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "inject/abi/memfd_names.h"
#include "src/base/procmaps.h"
#include "src/several/find.h"

/* vfork, CLONE_VM: until it calls exec it is its parent. */
static bool shares_memory(pid_t pid)
{
	const struct process_search search = process_search_here();
	pid_t parent = process_parent(&search, pid);

	return parent > 0 && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

static enum carried carried_in(const struct procmaps *maps)
{
	enum carried carried = CARRIED_NOTHING;

	for (size_t i = 0; i < maps->count; i++) {
		const char *name = maps->map[i].path;

		if (strcmp(name, MEMFD_RING_PATH) == 0)
			return CARRIED_RING;
		if (memfd_path_is_ours(name))
			carried = CARRIED_COPIES;
	}
	return carried;
}

enum carried carried_by(pid_t pid)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_fd_ int fd = -1;
	char path[64];

	if (shares_memory(pid))
		return CARRIED_SHARED;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || procmaps_read(fd, &maps))
		return CARRIED_NOTHING;		/* what enters it says why it can't */
	return carried_in(&maps);
}
