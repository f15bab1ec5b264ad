/* SPDX-License-Identifier: MIT */
/* control_ask.h - the other side of control.h: who asks memattachd. */
#ifndef MEMATTACH_DAEMON_CONTROL_ASK_H
#define MEMATTACH_DAEMON_CONTROL_ASK_H

#include <jansson.h>

#include "src/base/cleanup.h"

#define CONTROL_PATH		"/run/memattach/control"
#define CONTROL_WAIT_SECONDS	20
#define CONTROL_ANSWER_BYTES	(64u << 20)

/*
 * Sends {"memattach": 1, "command": command} to the socket at path and waits for the answer.
 * *ret is an object, the caller's; or with -EREMOTEIO memattachd's own words are in error.
 * 0; -ETIMEDOUT; -EBADMSG no answer that can be understood; -ENOENT, -ECONNREFUSED nobody is there;
 * -errno.
 */
int control_ask(const char *path, const char *command, json_t **ret, char error[256])
	_must_check_;

#endif
