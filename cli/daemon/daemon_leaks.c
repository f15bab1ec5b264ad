/* SPDX-License-Identifier: MIT */
/* daemon_leaks.c - see daemon_leaks.h. */
#include "cli/daemon/daemon_leaks.h"

#include <math.h>
#include <time.h>

#include "src/base/log.h"

void daemon_leaks_put_off(struct daemon_watch *watch, double now)
{
	watch->leaks_due = now + leak_check_next(&watch->leak_check, time(NULL));
}

/* Its end, if there is no one to ask any more, is told elsewhere. */
static void search(struct daemon_watch *watch)
{
	if (!watch->ending && figures_search(&watch->figures) == 0)
		daemon_watch_nudge(watch);
}

void daemon_leaks_turn(struct daemon_watch *watch, double now)
{
	if (now < watch->leaks_due)
		return;
	daemon_leaks_put_off(watch, now);
	search(watch);
}

void daemon_leaks_growth(struct daemon_watch *watch)
{
	if (watch->leak_check.kind == LEAK_CHECK_ON_GROWTH)
		search(watch);
}

bool daemon_leaks_answered(struct daemon_watch *watch)
{
	const struct figures_search *search = &watch->figures.search;

	if (search->answers == watch->answers)
		return false;
	watch->answers = search->answers;
	if (search->why[0] && !watch->ending) {
		log_warning("%d %s: no search for leaks: %s", watch->pid, watch->name.text,
			    search->why);
		return false;
	}
	return !search->why[0];
}
