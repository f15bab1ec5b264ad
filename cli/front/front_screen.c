/* SPDX-License-Identifier: MIT */
/*
 * front_screen.c - see front_screen.h.
 *
 * Who ends whom: a key in the screen or a signal here asks the keeper to detach; the analyst, done
 * with watching, closes its end, and the screen leaves the terminal before the report is
 * printed. A screen that hangs in a write to a stopped terminal is killed after a second, and the
 * terminal put right from here. Diagnostics of keeper and analyst wait in a file in memory until
 * the screen is gone: a pipe could fill up and stop them.
 */
#include "cli/front/front_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "src/base/memfd.h"
#include "src/screen/screen.h"

#define PATIENCE_SECONDS 1.0
#define TICK_MS		100
#define MAX_FILES	10000

bool front_screen_is_possible(void)
{
	return terminal_can_show();
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- start ---- */

static _Noreturn void become_screen(pid_t front, int feed, int control, bool color)
{
	const struct screen_options options = { .feed = feed, .control = control, .color = color };
	int keep[] = { feed, control };

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != front)
		_exit(SCREEN_ENDED);
	close_others(keep, ARRAY_SIZE(keep));
	_exit((int)screen_run(&options));
}

/* Where diagnostics wait; -1: they may go where they go, which is no terminal. */
static int keep_messages(void)
{
	int fd;

	if (!isatty(STDERR_FILENO))
		return -1;
	fd = memfd_new("memattach-messages");
	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

static int pair_of_sockets(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int front_screen_start(struct front_screen *screen, pid_t target, bool color)
{
	_cleanup_fd_ int feed = -1, control = -1;
	int pair[2];
	pid_t front = getpid();
	int error;

	*screen = (struct front_screen){ .target = target, .feed = -1, .control = -1,
					 .messages = -1 };
	error = terminal_save(&screen->saved);
	if (error || (error = pair_of_sockets(pair)))
		return error;
	screen->feed = pair[0];
	feed = pair[1];
	error = pair_of_sockets(pair);
	if (error)
		return error;
	screen->control = pair[0];
	control = pair[1];
	screen->messages = keep_messages();
	screen->pid = fork();
	if (screen->pid < 0)
		return -errno;
	if (screen->pid == 0)
		become_screen(front, feed, control, color);
	return 0;
}

void front_screen_forked(struct front_screen *screen)
{
	cleanup_fd(&screen->control);
	if (screen->messages >= 0)
		(void)dup2(screen->messages, STDERR_FILENO);
	cleanup_fd(&screen->messages);
}

/* ---- files ---- */

/* memattach-PID-1.json, or the next number that is free: nothing is ever overwritten. */
static int open_file(struct front_screen *screen)
{
	int fd = -1;

	for (int i = 1; i < MAX_FILES; i++) {
		(void)snprintf(screen->file, sizeof(screen->file), "memattach-%d-%d.json",
			       screen->target, i);
		fd = open(screen->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd < 0 || fstat(fd, &screen->file_status) < 0 ? -errno : fd;
}

/* Nothing but what was made here, and was not finished. */
static void remove_file(struct front_screen *screen)
{
	const struct stat *made = &screen->file_status;
	struct stat now_there;

	if (screen->file[0] && lstat(screen->file, &now_there) == 0 &&
	    now_there.st_dev == made->st_dev && now_there.st_ino == made->st_ino)
		(void)unlink(screen->file);
	screen->file[0] = '\0';
}

static int put_answer(struct screen_outbox *out, enum screen_type type, const char *text)
{
	int error = screen_outbox_begin(out, type);

	if (!error)
		error = apart_put_text(&out->bytes, text);
	return screen_outbox_end(out, error);
}

static void give_file(struct front_screen *screen)
{
	struct screen_outbox out = { .sent = 0 };
	char text[200];
	_cleanup_fd_ int fd = open_file(screen);

	if (fd >= 0) {
		if (put_answer(&out, SCREEN_FILE, screen->file) == 0)
			(void)!screen_send_fd(screen->control, &out, fd);
	} else {
		(void)snprintf(text, sizeof(text), "can't make %s here: %s", screen->file,
			       strerror(-fd));
		fd = -1;
		screen->file[0] = '\0';
		if (put_answer(&out, SCREEN_NOTE, text) == 0)
			(void)!screen_send(screen->control, &out);
	}
	screen_outbox_done(&out);
}

static void hear_screen(struct front_screen *screen)
{
	int result = screen_receive(screen->control, &screen->inbox, NULL);

	if (result == 1 && screen->inbox.header.type == SCREEN_SAVE)
		give_file(screen);
	else if (result == 1 && screen->inbox.header.type == SCREEN_UNSAVED)
		remove_file(screen);
	else if (result != 0)
		cleanup_fd(&screen->control);
}

/* ---- ends ---- */

static void tell_to_end(struct front_screen *screen)
{
	if (!screen->pid || screen->kill_at > 0)
		return;
	(void)kill(screen->pid, SIGTERM);
	screen->kill_at = now() + PATIENCE_SECONDS;
}

static void kill_if_late(struct front_screen *screen)
{
	if (screen->pid && screen->kill_at > 0 && now() >= screen->kill_at)
		(void)kill(screen->pid, SIGKILL);
}

/* True: it ended without having been asked to, so that the session is to end. */
static bool note_end(struct front_screen *screen, int status)
{
	screen->pid = 0;
	cleanup_fd(&screen->control);
	if (WIFSIGNALED(status))
		terminal_restore(&screen->saved);
	return screen->kill_at == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == SCREEN_ENDED);
}

/* ^Z: the shell gets the terminal back once the screen has left it, which is when we stop. */
static bool note_change(struct front_screen *screen, int status)
{
	if (!WIFSTOPPED(status))
		return note_end(screen, status);
	(void)kill(getpid(), SIGSTOP);
	return false;
}

static void show_messages(struct front_screen *screen)
{
	char text[4096];
	ssize_t n;

	while (!screen->pid && screen->messages >= 0 &&
	       (n = pread(screen->messages, text, sizeof(text), screen->shown)) > 0) {
		(void)!write(STDERR_FILENO, text, (size_t)n);
		screen->shown += n;
	}
}

static void await_end(struct front_screen *screen)
{
	struct timespec pause = { .tv_nsec = 5000000 };
	int status;

	tell_to_end(screen);
	while (screen->pid) {
		if (waitpid(screen->pid, &status, WNOHANG) == screen->pid)
			(void)note_end(screen, status);
		else
			(void)nanosleep(&pause, NULL);
		kill_if_late(screen);
	}
}

/* ---- the whole ---- */

static void pass_signal(struct front_screen *screen, int signals, pid_t keeper)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info) ||
	    info.ssi_signo == SIGCHLD)
		return;
	if (info.ssi_signo == SIGTSTP) {
		(void)kill(screen->pid ? screen->pid : getpid(), screen->pid ? SIGTSTP : SIGSTOP);
		return;
	}
	if (info.ssi_signo == SIGUSR1) {	/* a snapshot (--snapshot-on) */
		(void)kill(keeper, SIGUSR1);
		return;
	}
	(void)kill(keeper, SIGTERM);
	tell_to_end(screen);
}

static void attend_once(struct front_screen *screen, int signals, pid_t keeper)
{
	struct pollfd from[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = screen->control, .events = POLLIN },
	};
	int status;

	(void)poll(from, ARRAY_SIZE(from), TICK_MS);
	if (from[0].revents)
		pass_signal(screen, signals, keeper);
	if (from[1].revents)
		hear_screen(screen);
	if (screen->pid && waitpid(screen->pid, &status, WNOHANG | WUNTRACED) == screen->pid &&
	    note_change(screen, status))
		(void)kill(keeper, SIGTERM);
	kill_if_late(screen);
	show_messages(screen);
}

int front_screen_attend(struct front_screen *screen, pid_t keeper, const sigset_t *set)
{
	_cleanup_fd_ int signals = -1;
	sigset_t all = *set;
	int status = 0;

	(void)sigaddset(&all, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	cleanup_fd(&screen->feed);
	do
		attend_once(screen, signals, keeper);
	while (waitpid(keeper, &status, WNOHANG) != keeper);
	await_end(screen);
	show_messages(screen);
	cleanup_fd(&screen->messages);
	screen_inbox_done(&screen->inbox);
	return status;
}
