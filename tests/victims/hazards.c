/* SPDX-License-Identifier: MIT */
/*
 * hazards.c - runs the groups of hazards.h.
 *
 *	hazards [--only=GROUP] [--plugs=DIRECTORY]
 *
 * Waits for 'g', does its work, says "case FUNCTION TIMES" for each function and "done ok", ends
 * with 'q'. Tests build it in many ways, without some groups: HAZARDS_NO_CXX, HAZARDS_NO_PLUGS.
 */
#include "tests/victims/hazards.h"

#include <string.h>

volatile int hazard_sink;

enum { CASES = 64 };
static struct {
	const char *function;
	unsigned long times;
} did[CASES];

void hazard_did(const char *function, unsigned long times)
{
	int i = 0;

	while (i < CASES && did[i].function && strcmp(did[i].function, function) != 0)
		i++;
	if (i == CASES)
		victim_fail("too many cases");
	did[i].function = function;
	did[i].times += times;
}

static void run(const char *only, const char *plugs)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} group[] = {
		{ "frames", hazard_frames },
		{ "stale", hazard_stale },
		{ "stacks", hazard_stacks },
		{ "threads", hazard_threads },
		{ "jit", hazard_jit },
#ifndef HAZARDS_NO_CXX
		{ "throws", hazard_throws },
#endif
	};

	for (size_t i = 0; i < sizeof(group) / sizeof(group[0]); i++)
		if (!*only || strcmp(only, group[i].name) == 0)
			group[i].run();
#ifndef HAZARDS_NO_PLUGS
	if (*plugs)
		hazard_plugs(plugs);
#else
	(void)plugs;
#endif
}

int main(int count, char **argument)
{
	const char *only = victim_option(argument, "only", "");
	const char *plugs = victim_option(argument, "plugs", "");

	(void)count;
	victim_setup();
	victim_ready();
	if (victim_await() != 'g')
		return 0;
	run(only, plugs);
	for (int i = 0; i < CASES && did[i].function; i++)
		victim_say("case %s %lu\n", did[i].function, did[i].times);
	victim_say("done ok\n");
	while (victim_await() != 'q')
		;
	return 0;
}
