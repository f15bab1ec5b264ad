/* SPDX-License-Identifier: MIT */
/*
 * daemon_share.c - see daemon_share.h.
 *
 * What a session spends follows what its process takes for itself (watch/budget.h); how much that
 * is everybody can read from the process's clock. It is read now and then: what a process that
 * begins to work hard takes is counted in a few seconds later.
 */
#include "cli/daemon/daemon_share.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/daemon/allotment.h"
#include "src/daemon/roster.h"
#include "src/watch/budget.h"

#define LOOK_SECONDS	5.0
#define WORTH		0.05	/* of the percentage: smaller changes are not told */

/* As clock_getcpuclockid(). Negative: it has ended. */
static double seconds_of(pid_t pid)
{
	struct timespec t;

	if (clock_gettime((clockid_t)(~(unsigned int)pid << 3 | 2u), &t) < 0)
		return -1;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool has_budget(const struct daemon_watch *watch)
{
	return watch->most_percent > 0 && watch->keeper && !watch->ending;
}

static void look(struct daemon_watch *watch, double now)
{
	double seconds = seconds_of(watch->pid), wall = now - watch->use_looked;

	if (seconds < 0)
		return;
	watch->use = watch->use_looked > 0 && wall > 0 ?
			     fmax(seconds - watch->use_seconds, 0) / wall : 0;
	watch->use_seconds = seconds;
	watch->use_looked = now;
}

/*
 * Who hardly runs has a budget as if it ran more (watch/budget.h). Where its session makes use of
 * that it counts as the use of processors that would allow what is really spent.
 */
static double budgeted_use(const struct daemon_watch *watch)
{
	double overhead = watch->figures.known ? watch->figures.state.overhead_percent : 0;
	double spent = watch->use * fmax(overhead, 0) / watch->most_percent;

	return fmax(watch->use, fmin(spent, BUDGET_LEAST_USE));
}

static void tell(struct daemon_watch *watch, double percent)
{
	if (fabs(percent - watch->percent) <= watch->percent * WORTH)
		return;
	if (figures_set_budget(&watch->figures, percent) == 0)
		watch->percent = percent;	/* else at the next look */
}

double daemon_share_next(const struct daemon_watch *watch, size_t count, double looked)
{
	for (size_t i = 0; i < count; i++)
		if (has_budget(&watch[i]))
			return looked + LOOK_SECONDS;
	return INFINITY;
}

void daemon_share_turn(struct daemon_watch *watch, size_t count, double max_overhead)
{
	double processors = (double)sysconf(_SC_NPROCESSORS_ONLN) * max_overhead / 100;
	struct allotment *each = calloc(count + 1, sizeof(*each));
	double now = roster_now();
	size_t shares = 0;

	if (!each)
		return;		/* what was told before holds */
	for (size_t i = 0; i < count; i++) {
		if (!has_budget(&watch[i]))
			continue;
		look(&watch[i], now);
		each[shares++] = (struct allotment){ .use = budgeted_use(&watch[i]), .owner = i,
						     .most = watch[i].most_percent };
	}
	allotment_share(each, shares, processors);
	for (size_t i = 0; i < shares; i++)
		tell(&watch[each[i].owner], each[i].percent);
	free(each);
}
