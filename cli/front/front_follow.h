/* SPDX-License-Identifier: MIT */
/*
 * front_follow.h - a process that has just been forked, or has called exec: entered when it is
 * safe.
 */
#ifndef MEMATTACH_FRONT_FOLLOW_H
#define MEMATTACH_FRONT_FOLLOW_H

#include "cli/front/front_member.h"

/*
 * Watches pid as front_run does, once what it copied of its parent's hooks is out of it, it has
 * memory of its own and its program has begun. The exit status; SESSION_TARGET_ENDED also when it
 * ended before.
 */
int follow_watch(pid_t pid, const struct session_options *options,
		 const struct member_orders *orders);

#endif
