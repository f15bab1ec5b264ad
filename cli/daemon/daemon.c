/* SPDX-License-Identifier: MIT */
/*
 * daemon.c - see daemon.h.
 *
 * One thread that sleeps until the kernel tells of a process, a child has ended, somebody's time
 * has come or a signal arrives. Where the kernel tells nobody (process_events.h) the list of
 * processes is looked at every few seconds instead.
 */
#include "cli/daemon/daemon_private.h"

#include <errno.h>
#include <grp.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/daemon/daemon_leaks.h"
#include "cli/daemon/daemon_share.h"
#include "cli/front/front.h"
#include "src/base/log.h"
#include "src/base/why.h"
#include "src/daemon/service.h"
#include "src/session/session.h"
#include "src/several/process_events.h"

#define LOOK_SECONDS	5.0	/* where the kernel tells nothing */
#define ASK_SECONDS	60.0	/* and all are asked about again: none is missed for longer */
#define TIDY_SECONDS	600.0
#define NO_PLACE_SECONDS 5.0	/* none for processes of its user */
#define NAMES_PART	8u
#define LEAST_MEMORY	(16ull << 20)
#define HEAR_SECONDS	0.1	/* what events and hundreds of watches say is heard together */

/* --- watches -------------------------------------------------------------- */

/* Each gets the same part of what all may take; few read names at a time. */
static struct daemon_watch_memory memory_each(const struct settings *settings)
{
	uint64_t each = settings->max_memory / settings->max_targets;
	uint64_t names = settings->max_memory / NAMES_PART;

	each = each > LEAST_MEMORY ? each : LEAST_MEMORY;
	return (struct daemon_watch_memory){ each, each > names ? each : names };
}

/* Who is restarted after us, if we are killed, looks after those that were noted here. */
static void note_watched(struct daemon *d, const struct roster_process *process,
			 const struct daemon_watch *watch)
{
	int before = d->watched.error;
	int error = watched_add(&d->watched, process->pid, process->start_time, watch->rule,
				watch->recording);

	if (error && error != before)
		log_error("%s/" WATCHED_FILE ": %s; if memattachd is killed, run `memattach "
			  "cleanup -p %d`", d->files->state, strerror(-error), process->pid);
}

static int begin_watch(struct daemon *d, const struct roster_process *process,
		       const struct watch_rule *rule, struct daemon_watch *watch)
{
	int error = daemon_watch_prepare(watch, process->pid, rule, d->files->state);

	if (error)
		return error;
	note_watched(d, process, watch);
	error = daemon_watch_begin(watch, rule, memory_each(&d->settings));
	if (error)
		watched_remove(&d->watched, process->pid);
	return error;
}

int daemon_begin_by(struct daemon *d, struct roster_process *process,
		    const struct watch_rule *rule)
{
	struct daemon_watch *grown = reallocarray(d->watch, d->watches + 1, sizeof(*grown));
	int error = grown ? 0 : -ENOMEM;

	if (grown) {
		d->watch = grown;
		error = begin_watch(d, process, rule, &grown[d->watches]);
	}
	if (error) {
		log_error("process %d can't be watched: %s", process->pid, why_of(error).text);
		return error;
	}
	grown[d->watches].serial = ++d->sessions;
	daemon_tell_begun(&d->tell, &d->settings, &grown[d->watches]);
	process->state = ROSTER_WATCHED;
	d->watches++;
	return 0;
}

static void begin(struct daemon *d, struct roster_process *process)
{
	const struct watch_rule *rule = &d->settings.rule[process->rule];

	if (daemon_begin_by(d, process, rule))
		roster_ended(process, true, rule->watch.retry_after, roster_now());
}

