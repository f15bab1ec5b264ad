/* SPDX-License-Identifier: MIT */
/*
 * find.c - see find.h.
 *
 * A unit's processes are those that the kernel counts to its group, so nothing is asked of systemd
 * and no group is walked: /proc/PID/cgroup names the whole path of a process, nested groups and
 * both versions included, and can be read where the hierarchy is not mounted. systemd's
 * names are found by its rules: a unit lies below slices only, a user's below that user's manager.
 */
#include "src/several/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/base/capability.h"

#define CGROUP_BYTES 8192u
#define PATH_ROOM 4096u

void process_set_done(struct process_set *set)
{
	free(set->pid);
	*set = (struct process_set){ 0 };
}

/* Where pid is, or belongs. */
static size_t place_of(const struct process_set *set, pid_t pid)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->pid[middle] < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool process_set_has(const struct process_set *set, pid_t pid)
{
	size_t at = place_of(set, pid);

	return at < set->count && set->pid[at] == pid;
}

int process_set_add(struct process_set *set, pid_t pid)
{
	size_t at = place_of(set, pid);
	pid_t *grown;

	if (at < set->count && set->pid[at] == pid)
		return 0;
	grown = reallocarray(set->pid, set->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	set->pid = grown;
	memmove(&grown[at + 1], &grown[at], (set->count - at) * sizeof(*grown));
	grown[at] = pid;
	set->count++;
	return 0;
}

/* Who may look into everybody's processes sees everybody's. */
struct process_search process_search_here(void)
{
	return (struct process_search){ .proc = "/proc", .self = "/proc/self/exe",
					.user = capability_held(CAP_SYS_PTRACE) ? 0 : geteuid() };
}

/* Bytes of PROC/PID/FILE, ended by a 0; their number, 0 when it can't be read. */
static size_t read_text(const struct process_search *search, pid_t pid, const char *file,
			char *text, size_t room)
{
	char path[PATH_ROOM];
	_cleanup_fd_ int fd = -1;
	ssize_t got = 0;

	(void)snprintf(path, sizeof(path), "%s/%d/%s", search->proc, pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		got = read(fd, text, room - 1);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

struct process_name process_name(const struct process_search *search, pid_t pid)
{
	struct process_name name = { "" };
	size_t length = read_text(search, pid, "comm", name.text, sizeof(name.text));

	if (length && name.text[length - 1] == '\n')
		name.text[length - 1] = '\0';
	return name;
}

/* The number behind key in status; -1: it is not there. */
static long status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* An id in status; 0: none. */
static pid_t status_pid(const struct process_search *search, pid_t pid, const char *key)
{
	char status[2048];
	long number = 0;

	if (read_text(search, pid, "status", status, sizeof(status)))
		number = status_number(status, key);
	return number > 0 ? (pid_t)number : 0;
}

pid_t process_parent(const struct process_search *search, pid_t pid)
{
	return status_pid(search, pid, "\nPPid:");
}

pid_t process_tracer(const struct process_search *search, pid_t pid)
{
	return status_pid(search, pid, "\nTracerPid:");
}

/* The effective one is the second. */
uid_t process_user(const struct process_search *search, pid_t pid)
{
	char status[2048];
	const char *uid;
	char *end;

	if (!read_text(search, pid, "status", status, sizeof(status)))
		return (uid_t)-1;
	uid = strstr(status, "\nUid:");
	if (!uid)
		return (uid_t)-1;
	(void)strtoul(uid + 5, &end, 10);
	return (uid_t)strtoul(end, NULL, 10);
}

static bool is_users(const struct process_search *search, pid_t pid)
{
	return search->user == 0 || process_user(search, pid) == search->user;
}

static bool is_own(const struct process_search *search, pid_t pid)
{
	char path[PATH_ROOM];
	struct stat own, file;

	(void)snprintf(path, sizeof(path), "%s/%d/exe", search->proc, pid);
	return stat(search->self, &own) == 0 && stat(path, &file) == 0 &&
	       own.st_dev == file.st_dev && own.st_ino == file.st_ino;
}

/* The signal that tells its parent of its end (field 38 of stat, see proc(5)); 0: none; -1. */
static long exit_signal(const struct process_search *search, pid_t pid)
{
	enum { STATE = 3, EXIT_SIGNAL = 38 };
	char text[2048], *at;

	if (!read_text(search, pid, "stat", text, sizeof(text)))
		return -1;
	at = strrchr(text, ')');	/* the name before it may hold anything */
	for (int i = STATE - 1; at && i < EXIT_SIGNAL; i++)
		at = strchr(at + 1, ' ');
	return at ? strtol(at + 1, NULL, 10) : -1;
}

bool process_has_program(const struct process_search *search, pid_t pid)
{
	char status[2048];

	return read_text(search, pid, "status", status, sizeof(status)) &&
	       strstr(status, "\nVmSize:") && !is_own(search, pid);
}

bool process_is_picture(const struct process_search *search, pid_t pid)
{
	return process_tracer(search, pid) > 0 && exit_signal(search, pid) == 0;
}

void process_executable(const struct process_search *search, pid_t pid, char *ret, size_t room)
{
	static const char deleted[] = " (deleted)";
	char path[PATH_ROOM];
	ssize_t length;
	size_t end;

	(void)snprintf(path, sizeof(path), "%s/%d/exe", search->proc, pid);
	length = readlink(path, ret, room - 1);
	ret[length > 0 ? length : 0] = '\0';
	end = strlen(ret);
	if (end > strlen(deleted) && strcmp(ret + end - strlen(deleted), deleted) == 0)
		ret[end - strlen(deleted)] = '\0';
}

bool process_is_called(const char *command, const char *executable, const char *name)
{
	const char *base = strrchr(executable, '/');

	return strcmp(command, name) == 0 || strcmp(base ? base + 1 : executable, name) == 0;
}

static bool is_called(const struct process_search *search, pid_t pid, const char *name)
{
	char executable[PATH_ROOM];

	process_executable(search, pid, executable, sizeof(executable));
	return process_is_called(process_name(search, pid).text, executable, name);
}

/* --- units ----------------------------------------------------------------------- */

/* Takes the next part of a path: its length; 0 at the end. */
static size_t next_part(const char **path)
{
	while (**path == '/')
		(*path)++;
	return strcspn(*path, "/");
}

static bool is_part(const char *part, size_t length, const char *text)
{
	return strlen(text) == length && strncmp(part, text, length) == 0;
}

static bool is_slice(const char *part, size_t length)
{
	return length > 6 && strncmp(part + length - 6, ".slice", 6) == 0;
}

/*
 * Of path, what lies below slices, or NULL; *ret_found: unit was one of them, or is what follows.
 */
static const char *below_slices(const char *path, const char *unit, bool *ret_found)
{
	size_t length;

	while ((length = next_part(&path)) > 0) {
		*ret_found = is_part(path, length, unit);
		if (*ret_found || !is_slice(path, length))
			return path;
		path += length;
	}
	return NULL;
}

bool process_unit_holds(const char *path, const char *root, const char *unit, uid_t user)
{
	char manager[48];
	bool found = false;
	size_t below = strlen(root);

	if (strncmp(path, root, below) != 0)
		return false;
	path = below_slices(path + below, unit, &found);
	(void)snprintf(manager, sizeof(manager), "user@%u.service", user);
	if (path && !found && user != 0 && is_part(path, next_part(&path), manager))
		(void)below_slices(path + strlen(manager), unit, &found);
	return found;
}

/* The path in a line of version 2 ("0::/a/b") or of systemd's own hierarchy; NULL: another's. */
static const char *group_path(const char *line)
{
	static const char *const head[] = { "0::", ":name=systemd:" };
	const char *at;

	if (strncmp(line, head[0], strlen(head[0])) == 0)
		return line + strlen(head[0]);
	at = strstr(line, head[1]);
	return at ? at + strlen(head[1]) : NULL;
}

/* Where there are both, systemd's own stands first, and counts unless it is the root. */
void process_cgroup(const struct process_search *search, pid_t pid, char *ret, size_t room)
{
	char text[CGROUP_BYTES], *rest = text, *line;
	const char *path = NULL;

	(void)read_text(search, pid, "cgroup", text, sizeof(text));
	while ((!path || strcmp(path, "/") == 0) && (line = strsep(&rest, "\n"))) {
		const char *other = group_path(line);

		path = other ? other : path;
	}
	(void)snprintf(ret, room, "%s", path ? path : "");
}

/* Above the group of process 1: not "/" in a container that shares its host's view of groups. */
void process_cgroup_root(const struct process_search *search, char *ret, size_t room)
{
	static const char init[] = "/init.scope";
	size_t length;

	process_cgroup(search, 1, ret, room);
	length = strlen(ret);
	if (length >= strlen(init) && strcmp(ret + length - strlen(init), init) == 0)
		ret[length - strlen(init)] = '\0';
	else
		ret[0] = '\0';
}

struct unit_search {
	char name[256], root[PATH_ROOM];
};

static bool is_in_unit(const struct process_search *search, pid_t pid, const struct unit_search *u)
{
	char path[CGROUP_BYTES];

	process_cgroup(search, pid, path, sizeof(path));
	return process_unit_holds(path, u->root, u->name, search->user);
}

static bool has_type(const char *unit)
{
	static const char *const type[] = { ".service", ".scope", ".slice", ".socket", ".mount",
					    ".swap" };
	const char *dot = strrchr(unit, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(type); i++)
		if (strcmp(dot, type[i]) == 0)
			return true;
	return false;
}

void process_unit_name(const char *unit, char *ret, size_t room)
{
	(void)snprintf(ret, room, "%s%s", unit, has_type(unit) ? "" : ".service");
}

/* --- all of them ----------------------------------------------------------------- */

/* Calls add for each process that is there. The sum of what it returns, or -errno. */
static int each(const struct process_search *search,
		int (*add)(const struct process_search *search, pid_t pid, const void *what,
			   struct process_set *to), const void *what, struct process_set *to)
{
	DIR *dir = opendir(search->proc);
	struct dirent *entry;
	int found = 0, one = 0;

	if (!dir)
		return -errno;
	while (one >= 0 && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		one = pid > 0 ? add(search, pid, what, to) : 0;
		found += one;
	}
	(void)closedir(dir);
	return one < 0 ? one : found;
}

static int add_found(const struct process_search *search, pid_t pid, struct process_set *to)
{
	int error;

	if (!process_has_program(search, pid) || process_is_picture(search, pid) ||
	    !is_users(search, pid))
		return 0;
	error = process_set_add(to, pid);
	return error ? error : 1;
}

static int add_called(const struct process_search *search, pid_t pid, const void *what,
		      struct process_set *to)
{
	return is_called(search, pid, what) ? add_found(search, pid, to) : 0;
}

static int add_in_unit(const struct process_search *search, pid_t pid, const void *what,
		       struct process_set *to)
{
	return is_in_unit(search, pid, what) ? add_found(search, pid, to) : 0;
}

static int add_any(const struct process_search *search, pid_t pid, const void *what,
		   struct process_set *to)
{
	(void)search;
	(void)what;
	return process_set_add(to, pid);
}

int process_find_name(const struct process_search *search, const char *name,
		      struct process_set *to)
{
	return each(search, add_called, name, to);
}

int process_find_unit(const struct process_search *search, const char *unit,
		      struct process_set *to)
{
	struct unit_search wanted;

	process_unit_name(unit, wanted.name, sizeof(wanted.name));
	process_cgroup_root(search, wanted.root, sizeof(wanted.root));
	return each(search, add_in_unit, &wanted, to);
}

int process_find_all(const struct process_search *search, struct process_set *to)
{
	return each(search, add_any, NULL, to);
}
