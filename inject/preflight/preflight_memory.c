/* SPDX-License-Identifier: MIT */
/*
 * preflight_memory.c - is there room in the target for what would be added to it?
 *
 * Every limit that could make the target itself fail later is compared with the
 * bytes that memattach adds: address space, number of mappings, the memory control
 * group (and each of its parents), commit limit, free memory, locked memory. A
 * group's page cache counts as room, since the kernel gives it up first; a group
 * that holds files is otherwise always "full". Limits that the mapping call itself
 * reports without harm are left to it.
 */
#include "inject/preflight/preflight_checks.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEGABYTE        (1u << 20)
#define MAPPINGS_NEEDED 64 /* shim, ring, islands, and splits of what they touch */
#define PATH_BYTES      2048
#define PROCESSES_NEEDED 16u /* so that the target's own next ones are not refused for ours */

static uint64_t room_left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

/* Rounded up, so that the figure that is named is enough. */
static unsigned long long megabytes(uint64_t bytes)
{
	return bytes / MEGABYTE + (bytes % MEGABYTE != 0);
}

static int refuse_room(struct preflight *p, const char *what, uint64_t room, const char *remedy)
{
	preflight_reason(p, PREFLIGHT_MEMORY,
			 "%s leaves process %d (%s) %llu MiB, memattach needs %llu MiB", what,
			 (int)p->pid, p->status.name, (unsigned long long)(room / MEGABYTE),
			 megabytes(p->options->memory_bytes));
	return preflight_remedy(p, "%s", remedy);
}

static int check_address_space(struct preflight *p)
{
	uint64_t limit, room;
	int r = proc_read_limit(p->pid, "Max address space", &limit);

	if (r < 0)
		return r;
	room = room_left(limit, p->status.vm_bytes);
	if (limit == UINT64_MAX || room >= p->options->memory_bytes)
		return 0;
	return refuse_room(p, "the address-space limit (ulimit -v)", room,
			   "raise it with `prlimit --as=BYTES --pid PID`, or use a smaller ring");
}

static int check_mapping_count(struct preflight *p)
{
	uint64_t limit;

	if (p->options->memory_bytes == 0 ||
	    proc_read_number("/proc/sys/vm/max_map_count", "", &limit) < 0 ||
	    p->maps.count + MAPPINGS_NEEDED <= limit)
		return 0;
	preflight_reason(p, PREFLIGHT_MEMORY, "process %d (%s) has %zu mappings of at most %llu",
			 (int)p->pid, p->status.name, p->maps.count, (unsigned long long)limit);
	return preflight_remedy(p, "raise it: sudo sysctl vm.max_map_count=%llu",
				(unsigned long long)limit * 2);
}

/* Both generations of the memory controller. */
static const struct cgroup_kind {
	const char *entry; /* how the line in /proc/PID/cgroup goes on after its number */
	const char *mount;
	const char *limit, *usage, *inactive, *active;
} cgroup_kinds[] = {
	{ "::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ",
	  "active_file " },
	{ "::", "/sys/fs/cgroup/unified", "memory.max", "memory.current", "inactive_file ",
	  "active_file " },
	{ ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "total_inactive_file ", "total_active_file " },
};

static int group_number(const char *directory, const char *file, const char *key, uint64_t *ret)
{
	char path[PATH_BYTES + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, file);
	return proc_read_number(path, key, ret);
}

/* UINT64_MAX where the group has no limit. */
static uint64_t group_room(const struct cgroup_kind *kind, const char *directory)
{
	uint64_t limit, usage, inactive = 0, active = 0;

	if (group_number(directory, kind->limit, "", &limit) < 0 ||
	    group_number(directory, kind->usage, "", &usage) < 0)
		return UINT64_MAX;
	if (group_number(directory, "memory.stat", kind->inactive, &inactive) < 0 ||
	    group_number(directory, "memory.stat", kind->active, &active) < 0)
		inactive = active = 0;
	return room_left(limit, room_left(usage, inactive + active));
}

