/* SPDX-License-Identifier: MIT */
/*
 * screen.c - the loop: keys and messages change the model, the model is drawn.
 *
 * A process of its own, for three reasons. A terminal that does not read blocks whoever writes to
 * it: here that is nobody whom the target could have to wait for. What is drawn was made of names
 * that a target chose, and here nothing is left to take. And a screen that is killed,
 * or whose analyst is, leaves somebody who puts the terminal right.
 * It waits for the first message before it touches the terminal, so that a refusal is printed on
 * the screen that the user was looking at.
 */
#include "src/screen/screen.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "src/screen/keys.h"
#include "src/screen/screen_sandbox.h"
#include "src/screen/screen_view.h"
#include "src/screen/terminal.h"

#define MESSAGES_AT_ONCE 64u	/* between two pictures */

struct screen {
	const struct screen_options *options;
	struct model *model;
	struct screen_inbox feed, control;
	struct screen_outbox to_feed, to_control;
	struct screen_want wanted;	/* what was asked for last */
	sigset_t while_waiting;
	bool gone;			/* whom it spoke to, or the terminal */
	bool quit;			/* the user said so */
};

static volatile sig_atomic_t told_to_end, told_to_stop;

static void on_end(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static void on_stop(int signal)
{
	(void)signal;
	told_to_stop = 1;
}

/* Those that end or stop it arrive while it waits, and at no other time. */
static void set_signals(struct screen *screen)
{
	const struct sigaction end = { .sa_handler = on_end };
	const struct sigaction stop = { .sa_handler = on_stop };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	static const int ending[] = { SIGTERM, SIGHUP, SIGQUIT };
	sigset_t blocked;

	(void)sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		(void)sigaction(ending[i], &end, NULL);
		(void)sigaddset(&blocked, ending[i]);
	}
	(void)sigaction(SIGTSTP, &stop, NULL);
	(void)sigaddset(&blocked, SIGTSTP);
	(void)sigaction(SIGINT, &ignore, NULL);	/* whoever started us passes it on */
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigprocmask(SIG_SETMASK, &blocked, NULL);
	(void)sigemptyset(&screen->while_waiting);
}

