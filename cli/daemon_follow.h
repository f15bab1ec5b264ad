/* SPDX-License-Identifier: MIT */
/* daemon_follow.h - events of processes, for those who follow them (memattach watch). */
#ifndef MEMATTACH_CLI_DAEMON_FOLLOW_H
#define MEMATTACH_CLI_DAEMON_FOLLOW_H

#include "src/daemon/control.h"
#include "src/daemon/events.h"
#include "src/several/find.h"

/*
 * To all who may see the process: user is its effective user when its session began, for when it
 * has ended. Nobody is waited for.
 */
void daemon_follow_tell(struct control *control, const struct process_search *search,
			const struct daemon_event *event, uid_t user);

#endif
