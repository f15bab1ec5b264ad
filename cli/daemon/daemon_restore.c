/* SPDX-License-Identifier: MIT */
/*
 * daemon_restore.c - see daemon_restore.h.
 *
 * memattachd itself opens no target. The child looks first who is there: where a living keeper
 * holds the process it comes back later, since that one, told by the kernel that its memattachd has
 * died, leaves by itself. After a minute the holder is taken for somebody else's session.
 */
#include "cli/daemon/daemon_restore.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cli/front/carried.h"
#include "cli/front/front.h"
#include "cli/front/said.h"
#include "cli/options/options.h"
#include "inject/attach/target_lock.h"
#include "src/base/log.h"
#include "src/base/pidref.h"
#include "src/daemon/roster.h"

#define AT_ONCE		4u
#define FIRST_PAUSE	1.0	/* doubled by each try */
#define HELD_PAUSE	0.25
#define LONGEST_PAUSE	600.0
#define HELD_SECONDS	60.0

/* What a child ends with beside a session's exit status. */
enum { CHILD_CLEANED = 64, CHILD_COPIES, CHILD_NOTHING, CHILD_HELD };

/* --- in the child --------------------------------------------------------- */

/* One that can't be opened is not held: what enters it says why. */
static bool is_held(pid_t pid)
{
	_cleanup_(pidref_done) struct pidref ref = PIDREF_NONE;

	return pidref_open(pid, &ref) == 0 && target_lock_is_held(&ref);
}

bool restore_is_needed(pid_t pid)
{
	enum carried carried = is_held(pid) ? CARRIED_NOTHING : carried_by(pid);

	return carried == CARRIED_COPIES || carried == CARRIED_RING;
}

/* Copies of a living session's are taken out of this process alone. */
static int clean(pid_t pid, bool alone)
{
	char command[] = "cleanup", *argv[] = { command, NULL };
	static struct cli_options options;
	struct target target;
	int status = options_parse(1, argv, &options);

	if (status != SESSION_OK)
		return status;
	options.session.task = SESSION_CLEANUP;
	options.session.quiet = true;
	options.session.alone = alone;
	status = front_open_target(pid, &options.session, &target);
	return status == SESSION_OK ? front_run(&target, &options.session) : status;
}

/* Also where nothing is mapped a descriptor may have been left open. */
static int restore(pid_t pid)
{
	enum carried carried;
	int status;

	if (is_held(pid))
		return CHILD_HELD;
	carried = carried_by(pid);
	if (carried == CARRIED_SHARED)
		return CHILD_NOTHING;
	status = clean(pid, carried == CARRIED_COPIES);
	if (status != SESSION_OK)
		return status;
	return carried == CARRIED_RING ? CHILD_CLEANED :
	       carried == CARRIED_COPIES ? CHILD_COPIES : CHILD_NOTHING;
}

static _Noreturn void become(const struct restore_job *job, pid_t parent)
{
	int keep[] = { job->said };

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || said_redirect(job->said))
		_exit(SESSION_FAILED);
	close_others(keep, ARRAY_SIZE(keep));
	_exit(restore(job->of.pid));
}

/* --- jobs ----------------------------------------------------------------- */

void restore_done(struct restore *restore)
{
	for (size_t i = 0; i < restore->count; i++)
		cleanup_fd(&restore->job[i].said);
	free(restore->job);
	*restore = (struct restore){ 0 };
}

bool restore_is_there(const struct restore_job *job)
{
	uint64_t start_time;

	return pidref_read_start_time(job->of.pid, &start_time) == 0 &&
	       start_time == job->of.start_time;
}

bool restore_has(const struct restore *restore, pid_t pid)
{
	for (size_t i = 0; i < restore->count; i++)
		if (restore->job[i].of.pid == pid)
			return true;
	return false;
}

const struct restore_job *restore_find(const struct restore *restore, pid_t pid)
{
	for (size_t i = 0; i < restore->count; i++)
		if (restore->job[i].of.pid == pid && restore_is_there(&restore->job[i]))
			return &restore->job[i];
	return NULL;
}

struct restore_job *restore_add(struct restore *restore, const struct watched_process *of,
				const struct process_name *name, bool known)
{
	struct restore_job *grown = reallocarray(restore->job, restore->count + 1, sizeof(*grown));
	double now = roster_now();

	if (!grown)
		return NULL;
	restore->job = grown;
	grown[restore->count] = (struct restore_job){ .of = *of, .name = *name, .known = known,
						      .begun = now, .due = now, .said = -1 };
	return &grown[restore->count++];
}

