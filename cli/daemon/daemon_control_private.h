/* SPDX-License-Identifier: MIT */
/* daemon_control_private.h - what the commands of daemon_control*.c share. */
#ifndef MEMATTACH_CLI_DAEMON_CONTROL_PRIVATE_H
#define MEMATTACH_CLI_DAEMON_CONTROL_PRIVATE_H

#include "cli/daemon/daemon_control.h"

/* The same words for a process of somebody else's: not even that it is there is told. */
#define NO_SUCH_PROCESS "there is no such process, or it is not yours; see memattach ps"
#define SESSION_HAS_ENDED "its session has ended; see memattach status"

struct question {
	const struct daemon_state *state;
	const struct control_question *asked;
	const struct control_peer *peer;
	struct emit *to;
	double now;
};
typedef enum control_reply daemon_command(struct question *q);

/* {"error": text, "status": status}: an exit status of ours. CONTROL_ANSWERED. */
enum control_reply daemon_control_refuse(struct question *q, int status, const char *text);
/*
 * The process that the request names, and that the asker may see: and touch, as he could himself.
 * 0: there is none, which was said; in the same words whether it is another's or does not exist.
 */
pid_t daemon_control_pid(struct question *q);
/* The session of pid; of this number. NULL: there is none. */
struct daemon_watch *daemon_control_watch(const struct question *q, pid_t pid);
struct daemon_watch *daemon_control_session(const struct question *q, uint64_t serial);

daemon_command daemon_control_attach, daemon_control_detach;	/* daemon_control_hand.c */
daemon_command daemon_control_snapshot, daemon_control_leaks;	/* daemon_control_ask.c */

#endif
