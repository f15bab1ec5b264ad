/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - ncurses opened, read and closed; and a terminal put back without it.
 *
 * A terminal is restored by the screen's process itself, and when that was killed by the process
 * that started it: one of the two is always left. Only a SIGKILL to both leaves it as it is
 * (`reset` helps then, as after any program).
 */
#include "src/screen/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#include "src/screen/keys.h"
#include "src/screen/screen_put.h"

#include <ncurses.h>
#include <term.h>

#define ESCAPE_MS 25

bool terminal_can_show(void)
{
	const char *name = getenv("TERM");
	int error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !name || !name[0] ||
	    tcgetpgrp(STDIN_FILENO) != getpgrp())
		return false;
	if (setupterm(name, STDOUT_FILENO, &error) == ERR)
		return false;
	return cursor_address != NULL && clear_screen != NULL;
}

int terminal_save(struct terminal_saved *ret)
{
	return tcgetattr(STDIN_FILENO, &ret->modes) < 0 ? -errno : 0;
}

/* By a description of its own: O_NONBLOCK on the inherited one would reach the user's shell. */
static void put_now(const char *text)
{
	_cleanup_fd_ int fd = open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && text)
		(void)!write(fd, text, strlen(text));
}

void terminal_restore(const struct terminal_saved *saved)
{
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &saved->modes);
	put_now(exit_attribute_mode);
	put_now(orig_pair);
	put_now(keypad_local);
	put_now(cursor_normal);
	put_now(exit_ca_mode);
}

int terminal_open(bool color)
{
	if (!newterm(NULL, stdout, stdin))
		return -ENOTTY;
	(void)cbreak();
	(void)noecho();
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	view_set_colors(color);
	return 0;
}

void terminal_close(void)
{
	/* without another screen to go back to, what is printed next begins on this line */
	(void)move(LINES - 1, 0);
	(void)clrtoeol();
	(void)refresh();
	(void)curs_set(1);
	(void)endwin();
}

void terminal_suspend(void)
{
	struct winsize size;

	terminal_close();
	(void)kill(getpid(), SIGSTOP);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		(void)resizeterm(size.ws_row, size.ws_col);
	(void)clearok(stdscr, TRUE);
}

void terminal_redraw(void)
{
	(void)clearok(stdscr, TRUE);
}

static uint32_t key_of(wint_t code)
{
	switch (code) {
	case KEY_UP: return SCREEN_KEY_UP;
	case KEY_DOWN: return SCREEN_KEY_DOWN;
	case KEY_PPAGE: return SCREEN_KEY_PAGE_UP;
	case KEY_NPAGE: return SCREEN_KEY_PAGE_DOWN;
	case KEY_HOME: return SCREEN_KEY_HOME;
	case KEY_END: return SCREEN_KEY_END;
	case KEY_BACKSPACE: return SCREEN_KEY_BACKSPACE;
	case KEY_ENTER: return SCREEN_KEY_ENTER;
	case KEY_RESIZE: return SCREEN_KEY_RESIZE;
	default: return SCREEN_KEY_RESIZE;	/* a key of no meaning */
	}
}

uint32_t terminal_key(void)
{
	wint_t code = 0;
	int kind = get_wch(&code);

	if (kind == ERR)
		return SCREEN_KEY_NONE;
	if (kind == KEY_CODE_YES)
		return key_of(code);
	if (code == 0x7f || code == '\b')
		return SCREEN_KEY_BACKSPACE;
	return code == '\r' ? SCREEN_KEY_ENTER : (uint32_t)code;
}
