/* SPDX-License-Identifier: MIT */
/* daemon_hand.c - see daemon_private.h: what somebody asks memattachd to do. */
#include "cli/daemon/daemon_private.h"

#include <errno.h>
#include <math.h>

#include "src/base/log.h"

#define CHECK_SECONDS 1.0

/*
 * As the first rule that means it, else as [defaults] have it; and as was ordered. A user gets no
 * rule's, whatever he calls his program, and has a folder of his own: what he has recorded is no
 * reason to remove others' recordings.
 */
static struct watch_rule rule_for(const struct daemon *d, pid_t pid,
				  const struct daemon_orders *orders)
{
	static struct process_facts facts;
	static char by_hand[sizeof(DAEMON_BY_HAND ".4294967295")];
	struct watch_rule rule = { .name = by_hand, .watch = d->settings.defaults };
	const struct watch_rule *meant = NULL;

	(void)snprintf(by_hand, sizeof(by_hand),
		       orders->peer.all ? DAEMON_BY_HAND : DAEMON_BY_HAND ".%u", orders->peer.uid);
	if (orders->peer.all && facts_read(&d->search, pid, &facts) == 0)
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

/* By one who may not have everything watched. */
static bool is_a_users(const struct daemon_watch *watch)
{
	return watch->by_hand && !watch->asked_by.all;
}

static struct places places_now(const struct daemon *d, uid_t owner)
{
	struct places places = { .most = d->settings.max_targets, .taken = (uint32_t)d->watches,
				 .owner = owner };

	for (size_t i = 0; i < d->watches; i++) {
		places.by_users += is_a_users(&d->watch[i]);
		places.of_owner += d->watch[i].rights.uid[1] == owner;
	}
	return places;
}

bool daemon_has_places(const struct daemon *d, enum places_asker asker)
{
	const struct places places = places_now(d, 0);

	return places_any(&places, asker);
}

bool daemon_has_place_for(const struct daemon *d, enum places_asker asker, pid_t pid)
{
	struct rights rights;
	const struct places places =
		places_now(d, rights_read(&d->search, pid, &rights) == 0 ? rights.uid[1] : 0);

	return places_one(&places, asker);
}

static int attach_by_hand(void *context, pid_t pid, const struct daemon_orders *orders)
{
	struct daemon *d = context;
	struct watch_rule rule = rule_for(d, pid, orders);
	struct roster_process *process;
	enum places_asker asker = orders->peer.all ? PLACES_ROOT : PLACES_USER;
	int error = d->stopping                                ? -ECANCELED :
		    !daemon_has_place_for(d, asker, pid) ? -EUSERS :
							   roster_know(&d->roster, pid, &process);

	if (error)
		return error;
	roster_unhold(process);
	error = daemon_begin_by(d, process, &rule);
	if (!error) {
		d->watch[d->watches - 1].by_hand = true;
		d->watch[d->watches - 1].asked_by = orders->peer;
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

/* It lives, and is another's by now; that it has ended its keeper sees. */
static bool has_lost_rights(const struct daemon *d, const struct daemon_watch *watch)
{
	const struct rights_subject subject = daemon_watch_subject(watch);
	const struct control_peer root = { .all = true };

	return rights_allow(&d->search, &subject, &root) &&
	       !rights_allow(&d->search, &subject, &watch->asked_by);
}

double daemon_check_hands_next(const struct daemon *d)
{
	for (size_t i = 0; i < d->watches; i++)
		if (is_a_users(&d->watch[i]) && !d->watch[i].ending)
			return d->checked + CHECK_SECONDS;
	return INFINITY;
}

void daemon_check_hands(struct daemon *d, double now)
{
	if (now < d->checked + CHECK_SECONDS)
		return;
	d->checked = now;
	for (size_t i = 0; i < d->watches; i++) {
		if (!is_a_users(&d->watch[i]) || d->watch[i].ending ||
		    !has_lost_rights(d, &d->watch[i]))
			continue;
		log_notice("%d %s: left: user %u, who had it watched, may not trace it any more",
			   d->watch[i].pid, d->watch[i].name.text, d->watch[i].asked_by.uid);
		daemon_watch_end(&d->watch[i]);
	}
}

void daemon_take_questions(struct daemon *d)
{
	struct daemon_state state = {
		.settings = &d->settings,
		.roster = &d->roster,
		.search = &d->search,
		.watch = &d->watch,
		.watches = &d->watches,
		.restore = &d->restore,
		.told = d->events >= 0,
		.control = d->control,
		.outcomes = &d->outcomes,
		.folder = d->files->state,
		.attach = attach_by_hand,
		.hold = hold_by_hand,
		.daemon = d,
	};

	if (d->control)
		control_turn(d->control, roster_now(), daemon_control_answer, &state);
	daemon_http_turn(&d->http, &state, roster_now());
}
