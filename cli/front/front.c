/* SPDX-License-Identifier: MIT */
/*
 * front.c - three processes.
 *
 * Keeper and analyst live in a session of their own: ^Z or ^C on the terminal
 * reaches only the front, which turns it into a request to detach. When the
 * front is killed, the keeper gets SIGTERM and detaches; when the keeper is
 * killed, the shim's deadline passes and the analyst ends on the closed socket.
 */
#include "cli/front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cli/front/front_screen.h"
#include "inject/keeper/keeper.h"
#include "inject/preflight/preflight.h"
#include "inject/tracee/launch.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/tsc_trust.h"
#include "src/base/log.h"
#include "src/base/why.h"
#include "src/recording/unnamed.h"
#include "src/sandbox/opener.h"
#include "src/session/refusal.h"

#define SHIM_ROOM (1u << 20)
#define DESCRIPTORS 16u	/* three at once for a moment, and others' that come meanwhile */

static int refuse(const struct preflight_report *report)
{
	log_error("%s; %s", report->reason, report->remedy);
	return SESSION_REFUSED;
}

int front_check_clock(void)
{
	const char *problem = tsc_problem();

	if (!problem)
		return SESSION_OK;
	log_error("%s; memattach needs it to put events in order", problem);
	return SESSION_REFUSED;
}

int front_open_target(pid_t pid, const struct session_options *options, struct target *ret)
{
	bool cleanup = options->task == SESSION_CLEANUP;
	bool adds_nothing = cleanup || session_is_picture_only(options);
	struct preflight_options preflight = {
		.memory_bytes = adds_nothing ? 0 : options->ring_bytes + SHIM_ROOM,
		.descriptors = adds_nothing ? 0 : DESCRIPTORS,
		.expect_attached = cleanup,
	};
	struct preflight_report report = { .code = PREFLIGHT_OK };
	struct pidref ref = PIDREF_NONE;
	int error = preflight_open(pid, &ref, &report);

	if (error == -ESRCH)
		return refuse(&report);
	if (!error)
		error = preflight_check(&ref, &preflight, &report);
	if (!error && report.code != PREFLIGHT_OK) {
		pidref_done(&ref);
		return refuse(&report);
	}
	if (!error)
		error = target_open(&ref, ret);
	if (!error)
		return SESSION_OK;
	if (error == -EACCES || error == -EPERM) {
		error = preflight_explain_denied(&ref, &report);
		pidref_done(&ref);
		if (!error)
			return refuse(&report);
	}
	log_error("process %d can't be opened: %s", pid, why_of(error).text);
	return SESSION_REFUSED;
}

/* What the analyst process needs to be made, also a second time. */
struct analyst {
	const struct session_options *options;
	const struct target *target;
	pid_t pid;
	pid_t child;	/* a second one, for a process that the target forked; 0: none */
	bool restarted;	/* pid is the one that finishes the detach; */
	int first_status;	/* this is what waitpid said of the first */
};

/* The analyst has no descriptor of the keeper's, now or at a second analyst's start, but these. */
static void keep_own(const struct session_options *options, int socket, int opener)
{
	const struct recording_unnamed *unnamed = options->output ? options->unnamed : NULL;
	int keep[] = { socket, opener, options->screen ? options->screen_socket : -1,
		       unnamed ? unnamed->file : -1, unnamed ? unnamed->journal : -1 };

	close_others(keep, ARRAY_SIZE(keep));
}

