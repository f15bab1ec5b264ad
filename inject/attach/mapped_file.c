/* SPDX-License-Identifier: MIT */
/*
 * mapped_file.c - map_files first: it is the mapped inode itself, whatever its
 * name has become, in whatever mount namespace. It needs a capability that an
 * ordinary user lacks; then the name is looked up below the target's root, with
 * openat2 so that a symbolic link can't lead out of it, and the inode compared.
 */
#include "inject/attach/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static int open_below_root(const struct target *target, const char *path)
{
	struct open_how how = { .flags = FLAGS,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_fd_ int root = -1;
	char name[64];
	long fd;

	(void)snprintf(name, sizeof(name), "/proc/%d/root", target->ref.pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/* On these the maps show another device than stat does (the layer's, the subvolume's). */
static bool has_devices_of_its_own(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_mapped_file(int fd, const struct procmap *map)
{
	struct stat file;

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || file.st_ino != map->inode)
		return false;
	return file.st_dev == makedev(map->dev_major, map->dev_minor) ||
	       has_devices_of_its_own(fd);
}

int mapped_file_open(const struct target *target, uint64_t start, uint64_t end)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *map;
	char name[96];
	int fd, error = procmaps_read(target->maps, &maps);

	if (error)
		return error;
	map = procmaps_find(&maps, start);
	if (!map || map->start != start || map->end != end || !map->inode)
		return -ENOENT;
	(void)snprintf(name, sizeof(name), "/proc/%d/map_files/%llx-%llx", target->ref.pid,
		       (unsigned long long)start, (unsigned long long)end);
	fd = open(name, FLAGS);
	if (fd < 0) {
		/* by name only where we lack the capability: then with the user's own rights */
		fd = errno == EPERM && map->path[0] == '/' ? open_below_root(target, map->path) :
							     -ESTALE;
		if (fd < 0)
			return fd;
	}
	if (is_mapped_file(fd, map))
		return fd;
	cleanup_fd(&fd);
	return -ESTALE;
}
