/* SPDX-License-Identifier: MIT */
/* on_event.c - see on_event.h. */
#include "src/daemon/on_event.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/base/memfd.h"
#include "src/report/printable.h"

/* --- in the child --------------------------------------------------------- */

static void export(const char *name, const char *value)
{
	if (value && setenv(name, value, 1) < 0)
		_exit(127);
}

static void export_number(const struct event_number *number)
{
	char name[64], value[24];

	(void)snprintf(name, sizeof(name), "MEMATTACH_%s", number->name);
	(void)snprintf(value, sizeof(value), "%llu", (unsigned long long)number->value);
	export(name, value);
}

/* What a target may have chosen: a command may print it, line by line. */
static void export_printable(const char *name, const char *value)
{
	_cleanup_free_ char *copy = value ? printable_copy(value, PRINTABLE_TEXT) : NULL;

	export(name, copy);
}

static void export_event(const struct daemon_event *event)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", event->pid);
	export("MEMATTACH_EVENT", event_name(event->kind));
	export("MEMATTACH_TARGET_PID", pid);
	export_printable("MEMATTACH_TARGET_NAME", event->name);
	export("MEMATTACH_RULE", event->rule);
	export("MEMATTACH_RECORDING", event->recording);
	export_printable("MEMATTACH_TEXT", event->text);
	for (size_t i = 0; i < event->numbers; i++)
		export_number(&event->number[i]);
	(void)unsetenv("NOTIFY_SOCKET");	/* it does not speak for the service */
	(void)unsetenv("WATCHDOG_USEC");
}

static _Noreturn void become(const char *command, const struct daemon_event *event)
{
	int none[] = { -1 }, nowhere = memfd_nothing();
	sigset_t nothing;

	if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(127);
	close_others(none, 1);
	export_event(event);
	(void)setpgid(0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 0, 0 });
	(void)sigemptyset(&nothing);
	(void)sigprocmask(SIG_SETMASK, &nothing, NULL);
	(void)alarm(ON_EVENT_SECONDS);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* --- in memattachd -------------------------------------------------------- */

static pid_t *free_place(struct on_event *runs)
{
	for (size_t i = 0; i < ON_EVENT_RUNNING; i++)
		if (runs->child[i] == 0)
			return &runs->child[i];
	return NULL;
}

static void miss(struct on_event *runs)
{
	if (runs->missed++ == 0)
		log_warning("on-event: %u commands are running; no more events are passed on "
			    "until one has ended", ON_EVENT_RUNNING);
}

void on_event_run(struct on_event *runs, const char *command, const struct daemon_event *event)
{
	pid_t *place = free_place(runs), child;

	if (!place) {
		miss(runs);
		return;
	}
	child = fork();
	if (child == 0)
		become(command, event);
	if (child < 0)
		log_error("on-event: no process can be made for the command: %s; raise the limit "
			  "of processes (pids.max)", strerror(errno));
	else
		*place = child;
}

static void say_how(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		log_warning("on-event: the command took more than %u seconds", ON_EVENT_SECONDS);
	else if (WIFSIGNALED(status))
		log_warning("on-event: the command was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warning("on-event: the command ended with status %d", WEXITSTATUS(status));
}

size_t on_event_reap(struct on_event *runs)
{
	size_t running = 0;
	int status;

	for (size_t i = 0; i < ON_EVENT_RUNNING; i++) {
		if (!runs->child[i])
			continue;
		if (waitpid(runs->child[i], &status, WNOHANG) <= 0) {
			running++;
			continue;
		}
		runs->child[i] = 0;
		say_how(status);
		if (runs->missed)
			log_warning("on-event: %u events were not passed on", runs->missed);
		runs->missed = 0;
	}
	return running;
}
