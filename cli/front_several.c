/* SPDX-License-Identifier: MIT */
/*
 * front_several.c - see front_several.h.
 *
 * Nothing is shared by the members: what is refused or dies costs its own column. This front stops
 * nobody, opens no target and holds no right over one; it starts, passes signals on, waits for all
 * of them, then reads their recordings as `memattach report` reads them: the same files give the
 * same report. Rejected: one keeper for all. A hang of one target would be everybody's.
 */
#include "cli/front_several.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/front_family.h"
#include "cli/front_member.h"
#include "cli/several_report.h"
#include "src/base/log.h"

#define LOOK_NS 100000000l	/* from one look for children to the next */

struct front {
	const struct cli_options *options;
	struct member_orders *orders;	/* shared with all members */
	double looked;			/* when children were looked for last; as end */
	double end;			/* of the watch, by CLOCK_MONOTONIC; negative: when told */
	struct family family;		/* --follow */
	uint32_t missed;		/* children: ended too soon, or there were too many */
	char folder[64];		/* of recordings that nobody asked to keep; "": none */
	struct member *member;
	size_t count, running;
	sigset_t signals;
};

/* ---- whom ---- */

static int none_found(const char *option, const char *what, int found)
{
	if (found < 0)
		log_error("%s=%s: can't look for processes: %s", option, what, strerror(-found));
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
static char *recording_for(const struct front *f, pid_t pid)
{
	const char *output = f->options->session.output;
	unsigned int number = 1;
	char *path;
	int length;

	for (size_t i = 0; i < f->count; i++)
		number += f->member[i].pid == pid;
	if (output && number == 1)
		length = asprintf(&path, "%s.%d", output, pid);
	else
		length = asprintf(&path, "%s%s.%d.%u", f->folder, output ? output : "/recording",
				  pid, number);
	return length < 0 ? NULL : path;
}

static int begin(struct front *f, pid_t pid, double duration, bool followed)
{
	const struct member_task task = { .options = &f->options->session, .duration = duration,
					  .followed = followed, .orders = f->orders };
	struct member *grown = reallocarray(f->member, f->count + 1, sizeof(*grown));
	char *path;
	int error;

	if (!grown)
		return -ENOMEM;
	f->member = grown;
	path = recording_for(f, pid);
	if (!path)
		return -ENOMEM;
	error = member_begin(&f->member[f->count++], pid, path, &task);
	f->running += !error;
	return error;
}

static int begin_all(struct front *f, const struct process_set *found)
{
	int error = 0;

	for (size_t i = 0; !error && i < found->count; i++)
		error = begin(f, found->pid[i], f->options->session.duration, false);
	if (error)
		log_error("can't start what watches process %d: %s", f->member[f->count - 1].pid,
			  strerror(-error));
	return error;
}

static void signal_all(const struct front *f, int signal)
{
	for (size_t i = 0; i < f->count; i++)
		member_signal(&f->member[i], signal);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Is there time left for those that come only now? */
static bool takes_more(const struct front *f)
{
	return f->options->targets.follow && !f->orders->stop && (f->end < 0 || now() < f->end);
}

/* A process that is to be watched from now on, if there is room. */
static void follow(struct front *f, pid_t pid)
{
	if (f->running >= most(f) || f->count >= CLI_MAX_TARGETS ||
	    begin(f, pid, f->end < 0 ? -1 : f->end - now(), true))
		f->missed++;
}

static void reap(struct front *f)
{
	size_t count = f->count;	/* those that are added run */

	for (size_t i = 0; i < count; i++) {
		if (!member_reap(&f->member[i]))
			continue;
		f->running--;
		/* its address space is another: exec */
		if (takes_more(f) && f->member[i].status == SESSION_TARGET_ENDED &&
		    member_process_lives(&f->member[i]))
			follow(f, f->member[i].pid);
	}
}

/* Children since the last look. */
static void look(struct front *f)
{
	struct process_set members = { 0 };
	int error = 0;

	if (now() - f->looked < LOOK_NS / 1e9)	/* a signal came meanwhile */
		return;
	f->looked = now();
	for (size_t i = 0; !error && i < f->count; i++)
		if (f->member[i].front)
			error = process_set_add(&members, f->member[i].pid);
	if (!error)
		error = family_look(&f->family, &members);
	for (size_t i = 0; !error && i < f->family.ready.count; i++)
		if (!process_set_has(&members, f->family.ready.pid[i]))
			follow(f, f->family.ready.pid[i]);
	process_set_done(&members);
}

static int next_signal(const struct front *f, bool soon)
{
	const struct timespec look = { 0, LOOK_NS };

	return soon ? sigtimedwait(&f->signals, NULL, &look) : sigwaitinfo(&f->signals, NULL);
}

/* Until all have ended. */
static void attend(struct front *f)
{
	while (f->running > 0) {
		bool more = takes_more(f);
		int signal = next_signal(f, more);

		if (signal == SIGUSR1) {
			signal_all(f, SIGUSR1);
		} else if (signal > 0 && signal != SIGCHLD) {
			f->orders->stop = true;	/* first: see follow_watch */
			signal_all(f, SIGTERM);
		}
		reap(f);
		if (more && takes_more(f))
			look(f);
	}
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
	size_t count = 0;
	int status;

	if (!input) {
		log_error("%s", strerror(ENOMEM));
		return SESSION_FAILED;
	}
	for (size_t i = 0; i < f->count; i++) {
		struct member *m = &f->member[i];

		member_conclude(m);
		if (member_is_missed(m)) {
			f->missed++;	/* too many to have a line each */
			continue;
		}
		input[count++] = (struct several_input){
			.content = m->problem[0] ? NULL : &m->content, .pid = m->pid,
			.name = m->name.text[0] ? m->name.text : "?", .problem = m->problem,
		};
	}
	status = several_report(input, count, f->missed, &f->options->session);
	free(input);
	return worst(f, status);
}

static int make_folder(struct front *f)
{
	const char *where = getenv("TMPDIR");

	if (f->options->session.output)
		return 0;
	if (!where || strlen(where) > sizeof(f->folder) - 20)
		where = "/tmp";
	(void)snprintf(f->folder, sizeof(f->folder), "%s/memattach.XXXXXX", where);
	if (mkdtemp(f->folder))
		return 0;
	log_error("can't make a folder for recordings in %s: %s; set TMPDIR", where,
		  strerror(errno));
	f->folder[0] = '\0';
	return -errno;
}

static void front_done(struct front *f)
{
	for (size_t i = 0; i < f->count; i++)
		member_done(&f->member[i], f->options->session.output && !f->member[i].problem[0]);
	free(f->member);
	family_done(&f->family);
	if (f->orders)
		(void)munmap(f->orders, sizeof(*f->orders));
	if (f->folder[0])
		(void)rmdir(f->folder);
}

/* What members are started with. 0 or -errno, which was said. */
static int prepare(struct front *f)
{
	double duration = f->options->session.duration;
	int error = make_folder(f);

	if (error)
		return error;
	f->end = duration < 0 ? -1 : now() + duration;
	f->orders = mmap(NULL, sizeof(*f->orders), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->orders == MAP_FAILED) {
		f->orders = NULL;
		error = -errno;
	}
	if (!error && f->options->targets.follow)
		error = family_begin(&f->family);
	if (error)
		log_error("%s", strerror(-error));
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
	struct front f = { .options = options };
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
