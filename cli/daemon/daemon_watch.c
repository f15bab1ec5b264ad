/* SPDX-License-Identifier: MIT */
/*
 * daemon_watch.c - see daemon_watch.h.
 *
 * The session is that of `memattach -p PID -o FILE`, told by the same options, so that they are
 * held to the same rules. memattachd itself opens no target and traces nobody.
 */
#include "cli/daemon/daemon_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/daemon/daemon_leaks.h"
#include "cli/daemon/daemon_restore.h"
#include "cli/front/front.h"
#include "cli/front/said.h"
#include "cli/options/options.h"
#include "src/base/capability.h"
#include "src/base/give_back.h"
#include "src/base/log.h"
#include "src/daemon/roster.h"
#include "src/recording/limit.h"

#define ARGUMENTS	12
#define ARGUMENT_BYTES	64
#define MOST_BYTES	(1ull << 50)

/* --- its session ---------------------------------------------------------- */

struct command_line {
	char text[ARGUMENTS][ARGUMENT_BYTES];
	char *argv[ARGUMENTS + 1];
	int argc;
};

static _printf_(2, 3) void argument(struct command_line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line->text[line->argc], ARGUMENT_BYTES, format, arguments);
	va_end(arguments);
	line->argv[line->argc] = line->text[line->argc];
	line->argc++;
}

/* One that is being written is not the retention's: it keeps to the same bytes by itself. */
static uint64_t most_of_a_recording(const struct watch_settings *watch)
{
	uint64_t bytes = watch->keep_bytes < MOST_BYTES ? watch->keep_bytes : MOST_BYTES;

	return bytes > RECORDING_LIMIT_LEAST ? bytes : RECORDING_LIMIT_LEAST;
}

static int session_options_for(const struct watch_rule *rule, uint64_t max_memory,
			       struct cli_options *ret)
{
	const struct watch_settings *watch = &rule->watch;
	struct command_line line = { .argc = 0 };

	argument(&line, "attach");
	if (watch->sample_bytes)
		argument(&line, "--sample=%llu", (unsigned long long)watch->sample_bytes);
	else
		argument(&line, "--overhead=%g", watch->overhead_percent);
	argument(&line, "--interval=%g", watch->snapshot_every);
	argument(&line, "--ring-size=%llu", (unsigned long long)watch->ring_bytes);
	argument(&line, "--max-memory=%llu", (unsigned long long)max_memory);
	return options_parse(line.argc, line.argv, ret);
}

/* In the child; figures: where its analyst tells them. */
static _Noreturn void become(const struct daemon_watch *watch, const struct watch_rule *rule,
			     struct daemon_watch_memory memory, int figures, pid_t parent)
{
	static struct cli_options options;
	int keep[] = { watch->said, figures };

	if (said_redirect(watch->said))
		_exit(SESSION_FAILED);
	close_others(keep, ARRAY_SIZE(keep));
	if (restore_is_needed(watch->pid))
		_exit(DAEMON_WATCH_CARRIES);
	capability_drop(CAP_NET_ADMIN);		/* memattachd alone is told of processes */
	if (session_options_for(rule, memory.remembered, &options) != SESSION_OK)
		_exit(SESSION_USAGE);
	options.session.output = watch->recording;
	options.session.names_memory = memory.names;
	options.session.max_recording = most_of_a_recording(&rule->watch);
	options.session.screen = options.session.screen_can_wait = true;
	options.session.screen_socket = figures;
	options.session.only_public = true;
	front_become_keeper(watch->pid, &options.session, parent);
}

/* --- its recording -------------------------------------------------------- */

/* A process may call itself anything: what is no part of a plain name becomes "_". */
static void plain_name(const char *name, char *ret, size_t room)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < room; i++)
		ret[i] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+",
				name[i]) ? name[i] : '_';
	ret[i] = '\0';
}

/* A process may be begun twice in a second, where a memattachd was killed: none is overwritten. */
static char *new_path(const char *folder, const char *name, pid_t pid, const char *when)
{
	for (unsigned int i = 1; i < 1000; i++) {
		char number[8] = "", *path;

		if (i > 1)
			(void)snprintf(number, sizeof(number), "-%u", i);
		if (asprintf(&path, "%s/%s-%d-%s%s.memattach", folder, name, pid, when, number) < 0)
			return NULL;
		if (access(path, F_OK) < 0 && errno == ENOENT)
			return path;
		free(path);
	}
	errno = EEXIST;
	return NULL;
}

