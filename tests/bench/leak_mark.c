/* SPDX-License-Identifier: MIT */
/*
 * leak_mark.c - how fast a heap is marked, and with how much memory.
 *
 * leak_mark [MIB [KIND]]: makes heaps of MIB (default 2048) of several kinds in a child that never
 * runs on, marks each with one and with two workers, and prints a table: bytes of heap a second
 * and CPU seconds, best of three, and the peak of this program's memory as a part of the heap.
 * Addresses are this program's; the heap is filled by the child, so it is not counted here.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/leak/mark/mark.h"

/* A heap that is being laid out. Roots are its first words, before the segment. */
struct heap_plan {
	uint64_t low, high;	/* the segment */
	struct blocks *blocks;	/* NULL in the child: there memory is written */
	uint64_t *address;	/* of every block, in the order of addresses */
	uint64_t count;
};
struct heap_kind {
	const char *name;
	uint64_t (*size)(uint64_t *random, const struct heap_plan *plan);
	void (*link)(const struct heap_plan *plan, uint64_t *root);
};

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t roll(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

static uint64_t *words(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

/* ---- kinds of heaps ---- */

static uint64_t size_small(uint64_t *random, const struct heap_plan *plan)
{
	(void)plan;
	return 24 + (32 + roll(random) % 169) / 16 * 16 - 16;
}
static uint64_t size_large(uint64_t *random, const struct heap_plan *plan)
{
	(void)plan;
	return (roll(random) % 2 ? 65536 : 1048576) - 8;
}
/* Every tenth part is arrays. */
static uint64_t size_arrays(uint64_t *random, const struct heap_plan *plan)
{
	return plan->count % 1000 ? size_small(random, plan) : 81920 - 8;
}

static void shuffle(const struct heap_plan *plan)
{
	uint64_t random = 77;

	for (uint64_t i = plan->count - 1; i > 0; i--) {
		uint64_t other = roll(&random) % (i + 1), kept = plan->address[i];

		plan->address[i] = plan->address[other];
		plan->address[other] = kept;
	}
}

/* Trees, rings and lists of up to a thousand blocks each at random places; text beside pointers. */
static void link_structures(const struct heap_plan *plan, uint64_t *root)
{
	uint64_t random = 99, roots = 0;

	shuffle(plan);
	for (uint64_t i = 0; i < plan->count;) {
		uint64_t length = 1 + roll(&random) % 1000, kind = roll(&random) % 3;

		if (length > plan->count - i)
			length = plan->count - i;
		for (uint64_t k = 0; k < length; k++) {
			uint64_t *block = words(plan->address[i + k]);
			uint64_t next = kind ? k + 1 : 2 * k + 1;

			if (next < length)
				block[0] = plan->address[i + next];
			if (kind == 1 && k)
				block[1] = plan->address[i + k - 1];
			else if (!kind && next + 1 < length)
				block[1] = plan->address[i + next + 1];
			block[2] = roll(&random) << 11;
		}
		/* One in a hundred is lost. */
		if (roll(&random) % 100)
			root[roots++ % 60000] = plan->address[i];
		i += length;
	}
}
static void link_list(const struct heap_plan *plan, uint64_t *root)
{
	shuffle(plan);
	for (uint64_t i = 0; i + 1 < plan->count; i++)
		words(plan->address[i])[1] = plan->address[i + 1];
	root[0] = plan->address[0];
}
static void link_nothing(const struct heap_plan *plan, uint64_t *root)
{
	for (uint64_t i = 0; i < plan->count; i++) {
		memset(words(plan->address[i]), (int)(i % 100 + 1), 65000);
		root[i % 60000] = plan->address[i];
	}
}
static void link_arrays(const struct heap_plan *plan, uint64_t *root)
{
	uint64_t random = 5, roots = 0;

	for (uint64_t i = 0; i < plan->count; i++) {
		if (i % 1000) {
			words(plan->address[i])[0] = roll(&random);
			continue;
		}
		root[roots++ % 60000] = plan->address[i];
		for (uint64_t k = 0; k < 10000; k++)
			words(plan->address[i])[k] = plan->address[roll(&random) % plan->count];
	}
}
static void link_random(const struct heap_plan *plan, uint64_t *root)
{
	uint64_t random = 5;

	for (uint64_t i = 0; i < plan->count; i++) {
		words(plan->address[i])[0] = plan->address[roll(&random) % plan->count];
		words(plan->address[i])[2] = plan->address[roll(&random) % plan->count];
	}
	for (uint64_t i = 0; i < 100; i++)
		root[i] = plan->address[roll(&random) % plan->count];
}
/* Nothing is held: the structures of link_structures all lost. */
static void link_lost(const struct heap_plan *plan, uint64_t *root)
{
	link_structures(plan, root);
	memset(root, 0, 60000 * sizeof(*root));
}

static const struct heap_kind kinds[] = {
	{ "structures", size_small, link_structures }, { "one list", size_small, link_list },
	{ "large buffers", size_large, link_nothing }, { "arrays", size_arrays, link_arrays },
	{ "random graph", size_small, link_random },   { "all lost", size_small, link_lost },
};

/* ---- one heap ---- */

#define ROOT_BYTES (512u << 10)

/* Blocks of plan, as glibc would place them; each is added or noted. */
static void lay_out(const struct heap_kind *kind, struct heap_plan *plan)
{
	uint64_t random = 42, at = plan->low + 16;

	plan->count = 0;
	for (;;) {
		uint64_t bytes = kind->size(&random, plan);

		if (at + bytes > plan->high)
			break;
		if (plan->blocks && blocks_add(plan->blocks, at, bytes))
			exit(1);
		if (!plan->blocks)
			plan->address[plan->count] = at;
		plan->count++;
		at += bytes + 8;
	}
}

static void fill(const struct heap_kind *kind, struct heap_plan *plan, uint64_t *root)
{
	/* Its pages are the child's own. */
	plan->address = mmap(NULL, (plan->high - plan->low) / 4, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	plan->blocks = NULL;
	lay_out(kind, plan);
	kind->link(plan, root);
	munmap(plan->address, (plan->high - plan->low) / 4);
}

/* A child with the heap in it, that stays until it is killed. */
static pid_t start_child(const struct heap_kind *kind, struct heap_plan *plan, uint64_t *root)
{
	int ready[2];
	pid_t child;
	char byte;

	if (pipe(ready))
		exit(1);
	child = fork();
	if (!child) {
		fill(kind, plan, root);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (child < 0 || read(ready[0], &byte, 1) != 1)
		exit(1);
	close(ready[0]);
	return child;
}

static uint64_t status_bytes(const char *field)
{
	char line[256];
	uint64_t kib = 0;
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, field, strlen(field)))
			kib = strtoull(line + strlen(field), NULL, 10);
	if (status)
		fclose(status);
	return kib << 10;
}

/* The peak of resident memory starts anew. */
static void reset_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	malloc_trim(0);
	if (fd < 0 || write(fd, "5", 1) != 1)
		fprintf(stderr, "peak is that of all heaps so far\n");
	close(fd);
}

struct result {
	double wall[2], cpu[2];	/* for one and two workers */
	struct mark_sums sums;
};

static void mark(struct picture *picture, struct blocks *blocks, uint64_t root_low,
		 struct result *result)
{
	struct root root = { .low = root_low, .high = root_low + ROOT_BYTES };
	struct roots roots = { .count = 1, .root = &root, .bytes = ROOT_BYTES };

	for (unsigned int workers = 2; workers >= 1; workers--) {
		struct mark_input input = {
			picture, blocks, &roots, MARK_ALL_HEURISTICS, workers, 0
		};

		result->wall[workers - 1] = result->cpu[workers - 1] = 1e9;
		for (int i = 0; i < 3; i++) {
			double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

			if (mark_run(&input, &result->sums))
				exit(1);
			cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
			if (result->sums.seconds < result->wall[workers - 1])
				result->wall[workers - 1] = result->sums.seconds;
			if (cpu < result->cpu[workers - 1])
				result->cpu[workers - 1] = cpu;
			if (result->sums.seconds > 4)
				break;
		}
	}
}

static void bench(const struct heap_kind *kind, uint64_t bytes)
{
	char *memory = mmap(NULL, bytes + ROOT_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t low = (uintptr_t)memory + ROOT_BYTES;
	struct heap_plan plan = { .low = low, .high = low + bytes };
	struct picture picture = { .mem = -1 };
	struct result result;
	uint64_t before, peak;
	double added;
	char path[32];
	pid_t child;

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, bytes + ROOT_BYTES, MADV_NOHUGEPAGE);
	child = start_child(kind, &plan, (uint64_t *)memory);
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	picture.mem = open(path, O_RDONLY | O_CLOEXEC);
	reset_peak();
	before = status_bytes("VmRSS:");
	if (blocks_new(&plan.blocks) || blocks_add_segment(plan.blocks, plan.low, plan.high, 16))
		exit(1);
	added = seconds(CLOCK_MONOTONIC);
	lay_out(kind, &plan);
	added = seconds(CLOCK_MONOTONIC) - added;
	mark(&picture, plan.blocks, (uintptr_t)memory, &result);
	peak = status_bytes("VmHWM:") - before;
	printf("%-14s %9" PRIu64 "  %5.0f  %5.2f %5.2f  %5.2f %5.2f  1/%.1f  (%.1f%% map, %.1f%% "
	       "marking)  %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       kind->name, plan.count, added * 1e9 / (double)plan.count,
	       (double)bytes / result.wall[0] / 1e9, (double)bytes / result.wall[1] / 1e9,
	       result.cpu[0], result.cpu[1], (double)bytes / (double)peak,
	       100 * (double)blocks_memory(plan.blocks) / (double)bytes,
	       100 * (double)result.sums.memory / (double)bytes, result.sums.count[0],
	       result.sums.count[1], result.sums.count[2], result.sums.count[3]);
	fflush(stdout);
	blocks_free(plan.blocks);
	close(picture.mem);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(memory, bytes + ROOT_BYTES);
}

int main(int argc, char **argv)
{
	uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 2048;
	const char *only = argc > 2 ? argv[2] : NULL;

	printf("heap              blocks ns/add  GB/s: 1, 2   CPU s: 1, 2  peak of memory"
	       "                     reachable possibly indirectly definitely\n");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!only || strstr(kinds[i].name, only))
			bench(&kinds[i], mib << 20);
	return 0;
}
