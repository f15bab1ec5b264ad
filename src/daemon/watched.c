/* SPDX-License-Identifier: MIT */
/*
 * watched.c - see watched.h.
 *
 *	memattachd-watched 1 BOOT
 *	PID START_TIME RULE [RECORDING]
 *
 * Each change writes all of it anew beside it and renames. Not to a disk by fsync: what has to be
 * outlived is this process, and the kernel's memory does that. When the machine goes down the
 * processes do, too; what is found afterwards, whole or not, is another boot's.
 * Rejected: a file that is appended to, which needs an end to its growth besides.
 */
#include "src/daemon/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/base/pidref.h"
#include "src/base/replace_file.h"

#define HEADING		"memattachd-watched 1 "
#define BOOT_ROOM	64
#define MOST		16384u			/* processes */
#define MOST_BYTES	(MOST * 300u)
#define LOCK_TRIES	50
#define LOCK_PAUSE_NS	20000000l

/* --- the lock ------------------------------------------------------------- */

/*
 * The kernel takes it back when we end, and children don't have it. Who was killed a moment ago may
 * have it still.
 */
static int lock(const char *path)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const struct timespec pause = { 0, LOCK_PAUSE_NS };
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (fd < 0)
		return -errno;
	for (int i = 0; fcntl(fd, F_SETLK, &all) < 0; i++) {
		int error = errno == EACCES ? EAGAIN : errno;

		if (error != EAGAIN || i == LOCK_TRIES) {
			cleanup_fd(&fd);
			return -error;
		}
		(void)nanosleep(&pause, NULL);
	}
	return fd;
}

/* --- reading -------------------------------------------------------------- */

static int read_boot(char ret[BOOT_ROOM])
{
	_cleanup_fd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, ret, BOOT_ROOM - 1);

	if (got <= 0)
		return errno ? -errno : -ENODATA;
	ret[got] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

/* A rule's or a recording's, as we make them: no path leads out of the state's folder. */
static bool is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-+_.@";

	return name[0] != '.' && name[strspn(name, plain)] == '\0';
}

static bool parse(const char *line, struct watched_process *ret)
{
	struct watched_process process = { .pid = 0 };
	int end = 0, got;

	got = sscanf(line, "%9d %20" SCNu64 " %79s%n %159s%n", &process.pid, &process.start_time,
		     process.rule, &end, process.recording, &end);
	if (got < 3 || line[end] || process.pid <= 0 || !is_plain(process.rule) ||
	    !is_plain(process.recording))
		return false;
	*ret = process;
	return true;
}

static bool lives(const struct watched_process *process)
{
	uint64_t start_time;

	return pidref_read_start_time(process->pid, &start_time) == 0 &&
	       start_time == process->start_time;
}

static struct watched_process *find(const struct watched *watched, pid_t pid)
{
	for (size_t i = 0; i < watched->count; i++)
		if (watched->process[i].pid == pid)
			return &watched->process[i];
	return NULL;
}

static struct watched_process *insert(struct watched *watched)
{
	struct watched_process *grown;

	if (watched->count == MOST)
		return NULL;
	grown = reallocarray(watched->process, watched->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	watched->process = grown;
	return &grown[watched->count++];
}

/* Lines that make no sense are left out; so is all of another boot. */
static int watched_take(struct watched *watched, char *text, const char *boot)
{
	char *line = strsep(&text, "\n");
	struct watched_process process, *to;

	if (strncmp(line, HEADING, strlen(HEADING)) != 0 ||
	    strcmp(line + strlen(HEADING), boot) != 0)
		return 0;
	while ((line = strsep(&text, "\n"))) {
		if (!parse(line, &process) || !lives(&process) || find(watched, process.pid))
			continue;
		to = insert(watched);
		if (!to)
			return -ENOMEM;
		*to = process;
	}
	return 0;
}

static int read_file(struct watched *watched)
{
	_cleanup_fd_ int fd = open(watched->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	char boot[BOOT_ROOM];
	struct stat status;
	ssize_t got;
	int error;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)
		return -EFBIG;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	got = read(fd, text, (size_t)status.st_size);
	if (got < 0)
		return -errno;
	text[got] = '\0';
	error = read_boot(boot);
	return error ? error : watched_take(watched, text, boot);
}

/* --- writing -------------------------------------------------------------- */

static int print(FILE *out, const void *context)
{
	const struct watched *watched = context;
	char boot[BOOT_ROOM];
	int error = read_boot(boot);

	if (error)
		return error;
	(void)fprintf(out, HEADING "%s\n", boot);
	for (size_t i = 0; i < watched->count; i++) {
		const struct watched_process *process = &watched->process[i];

		(void)fprintf(out, "%d %" PRIu64 " %s%s%s\n", process->pid, process->start_time,
			      process->rule, process->recording[0] ? " " : "",
			      process->recording);
	}
	return ferror(out) ? -EIO : 0;
}

static int write_file(struct watched *watched)
{
	if (!watched->path)
		return 0;
	watched->error = replace_file(watched->path, 0640, print, watched);
	return watched->error;
}

/* --- what others call ----------------------------------------------------- */

int watched_open(struct watched *watched, const char *folder)
{
	char path[4096];
	int error;

	*watched = (struct watched){ .lock = -1 };
	(void)snprintf(path, sizeof(path), "%s/" WATCHED_LOCK, folder);
	watched->lock = lock(path);
	if (watched->lock < 0) {
		error = watched->lock;
		watched->lock = -1;
		return error;
	}
	if (asprintf(&watched->path, "%s/" WATCHED_FILE, folder) < 0) {
		watched->path = NULL;
		return -ENOMEM;
	}
	return read_file(watched);
}

void watched_close(struct watched *watched)
{
	cleanup_fd(&watched->lock);
	free(watched->process);
	free(watched->path);
	*watched = (struct watched){ .lock = -1 };
}

int watched_add(struct watched *watched, pid_t pid, uint64_t start_time, const char *rule,
		const char *recording)
{
	struct watched_process *process = find(watched, pid);
	const char *name = recording ? strrchr(recording, '/') : NULL;

	if (!process)
		process = insert(watched);
	if (!process)
		return -ENOMEM;
	*process = (struct watched_process){ .pid = pid, .start_time = start_time };
	(void)snprintf(process->rule, sizeof(process->rule), "%s", rule);
	if (name)
		(void)snprintf(process->recording, sizeof(process->recording), "%s", name + 1);
	return write_file(watched);
}

const struct watched_process *watched_find(const struct watched *watched, pid_t pid)
{
	return find(watched, pid);
}

void watched_remove(struct watched *watched, pid_t pid)
{
	struct watched_process *process = find(watched, pid);

	if (!process)
		return;
	*process = watched->process[--watched->count];
	(void)write_file(watched);
}
