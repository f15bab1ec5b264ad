/* SPDX-License-Identifier: MIT */
/*
 * hazards_plug.c - a library, bound lazily, one of whose functions is chosen when it is first
 * called: an allocation there lies under the dynamic loader's own frames.
 */
#include "tests/victims/hazards.h"

static unsigned long resolved;
unsigned long hazard_plug_use(int times, unsigned long *ret_resolved);
int hazard_chosen(int n);

VICTIM_FRAME static int chosen(int n)
{
	return n + 1;
}

static int (*hazard_resolver(void))(int)
{
	HAZARD_ALLOC(60);
	resolved++;
	return chosen;
}

int hazard_chosen(int n) __attribute__((ifunc("hazard_resolver")));

VICTIM_FRAME static int hazard_from_plug(int n)
{
	int room[n % 50 + 1];

	victim_seen(room);
	room[0] = n;
	HAZARD_ALLOC(61);
	return room[0];
}

/* Returns how often hazard_from_plug() allocated. */
unsigned long hazard_plug_use(int times, unsigned long *ret_resolved)
{
	int sum = 0;

	for (int i = 0; i < times; i++)
		sum += hazard_from_plug(i);
	sum += hazard_chosen(sum);
	*ret_resolved = resolved;
	return sum == 0 ? 0 : (unsigned long)times;
}
