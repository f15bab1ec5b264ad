/* SPDX-License-Identifier: MIT */
/*
 * front_follow.c - see front_follow.h.
 *
 * What lies in such a process decides (the kernel's list of its mappings):
 *   our ring              its memory is another's (vfork), which another session has in hand
 *   our shim, no ring     it was forked while its parent was watched: copies, which do nothing
 *   neither               it was forked before, or has called exec
 * Copies are taken out by an ordinary cleanup, of this process alone, and only then it is entered.
 * Whoever does either holds the session's lock (inject.c, the step "lock"), so the parent's keeper,
 * which would restore the child when it leaves, waits; once they are out it finds nothing of its
 * own there. What is refused may be allowed a moment later (the loader is at work, exec is under
 * way): it is tried again for some seconds, and only the last reason is said.
 */
#include "cli/front/front_follow.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/front/carried.h"
#include "cli/front/front.h"
#include "cli/front/front_clock.h"
#include "src/base/log.h"

#define TRIES 25u
#define PAUSE_NS 120000000l	/* from one try to the next; first shorter ones */
#define SHORT_PAUSES 3u

static int run_task(pid_t pid, const struct session_options *options)
{
	struct target target;
	int status = front_open_target(pid, options, &target);

	return status == SESSION_OK ? front_run(&target, options) : status;
}

static int clean(pid_t pid, const struct session_options *options)
{
	struct session_options cleanup = *options;

	cleanup.task = SESSION_CLEANUP;
	cleanup.output = NULL;
	cleanup.leaks = false;
	cleanup.quiet = cleanup.alone = true;
	return run_task(pid, &cleanup);
}

/* For what is left of the time until end; negative: none. */
static int enter(pid_t pid, const struct session_options *options,
		 const struct member_orders *orders, double end)
{
	struct session_options rest = *options;

	if (end >= 0)
		rest.duration = end - front_now();
	if (orders->stop || (end >= 0 && rest.duration <= 0)) {
		log_error("process %d was to be left before it was entered: watch for longer (-d)",
			  pid);
		return SESSION_REFUSED;
	}
	return run_task(pid, &rest);
}

/* What was said of a try that another one follows. */
static void unsay(void)
{
	(void)!ftruncate(STDERR_FILENO, 0);
	(void)lseek(STDERR_FILENO, 0, SEEK_SET);
}

static int try_once(pid_t pid, const struct session_options *options,
		    const struct member_orders *orders, double end)
{
	enum carried carried = carried_by(pid);
	int status = SESSION_OK;

	if (carried == CARRIED_RING || carried == CARRIED_SHARED) {
		log_error("process %d shares its parent's memory (vfork); it is watched once it "
			  "has called exec", pid);
		return SESSION_REFUSED;
	}
	if (carried == CARRIED_COPIES)
		status = clean(pid, options);
	if (status != SESSION_OK)
		return status;
	unsay();	/* that there was nothing any more, after an exec */
	return enter(pid, options, orders, end);
}

/* Was an interval of it recorded? Then it was watched, however that ended. */
static bool was_watched(const struct session_options *options)
{
	struct recording_content content;

	if (member_read(options, &content))
		return false;
	recording_content_done(&content);
	return true;
}

static bool may_try_again(int status, const struct session_options *options)
{
	if (status == SESSION_REFUSED)
		return true;
	return (status == SESSION_TARGET_ENDED || status == SESSION_FAILED) &&
	       !was_watched(options);
}

/* False: told to stop. */
static bool pause_before_next(const struct member_orders *orders, unsigned int tried)
{
	unsigned int shorter = tried < SHORT_PAUSES ? SHORT_PAUSES - tried : 0;
	const struct timespec pause = { 0, PAUSE_NS >> shorter };

	(void)nanosleep(&pause, NULL);
	return !orders->stop;
}

/*
 * Told to stop between two tries, of which the first went wrong because the process has changed
 * meanwhile.
 */
static int stopped(int status)
{
	return status == SESSION_FAILED ? SESSION_REFUSED : status;
}

int follow_watch(pid_t pid, const struct session_options *options,
		 const struct member_orders *orders)
{
	const struct process_search search = process_search_here();
	double end = options->duration < 0 ? -1 : front_now() + options->duration;
	int status = SESSION_REFUSED;

	for (unsigned int i = 0; i < TRIES; i++) {
		if (!process_has_program(&search, pid))
			return SESSION_TARGET_ENDED;
		unsay();
		status = try_once(pid, options, orders, end);
		if (!may_try_again(status, options))
			return status;
		if (!pause_before_next(orders, i)) {
			status = stopped(status);
			break;
		}
	}
	return process_has_program(&search, pid) ? status : SESSION_TARGET_ENDED;
}
