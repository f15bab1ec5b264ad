/* SPDX-License-Identifier: MIT */
/* dlopen_files.c - see dlopen_files.h. */
#include "inject/attach/dlopen_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/arch/x86_64/regs.h"
#include "inject/attach/remote_memfd.h"
#include "inject/attach/shim_name.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/tracee.h"
#include "src/base/procmaps.h"

static bool is_named(const struct dlopen_files *files, uint64_t address)
{
	char name[SHIM_PATH_BYTES] = "";
	size_t bytes = strlen(files->path) + 1;

	return remote_read(&files->attachment->target, address, name, bytes) == 0 &&
	       memcmp(name, files->path, bytes) == 0;
}

/* The inode tells later whether this mapping still lies there: no other one is taken out. */
static struct load_stray stray_of(const struct dlopen_files *files, const struct regs_mapped *m)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *map = NULL;

	if (procmaps_read(files->attachment->target.maps, &maps) == 0)
		map = procmaps_find(&maps, m->address);
	return (struct load_stray){ m->address, m->bytes, map ? map->inode : 0 };
}

static bool is_refused(const struct dlopen_files *files, const struct borrow *b,
		       const struct regs_mapped *mapped)
{
	return mapped->fd == files->fd && !(mapped->flags & MAP_ANONYMOUS) &&
	       remote_memfd_confirm(files->attachment, b, REMOTE_SHIM, mapped->fd) != 0;
}

/* A call by which a part of the file was to be mapped, or memory where that lies. */
static bool is_failure(const struct dlopen_files *files, const struct user_regs_struct *at_exit)
{
	struct regs_mapped wanted;

	return files->fd >= 0 && regs_has_not_mapped(at_exit, &wanted) &&
	       (wanted.fd == files->fd || wanted.address - files->low < files->bytes);
}

int dlopen_files_see(struct borrow *b, void *of)
{
	struct dlopen_files *files = of;
	struct user_regs_struct r;
	struct regs_mapped mapped;
	uint64_t name;
	int error = tracee_get_registers(b->request.tid, &r), fd;

	if (error)
		return error;
	if (regs_has_opened(&r, &name, &fd) && is_named(files, name))
		files->fd = fd;
	files->failed |= is_failure(files, &r);
	if (files->fd < 0 || !regs_has_mapped(&r, &mapped))
		return 0;
	if (!is_refused(files, b, &mapped)) {
		if (mapped.fd == files->fd && !files->bytes) {
			files->low = mapped.address;
			files->bytes = mapped.bytes;
		}
		return 0;
	}
	regs_set_result(&r, -EBADF);
	error = tracee_set_registers(b->request.tid, &r);
	if (error)
		return error;
	files->failed = true;
	if (!(mapped.flags & MAP_FIXED))
		files->left = stray_of(files, &mapped);
	return 0;
}
