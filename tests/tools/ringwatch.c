/* SPDX-License-Identifier: MIT */
/*
 * ringwatch.c - what is memattach doing in a process? Asked of the process itself.
 *
 *	ringwatch PID armed|inert|gone [MILLISECONDS]
 *
 * armed	every planned entry is patched and records are being taken
 * inert	nothing is recorded any more: no ring, or its deadline has passed,
 *		and the rings' heads stand still
 * gone	no mapping of memattach's is left
 * Waits until that is so, at the most so many milliseconds (5000). Status 0: it is; 1:
 * it is not; 2: the process can't be looked at. Prints how long it took.
 *
 * The tests use it in place of a sleep, and it needs no cooperation of the program under
 * test: it reads the shared ring (inject/abi/ring_abi.h) through /proc/PID/mem.
 */
#include "inject/abi/ring_abi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define POLL_NS 1000000

struct target {
	int pid, mem;
	uint64_t ring;		/* address of the control block; 0: none */
	bool mapped;		/* anything of ours is mapped */
};

static struct ring_control control;	/* a copy */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool read_target(const struct target *target, uint64_t address, void *ret, size_t size)
{
	return pread(target->mem, ret, size, (off_t)address) == (ssize_t)size;
}

static void look_at_mapping(struct target *target, const char *line)
{
	uint64_t low, magic = 0;
	char access[8] = "";

	if (!strstr(line, "memattach") || sscanf(line, "%lx-%*x %7s", &low, access) != 2)
		return;
	/* An executable of ours (a victim under our build folder) is not meant. */
	if (!strstr(line, "/memfd:"))
		return;
	target->mapped = true;
	if (access[1] == 'w' && read_target(target, low, &magic, sizeof(magic)) &&
	    magic == RING_MAGIC)
		target->ring = low;
}

/* Finds what is mapped now, and copies the control block if there is one. */
static void look(struct target *target)
{
	char path[64], line[4096];
	FILE *maps;

	target->ring = 0;
	target->mapped = false;
	snprintf(path, sizeof(path), "/proc/%d/maps", target->pid);
	maps = fopen(path, "re");
	if (!maps)
		exit(2);
	while (fgets(line, sizeof(line), maps))
		look_at_mapping(target, line);
	fclose(maps);
	if (target->ring && !read_target(target, target->ring, &control, sizeof(control)))
		target->ring = 0;
}

static bool deadline_passed(void)
{
	return control.deadline < __rdtsc();
}

static bool patches_applied(const struct target *target)
{
	const struct ring_journal *journal = &control.journal;

	if (journal->patch_count > RING_MAX_PATCHES || control.entry_count == 0 ||
	    journal->patch_count - journal->gap_patches < control.entry_count)
		return false;
	for (uint32_t i = 0; i < journal->patch_count; i++) {
		const struct ring_patch *patch = &journal->patch[i];
		uint64_t word;

		if (patch->state != RING_PATCH_INTENDED ||
		    !read_target(target, patch->address, &word, sizeof(word)) ||
		    word != patch->patched)
			return false;
	}
	return true;
}

static bool is_armed(struct target *target)
{
	return target->ring && control.mode != RING_MODE_OFF && !deadline_passed() &&
	       patches_applied(target);
}

static uint64_t heads_sum(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < control.ring_count && i < RING_MAX_RINGS; i++)
		sum += control.ring[i].head;
	return sum;
}

static bool is_inert(struct target *target)
{
	struct timespec pause = { .tv_nsec = 20 * POLL_NS };
	uint64_t before;

	if (!target->ring)
		return true;
	if (!deadline_passed() && control.mode != RING_MODE_OFF)
		return false;
	/* A record begun before the deadline may still be under way: that is within the rule. */
	before = heads_sum();
	nanosleep(&pause, NULL);
	look(target);
	return !target->ring || heads_sum() == before;
}

static bool is_gone(struct target *target)
{
	return !target->mapped;
}

static int watch(struct target *target, bool (*is_so)(struct target *), int64_t limit_ms)
{
	struct timespec pause = { .tv_nsec = POLL_NS };
	int64_t began = now_ms();

	for (;;) {
		bool so;

		look(target);
		so = is_so(target);
		if (so || now_ms() - began > limit_ms) {
			printf("%s after %ld ms\n", so ? "yes" : "no", (long)(now_ms() - began));
			return so ? 0 : 1;
		}
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		bool (*is_so)(struct target *);
	} states[] = { { "armed", is_armed }, { "inert", is_inert }, { "gone", is_gone } };
	struct target target = { .pid = argc > 1 ? atoi(argv[1]) : 0 };
	int64_t limit_ms = argc > 3 ? atol(argv[3]) : 5000;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", target.pid);
	target.mem = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; argc > 2 && target.mem >= 0 && i < 3; i++) {
		if (strcmp(argv[2], states[i].name) == 0)
			return watch(&target, states[i].is_so, limit_ms);
	}
	fprintf(stderr, "usage: ringwatch PID armed|inert|gone [MILLISECONDS]\n");
	return 2;
}