static void begin_due(struct daemon *d)
{
	struct roster_process *process;

	while (daemon_has_places(d, PLACES_RULE) &&
	       (process = roster_due(&d->roster, roster_now()))) {
		if (!daemon_has_place_for(d, PLACES_RULE, process->pid))
			roster_put_off(process, roster_now() + NO_PLACE_SECONDS);
		else if (restore_has(&d->restore, process->pid))
			roster_pause(process);
		else
			begin(d, process);
	}
}

/* Something of ours is left in it, or was found there: out with it first. */
static void begin_restore(struct daemon *d, const struct daemon_watch *watch)
{
	const struct watched_process *of = watched_find(&d->watched, watch->pid);
	bool known = watch->status != DAEMON_WATCH_CARRIES;
	struct restore_job *job = of ? restore_add(&d->restore, of, &watch->name, known) : NULL;

	if (job)
		job->children = known && !watch->killed;
	else
		d->status = SESSION_DORMANT;
}

static void conclude(struct daemon *d, struct daemon_watch *watch)
{
	struct roster_process *process = roster_find(&d->roster, watch->pid);
	bool gone = watch->status == SESSION_TARGET_ENDED;
	bool carries = watch->status == DAEMON_WATCH_CARRIES;
	double now = roster_now();

	if (carries || watch->status == SESSION_DORMANT)
		begin_restore(d, watch);
	else
		watched_remove(&d->watched, watch->pid);
	if (!carries)
		daemon_tell_ended(&d->tell, &d->settings, watch);
	daemon_outcomes_note(&d->outcomes, watch);
	daemon_tidy_hand(d, watch);
	if (process && watch->figures.known)
		process->refusals = 0;
	if (process)
		roster_ended(process, !gone && !watch->ending && !watch->by_hand,
			     carries && !process->refusals ? 0 : watch->retry_after, now);
	daemon_watch_done(watch);
}

static void take_figures_of(struct daemon *d, struct daemon_watch *watch)
{
	top_sites_keep(&watch->figures.top, d->settings.metrics_sites);
	if (figures_take(&watch->figures, roster_now()))
		daemon_tell_figures(&d->tell, &d->settings, watch);
	if (daemon_leaks_answered(watch))
		daemon_tell_search(&d->tell, &d->settings, watch);
}

/* True: one has ended, and what it watched may have to be asked about. */
static bool reap(struct daemon *d)
{
	size_t before = d->watches;

	if (!d->ended)
		return false;
	d->ended = false;
	for (size_t i = d->watches; i-- > 0;) {
		if (!daemon_watch_reap(&d->watch[i]))
			continue;
		take_figures_of(d, &d->watch[i]);	/* what it said last */
		conclude(d, &d->watch[i]);
		d->watch[i] = d->watch[--d->watches];
	}
	return d->watches < before;
}

/* --- what was left somewhere ---------------------------------------------- */

static void conclude_restore(struct daemon *d, struct restore_job *job)
{
	struct roster_process *process = roster_find(&d->roster, job->of.pid);

	/* What is left then is in processes that it forked; they were named. */
	if (job->result == RESTORE_NOTHING && job->children)
		d->status = SESSION_DORMANT;
	watched_remove(&d->watched, job->of.pid);
	if (process && job->result == RESTORE_REFUSED && process->state == ROSTER_WAITING)
		roster_ended(process, true, d->settings.rule[process->rule].watch.retry_after,
			     roster_now());
	else if (process)
		roster_resume(process, roster_now());
	restore_remove(&d->restore, job);
}

static void attend_restore(struct daemon *d)
{
	struct restore_job *job;

	restore_begin(&d->restore, roster_now());
	while ((job = restore_reap(&d->restore, roster_now()))) {
		daemon_tell_restored(&d->tell, &d->settings, job, d->files->state);
		job->failed = false;
		if (job->result != RESTORE_PENDING)
			conclude_restore(d, job);
	}
}

