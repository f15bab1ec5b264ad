/* SPDX-License-Identifier: MIT */
/* daemon_hand.c - see daemon_private.h: what somebody asks memattachd to do. */
#include "cli/daemon_private.h"

#include <errno.h>

/* As the first rule that means it, else as [defaults] have it; and as was ordered. */
static struct watch_rule rule_for(const struct daemon *d, pid_t pid,
				  const struct daemon_orders *orders)
{
	static struct process_facts facts;
	static char by_hand[] = DAEMON_BY_HAND;
	struct watch_rule rule = { .name = by_hand, .watch = d->settings.defaults };
	const struct watch_rule *meant = NULL;

	if (facts_read(&d->search, pid, &facts) == 0)
		meant = match_find(&d->matcher, &facts);
	if (meant) {
		rule.name = meant->name;
		rule.watch = meant->watch;
	}
	if (orders->overhead_percent > 0) {
		rule.watch.overhead_percent = orders->overhead_percent;
		rule.watch.sample_bytes = 0;
	}
	if (orders->sample_bytes)
		rule.watch.sample_bytes = orders->sample_bytes;
	if (orders->snapshot_every > 0)
		rule.watch.snapshot_every = orders->snapshot_every;
	return rule;
}

static int attach_by_hand(void *context, pid_t pid, const struct daemon_orders *orders)
{
	struct daemon *d = context;
	struct watch_rule rule = rule_for(d, pid, orders);
	struct roster_process *process;
	int error = d->stopping ? -ECANCELED : d->watches >= d->settings.max_targets ? -EUSERS :
		    roster_know(&d->roster, pid, &process);

	if (error)
		return error;
	roster_unhold(process);
	error = daemon_begin_by(d, process, &rule);
	if (!error) {
		d->watch[d->watches - 1].by_hand = true;
		d->watch[d->watches - 1].asked_by = orders->user;
	}
	return error;
}

static int hold_by_hand(void *context, pid_t pid)
{
	struct daemon *d = context;
	struct roster_process *process;
	int error = roster_know(&d->roster, pid, &process);

	if (!error)
		roster_hold(process);
	for (size_t i = 0; !error && i < d->watches; i++)
		if (d->watch[i].pid == pid)
			daemon_watch_end(&d->watch[i]);
	return error;
}

void daemon_take_questions(struct daemon *d)
{
	struct daemon_state state = {
		.settings = &d->settings, .roster = &d->roster, .search = &d->search,
		.watch = &d->watch, .watches = &d->watches, .restore = &d->restore,
		.told = d->events >= 0,
		.control = d->control, .outcomes = &d->outcomes, .folder = d->files->state,
		.attach = attach_by_hand, .hold = hold_by_hand, .daemon = d,
	};

	if (d->control)
		control_turn(d->control, roster_now(), daemon_control_answer, &state);
	daemon_http_turn(&d->http, &state, roster_now());
}
