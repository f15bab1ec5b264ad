/* SPDX-License-Identifier: MIT */
/*
 * front_several.c - see front_several.h.
 *
 * Nothing is shared by the members: what is refused or dies costs its own column. This front stops
 * nobody, opens no target and holds no right over one; it starts, passes signals on, waits for all
 * of them, then reads their recordings as `memattach report` reads them: the same files give the
 * same report. Rejected: one keeper for all. A hang of one target would be everybody's.
 */
#include "cli/front/front_several.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/front/front_clock.h"
#include "cli/front/front_family.h"
#include "cli/front/front_member.h"
#include "cli/front/several_report.h"
#include "src/base/log.h"
#include "src/base/why.h"

struct front {
	const struct cli_options *options;
	struct program *program;	/* run --follow: to be started; NULL */
	struct member_orders *orders;	/* shared with all members */
	double looked;			/* when descendants were looked for last; as end */
	bool following;			/* they still are */
	double end;			/* of the watch, by CLOCK_MONOTONIC; negative: when told */
	struct family family;		/* --follow */
	uint32_t missed;		/* descendants: ended too soon, or there were too many */
	const char *folder;		/* of recordings that nobody asked to keep */
	struct member *member;
	size_t count, running;
	sigset_t signals;
};

/* ---- whom ---- */

static int none_found(const char *option, const char *what, int found)
{
	if (found < 0)
		log_error("%s=%s: can't look for processes: %s", option, what,
			  why_of(found).text);
	else if (strcmp(option, "--name") == 0)
		log_error("--name=%s: no process%s has this command or program name; look it up "
			  "with `ps -eo pid,user,comm`", what, geteuid() ? " of yours" : "");
	else if (access("/run/systemd/system", F_OK) < 0)
		log_error("--unit=%s: systemd does not run here, and no control group has this "
			  "name; use --name=NAME or -p PID", what);
	else
		log_error("--unit=%s: no process%s is in this unit; see `systemctl status %s`",
			  what, geteuid() ? " of yours" : "", what);
	return SESSION_REFUSED;
}

static int find(const struct cli_targets *targets, struct process_set *to)
{
	const struct process_search search = process_search_here();
	int error = 0, found;

	for (size_t i = 0; !error && i < targets->pids; i++)
		error = process_set_add(to, targets->pid[i]);
	if (error)
		return SESSION_FAILED;
	for (size_t i = 0; i < targets->names; i++) {
		found = process_find_name(&search, targets->name[i], to);
		if (found <= 0)
			return none_found("--name", targets->name[i], found);
	}
	for (size_t i = 0; i < targets->units; i++) {
		found = process_find_unit(&search, targets->unit[i], to);
		if (found <= 0)
			return none_found("--unit", targets->unit[i], found);
	}
	return SESSION_OK;
}

static uint32_t most(const struct front *f)
{
	uint32_t max = f->options->targets.max;

	return max ? max : CLI_DEFAULT_PROCESSES;
}

static int check_count(const struct front *f, const struct process_set *found)
{
	if (found->count <= most(f))
		return SESSION_OK;
	log_error("%zu processes are more than %u; choose fewer, or allow them with "
		  "--max-processes=%zu", found->count, most(f), found->count);
	return SESSION_REFUSED;
}

/* ---- members ---- */

/* FILE.PID of its own; one that is there is of an earlier session of the same process, or older. */
static char *name_for(const struct front *f, pid_t pid)
{
	const char *output = f->options->session.output;
	unsigned int number = 1;
	char *name;
	int length;

	for (size_t i = 0; i < f->count; i++)
		number += f->member[i].pid == pid;
	if (!output)
		length = asprintf(&name, "a recording in %s (TMPDIR)", f->folder);
	else if (number == 1)
		length = asprintf(&name, "%s.%d", output, pid);
	else
		length = asprintf(&name, "%s.%d.%u", output, pid, number);
	return length < 0 ? NULL : name;
}

static int make_recording(const struct front *f, pid_t pid, struct member_recording *ret)
{
	*ret = (struct member_recording){ name_for(f, pid), RECORDING_UNNAMED_NONE };
	if (!ret->name)
		return -ENOMEM;
	return f->options->session.output ? 0 : recording_unnamed_new(f->folder, &ret->unnamed);
}

