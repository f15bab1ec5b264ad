/* SPDX-License-Identifier: MIT */
/* sandbox.h - the analyst gives up what it does not need, before it reads anything hostile. */
#ifndef MEMATTACH_SANDBOX_H
#define MEMATTACH_SANDBOX_H

#include "src/base/cleanup.h"

/*
 * Drops every capability, forbids new privileges, and installs a seccomp filter
 * without ptrace, process_vm_*, exec and their like. 0 or -errno; then nothing
 * hostile may be read.
 */
int sandbox_enter(void) _must_check_;
/* The first part of that, for a process with a filter of its own. 0 or -errno. */
int sandbox_drop_capabilities(void) _must_check_;

#endif