/* The path of the target's group of that kind. 0, -ENODATA it is in none that can be seen. */
static int group_path(pid_t pid, const struct cgroup_kind *kind, char directory[PATH_BYTES])
{
	_cleanup_(proc_lines_close) struct proc_lines lines = { .fd = -1 };
	size_t length = strlen(kind->entry);
	const char *line;
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	r = proc_lines_open(path, &lines);
	while (r >= 0 && (r = proc_lines_next(&lines, &line)) > 0) {
		const char *entry = line + strspn(line, "0123456789");

		if (strncmp(entry, kind->entry, length) != 0)
			continue;
		/* A group outside of our own namespace has no path here. */
		if (strstr(entry, "/..") || snprintf(directory, PATH_BYTES, "%s%s", kind->mount,
						     entry + length) >= PATH_BYTES)
			return -ENODATA;
		return 0;
	}
	return r < 0 ? r : -ENODATA;
}

/* The least room in the group and all its parents: limits are hierarchical. */
static uint64_t groups_room(pid_t pid, const struct cgroup_kind *kind)
{
	size_t top = strlen(kind->mount);
	uint64_t least = UINT64_MAX;
	char directory[PATH_BYTES];

	if (group_path(pid, kind, directory) < 0)
		return UINT64_MAX;
	while (strlen(directory) > top) {
		uint64_t room = group_room(kind, directory);

		least = room < least ? room : least;
		*strrchr(directory, '/') = '\0';
	}
	return least;
}

/* A process more, in each generation of the pids controller. */
static const struct cgroup_kind pids_kinds[] = {
	{ "::", "/sys/fs/cgroup", "pids.max", "pids.current", "", "" },
	{ "::", "/sys/fs/cgroup/unified", "pids.max", "pids.current", "", "" },
	{ ":pids:", "/sys/fs/cgroup/pids", "pids.max", "pids.current", "", "" },
};

/* Threads of all of the machine. UINT64_MAX where it can't be told. */
static uint64_t count_all_threads(void)
{
	unsigned long long total;
	FILE *file = fopen("/proc/loadavg", "re");
	bool got = file && fscanf(file, "%*s %*s %*s %*u/%llu", &total) == 1;

	if (file)
		(void)fclose(file);
	return got ? total : UINT64_MAX;
}

/* Those of one user: what RLIMIT_NPROC is compared with. */
static uint64_t count_threads_of(uint32_t uid)
{
	struct proc_thread_status status;
	struct dirent *entry;
	uint64_t count = 0;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && proc_read_status(pid, &status) == 0 && status.uid[0] == uid)
			count += status.threads;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

/* RLIMIT_NPROC holds neither for root nor for who may raise it. Counted only where it is near. */
static int check_process_limit(struct preflight *p)
{
	const uint64_t exempt = 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_RESOURCE;
	uint64_t limit, room;
	int r = proc_read_limit(p->pid, "Max processes", &limit);

	if (r < 0 || limit == UINT64_MAX || p->status.uid[0] == 0 ||
	    (p->status.capabilities & exempt) ||
	    room_left(limit, count_all_threads()) >= PROCESSES_NEEDED)
		return r;
	room = room_left(limit, count_threads_of(p->status.uid[0]));
	if (room >= PROCESSES_NEEDED)
		return 0;
	preflight_reason(p, PREFLIGHT_MEMORY,
			 "the process limit of its user leaves process %d (%s) %llu more, "
			 "memattach wants %u to be left",
			 (int)p->pid, p->status.name, (unsigned long long)room, PROCESSES_NEEDED);
	limit += PROCESSES_NEEDED - room;
	return preflight_remedy(p, "raise it: prlimit --nproc=%llu --pid %d, or use "
				   "--snapshot=stop", (unsigned long long)limit, (int)p->pid);
}

