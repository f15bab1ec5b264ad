/* SPDX-License-Identifier: MIT */
/*
 * share.c - see share.h.
 *
 * Rejected: a lower priority. Kernels share out processors by session first (autogroup), so that
 * it would have to be that of a session of the analyst's own, which Linux 6.18 may let starve;
 * and beside many threads one is too little.
 */
#include "src/watch/share.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PART		0.25	/* of all processors */
#define CROWDED		0.5	/* runnable threads beyond the processors, in the mean */
#define WEIGHT		0.125	/* of the last look in that mean */
#define REST_MAX_NS	100e6	/* the keeper may want something */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void share_open(struct share *share)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	*share = (struct share){ .processors = processors > 0 ? (double)processors : 1 };
	share->file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
}

void share_close(struct share *share)
{
	if (share->file >= 0)
		(void)close(share->file);
	share->file = -1;
}

/* "0.20 0.18 0.12 1/80 11206": the number before the slash. */
long share_runnable(const char *loadavg)
{
	const char *slash = strchr(loadavg, '/'), *at = slash;
	char *end;
	long count;

	while (at && at > loadavg && at[-1] >= '0' && at[-1] <= '9')
		at--;
	if (!at || at == slash)
		return -1;
	count = strtol(at, &end, 10);
	return end == slash ? count : -1;
}

uint64_t share_rest(struct share *share, uint64_t wall_ns, uint64_t cpu_ns, long runnable,
		    bool losing)
{
	double part = PART * share->processors, rest;
	bool first = share->wall_ns == 0;

	if (!first)
		share->debt_ns += (double)(cpu_ns - share->cpu_ns) -
				  (double)(wall_ns - share->wall_ns) * part;
	share->wall_ns = wall_ns;
	share->cpu_ns = cpu_ns;
	if (runnable < 0)
		return 0;
	share->runnable += first ? (double)runnable :
				   ((double)runnable - share->runnable) * WEIGHT;
	if (!losing || share->runnable < share->processors + CROWDED || share->debt_ns < 0)
		share->debt_ns = 0;
	rest = share->debt_ns / part;
	return (uint64_t)(rest < REST_MAX_NS ? rest : REST_MAX_NS);
}

uint64_t share_turn(struct share *share, bool losing)
{
	char text[128];
	ssize_t length = share->file < 0 ? -1 : pread(share->file, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return share_rest(share, now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_PROCESS_CPUTIME_ID),
			  share_runnable(text), losing);
}
