/* SPDX-License-Identifier: MIT */
/* why.c - see why.h. */
#include "src/base/why.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/base/cleanup.h"

#define NOT_PERMITTED "the kernel does not permit it; run memattach as root, outside of a container"
#define TOO_LONG "it took too long; try again when the machine is less busy"
#define NO_MEMORY "there is not enough memory; free some"
#define NO_FILES "memattach may open no more files; raise `ulimit -n`"
#define NO_FILES_ANYWHERE "the machine may open no more files; raise fs.file-max (sysctl)"

struct known {
	int error;
	const char *words;
};

static const struct known of_process[] = {
	{ -EAGAIN, "it could not be done at this moment; try again when the process and the "
		   "machine are less busy" },
	{ -ETIME, TOO_LONG },
	{ -ETIMEDOUT, TOO_LONG },
	{ -ESRCH, "the process has ended" },
	{ -ENOMEM, NO_MEMORY },
	{ -EMFILE, NO_FILES },
	{ -ENFILE, NO_FILES_ANYWHERE },
	{ -EPERM, NOT_PERMITTED },
	{ -EACCES, NOT_PERMITTED },
	{ -ENOSYS, "this kernel, or the filter of a container, lacks a system call; run memattach "
		   "outside of a container" },
	{ -ESTALE, "it became another program (exec), or its code changed; try again" },
	{ -EFAULT, "its memory could not be read: it became another program (exec), unmapped it, "
		   "or the kernel refuses; try again" },
};

static const struct known of_file[] = {
	{ -ENOENT, "No such file or directory; check the name" },
	{ -ENOTDIR, "Not a directory; check the name" },
	{ -EISDIR, "Is a directory; name a file" },
	{ -EACCES, "Permission denied; ask its owner, or choose another" },
	{ -EPERM, "Operation not permitted; ask its owner, or choose another" },
	{ -EROFS, "Read-only file system; choose another place" },
	{ -ENOSPC, "No space left on device; make room there, or choose another place" },
	{ -EDQUOT, "Disk quota exceeded; make room there, or choose another place" },
	{ -EFBIG, "File too large; raise `ulimit -f`, or choose another place" },
	{ -EPIPE, "nobody reads it any more" },
	{ -ENOMEM, NO_MEMORY },
	{ -EMFILE, NO_FILES },
	{ -ENFILE, NO_FILES_ANYWHERE },
};

static struct why look_up(const struct known *known, size_t count, int error, const char *remedy)
{
	struct why why;

	for (size_t i = 0; i < count; i++)
		if (error == known[i].error) {
			(void)snprintf(why.text, sizeof(why.text), "%s", known[i].words);
			return why;
		}
	(void)snprintf(why.text, sizeof(why.text), "%.60s; %s", strerror(-error), remedy);
	return why;
}

struct why why_of(int error)
{
	return look_up(of_process, ARRAY_SIZE(of_process), error,
		       "please report this, with what memattach says when MEMATTACH_DEBUG=1 is "
		       "set");
}

struct why why_file(int error)
{
	return look_up(of_file, ARRAY_SIZE(of_file), error, "choose another file or place");
}
