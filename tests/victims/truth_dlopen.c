/* SPDX-License-Identifier: MIT */
/*
 * truth_dlopen.c - blocks allocated by libraries that are gone, or replaced.
 *
 *	truth_dlopen DIRECTORY	where plug_a.so and plug_b.so are
 *
 * Opens one plug-in, allocates through it, closes it, opens the other, which lands
 * on the same address, and so on. The blocks live to the end: their frames must
 * still be named after the library that was there when they were made. Only the
 * plug-ins' sites are claimed: dlopen itself allocates. "same_address" in the
 * line before the truth says whether the case came about.
 * Commands: 'g' runs and prints the truth, 's' opens and closes without end until the next
 * command, 'o' opens the first, allocates through it and keeps it open, 'x' closes that, 'q' ends.
 */
#include "tests/victims/plug.h"
#include "tests/victims/truth.h"
#include "tests/victims/victim.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TURNS	20

static char path[2][4096];
static struct truth_block kept[2 * TURNS];
static int kept_count;

static const char *const function_name[2] = { "plug_allocate_a", "plug_allocate_b" };

/* Books p under a frame of the plug-in, as if it had a shadow stack of its own. */
static void book(int which, void *p, size_t size, int line)
{
	int scope = truth_enter(function_name[which]);

	truth_at(line);
	truth_allocated(&kept[kept_count++], p, size);
	truth_leave(&scope);
}

static void *plug_open(int which, plug_allocate_fn **ret_allocate)
{
	void *handle = dlopen(path[which], RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		victim_fail("dlopen");
	*(void **)ret_allocate = dlsym(handle, function_name[which]);
	if (!*ret_allocate)
		victim_fail("dlsym");
	return handle;
}

VICTIM_FRAME static uintptr_t one_turn(int which, size_t size)
{
	plug_allocate_fn *allocate;
	int line = 0;
	void *handle, *p;
	TRUTH_FUNCTION();

	handle = plug_open(which, &allocate);
	p = TRUTH_CALL(allocate(size, &line));
	book(which, p, size, line);
	dlclose(handle);
	return (uintptr_t)allocate & ~(uintptr_t)0xfff;
}

VICTIM_FRAME static void run(void)
{
	uintptr_t at[2] = { 0, 0 };
	int same = 0;
	TRUTH_FUNCTION();

	for (int turn = 0; turn < TURNS; turn++) {
		at[0] = TRUTH_CALL(one_turn(0, 100 + (size_t)turn));
		at[1] = TRUTH_CALL(one_turn(1, 200 + (size_t)turn));
		same += at[0] == at[1];
	}
	victim_say("same_address %d of %d\n", same, TURNS);
}

/* Opens and closes until a command waits. */
static void storm(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned long turns = 0;

	while (poll(&input, 1, 0) == 0) {
		plug_allocate_fn *allocate;
		void *handle = plug_open((int)(turns++ & 1), &allocate);
		int line;

		free(allocate(64, &line));
		dlclose(handle);
	}
	victim_say("storm ok %lu\n", turns);
}

static void *hold_open(void)
{
	plug_allocate_fn *allocate;
	void *handle = plug_open(0, &allocate);
	int line;

	free(allocate(64, &line));
	victim_say("open ok\n");
	return handle;
}

int main(int argc, char *argv[])
{
	struct truth_claims claims = { .totals = 0, .peaks = 0 };
	void *held = NULL;
	char command;
	TRUTH_FUNCTION();

	victim_setup();
	if (argc < 2)
		victim_fail("usage: truth_dlopen DIRECTORY");
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/plug_%c.so", argv[1], "ab"[i]);
	victim_ready();
	while ((command = victim_await()) != 'q') {
		if (command == 's')
			storm();
		if (command == 'o')
			held = hold_open();
		if (command == 'x' && held && dlclose(held) == 0)
			victim_say("close ok\n");
		if (command != 'g')
			continue;
		TRUTH_CALL(run());
		truth_print(claims);
	}
	return 0;
}