/* Of a memattachd that was killed: whom it watched is looked after before anybody is watched. */
static void take_over(struct daemon *d)
{
	int error = watched_open(&d->watched, d->files->state);

	if (error)
		log_error("%s/" WATCHED_FILE ": %s; whom a killed memattachd watched is not known",
			  d->files->state, error == -EAGAIN ? "in use, by another one with this "
			  "folder" : strerror(-error));
	for (size_t i = 0; i < d->watched.count; i++) {
		const struct watched_process *of = &d->watched.process[i];
		const struct process_name name = process_name(&d->search, of->pid);

		if (!restore_add(&d->restore, of, &name, true))
			log_error("process %d is not looked after: %s", of->pid,
				  why_of(-ENOMEM).text);
	}
	if (d->watched.count)
		log_notice("%zu processes were watched when memattachd was killed: what was left "
			   "in them is taken out", d->watched.count);
}

/* --- who is there --------------------------------------------------------- */

static void complain(int error)
{
	if (error)
		log_error("can't look for processes: %s", why_of(error).text);
}

static void look(struct daemon *d, bool ask)
{
	double now = roster_now();

	d->looked = now;
	if (ask)
		d->asked = now;
	complain(ask ? roster_ask_again(&d->roster, &d->search, &d->matcher, now) :
		       roster_look(&d->roster, &d->search, &d->matcher, now));
}

/* When the next look at all of them, or at the recordings, is due. */
static double next_look(const struct daemon *d)
{
	double ask = fmin(d->asked + ASK_SECONDS, d->tidied + TIDY_SECONDS);

	return d->events >= 0 ? ask : fmin(ask, d->looked + LOOK_SECONDS);
}

/* A program that has been replaced is not watched any more: its keeper is to see it soon. */
static void nudge(struct daemon *d, pid_t pid)
{
	for (size_t i = 0; i < d->watches; i++)
		if (d->watch[i].pid == pid)
			daemon_watch_nudge(&d->watch[i]);
}

static void take_events(struct daemon *d)
{
	struct process_event event;
	int got, noted = 0;

	while ((got = process_events_next(d->events, &event)) > 0) {
		if (event.kind == PROCESS_EXEC)
			nudge(d, event.pid);
		if (!noted && (event.kind == PROCESS_FORK || event.kind == PROCESS_EXEC))
			noted = roster_note(&d->roster, event.pid, roster_now());
	}
	if (got == -ENOBUFS || noted) {
		look(d, true);
	} else if (got < 0) {
		log_notice("the kernel tells no more of processes (%s): looked for every 5 seconds",
			   strerror(-got));
		process_events_close(d->events);
		d->events = -1;
	}
}

/* --- settings ------------------------------------------------------------- */

/* Those that another rule means now, or none, are left; they are asked about once they are. */
static void end_unmeant(struct daemon *d)
{
	static struct process_facts facts;

	for (size_t i = 0; i < d->watches; i++) {
		const struct watch_rule *rule = NULL;

		if (d->watch[i].by_hand)
			continue;
		if (facts_read(&d->search, d->watch[i].pid, &facts) == 0)
			rule = match_find(&d->matcher, &facts);
		if (!rule || strcmp(rule->name, d->watch[i].rule) != 0)
			daemon_watch_end(&d->watch[i]);
	}
}

/* What is watched goes on as it was begun. Settings that are wrong change nothing. */
static void reload(struct daemon *d)
{
	struct settings fresh;
	int problems;

	service_reloading();
	problems = daemon_read_settings(d->files, &fresh);
	if (problems) {
		settings_done(&fresh);
		log_error("the settings have problems: those from before stay");
		daemon_tell_ready(&d->tell);
		return;
	}
	roster_rules_changed(&d->roster, &d->settings, &fresh);
	settings_done(&d->settings);
	d->settings = fresh;
	end_unmeant(d);
	daemon_http_apply(&d->http, &d->settings, d->group, roster_now());
	look(d, true);
	log_notice("settings read again: %zu rules", d->settings.rules);
	daemon_tell_ready(&d->tell);
}