static int begin(struct front *f, pid_t pid, double duration, bool followed)
{
	const struct member_task task = { .options = &f->options->session, .duration = duration,
					  .followed = followed, .orders = f->orders,
					  .program = followed ? NULL : f->program,
					  .found = family_found(&f->family) };
	struct member *grown = reallocarray(f->member, f->count + 1, sizeof(*grown));
	struct member_recording recording;
	int error;

	if (!grown)
		return -ENOMEM;
	f->member = grown;
	error = make_recording(f, pid, &recording);
	if (error) {
		free(recording.name);
		return error;
	}
	error = member_begin(&f->member[f->count], pid, recording, &task);
	if (error) {
		member_done(&f->member[f->count], false);
		return error;
	}
	f->count++;
	f->running++;
	return f->following ? family_add(&f->family, pid) : 0;
}

static int begin_all(struct front *f, const struct process_set *found)
{
	for (size_t i = 0; i < found->count; i++) {
		int error = begin(f, found->pid[i], f->options->session.duration, false);

		if (!error)
			continue;
		log_error("can't start what watches process %d: %s%s", found->pid[i],
			  strerror(-error), error == -EMFILE ? "; raise `ulimit -n`" : "");
		return error;
	}
	return 0;
}

static void signal_all(const struct front *f, int signal)
{
	for (size_t i = 0; i < f->count; i++)
		member_signal(&f->member[i], signal);
}

/* Is there time left for those that come only now? */
static bool takes_more(const struct front *f)
{
	return f->options->targets.follow && !f->orders->stop &&
	       (f->end < 0 || front_now() < f->end);
}

/* A process that is to be watched from now on, if there is room. */
static void follow(struct front *f, pid_t pid)
{
	if (f->running >= most(f) || f->count >= CLI_MAX_TARGETS ||
	    begin(f, pid, f->end < 0 ? -1 : f->end - front_now(), true))
		f->missed++;
}

/* What watched it has ended. A child that it came too late for leaves nothing: it is counted. */
static void conclude(struct front *f, size_t at)
{
	struct member *member = &f->member[at];

	member_conclude(member);
	if (!member_is_missed(member))
		return;
	f->missed++;
	member_done(member, false);
	f->count--;
	memmove(member, member + 1, (f->count - at) * sizeof(*member));
}

/* Backwards: some go, and those that are added run. */
static void reap(struct front *f)
{
	for (size_t i = f->count; i > 0; i--) {
		struct member *member = &f->member[i - 1];
		pid_t pid = member->pid;
		bool lives;

		if (!member_reap(member))
			continue;
		f->running--;
		lives = member_has_execed(member);
		conclude(f, i - 1);
		if (lives && takes_more(f))
			follow(f, pid);
	}
}

/* New descendants; with nobody left to watch at once, as they are all that may come. */
static void look(struct front *f)
{
	const struct process_set *ready = &f->family.ready;

	if (f->running > 0 && front_now() - f->looked < family_pause(&f->family))
		return;		/* a signal came meanwhile */
	f->looked = front_now();
	if (family_look(&f->family))
		return;
	for (size_t i = 0; i < ready->count; i++)
		follow(f, ready->pid[i]);
}

static void end_following(struct front *f)
{
	if (!f->following)
		return;
	f->following = false;
	(void)!family_end(&f->family);	/* then a few are unknown */
	f->missed += family_missed(&f->family);
}

static int next_signal(const struct front *f)
{
	const struct timespec pause = {
		0, f->following ? (long)(family_pause(&f->family) * 1e9) : 0
	};

	return f->following ? sigtimedwait(&f->signals, NULL, &pause) :
			      sigwaitinfo(&f->signals, NULL);
}

/* Until all have ended, and nobody is to come. */
static void attend(struct front *f)
{
	while (f->running > 0 || (f->following && family_waiting(&f->family) > 0)) {
		int signal = next_signal(f);

		if (signal == SIGUSR1) {
			signal_all(f, SIGUSR1);
		} else if (signal > 0 && signal != SIGCHLD) {
			f->orders->stop = true;	/* first: see follow_watch */
			signal_all(f, SIGTERM);
		}
		reap(f);
		if (takes_more(f))
			look(f);
		else
			end_following(f);
	}
	end_following(f);
}

/* SIGUSR1 is ours only with --snapshot-on=SIGUSR1. */
static void block_signals(struct front *f)
{
	(void)sigemptyset(&f->signals);
	(void)sigaddset(&f->signals, SIGINT);
	(void)sigaddset(&f->signals, SIGTERM);
	(void)sigaddset(&f->signals, SIGHUP);
	(void)sigaddset(&f->signals, SIGCHLD);
	if (f->options->session.snapshot_on.signal)
		(void)sigaddset(&f->signals, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &f->signals, NULL);
}

/* ---- the report ---- */

