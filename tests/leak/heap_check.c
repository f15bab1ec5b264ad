/* SPDX-License-Identifier: MIT */
/*
 * heap_check.c - runs a victim and compares what the walker of its libc finds in it with what it
 * says.
 *
 *	heap_check [--subset|--torn=ROUNDS] COMMAND...
 *
 * The command prints "BLOCK address usable-bytes" lines, "process PID" and "ready" (see
 * tests/victims/leak_heap.c). Every thread of that process is then stopped while it is read.
 * --subset: more may be found than it says. Prints one line; 0 they agree, 1 they don't, 99.
 *
 * --torn: the command prints "BOOK address room threads" instead and goes on; it is stopped and
 * looked at that many times. Each time the walk must say that it is torn, or must find every
 * block that is in the book, and at most two more for each thread (realloc holds as many).
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <time.h>

#include "src/heap/heap.h"
#include "tests/unit/leak_picture.h"

#define MAX_THREADS 512

struct check {
	bool subset;
	unsigned long rounds, torn;
	uint64_t book, book_room, book_threads;
	pid_t victim, target;
	size_t count, room;
	struct block *truth;
	size_t thread_count;
	struct picture_thread thread[MAX_THREADS];
	size_t next, extra, missing, differ;
};

static int die(const char *what)
{
	perror(what);
	exit(99);
}

static int by_address(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void add_truth(struct check *check, uint64_t address, uint64_t bytes)
{
	if (check->count == check->room) {
		check->room = check->room ? check->room * 2 : 65536;
		check->truth = reallocarray(check->truth, check->room, sizeof(*check->truth));
		if (!check->truth)
			die("memory");
	}
	/* musl's malloc(0), which counts for a byte */
	check->truth[check->count++] = (struct block){ address, bytes ? bytes : 1 };
}

/* Returns when the victim is ready. */
static void read_truth(struct check *check, FILE *from)
{
	char line[128];

	while (fgets(line, sizeof(line), from)) {
		uint64_t address, bytes;
		int pid;

		if (sscanf(line, "BLOCK %" SCNu64 " %" SCNu64, &address, &bytes) == 2)
			add_truth(check, address, bytes);
		else if (sscanf(line, "BOOK %" SCNu64 " %" SCNu64 " %" SCNu64, &check->book,
				&check->book_room, &check->book_threads) == 3)
			continue;
		else if (sscanf(line, "process %d", &pid) == 1)
			check->target = pid;
		else if (strcmp(line, "ready\n") == 0)
			break;
	}
	if (!check->target)
		die("the victim said nothing");
	if (check->count > 1)
		qsort(check->truth, check->count, sizeof(*check->truth), by_address);
}

