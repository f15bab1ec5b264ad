/* SPDX-License-Identifier: MIT */
/* sandbox.h - the analyst gives up what it does not need, before it reads anything hostile. */
#ifndef MEMATTACH_SANDBOX_H
#define MEMATTACH_SANDBOX_H

#include "src/base/cleanup.h"

/*
 * Makes the filters once, for all children that enter: libseccomp takes 40 KiB for each and some
 * milliseconds. Without it they are made on entering. 0 or -errno.
 */
int sandbox_prepare(void);
/*
 * Drops every capability, forbids new privileges, and installs a seccomp filter that lists what is
 * allowed. Files can be opened by the opener only: without trapped_begin() (trapped.h), an attempt
 * ends the process. 0 or -errno; then nothing hostile may be read.
 */
int sandbox_enter(void) _must_check_;
/* The same for the opener, who opens files and does little else. 0 or -errno. */
int sandbox_enter_opener(void) _must_check_;
/* Of that what goes without a filter: nor is real-time priority allowed. 0 or -errno. */
int sandbox_drop_capabilities(void) _must_check_;

#endif
