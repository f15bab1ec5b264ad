/* SPDX-License-Identifier: MIT */
/* screen_sandbox.h - what is left to the live screen when it shows what a target has made. */
#ifndef MEMATTACH_SCREEN_SANDBOX_H
#define MEMATTACH_SCREEN_SANDBOX_H

#include "src/base/cleanup.h"

/*
 * From now on: draw, read keys, speak on sockets that are open, stop itself, end. No file can be
 * opened, no process or memory that runs be made. 0 or -errno.
 */
int screen_sandbox_enter(void) _must_check_;

#endif