/* The exit status that asks for most; see front_several.h. */
static int worst(const struct front *f, int of_report)
{
	static const int order[] = { SESSION_DORMANT, SESSION_FAILED, SESSION_USAGE, SESSION_LEAKS,
				     SESSION_OK, SESSION_TARGET_ENDED };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i] != SESSION_OK && of_report == order[i])
			return order[i];
		for (size_t m = 0; m < f->count; m++)
			if (f->member[m].status == order[i])
				return order[i];
	}
	return SESSION_REFUSED;
}

static int report(struct front *f)
{
	struct several_input *input = calloc(f->count + 1, sizeof(*input));
	int status;

	if (!input) {
		log_error("out of memory for the report of %zu processes; name fewer", f->count);
		return SESSION_FAILED;
	}
	for (size_t i = 0; i < f->count; i++) {
		const struct member *m = &f->member[i];

		input[i] = (struct several_input){
			.content = m->problem[0] ? NULL : &m->content, .pid = m->pid,
			.name = m->name.text[0] ? m->name.text : "?", .problem = m->problem,
		};
	}
	status = several_report(input, f->count, f->missed, &f->options->session);
	free(input);
	return worst(f, status);
}

/* Is there a place for recordings that nobody asked to keep? */
static int check_folder(struct front *f)
{
	struct recording_unnamed unnamed;
	int error;

	f->folder = getenv("TMPDIR");
	if (!f->folder || !f->folder[0])
		f->folder = "/tmp";
	if (f->options->session.output)
		return 0;
	error = recording_unnamed_new(f->folder, &unnamed);
	if (!error)
		recording_unnamed_done(&unnamed);
	else
		log_error("can't make recordings in %s: %s; set TMPDIR, or use -o", f->folder,
			  strerror(-error));
	return error;
}

/* Each member has some. What there is no room for is said by who needs it. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void front_done(struct front *f)
{
	for (size_t i = 0; i < f->count; i++)
		member_done(&f->member[i], f->options->session.output && !f->member[i].problem[0]);
	free(f->member);
	family_done(&f->family);
	if (f->orders)
		(void)munmap(f->orders, sizeof(*f->orders));
}

/* What members are started with. 0 or -errno, which was said. */
static int prepare(struct front *f)
{
	double duration = f->options->session.duration;
	int error = check_folder(f);

	if (error)
		return error;
	allow_descriptors();
	f->end = duration < 0 ? -1 : front_now() + duration;
	f->orders = mmap(NULL, sizeof(*f->orders), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->orders == MAP_FAILED) {
		f->orders = NULL;
		error = -errno;
	}
	f->following = f->options->targets.follow;
	if (!error && f->following)
		error = family_begin(&f->family);
	if (error)
		log_error("can't watch several processes: %s", why_of(error).text);
	return error;
}

static int watch_all(struct front *f, const struct process_set *found)
{
	int error = begin_all(f, found);

	if (error) {
		f->orders->stop = true;
		signal_all(f, SIGTERM);
	}
	attend(f);
	return error ? SESSION_FAILED : report(f);
}

int front_several(const struct cli_options *options)
{
	_cleanup_(process_set_done) struct process_set found = { 0 };
	struct front f = { .options = options, .family = FAMILY_NONE };
	int status = find(&options->targets, &found);

	if (status == SESSION_OK)
		status = check_count(&f, &found);
	if (status != SESSION_OK)
		return status;
	block_signals(&f);
	status = prepare(&f) ? SESSION_FAILED : watch_all(&f, &found);
	front_done(&f);
	return status;
}

static int run_and_follow(struct front *f, char **command)
{
	struct process_set first = { .pid = &f->program->pid, .count = 1 };
	int error = begin_all(f, &first);

	cleanup_fd(&f->program->gate);
	if (error)
		return SESSION_FAILED;
	attend(f);
	return program_failed(f->program, command) ? SESSION_USAGE : report(f);
}

int front_several_run(const struct cli_options *options)
{
	struct program program = PROGRAM_NONE;
	struct front f = { .options = options, .family = FAMILY_NONE, .program = &program };
	int error, status = SESSION_FAILED;

	block_signals(&f);
	if (prepare(&f) == 0) {
		error = program_start(options->operands, &program);
		if (error)
			log_error("can't start %s: %s; raise the limit of processes (ulimit -u, "
				  "pids.max)", options->operands[0], strerror(-error));
		else
			status = run_and_follow(&f, options->operands);
	}
	cleanup_fd(&program.failure);
	front_done(&f);
	return status;
}