static bool await_first(struct screen *screen)
{
	struct pollfd from[] = {
		{ .fd = screen->options->feed, .events = POLLIN },
		{ .fd = screen->options->control, .events = POLLIN },
	};
	char byte;

	while (!told_to_end) {
		int ready = ppoll(from, ARRAY_SIZE(from), NULL, &screen->while_waiting);

		if (told_to_stop)
			(void)kill(getpid(), SIGSTOP);
		told_to_stop = 0;
		if (ready <= 0)
			continue;
		return !from[1].revents &&
		       recv(from[0].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
	}
	return false;
}

static void tell_front(struct screen *screen, enum screen_type type)
{
	int error = screen_outbox_begin(&screen->to_control, type);

	error = screen_outbox_end(&screen->to_control, error);
	if (error || screen_send(screen->options->control, &screen->to_control))
		screen->gone = true;
}

/* The analyst ends the session, and we see that. */
static void ask_for_leaks(struct screen *screen)
{
	int error = screen_outbox_begin(&screen->to_feed, SCREEN_LEAKS);

	(void)screen_outbox_end(&screen->to_feed, error);
}

/* The new file goes on to the analyst, who writes it. */
static void pass_file(struct screen *screen, int fd)
{
	int error = screen_outbox_begin(&screen->to_feed, SCREEN_SAVE);

	error = screen_outbox_end(&screen->to_feed, error);
	if (!error)
		error = screen_send_fd(screen->options->feed, &screen->to_feed, fd);
	if (error == -EPIPE)
		screen->gone = true;
	else if (error)
		model_save_failed(screen->model, error);
}

/* The front made it, and takes it away: half a document looks like one. */
static void drop_file(struct screen *screen)
{
	if (screen->model->unsaved)
		tell_front(screen, SCREEN_UNSAVED);
	screen->model->unsaved = false;
}

static void hear_analyst(struct screen *screen)
{
	for (unsigned int i = 0; i < MESSAGES_AT_ONCE && !screen->gone; i++) {
		int error = screen_receive(screen->options->feed, &screen->feed, NULL);

		if (error == 0)
			return;
		if (error == 1)
			error = model_take(screen->model, screen->feed.header.type,
					   screen->feed.bytes, screen->feed.header.bytes);
		screen->gone = error < 0;
	}
}

static void hear_front(struct screen *screen)
{
	_cleanup_fd_ int fd = -1;
	int error = screen_receive(screen->options->control, &screen->control, &fd);

	if (error == 1 && screen->control.header.type != SCREEN_FILE &&
	    screen->control.header.type != SCREEN_NOTE)
		error = -EBADMSG;
	if (error == 1)
		error = model_take(screen->model, screen->control.header.type,
				   screen->control.bytes, screen->control.header.bytes);
	screen->gone |= error < 0;
	if (screen->control.header.type == SCREEN_NOTE)	/* why there is none */
		screen->model->saving = false;
	if (fd >= 0)
		pass_file(screen, fd);
}

static void hear_keys(struct screen *screen)
{
	uint32_t key;

	while (!screen->quit && (key = terminal_key()) != SCREEN_KEY_NONE) {
		enum keys_wish wish = keys_press(screen->model, key);

		screen->quit = wish == KEYS_QUIT;
		if (wish == KEYS_SAVE)
			tell_front(screen, SCREEN_SAVE);
		if (wish == KEYS_LEAKS)
			ask_for_leaks(screen);
		if (wish == KEYS_REDRAW)
			terminal_redraw();
	}
}

static void ask_for_names(struct screen *screen)
{
	struct screen_want want;
	int error;

	model_wants(screen->model, &want);
	if (screen_outbox_waiting(&screen->to_feed) ||
	    memcmp(&want, &screen->wanted, sizeof(want)) == 0)
		return;
	error = screen_outbox_begin(&screen->to_feed, SCREEN_WANT);
	if (!error)
		error = apart_put(&screen->to_feed.bytes, &want, sizeof(want));
	if (screen_outbox_end(&screen->to_feed, error) == 0)
		screen->wanted = want;
}

static void wait_and_hear(struct screen *screen)
{
	struct pollfd from[] = {
		{ .fd = screen->options->feed, .events = POLLIN },
		{ .fd = screen->options->control, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};

	if (screen_outbox_waiting(&screen->to_feed))
		from[0].events |= POLLOUT;
	if (ppoll(from, ARRAY_SIZE(from), NULL, &screen->while_waiting) < 0) {
		hear_keys(screen);	/* its size may have changed: that comes as a key */
		return;
	}
	if (from[0].revents & ~POLLOUT)
		hear_analyst(screen);
	if (from[1].revents)
		hear_front(screen);
	drop_file(screen);
	hear_keys(screen);
	if (from[2].revents & (POLLHUP | POLLERR | POLLNVAL))
		screen->gone = true;
}

static void show(struct screen *screen)
{
	while (!screen->quit && !screen->gone && !told_to_end) {
		if (told_to_stop)
			terminal_suspend();
		told_to_stop = 0;
		model_settle(screen->model);
		view_draw(screen->model);
		ask_for_names(screen);
		if (screen_send(screen->options->feed, &screen->to_feed))
			break;
		wait_and_hear(screen);
	}
}

enum screen_end screen_run(const struct screen_options *options)
{
	struct screen screen = { .options = options };
	enum screen_end end = SCREEN_FAILED;

	set_signals(&screen);
	if (!await_first(&screen))
		return told_to_end ? SCREEN_QUIT : SCREEN_ENDED;
	(void)setlocale(LC_CTYPE, "");	/* numbers stay as they are */
	if (model_new(&screen.model) || terminal_open(options->color))
		goto out;
	if (screen_sandbox_enter() == 0) {
		show(&screen);
		end = screen.quit || told_to_end ? SCREEN_QUIT : SCREEN_ENDED;
	}
	terminal_close();
out:
	model_free(screen.model);
	screen_inbox_done(&screen.feed);
	screen_inbox_done(&screen.control);
	screen_outbox_done(&screen.to_feed);
	screen_outbox_done(&screen.to_control);
	return end;
}