static int check_process_count(struct preflight *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(pids_kinds); i++) {
		uint64_t room = groups_room(p->pid, &pids_kinds[i]);

		if (room >= PROCESSES_NEEDED)
			continue;
		preflight_reason(p, PREFLIGHT_MEMORY,
				 "the process limit of its control group leaves process %d (%s) "
				 "%llu more, memattach wants %u to be left",
				 (int)p->pid, p->status.name, (unsigned long long)room,
				 PROCESSES_NEEDED);
		return preflight_remedy(p, "raise pids.max (systemd: TasksMax=), or use "
					   "--snapshot=stop");
	}
	return check_process_limit(p);
}

static int check_control_group(struct preflight *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(cgroup_kinds); i++) {
		uint64_t room = groups_room(p->pid, &cgroup_kinds[i]);

		if (room < p->options->memory_bytes)
			return refuse_room(
				p, "the memory limit of its control group", room,
				"raise memory.max (systemd: MemoryMax=, docker: --memory) "
				"or use a smaller ring");
	}
	return 0;
}

/* Mode 2 refuses what would exceed the commit limit, to the target's own calls as well. */
static int check_commit_limit(struct preflight *p)
{
	uint64_t mode, limit, used, room;

	if (proc_read_number("/proc/sys/vm/overcommit_memory", "", &mode) < 0 || mode != 2 ||
	    proc_read_number("/proc/meminfo", "CommitLimit:", &limit) < 0 ||
	    proc_read_number("/proc/meminfo", "Committed_AS:", &used) < 0)
		return 0;
	room = room_left(limit, used) * 1024;
	if (room >= p->options->memory_bytes)
		return 0;
	return refuse_room(p, "the commit limit (vm.overcommit_memory=2)", room,
			   "free memory, add swap or raise vm.overcommit_ratio");
}

static int check_free_memory(struct preflight *p)
{
	uint64_t available;

	if (proc_read_number("/proc/meminfo", "MemAvailable:", &available) < 0 ||
	    available * 1024 >= p->options->memory_bytes)
		return 0;
	return refuse_room(p, "the machine's free memory", available * 1024,
			   "free memory, or use a smaller ring");
}

int preflight_check_memory(struct preflight *p)
{
	static preflight_check_fn *const checks[] = {
		check_address_space, check_mapping_count, check_control_group,
		check_commit_limit,  check_free_memory,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](p);
	return r;
}

int preflight_check_copy(const struct pidref *target, uint64_t bytes,
			 struct preflight_report *ret)
{
	static preflight_check_fn *const checks[] = { check_control_group, check_commit_limit,
						      check_free_memory, check_process_count };
	struct preflight_options options = { .memory_bytes = bytes };
	struct preflight p = { .pid = target->pid, .options = &options, .report = ret };
	int r = proc_read_status(p.pid, &p.status);

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](&p);
	return r < 0 ? r : 0;
}

/* mlockall(MCL_FUTURE) can't be told from mlock of one buffer: what counts is whether all fits. */
int preflight_check_locked_memory(struct preflight *p)
{
	uint64_t limit;
	int r;

	if (p->status.locked_bytes == 0 || (p->status.capabilities & 1ull << CAP_IPC_LOCK))
		return 0;
	r = proc_read_limit(p->pid, "Max locked memory", &limit);
	if (r < 0)
		return r;
	if (limit == UINT64_MAX ||
	    room_left(limit, p->status.locked_bytes) >= p->options->memory_bytes)
		return 0;
	preflight_reason(
		p, PREFLIGHT_LOCKED_MEMORY,
		"process %d (%s) locks its memory and may lock only %llu MiB more, "
		"memattach needs %llu MiB",
		(int)p->pid, p->status.name,
		(unsigned long long)(room_left(limit, p->status.locked_bytes) / MEGABYTE),
		megabytes(p->options->memory_bytes));
	return preflight_remedy(p, "raise it: prlimit --memlock=unlimited --pid %d", (int)p->pid);
}
