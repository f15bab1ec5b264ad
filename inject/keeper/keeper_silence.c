/* SPDX-License-Identifier: MIT */
/* keeper_silence.c - see keeper_silence.h. */
#include "inject/keeper/keeper_silence.h"

#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"

unsigned int keeper_silence_of(uint64_t elapsed_ns, uint64_t waited_ns)
{
	uint64_t could = elapsed_ns > waited_ns ? elapsed_ns - waited_ns : 0;
	unsigned int part = elapsed_ns ? (unsigned int)(could * SILENCE_TICK / elapsed_ns) :
					 SILENCE_TICK;

	return part > SILENCE_TICK / 4 ? part : SILENCE_TICK / 4;
}

unsigned int keeper_silence_tick(struct keeper_silence *s, pid_t analyst, bool heard)
{
	uint64_t now_ns = tracee_now_ns(), waited_ns = 0, in_tick_ns = 0;
	unsigned int part;

	/* each time: the wait so far is what the next tick is compared with */
	if (analyst > 0 && proc_read_run_delay(analyst, analyst, &waited_ns) == 0 &&
	    s->looked_ns && waited_ns > s->waited_ns)
		in_tick_ns = waited_ns - s->waited_ns;
	part = keeper_silence_of(s->looked_ns ? now_ns - s->looked_ns : 0, in_tick_ns);
	s->total = heard ? 0 : s->total + part;
	s->looked_ns = now_ns;
	s->waited_ns = waited_ns;
	return part;
}