/* --- the loop ------------------------------------------------------------- */

static void stop(struct daemon *d)
{
	d->stopping = true;
	daemon_tell_stopping(d->watches);
	for (size_t i = 0; i < d->watches; i++)
		daemon_watch_end(&d->watch[i]);
	restore_last(&d->restore, roster_now());
}

static void take_signals(struct daemon *d)
{
	struct signalfd_siginfo info;

	while (read(d->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			d->ended = true;
		else if (info.ssi_signo == SIGHUP && !d->stopping)
			reload(d);
		else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			stop(d);
	}
}

static double share_due(const struct daemon *d)
{
	return daemon_share_next(d->watch, d->watches, d->shared);
}

/* Milliseconds until something is due; -1: nothing is. all: everybody is heard meanwhile. */
static int pause_ms(const struct daemon *d, bool all)
{
	double next = daemon_tell_next(&d->tell), now = roster_now();

	next = fmin(next, restore_next(&d->restore));
	next = fmin(next, daemon_http_next(&d->http));
	if (d->control)
		next = fmin(next, control_next(d->control));
	for (size_t i = 0; i < d->watches; i++)
		next = fmin(next, d->watch[i].leaks_due);
	if (!d->stopping)
		next = fmin(fmin(next, daemon_check_hands_next(d)),
			    fmin(next_look(d), share_due(d)));
	if (!d->stopping && daemon_has_places(d, PLACES_RULE))
		next = fmin(next, roster_next(&d->roster));
	if (!all)		/* nothing of that can't wait so long */
		next = d->heard + HEAR_SECONDS;
	if (next == INFINITY)
		return -1;
	return next <= now ? 0 : (int)fmin((next - now) * 1000 + 1, 3600e3);
}

/* Where to hear what; the number of places, 0: no memory. Not all: those first that can't wait. */
static size_t gather(struct daemon *d, bool all)
{
	size_t most = 3 + CONTROL_FDS + d->watches, count = 0;
	struct pollfd *grown = d->polls < most ? reallocarray(d->poll, most, sizeof(*grown)) :
						 d->poll;

	if (!grown)
		return 0;
	d->poll = grown;
	d->polls = d->polls < most ? most : d->polls;
	grown[count++] = (struct pollfd){ .fd = d->signals, .events = POLLIN };
	grown[count++] = (struct pollfd){ .fd = all ? d->events : -1, .events = POLLIN };
	grown[count++] = (struct pollfd){ .fd = daemon_http_fd(&d->http), .events = POLLIN };
	if (d->control)
		count += control_poll(d->control, grown + count);
	for (size_t i = 0; all && i < d->watches; i++)
		grown[count++] = (struct pollfd){ .fd = d->watch[i].figures.socket,
						  .events = POLLIN };
	return count;
}

/* said: what poll() had to say of each watch. */
static void take_figures(struct daemon *d, const struct pollfd *said)
{
	for (size_t i = 0; i < d->watches; i++)
		if (said[i].revents)
			take_figures_of(d, &d->watch[i]);
}

static void wait_and_take(struct daemon *d)
{
	bool all = roster_now() >= d->heard + HEAR_SECONDS;
	size_t count = gather(d, all);

	if (count == 0)
		log_error("memattachd can't wait for its processes: %s", why_of(-ENOMEM).text);
	if (poll(d->poll, count, count ? pause_ms(d, all) : 1000) < 0 || count == 0)
		return;
	if (all) {
		d->heard = roster_now();
		take_figures(d, d->poll + count - d->watches);
	}
	if (d->poll[0].revents)
		take_signals(d);
	if (d->poll[1].revents)
		take_events(d);
}

static void share(struct daemon *d)
{
	d->shared = roster_now();
	daemon_share_turn(d->watch, d->watches, d->settings.max_overhead);
}

static void begin_and_look(struct daemon *d)
{
	begin_due(d);
	for (size_t i = 0; i < d->watches; i++)
		daemon_leaks_turn(&d->watch[i], roster_now());
	daemon_check_hands(d, roster_now());
	if (roster_now() >= share_due(d))
		share(d);
	if (roster_now() >= next_look(d))
		look(d, roster_now() >= d->asked + ASK_SECONDS);
	daemon_tell_state(&d->tell, &d->roster, &d->restore, d->watches);
}

/* True: there is more to do. */
static bool turn(struct daemon *d)
{
	bool ended;

	wait_and_take(d);
	ended = reap(d);
	attend_restore(d);
	complain(roster_look_at_noted(&d->roster, &d->search, &d->matcher, roster_now()));
	if (ended || roster_now() >= d->tidied + TIDY_SECONDS)
		daemon_tidy_up(d);
	if (ended && !d->stopping)
		look(d, false);
	if (!d->stopping)
		begin_and_look(d);
	daemon_take_questions(d);	/* last: an answer may wait for what has just happened */
	return daemon_tell_turn(&d->tell, roster_now()) > 0 || d->watches > 0 ||
	       restore_busy(&d->restore) > 0 || !d->stopping;
}

static void attend(struct daemon *d)
{
	daemon_tidy_up(d);
	take_over(d);
	attend_restore(d);
	look(d, true);
	begin_and_look(d);
	daemon_tell_ready(&d->tell);
	while (turn(d))
		;
}

static int open_signals(void)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGUSR2);		/* keepers are sent it, from the first moment on */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Without it processes are watched all the same. */
static void open_control(struct daemon *d)
{
	const struct group *group = getgrnam("memattach");
	int listener = service_listener("control"), error = listener;

	d->group = group ? group->gr_gid : (gid_t)-1;
	if (listener >= 0)
		error = control_new_at(listener, d->group, &d->control);
	else if (listener == -1)
		error = control_new(d->files->control, d->group, &d->control);
	if (error)
		log_error("%s: can't be asked there: %s; name another socket by --control=PATH",
			  d->files->control, error == -EADDRINUSE ?
			  "another memattachd is" : strerror(-error));
}

