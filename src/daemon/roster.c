/* SPDX-License-Identifier: MIT */
/* roster.c - see roster.h. */
#include "src/daemon/roster.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/pidref.h"

#define MOST_DOUBLINGS	4u
#define YOUNG		60.0	/* seconds */
#define SETTLED		1.0
#define MOST_NOTES	8192u

double roster_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void roster_done(struct roster *roster)
{
	free(roster->process);
	free(roster->note);
	*roster = (struct roster){ 0 };
}

/* 0 to 1; xorshift64* (Vigna 2016). */
static double random_part(struct roster *roster)
{
	uint64_t x = roster->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	roster->random = x;
	return (double)(x * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
}

static double age_of(const struct roster_process *process, double now)
{
	return now - (double)process->start_time / (double)sysconf(_SC_CLK_TCK);
}

/* From when on? */
static double due_by(struct roster *roster, const struct roster_process *process,
		     const struct watch_rule *rule, double now)
{
	double left = rule->watch.attach_after - age_of(process, now);

	return now + (left > 0 ? left : 0) + rule->watch.spread * random_part(roster);
}

/* Which rule means it? Where that is the one that it waits for, it goes on waiting. */
static void roster_ask(struct roster *roster, struct roster_process *process,
		       const struct process_search *search, const struct matcher *matcher,
		       double now)
{
	static struct process_facts facts;	/* 8 KiB */
	const struct watch_rule *rule = NULL;
	size_t number;

	if (!process->held && facts_read(search, process->pid, &facts) == 0)
		rule = match_find(matcher, &facts);
	if (!rule) {
		process->state = ROSTER_UNMEANT;
		return;
	}
	number = (size_t)(rule - matcher->settings->rule);
	if (process->state == ROSTER_WAITING && process->rule == number)
		return;
	process->state = ROSTER_WAITING;
	process->rule = number;
	process->refusals = 0;
	process->due = due_by(roster, process, rule, now);
}

/* --- the list ------------------------------------------------------------- */

/* Where pid is, or belongs. */
static size_t place_of(const struct roster *roster, pid_t pid)
{
	size_t low = 0, high = roster->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (roster->process[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct roster_process *roster_find(const struct roster *roster, pid_t pid)
{
	size_t at = place_of(roster, pid);

	return at < roster->count && roster->process[at].pid == pid ? &roster->process[at] : NULL;
}

static int insert(struct roster *roster, pid_t pid, struct roster_process **ret)
{
	size_t at = place_of(roster, pid);
	struct roster_process *grown = reallocarray(roster->process, roster->count + 1,
						    sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	roster->process = grown;
	memmove(&grown[at + 1], &grown[at], (roster->count - at) * sizeof(*grown));
	roster->count++;
	grown[at] = (struct roster_process){ .pid = pid };
	*ret = &grown[at];
	return 0;
}

static void forget(struct roster *roster, struct roster_process *process)
{
	size_t behind = roster->count - 1 - (size_t)(process - roster->process);

	memmove(process, process + 1, behind * sizeof(*process));
	roster->count--;
}

int roster_know(struct roster *roster, pid_t pid, struct roster_process **ret)
{
	struct roster_process *process = roster_find(roster, pid);
	uint64_t start_time;
	int error = pidref_read_start_time(pid, &start_time) < 0 ? -ESRCH : 0;

	if (!error && !process)
		error = insert(roster, pid, &process);
	if (error)
		return error;
	if (process->state != ROSTER_WATCHED && process->start_time != start_time)
		*process = (struct roster_process){ .pid = pid, .start_time = start_time };
	*ret = process;
	return 0;
}

void roster_hold(struct roster_process *process)
{
	process->held = true;
	if (process->state == ROSTER_WAITING)
		process->state = ROSTER_UNMEANT;
}

void roster_unhold(struct roster_process *process)
{
	process->held = false;
}

/* --- looks ---------------------------------------------------------------- */

/* again: a known one is asked about, too. */
static int take_in(struct roster *roster, const struct process_search *search,
		   const struct matcher *matcher, pid_t pid, bool again, double now)
{
	struct roster_process *process = roster_find(roster, pid);
	uint64_t start_time;
	int error;

	if ((process && process->state == ROSTER_WATCHED) ||
	    pidref_read_start_time(pid, &start_time) < 0)
		return 0;
	error = process ? 0 : insert(roster, pid, &process);
	if (error)
		return error;
	if (process->start_time != start_time)	/* it is new, or another one had its id */
		*process = (struct roster_process){ .pid = pid, .start_time = start_time };
	else if (!again && (process->state != ROSTER_UNMEANT || age_of(process, now) > YOUNG))
		return 0;
	roster_ask(roster, process, search, matcher, now);
	return 0;
}

static void forget_ended(struct roster *roster, const struct process_set *there)
{
	for (size_t i = roster->count; i-- > 0;)
		if (roster->process[i].state != ROSTER_WATCHED &&
		    !process_set_has(there, roster->process[i].pid))
			forget(roster, &roster->process[i]);
}

static int look(struct roster *roster, const struct process_search *search,
		const struct matcher *matcher, bool again, double now)
{
	_cleanup_(process_set_done) struct process_set there = { 0 };
	int error = process_find_all(search, &there);

	if (error)
		return error;
	if (again)
		roster->notes = 0;
	forget_ended(roster, &there);
	for (size_t i = 0; !error && i < there.count; i++)
		error = take_in(roster, search, matcher, there.pid[i], again, now);
	return error;
}

int roster_look(struct roster *roster, const struct process_search *search,
		const struct matcher *matcher, double now)
{
	return look(roster, search, matcher, false, now);
}

/* Where rule stands in fresh; fresh->rules: nowhere. */
static size_t same_rule(const struct watch_rule *rule, const struct settings *fresh)
{
	size_t i = 0;

	while (i < fresh->rules && strcmp(fresh->rule[i].name, rule->name) != 0)
		i++;
	return i;
}

void roster_rules_changed(struct roster *roster, const struct settings *old,
			  const struct settings *fresh)
{
	for (size_t i = 0; i < roster->count; i++) {
		struct roster_process *process = &roster->process[i];

		if (process->state == ROSTER_UNMEANT)
			continue;
		process->rule = process->rule < old->rules ?
				same_rule(&old->rule[process->rule], fresh) : fresh->rules;
		if (process->state == ROSTER_WAITING &&
		    (process->rule == fresh->rules || !process->refusals))
			process->state = ROSTER_UNMEANT;
	}
}

int roster_ask_again(struct roster *roster, const struct process_search *search,
		     const struct matcher *matcher, double now)
{
	return look(roster, search, matcher, true, now);
}

int roster_note(struct roster *roster, pid_t pid, double now)
{
	if (roster->notes == MOST_NOTES)
		return -ENOBUFS;
	if (roster->notes == roster->notes_room) {
		size_t room = roster->notes_room ? roster->notes_room * 2 : 64;
		struct roster_note *grown = reallocarray(roster->note, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		roster->note = grown;
		roster->notes_room = room;
	}
	roster->note[roster->notes++] = (struct roster_note){ pid, now };
	return 0;
}

int roster_look_at_noted(struct roster *roster, const struct process_search *search,
			 const struct matcher *matcher, double now)
{
	size_t taken = 0;
	int error = 0;

	while (!error && taken < roster->notes && roster->note[taken].time + SETTLED <= now)
		error = take_in(roster, search, matcher, roster->note[taken++].pid, true, now);
	if (taken == 0)		/* and perhaps no list at all */
		return error;
	roster->notes -= taken;
	memmove(roster->note, roster->note + taken, roster->notes * sizeof(*roster->note));
	return error;
}

/* --- whose turn it is ----------------------------------------------------- */

struct roster_process *roster_due(const struct roster *roster, double now)
{
	struct roster_process *first = NULL;

	for (size_t i = 0; i < roster->count; i++) {
		struct roster_process *process = &roster->process[i];

		if (process->state == ROSTER_WAITING && process->due <= now &&
		    (!first || process->due < first->due))
			first = process;
	}
	return first;
}

double roster_next(const struct roster *roster)
{
	double next = roster->notes > 0 ? roster->note[0].time + SETTLED : INFINITY;

	for (size_t i = 0; i < roster->count; i++)
		if (roster->process[i].state == ROSTER_WAITING)
			next = fmin(next, roster->process[i].due);
	return next;
}

void roster_ended(struct roster_process *process, bool refused, double retry_after, double now)
{
	if (!refused || process->held) {
		process->state = ROSTER_UNMEANT;
		if (!process->held)
			process->start_time = 0;
		return;
	}
	process->state = ROSTER_WAITING;
	process->due = now + retry_after * (double)(1u << process->refusals);
	if (process->refusals < MOST_DOUBLINGS)
		process->refusals++;
}

void roster_put_off(struct roster_process *process, double due)
{
	process->due = due;
}

void roster_pause(struct roster_process *process)
{
	process->due = INFINITY;
}

void roster_resume(struct roster_process *process, double now)
{
	if (process->state == ROSTER_WAITING && process->due == INFINITY)
		process->due = now;
}