static void ignore_stop_signals(void)
{
	sigset_t none;

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* An opener for the target's owner; its socket, or -errno. */
static int open_for(const struct session_options *options, pid_t target)
{
	const struct opener_needs needs = session_opener_needs(options);
	struct file_reader reader;

	file_reader_of(target, &reader);
	return opener_begin(&needs, &reader);
}

/* Starts an analyst; the keeper's end of its socket, or -errno. */
static int start_analyst(const struct analyst *a, const struct session_options *options,
			 pid_t *ret_pid)
{
	int pair[2], opener = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	if (session_opens_files(options))
		opener = open_for(options, a->target->ref.pid);
	*ret_pid = fork();
	if (*ret_pid < 0) {
		int error = -errno;

		cleanup_fd(&pair[0]);
		cleanup_fd(&pair[1]);
		cleanup_fd(&opener);
		return error;
	}
	if (*ret_pid == 0) {
		struct target theirs = *a->target;

		target_done(&theirs);	/* the analyst gets its own, weaker descriptors */
		keep_own(options, pair[1], opener);
		ignore_stop_signals();
		_exit(session_run(options, pair[1], opener));
	}
	cleanup_fd(&pair[1]);
	cleanup_fd(&opener);
	return pair[0];
}

static pid_t analyst_now(void *context)
{
	const struct analyst *a = context;

	return a->child ? a->child : a->pid;
}

static void end_analyst(void *context)
{
	struct analyst *a = context;

	(void)kill(a->pid, SIGKILL);	/* our child, not reaped yet: still this process */
}

static struct session_options for_cleanup(const struct analyst *a, bool quiet)
{
	struct session_options cleanup = *a->options;

	cleanup.task = SESSION_CLEANUP;
	cleanup.output = NULL;
	cleanup.screen = false;
	cleanup.quiet = quiet;
	return cleanup;
}

static int restart_for_cleanup(void *context)
{
	struct analyst *a = context;
	struct session_options cleanup = for_cleanup(a, false);

	(void)waitpid(a->pid, &a->first_status, 0);
	a->restarted = true;
	return start_analyst(a, &cleanup, &a->pid);
}

/* Quiet: what is left of the children is listed once, at the end. */
static int begin_child(void *context)
{
	struct analyst *a = context;
	struct session_options cleanup = for_cleanup(a, true);

	return start_analyst(a, &cleanup, &a->child);
}

struct ending {
	char text[96];
};

/* In words, what waitpid says of a process that ended. */
static struct ending ending_of(int status)
{
	struct ending ending;

	if (WIFSIGNALED(status))
		(void)snprintf(ending.text, sizeof(ending.text), "by signal %d (%s)",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)snprintf(ending.text, sizeof(ending.text), "with status %d",
			       WEXITSTATUS(status));
	return ending;
}

/* Our SIGKILL changes nothing of one that has ended by itself. */
static void end_child(void *context)
{
	struct analyst *a = context;
	int status = 0;

	(void)kill(a->child, SIGKILL);
	(void)waitpid(a->child, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		log_error("the analyst of a forked process ended unexpectedly %s",
			  ending_of(status).text);
	a->child = 0;
}

/* Who reads may be slow, then it misses some, or gone: that is no reason to end here. */
static void tell_child(void *context, pid_t pid)
{
	const struct analyst *a = context;

	(void)send(a->options->tell_children, &pid, sizeof(pid), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* How the analyst that watched ended, which did not finish. */
static void tell_death(const struct keeper_result *result, int status, pid_t target)
{
	char rest[96] = "the target was left as it was";

	if (result->dormant)
		(void)snprintf(rest, sizeof(rest), "run `memattach cleanup -p %d`", target);
	if (result->analyst_hung)
		log_error("the analyst did not finish in time and was ended; %s", rest);
	else
		log_error("the analyst ended unexpectedly %s; %s", ending_of(status).text, rest);
}

/* Whether the analyst that ended last crashed, which is told: the first one's death is already. */
static bool tell_crash(const struct analyst *a, const struct keeper_result *result, int status)
{
	if (!WIFSIGNALED(status) || (result->analyst_died && !a->restarted))
		return false;
	log_error("%s ended %s", a->restarted ? "the analyst that finishes the detach" :
		  "after the target was left, the analyst", ending_of(status).text);
	return true;
}

static int exit_status_of(const struct analyst *a, const struct keeper_result *result,
			  pid_t target)
{
	bool crashed;
	int last = 0;

	(void)waitpid(a->pid, &last, 0);
	session_list_children(&result->left);
	if (result->analyst_died)
		tell_death(result, a->restarted ? a->first_status : last, target);
	crashed = tell_crash(a, result, last);
	if (result->dormant || children_are_left(&result->left))
		return SESSION_DORMANT;
	return result->analyst_died || crashed ? SESSION_FAILED : result->status;
}

/* The keeper could not go on, and has left as far as it could. */
static int failed_status_of(const struct keeper_result *result, pid_t target, int error)
{
	log_error("process %d: memattach's keeper failed: %s", target, why_of(error).text);
	session_list_children(&result->left);
	if (result->dormant)
		log_error("run `memattach cleanup -p %d` to take the hooks out, which do nothing "
			  "any more", target);
	return result->dormant || children_are_left(&result->left) ? SESSION_DORMANT :
								     SESSION_FAILED;
}

static int run_keeper(struct target *target, const struct session_options *options,
		      const struct program *program, pid_t front)
{
	struct analyst analyst = { .options = options, .target = target };
	struct keeper_options keeper = { .front = front, .alone = options->alone,
					 .unhurried = options->screen &&
						      options->screen_can_wait,
					 .respawn = restart_for_cleanup,
					 .analyst = analyst_now, .end_analyst = end_analyst,
					 .begin_child = begin_child, .end_child = end_child,
					 .tell_child = options->tell_children ? tell_child : NULL,
					 .context = &analyst };
	struct keeper_result result;
	pid_t pid = target->ref.pid;
	struct target own;
	int error = 0;

	if (program) {
		error = tracee_init();
		if (!error)
			error = launch_hold(program->pid, program->gate, target);
		if (error) {
			if (error != -ESRCH)	/* it was not begun: the front says why */
				log_error("the program can't be watched from its start: %s",
					  why_of(error).text);
			return SESSION_FAILED;
		}
	}
	keeper.socket = start_analyst(&analyst, options, &analyst.pid);
	if (options->screen)	/* who holds it there is seen to end here */
		(void)close(options->screen_socket);
	if (keeper.socket < 0) {
		log_error("no process can be made to watch process %d: %s; raise the limit of "
			  "processes (ulimit -u, pids.max)", pid, strerror(-keeper.socket));
		return SESSION_FAILED;
	}
	own = *target;
	error = keeper_run(&own, &keeper, &result);
	cleanup_fd(&keeper.socket);
	return error ? failed_status_of(&result, pid, error) :
		       exit_status_of(&analyst, &result, pid);
}

/*
 * Rejected: a session of its own. Kernels share out processors by session first (autogroup), and
 * with Linux 6.18 one of few processes may get none for half a minute beside one of a hundred
 * that keep waking up.
 */
void front_stand_apart(void)
{
	(void)setpgid(0, 0);
	(void)signal(SIGTTOU, SIG_IGN);		/* it is heard with `stty tostop`, too */
}

/* In a child of parent: the keeper, to the end. */
static _Noreturn void become_keeper(struct target *target, const struct session_options *options,
				    const struct program *program, pid_t parent)
{
	(void)signal(SIGXFSZ, SIG_IGN);		/* a limit of file sizes is an error like others */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(SESSION_FAILED);
	_exit(run_keeper(target, options, program, parent));
}

/* screen: NULL, or what the keeper is not to draw over. */
static pid_t start_keeper(struct target *target, const struct session_options *options,
			  const struct program *program, struct front_screen *screen)
{
	pid_t parent = getpid(), pid;

	pid = fork();
	if (pid != 0)
		return pid;
	front_stand_apart();
	if (screen)
		front_screen_forked(screen);
	become_keeper(target, options, program, parent);
}

/* SIGUSR1 is ours only with --snapshot-on=SIGUSR1. */
static void block_signals(const struct session_options *options, sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGHUP);
	(void)sigaddset(set, SIGCHLD);
	if (options->snapshot_on.signal)
		(void)sigaddset(set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, set, NULL);
}

static int keeper_ended(pid_t target, int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_error(
		"the keeper was killed by signal %d; the hooks record nothing from a second later; "
		"run `memattach cleanup -p %d` to take them out",
		WTERMSIG(status), target);
	return SESSION_DORMANT;
}

/* Passes signals on to the keeper until it ends; its exit status. */
static int attend(pid_t keeper, pid_t target, const sigset_t *set)
{
	int status;

	for (;;) {
		int signal = sigwaitinfo(set, NULL);

		if (signal != SIGCHLD && signal > 0)
			(void)kill(keeper, signal == SIGUSR1 ? SIGUSR1 : SIGTERM);
		if (waitpid(keeper, &status, WNOHANG) == keeper)
			return keeper_ended(target, status);
	}
}

static int run(struct target *target, const struct session_options *options,
	       struct front_screen *screen, const sigset_t *set)
{
	pid_t keeper, pid = target->ref.pid;

	keeper = start_keeper(target, options, NULL, screen);
	target_done(target);
	if (keeper < 0) {
		log_error("no process can be made for memattach's keeper: %s; raise the limit of "
			  "processes (ulimit -u, pids.max)", strerror(errno));
		return SESSION_FAILED;
	}
	return screen ? keeper_ended(pid, front_screen_attend(screen, keeper, set)) :
			attend(keeper, pid, set);
}

static int run_with_screen(struct target *target, const struct session_options *options,
			   const sigset_t *set)
{
	struct session_options with = *options;
	struct front_screen screen;
	int error = front_screen_start(&screen, target->ref.pid, options->color);

	if (error) {
		log_error("can't start the live screen: %s; use --plain", strerror(-error));
		target_done(target);
		return SESSION_FAILED;
	}
	with.screen_socket = screen.feed;
	return run(target, &with, &screen, set);
}

int front_run(struct target *target, const struct session_options *options)
{
	sigset_t set;

	block_signals(options, &set);
	return options->screen ? run_with_screen(target, options, &set) :
				 run(target, options, NULL, &set);
}

void front_become_keeper(pid_t pid, const struct session_options *options, pid_t parent)
{
	struct target target;
	int status = front_open_target(pid, options, &target);
	sigset_t set;

	if (status != SESSION_OK)
		_exit(status);
	front_stand_apart();
	block_signals(options, &set);
	become_keeper(&target, options, NULL, parent);
}

/* The child's side: waits at the gate, then becomes the command. */
static void become(char **command, int gate, int failure)
{
	sigset_t none;
	char byte;
	int error;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(gate, &byte, 1) != 1)
		_exit(127);
	(void)execvp(command[0], command);
	error = errno;
	(void)!write(failure, &error, sizeof(error));
	_exit(127);
}

int program_start(char **command, struct program *ret)
{
	int gate[2], failure[2];

	*ret = PROGRAM_NONE;
	if (pipe2(gate, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) < 0)
		return -errno;
	ret->pid = fork();
	if (ret->pid < 0)
		return -errno;
	if (ret->pid == 0) {
		cleanup_fd(&gate[1]);
		cleanup_fd(&failure[0]);
		become(command, gate[0], failure[1]);
	}
	cleanup_fd(&gate[0]);
	cleanup_fd(&failure[1]);
	ret->gate = gate[1];
	ret->failure = failure[0];
	return 0;
}

int program_watch(struct program *program, const struct session_options *options)
{
	struct target target = TARGET_NONE;
	sigset_t set;
	pid_t keeper;

	block_signals(options, &set);
	keeper = start_keeper(&target, options, program, NULL);
	cleanup_fd(&program->gate);
	if (keeper < 0) {
		log_error("no process can be made for memattach's keeper: %s; raise the limit of "
			  "processes (ulimit -u, pids.max)", strerror(errno));
		return SESSION_FAILED;
	}
	return attend(keeper, program->pid, &set);
}

bool program_failed(struct program *program, char **command)
{
	int why = 0;
	bool failed = read(program->failure, &why, sizeof(why)) == (ssize_t)sizeof(why);

	if (failed)
		log_error("can't run %s: %s; check the name and PATH", command[0], strerror(why));
	cleanup_fd(&program->failure);
	return failed;
}

int front_run_command(char **command, const struct session_options *options)
{
	struct program program;
	int error = program_start(command, &program), result;

	if (error) {
		log_error("can't start %s: %s; raise the limit of processes (ulimit -u, pids.max)",
			  command[0], strerror(-error));
		return SESSION_FAILED;
	}
	result = program_watch(&program, options);
	if (program_failed(&program, command))
		result = SESSION_USAGE;
	(void)waitpid(program.pid, NULL, 0);
	return result;
}
