/* SPDX-License-Identifier: MIT */
/* http_sandbox.h - what is left to the process that speaks HTTP with whoever connects. */
#ifndef MEMATTACH_DAEMON_HTTP_SANDBOX_H
#define MEMATTACH_DAEMON_HTTP_SANDBOX_H

#include "src/base/cleanup.h"

/*
 * From now on: take connections of the socket that it has, speak on what is open, end. No file and
 * no socket can be opened, no process or memory that runs be made. 0 or -errno.
 */
int http_sandbox_enter(void) _must_check_;

#endif