void restore_remove(struct restore *restore, struct restore_job *job)
{
	cleanup_fd(&job->said);
	*job = restore->job[--restore->count];
}

static void postpone(struct restore_job *job, double first, double now)
{
	double pause = first * (double)(1u << (job->tries < 16 ? job->tries : 16));

	job->tries++;
	job->due = now + (pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
}

static void fail(struct restore_job *job, const char *why, double now)
{
	(void)snprintf(job->why, sizeof(job->why), "%s", why);
	job->failed = job->known;
	job->result = job->known ? RESTORE_PENDING : RESTORE_REFUSED;
	postpone(job, FIRST_PAUSE, now);
}

static void begin(struct restore_job *job, double now)
{
	pid_t parent = getpid();

	if (!restore_is_there(job)) {
		job->result = RESTORE_GONE;
		return;
	}
	cleanup_fd(&job->said);
	job->said = said_open();
	job->child = job->said < 0 ? -1 : fork();
	if (job->child == 0)
		become(job, parent);
	if (job->child < 0) {
		job->child = 0;
		fail(job, strerror(job->said < 0 ? -job->said : errno), now);
	}
}

static size_t at_work(const struct restore *restore)
{
	size_t count = 0;

	for (size_t i = 0; i < restore->count; i++)
		count += restore->job[i].child != 0;
	return count;
}

static bool is_waiting(const struct restore_job *job)
{
	return !job->child && job->result == RESTORE_PENDING && !job->failed;
}

void restore_begin(struct restore *restore, double now)
{
	size_t working = at_work(restore);

	for (size_t i = 0; i < restore->count && working < AT_ONCE; i++) {
		struct restore_job *job = &restore->job[i];

		if (!is_waiting(job) || job->due > now)
			continue;
		begin(job, now);
		working += job->child != 0;
	}
}

static void conclude(struct restore_job *job, int status, double now)
{
	char why[sizeof(job->why)] = "";

	said_pass_on(job->said, job->of.pid, job->name.text, true, why, sizeof(why));
	cleanup_fd(&job->said);
	switch (WIFEXITED(status) ? WEXITSTATUS(status) : SESSION_FAILED) {
	case CHILD_CLEANED:
		job->result = RESTORE_CLEANED;
		return;
	case CHILD_COPIES:
		job->result = job->known ? RESTORE_CLEANED : RESTORE_COPIES;
		return;
	case CHILD_NOTHING:
		job->result = RESTORE_NOTHING;
		return;
	case CHILD_HELD:
		job->result = now > job->begun + HELD_SECONDS ? RESTORE_HELD : RESTORE_PENDING;
		postpone(job, HELD_PAUSE, now);
		return;
	case SESSION_TARGET_ENDED:
		job->result = RESTORE_GONE;
		return;
	default:
		if (!why[0] && WIFSIGNALED(status))
			(void)snprintf(why, sizeof(why), "what was to take it out was killed by "
				       "signal %d", WTERMSIG(status));
		fail(job, why[0] ? why : "what was to take it out failed", now);
	}
}

struct restore_job *restore_reap(struct restore *restore, double now)
{
	int status;

	for (size_t i = 0; i < restore->count; i++) {
		struct restore_job *job = &restore->job[i];

		if (job->child && waitpid(job->child, &status, WNOHANG) == job->child) {
			job->child = 0;
			conclude(job, status, now);
		}
		if (restore->last && is_waiting(job) && job->tries > 0)
			job->due = INFINITY;
		if (!job->child && (job->result != RESTORE_PENDING || job->failed))
			return job;
	}
	return NULL;
}

void restore_last(struct restore *restore, double now)
{
	restore->last = true;
	for (size_t i = 0; i < restore->count; i++) {
		restore->job[i].tries = 0;
		restore->job[i].due = now;
	}
}

size_t restore_busy(const struct restore *restore)
{
	size_t count = 0;

	for (size_t i = 0; i < restore->count; i++)
		count += restore->job[i].child || restore->job[i].due != INFINITY;
	return count;
}

bool restore_failing(const struct restore *restore)
{
	for (size_t i = 0; i < restore->count; i++)
		if (restore->job[i].why[0])
			return true;
	return false;
}

double restore_next(const struct restore *restore)
{
	double next = INFINITY;
	bool full = at_work(restore) >= AT_ONCE;

	for (size_t i = 0; !full && i < restore->count; i++)
		if (is_waiting(&restore->job[i]))
			next = fmin(next, restore->job[i].due);
	return next;
}