static void run(struct check *check, char **command)
{
	int ends[2];
	FILE *from;

	if (pipe(ends) < 0)
		die("pipe");
	check->victim = fork();
	if (check->victim == 0) {
		/* Its own children are ended with it. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execv(command[0], command);
		_exit(98);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (!from)
		die("fdopen");
	read_truth(check, from);
	fclose(from);
}

static void stop_threads(struct check *check)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", check->target);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		struct picture_thread *t = &check->thread[check->thread_count];
		int tid = atoi(entry->d_name);

		if (tid <= 0 || check->thread_count == MAX_THREADS)
			continue;
		if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0 ||
		    ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 || waitpid(tid, NULL, __WALL) != tid)
			die("ptrace");
		t->tid = tid;
		ptrace(PTRACE_GETREGS, tid, 0, &t->registers);
		check->thread_count++;
	}
	closedir(tasks);
}

static int open_file(void *context, const struct procmap *map)
{
	int fd = open(map->path, O_RDONLY | O_CLOEXEC);

	(void)context;
	return fd < 0 ? -errno : fd;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return picture_read(context, address, buffer, bytes);
}

static void say(const char *what, const struct block *block)
{
	printf("%s %" PRIx64 " %" PRIu64 "\n", what, block->address, block->bytes);
}

static int compare(void *context, const struct block *found)
{
	struct check *check = context;

	while (check->next < check->count &&
	       check->truth[check->next].address < found->address) {
		if (check->missing++ < 5)
			say("missing", &check->truth[check->next]);
		check->next++;
	}
	if (check->next == check->count || check->truth[check->next].address != found->address) {
		if (check->extra++ < 5 && !check->subset && !check->book)
			say("extra", found);
		return 0;
	}
	if (check->truth[check->next++].bytes != found->bytes && check->differ++ < 5)
		say("other size", found);
	return 0;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct modules *read_modules(struct picture *picture)
{
	const struct module_source source = { open_file, read_memory, picture };
	struct modules *modules;

	if (modules_new(&source, &modules) < 0 || modules_update(modules, &picture->maps) < 0)
		die("modules");
	return modules;
}

/* Sizes are not in it: those that were found are taken. */
static void read_book(struct check *check, const struct picture *picture,
		      const struct blocks *blocks)
{
	uint64_t *book = malloc(check->book_room * sizeof(*book));

	if (!book || picture_read(picture, check->book, book, check->book_room * sizeof(*book)) < 0)
		die("the victim's book");
	check->count = check->next = check->extra = check->missing = check->differ = 0;
	for (size_t i = 0; i < check->book_room; i++) {
		struct block found = { ~book[i], 0 };

		if (book[i] <= 1)
			continue;
		blocks_find(blocks, ~book[i], &found);
		add_truth(check, ~book[i], found.bytes);
	}
	free(book);
	if (check->count > 1)
		qsort(check->truth, check->count, sizeof(*check->truth), by_address);
}

static bool judge(struct check *check, const struct heap *heap, const struct heap_result *result,
		  double time)
{
	uint64_t found = blocks_count(heap->blocks);
	bool agree;

	blocks_each(heap->blocks, compare, check);
	check->missing += check->count - check->next;
	agree = result->cover == HEAP_COVERED && result->live_count == found && !check->missing &&
		!check->differ && (check->subset || check->extra <= 2 * check->book_threads);
	if (check->rounds && (agree || (result->cover == HEAP_TORN && found == 0)))
		return true;
	printf("%s %s: %zu blocks, %" PRIu64 " found, %zu missing, %zu extra, %zu of other size, "
	       "%" PRIu64 " free, %" PRIu64 " arenas, %" PRIu64 " mapped, %zu threads, "
	       "%.1f ms%s%s\n",
	       agree ? "agree" : "DIFFER", result->version, check->count, found, check->missing,
	       check->extra, check->differ, result->free_count, result->arenas, result->mmapped,
	       check->thread_count, time * 1e3, result->why[0] ? ": " : "", result->why);
	return agree;
}

static bool check_target(struct check *check)
{
	struct heap heap = { 0 };
	struct heap_result result;
	struct picture picture;
	struct modules *modules;
	double begin;
	bool agree;

	if (leak_picture_of(check->target, check->thread, check->thread_count, &picture) < 0 ||
	    blocks_new(&heap.blocks) < 0)
		die("picture");
	modules = read_modules(&picture);
	begin = seconds();
	if (heap_walk_glibc(&picture, modules, &heap, &result) < 0 ||
	    (result.cover == HEAP_ABSENT &&
	     heap_walk_musl(&picture, modules, &heap, &result) < 0))
		die("the walk");
	begin = seconds() - begin;
	check->torn += result.cover == HEAP_TORN;
	if (check->book)
		read_book(check, &picture, heap.blocks);
	if (check->book && result.cover == HEAP_TORN)
		check->count = 0;
	agree = judge(check, &heap, &result, begin);
	blocks_free(heap.blocks);
	heap_done(&heap);
	modules_free(modules);
	picture_done(&picture);
	return agree;
}

static void resume_threads(struct check *check)
{
	for (size_t i = 0; i < check->thread_count; i++)
		ptrace(PTRACE_DETACH, check->thread[i].tid, 0, 0);
	check->thread_count = 0;
}

/* Stops the victim over and over, each time a little later. */
static bool check_torn(struct check *check)
{
	bool agree = true;
	unsigned long i;

	for (i = 0; i < check->rounds && agree; i++) {
		const struct timespec pause = { 0, (long)(1000000 + i * 7919 % 2000000) };

		nanosleep(&pause, NULL);
		stop_threads(check);
		agree = check_target(check);
		resume_threads(check);
	}
	printf("%s: %lu pictures, %lu of them torn\n", agree ? "agree" : "DIFFER", i, check->torn);
	return agree;
}

int main(int argc, char **argv)
{
	static struct check check;
	bool agree;
	int first = 1;

	if (argc > 1 && argv[1][0] == '-') {
		check.subset = strcmp(argv[1], "--subset") == 0;
		sscanf(argv[1], "--torn=%lu", &check.rounds);
		first++;
	}
	if (argc <= first)
		return 99;
	run(&check, argv + first);
	if (check.rounds) {
		agree = check_torn(&check);
	} else {
		stop_threads(&check);
		agree = check_target(&check);
	}
	kill(-check.victim, SIGKILL);
	/* Its threads are ours to reap, too, or it would never be gone. */
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
	free(check.truth);
	return !agree;
}
