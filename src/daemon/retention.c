/* SPDX-License-Identifier: MIT */
/* retention.c - see retention.h. What else lies in the folder is nobody's business here. */
#include "src/daemon/retention.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".memattach"

struct recording {
	char name[256];
	struct timespec written;
	uint64_t bytes;
};

struct shelf {
	int folder;
	struct recording *recording;	/* oldest first */
	size_t count;
	size_t left;			/* of them */
	uint64_t bytes;			/* of those that are left */
	int removed;
};

static bool is_recording(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) &&
	       strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static int retention_add(struct shelf *shelf, const char *name)
{
	struct recording *grown, *recording;
	struct stat status;

	if (!is_recording(name) ||
	    fstatat(shelf->folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode))
		return 0;
	grown = reallocarray(shelf->recording, shelf->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	shelf->recording = grown;
	recording = &grown[shelf->count++];
	*recording = (struct recording){ .written = status.st_mtim,
					 .bytes = (uint64_t)status.st_blocks * 512 };
	(void)snprintf(recording->name, sizeof(recording->name), "%s", name);
	shelf->bytes += recording->bytes;
	shelf->left++;
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct recording *x = a, *y = b;

	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	if (x->written.tv_nsec != y->written.tv_nsec)
		return x->written.tv_nsec < y->written.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int fill(struct shelf *shelf, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int error = 0;

	if (!dir)
		return -errno;
	shelf->folder = fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 0);
	if (shelf->folder < 0)
		error = -errno;
	while (!error && (entry = readdir(dir)))
		error = retention_add(shelf, entry->d_name);
	(void)closedir(dir);
	if (shelf->count > 0)
		qsort(shelf->recording, shelf->count, sizeof(*shelf->recording), by_age);
	return error;
}

/* With what SQLite may have left beside it. */
static void take_out(struct shelf *shelf, struct recording *recording)
{
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	char name[sizeof(recording->name) + 16];

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", recording->name, suffix[i]);
		if (unlinkat(shelf->folder, name, 0) < 0 && i == 0)
			return;		/* it stays, and counts */
	}
	shelf->bytes -= recording->bytes;
	shelf->left--;
	shelf->removed++;
}

static bool is_too_much(const struct shelf *shelf, const struct recording *recording,
			const struct watch_settings *watch, time_t now)
{
	return difftime(now, recording->written.tv_sec) > watch->keep_for ||
	       shelf->left > watch->keep_count || shelf->bytes > watch->keep_bytes;
}

int retention_apply(const char *folder, const struct watch_settings *watch, time_t now,
		    retention_in_use *in_use, void *context)
{
	struct shelf shelf = { .folder = -1 };
	int error = fill(&shelf, folder);

	for (size_t i = 0; !error && i < shelf.count; i++)
		if (is_too_much(&shelf, &shelf.recording[i], watch, now) &&
		    !in_use(context, shelf.recording[i].name))
			take_out(&shelf, &shelf.recording[i]);
	cleanup_fd(&shelf.folder);
	free(shelf.recording);
	return error ? error : shelf.removed;
}