static int run(struct daemon *d)
{
	d->signals = open_signals();
	if (d->signals < 0) {
		log_error("memattachd can't take signals: %s", why_of(d->signals).text);
		return SESSION_FAILED;
	}
	daemon_tell_init(&d->tell);
	d->events = process_events_open();
	d->search = process_search_here();
	d->matcher.settings = &d->settings;
	process_cgroup_root(&d->search, d->matcher.root, sizeof(d->matcher.root));
	open_control(d);
	d->tell.control = d->control;
	d->tell.search = &d->search;
	daemon_http_init(&d->http);
	daemon_http_apply(&d->http, &d->settings, d->group, roster_now());
	log_notice("%zu rules; processes are %s", d->settings.rules,
		   d->events >= 0 ? "told of by the kernel" : "looked for every 5 seconds");
	attend(d);
	daemon_http_done(&d->http);
	control_free(d->control);
	if (restore_failing(&d->restore))
		d->status = SESSION_DORMANT;
	restore_done(&d->restore);
	watched_close(&d->watched);
	process_events_close(d->events);
	cleanup_fd(&d->signals);
	return d->status;
}

int daemon_run(const struct daemon_files *files)
{
	static struct daemon d;
	int problems, status = front_check_clock();

	d = (struct daemon){ .files = files, .status = SESSION_OK,
			     .roster = { .random = (uint64_t)(roster_now() * 1e9) | 1 } };
	if (status != SESSION_OK)
		return status;
	problems = daemon_read_settings(files, &d.settings);
	if (problems)
		status = problems == -ENOMEM ? SESSION_FAILED : SESSION_USAGE;
	else
		status = run(&d);
	settings_done(&d.settings);
	roster_done(&d.roster);
	free(d.watch);
	free(d.poll);
	return status;
}
