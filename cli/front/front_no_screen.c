/* SPDX-License-Identifier: MIT */
/* front_no_screen.c - a build without ncurses: the plain lines are all there is. */
#include "cli/front/front_screen.h"

#include <errno.h>

bool front_screen_is_possible(void)
{
	return false;
}

int front_screen_start(struct front_screen *screen, pid_t target, bool color)
{
	(void)screen;
	(void)target;
	(void)color;
	return -ENOSYS;
}

void front_screen_forked(struct front_screen *screen)
{
	(void)screen;
}

int front_screen_attend(struct front_screen *screen, pid_t keeper, const sigset_t *set)
{
	(void)screen;
	(void)keeper;
	(void)set;
	return -ENOSYS;
}