/* STATE/RULE/NAME-PID-TIME.memattach; the folders are made. NULL: errno says why. */
static char *name_recording(const char *state, const struct watch_rule *rule,
			    const struct process_name *process, pid_t pid)
{
	char folder[4096], name[32], when[32];
	time_t now = time(NULL);
	struct tm tm;

	(void)snprintf(folder, sizeof(folder), "%s/%s", state, rule->name);
	if (mkdir(folder, 0750) < 0 && errno != EEXIST)
		return NULL;
	plain_name(process->text, name, sizeof(name));
	(void)localtime_r(&now, &tm);
	(void)strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	return new_path(folder, name, pid, when);
}

/* Of a process that was refused nothing was recorded. */
static void forget_empty(struct daemon_watch *watch)
{
	struct stat status;

	if (stat(watch->recording, &status) == 0) {
		if (status.st_size > 0)
			return;
		(void)unlink(watch->recording);
	}
	free(watch->recording);
	watch->recording = NULL;
}

/* --- from begin to end ---------------------------------------------------- */

struct rights_subject daemon_watch_subject(const struct daemon_watch *watch)
{
	return (struct rights_subject){ .pid = watch->pid, .began = &watch->rights };
}

int daemon_watch_prepare(struct daemon_watch *watch, pid_t pid, const struct watch_rule *rule,
			 const char *state)
{
	const struct process_search search = process_search_here();
	int error = 0;

	*watch = (struct daemon_watch){ .pid = pid, .said = said_open(),
					.begun = roster_now(), .figures = { .socket = -1 },
					.retry_after = rule->watch.retry_after,
					.name = process_name(&search, pid),
					.rule = strdup(rule->name) };
	error = rights_read(&search, pid, &watch->rights);
	watch->leak_check = rule->watch.leak_check;
	watch->most_percent = rule->watch.sample_bytes ? 0 : rule->watch.overhead_percent;
	watch->percent = watch->most_percent;
	daemon_leaks_put_off(watch, watch->begun);
	episodes_init(&watch->episodes, rule->watch.snapshot_every,
		      rule->watch.sample_bytes ? 0 : rule->watch.overhead_percent);
	if (!error)
		error = watch->said < 0 ? watch->said : watch->rule ? 0 : -ENOMEM;
	if (!error) {
		watch->recording = name_recording(state, rule, &watch->name, pid);
		error = watch->recording ? 0 : -errno;
	}
	if (error)
		daemon_watch_done(watch);
	return error;
}

int daemon_watch_begin(struct daemon_watch *watch, const struct watch_rule *rule,
		       struct daemon_watch_memory memory)
{
	pid_t parent = getpid();
	_cleanup_fd_ int figures = -1;
	int error = figures_open(&watch->figures, &figures);

	if (!error) {
		give_back_memory();	/* what is free now would be copied when it is used here */
		watch->keeper = fork();
		error = watch->keeper < 0 ? -errno : 0;
	}
	if (!error && watch->keeper == 0)
		become(watch, rule, memory, figures, parent);
	if (error) {
		watch->keeper = 0;
		daemon_watch_done(watch);
	}
	return error;
}

void daemon_watch_end(struct daemon_watch *watch)
{
	if (watch->keeper && !watch->ending)
		(void)kill(watch->keeper, SIGTERM);	/* not reaped yet: still this process */
	watch->ending = true;
}

void daemon_watch_nudge(const struct daemon_watch *watch)
{
	if (watch->keeper && !watch->ending)
		(void)kill(watch->keeper, SIGUSR2);
}

bool daemon_watch_reap(struct daemon_watch *watch)
{
	int status;

	if (!watch->keeper || waitpid(watch->keeper, &status, WNOHANG) != watch->keeper)
		return false;
	watch->keeper = 0;
	watch->killed = WIFSIGNALED(status);
	watch->status = WIFEXITED(status) ? WEXITSTATUS(status) : SESSION_DORMANT;
	said_pass_on(watch->said, watch->pid, watch->name.text, watch->status == SESSION_REFUSED,
		     watch->why, sizeof(watch->why));
	if (watch->killed)
		log_error("%d %s: what watched it was killed by signal %d", watch->pid,
			  watch->name.text, WTERMSIG(status));
	forget_empty(watch);
	return true;
}

void daemon_watch_done(struct daemon_watch *watch)
{
	cleanup_fd(&watch->said);
	figures_done(&watch->figures);
	free(watch->rule);
	free(watch->recording);
	*watch = (struct daemon_watch){ .said = -1, .figures = { .socket = -1 } };
}
