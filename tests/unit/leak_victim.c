/* SPDX-License-Identifier: MIT */
/*
 * leak_victim.c - see leak_victim.h.
 *
 * A victim is stopped by ptrace where it waits, each of its threads in pause(), so that its
 * registers are known; it ends with the test, however that ends.
 */
#include "tests/unit/leak_victim.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/leak_picture.h"

static const char *victim_folder(void)
{
	static char folder[64];

	if (!folder[0]) {
		strcpy(folder, "/tmp/memattach-leak-XXXXXX");
		if (!mkdtemp(folder))
			exit(99);
	}
	return folder;
}

void victim_clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", victim_folder());
	(void)!system(command);
}

const char *victim_compile(const char *name, const char *variable,
					 const char *fallback, const char *flags,
					 const char *files)
{
	static char path[256];
	const char *root = getenv("SRCDIR"), *compiler = getenv(variable);
	char here[1024] = "", command[8192], list[4096] = "", copy[512], *rest = copy;

	if (!root && getcwd(here, sizeof(here) - 8))
		root = strcat(here, "/../..");
	snprintf(copy, sizeof(copy), "%s", files);
	for (char *file; (file = strsep(&rest, " "));)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s/tests/victims/%s",
			 root, file);
	snprintf(path, sizeof(path), "%s/%s", victim_folder(), name);
	snprintf(command, sizeof(command), "cd %s && %s %s -w -o %s %s -pthread", victim_folder(),
		 compiler ? compiler : fallback, flags, name, list);
	return system(command) == 0 ? path : NULL;
}

static void victim_read(struct victim *victim)
{
	FILE *output = fdopen(victim->output, "r");
	char line[256];

	while (output && fgets(line, sizeof(line), output) && strcmp(line, "ready\n") != 0) {
		struct victim_block *block = &victim->block[victim->count];

		if (sscanf(line, "%63s %lx %lu", block->name, &block->block.address,
			   &block->block.bytes) != 3 || victim->count == VICTIM_BLOCKS - 1)
			exit(99);
		victim->count++;
	}
	if (!output || feof(output)) {
		fprintf(stderr, "the victim ended early\n");
		exit(99);
	}
	fclose(output);
}

/* Until a thread sits in pause(): only then its registers are what they shall be. */
static void victim_await_pause(pid_t pid, pid_t tid)
{
	char name[32], text[16];

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	for (;;) {
		int fd = leak_picture_open_file(pid, name);
		ssize_t got = read(fd, text, sizeof(text) - 1);

		close(fd);
		if (got <= 0)
			exit(99);
		text[got] = '\0';
		if (atoi(text) == SYS_pause && text[0] != 'r')
			return;
		sched_yield();
	}
}

/* Stops a thread for good and reads its registers. */
static void victim_stop_thread(pid_t tid, struct picture_thread *ret)
{
	struct iovec registers = { &ret->registers, sizeof(ret->registers) };
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_EXITKILL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 ||
	    waitpid(tid, &status, __WALL) < 0 ||
	    ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &registers) < 0) {
		perror("stopping the victim");
		exit(99);
	}
	ret->tid = tid;
}

size_t victim_stop(pid_t pid, struct picture_thread *thread, size_t room)
{
	char path[64];
	struct dirent *entry;
	size_t count = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)) && count < room) {
		if (entry->d_name[0] == '.')
			continue;
		victim_await_pause(pid, atoi(entry->d_name));
		victim_stop_thread(atoi(entry->d_name), &thread[count++]);
	}
	closedir(tasks);
	return count;
}

int victim_open_file(void *context, const struct procmap *map)
{
	(void)context;
	return open(map->path, O_RDONLY | O_CLOEXEC);
}

/* The blocks that it told of, and roots around them: everything else that is writable. */
static void victim_add_blocks(struct victim *victim)
{
	const struct procmaps *maps = &victim->picture.maps;

	if (blocks_new(&victim->blocks) < 0)
		exit(99);
	for (size_t i = 0; i < maps->count; i++)
		for (size_t k = 0; k < victim->count; k++)
			if (victim->block[k].block.address - maps->map[i].start <
			    maps->map[i].end - maps->map[i].start) {
				if (blocks_add_segment(victim->blocks, maps->map[i].start,
						       maps->map[i].end, 16) < 0)
					exit(99);
				break;
			}
	for (size_t k = 0; k < victim->count; k++) {
		const struct block *range = &victim->block[k].block;

		if (strcmp(victim->block[k].name, "range") != 0)
			continue;
		for (uint64_t at = 0; at <= range->bytes; at += 32)
			if (blocks_add(victim->blocks, range->address + at, 24) < 0)
				exit(99);
		victim->block[k] = victim->block[--victim->count];
	}
	for (size_t k = 0; k < victim->count; k++)
		if (blocks_add(victim->blocks, victim->block[k].block.address,
			       victim->block[k].block.bytes) == -EINVAL)
			exit(99);
}

/* libc's malloc_state points into the last chunk, as if it held that. */
static void victim_exclude_libc(struct victim *victim)
{
	const struct procmaps *maps = &victim->picture.maps;

	for (size_t i = 0; i < maps->count; i++)
		if (strstr(maps->map[i].path, "/libc.so") && (maps->map[i].prot & PROCMAP_W) &&
		    ranges_add(&victim->excluded, maps->map[i].start, maps->map[i].end) < 0)
			exit(99);
	ranges_normalize(&victim->excluded);
}

void victim_start(struct victim *victim, const char *path)
{
	struct module_source source = { .open_file = victim_open_file };
	struct picture_thread thread[16] = { 0 };
	struct roots_input input = { .classes = ROOT_ALL };
	int pipe_fds[2];

	memset(victim, 0, sizeof(*victim));
	if (pipe(pipe_fds) < 0)
		exit(99);
	victim->pid = fork();
	if (victim->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pipe_fds[1], 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(pipe_fds[1]);
	victim->output = pipe_fds[0];
	victim_read(victim);
	if (leak_picture_of(victim->pid, thread, victim_stop(victim->pid, thread, 16),
			    &victim->picture) < 0 ||
	    modules_new(&source, &victim->modules) < 0 ||
	    modules_update(victim->modules, &victim->picture.maps) < 0)
		exit(99);
	victim_add_blocks(victim);
	victim_exclude_libc(victim);
	input.picture = &victim->picture;
	input.heap = blocks_segments(victim->blocks);
	input.excluded = &victim->excluded;
	if (roots_collect(&input, &victim->roots) < 0)
		exit(99);
}

void victim_end(struct victim *victim)
{
	pid_t ended;

	kill(victim->pid, SIGKILL);
	/* The process ends only when its tracer has seen every thread end. */
	do {
		ended = waitpid(-1, NULL, __WALL);
	} while (ended > 0 && ended != victim->pid);
	roots_done(&victim->roots);
	ranges_done(&victim->excluded);
	blocks_free(victim->blocks);
	modules_free(victim->modules);
	picture_done(&victim->picture);
}

uint64_t victim_address(const struct victim *victim, const char *name)
{
	for (size_t i = 0; i < victim->count; i++)
		if (strcmp(victim->block[i].name, name) == 0)
			return victim->block[i].block.address;
	return 0;
}
