/* SPDX-License-Identifier: MIT */
/* daemon_follow.h - events of processes, for those who follow them (memattach watch). */
#ifndef MEMATTACH_CLI_DAEMON_FOLLOW_H
#define MEMATTACH_CLI_DAEMON_FOLLOW_H

#include "src/daemon/control.h"
#include "src/daemon/events.h"
#include "src/daemon/rights.h"
#include "src/several/find.h"

/*
 * To all who may be told of the process (rights.h), which had the rights began when its session
 * began. Nobody is waited for.
 */
void daemon_follow_tell(struct control *control, const struct process_search *search,
			const struct daemon_event *event, const struct rights *began);

#endif
