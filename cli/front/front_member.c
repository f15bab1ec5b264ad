/* SPDX-License-Identifier: MIT */
/*
 * front_member.c - see front_member.h.
 *
 * A member is a process and not a thread of the front, because a session has a keeper whose parent
 * it must be. It has a process session of its own, so that what is typed reaches the front of all
 * alone, which passes it on once. When that front is killed, the kernel tells its members to leave.
 * Its report would mix with the others': it goes nowhere, the recording has all of it. What it says
 * is kept until its end, and is then said with its id.
 */
#include "cli/front/front_member.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cli/front/front.h"
#include "cli/front/front_follow.h"
#include "cli/front/said.h"
#include "src/base/log.h"
#include "src/base/pidref.h"

/* ---- the member's side ---- */

static int watch(pid_t pid, const struct session_options *options)
{
	struct target target;
	int status = front_open_target(pid, options, &target);

	return status == SESSION_OK ? front_run(&target, options) : status;
}

static void set_output(struct session_options *options, const struct member_recording *recording)
{
	options->output = recording->name;
	options->unnamed = recording->unnamed.file < 0 ? NULL : &recording->unnamed;
}

static int run(const struct member *member, const struct member_task *task)
{
	struct session_options options = *task->options;

	set_output(&options, &member->recording);
	options.duration = task->duration;
	if (!task->program && options.task == SESSION_RUN)
		options.task = SESSION_WATCH;	/* it runs */
	options.tell_children = task->found > 0 ? task->found : 0;
	options.view = NULL;
	options.json = options.plain = options.screen = options.color = false;
	return task->program ? program_watch(task->program, &options) :
	       task->followed ? follow_watch(member->pid, &options, task->orders) :
				watch(member->pid, &options);
}

static void become(const struct member *member, const struct member_task *task, pid_t front)
{
	int keep[] = { member->recording.unnamed.file, member->recording.unnamed.journal,
		       task->found, task->program ? task->program->gate : -1 };

	front_stand_apart();
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != front || said_redirect(member->said))
		_exit(SESSION_FAILED);
	close_others(keep, ARRAY_SIZE(keep));	/* other members' */
	_exit(run(member, task));
}

/* ---- the front's side ---- */

int member_begin(struct member *member, pid_t pid, struct member_recording recording,
		 const struct member_task *task)
{
	const struct process_search search = process_search_here();
	pid_t front = getpid();

	*member = (struct member){ .pid = pid, .name = process_name(&search, pid),
				   .followed = task->followed, .started = task->program,
				   .recording = recording,
				   .said = -1 };
	(void)pidref_read_start_time(pid, &member->start_time);
	member->said = said_open();
	if (member->said < 0)
		return member->said;
	member->front = fork();
	if (member->front == 0)
		become(member, task, front);
	if (member->front < 0) {
		member->front = 0;
		return -errno;
	}
	return 0;
}

bool member_has_execed(const struct member *member)
{
	const struct process_search search = process_search_here();
	bool ended = member->status == SESSION_TARGET_ENDED ||
		     (member->started && member->status <= SESSION_LEAKS);
	uint64_t start_time;

	return ended && member->start_time &&
	       pidref_read_start_time(member->pid, &start_time) == 0 &&
	       start_time == member->start_time && process_has_program(&search, member->pid);
}

void member_signal(const struct member *member, int signal)
{
	if (member->front)	/* not reaped yet: still this process */
		(void)kill(member->front, signal);
}

bool member_reap(struct member *member)
{
	int status;

	if (!member->front || waitpid(member->front, &status, WNOHANG) != member->front)
		return false;
	member->front = 0;
	if (WIFEXITED(status)) {
		member->status = WEXITSTATUS(status);
		return true;
	}
	member->status = SESSION_DORMANT;
	log_error("%d %s: what watched it was killed by signal %d; run `memattach cleanup -p %d`",
		  member->pid, member->name.text, WTERMSIG(status), member->pid);
	return true;
}

static void forget(struct member *member)
{
	static const char *const suffix[] = { "", "-wal", "-shm" };
	char path[4096];

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", member->recording.name, suffix[i]);
		(void)unlink(path);
	}
}

int member_read(const struct session_options *options, struct recording_content *ret)
{
	return options->unnamed ?
	       recording_read_unnamed(options->unnamed, options->output, ret) :
	       recording_read(options->output, ret);
}

void member_conclude(struct member *member)
{
	struct session_options options = { .output = NULL };
	char why[sizeof(member->problem)] = "", last[sizeof(member->problem)] = "";
	int error = -ENODATA;	/* of one that was refused there may be an older file */

	set_output(&options, &member->recording);
	if (member->status != SESSION_REFUSED)
		error = member_read(&options, &member->content);
	if (error && error != -ENODATA)
		recording_explain(member->recording.name, error, why, sizeof(why));
	said_pass_on(member->said, member->pid, member->name.text,
		     error && member_is_missed(member), last, sizeof(last));
	if (error)
		(void)snprintf(member->problem, sizeof(member->problem), "%s", last[0] ? last :
			       why[0] ? why : "it ended before it could be watched");
}

bool member_is_missed(const struct member *member)
{
	return member->followed && !member->content.snapshot &&
	       member->status == SESSION_TARGET_ENDED;
}

void member_done(struct member *member, bool keep)
{
	recording_content_done(&member->content);
	if (!keep && member->recording.name && member->recording.unnamed.file < 0)
		forget(member);
	cleanup_fd(&member->said);
	recording_unnamed_done(&member->recording.unnamed);
	free(member->recording.name);
	member->recording.name = NULL;
}
