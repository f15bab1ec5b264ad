/* SPDX-License-Identifier: MIT */
/* deadline.h - keeps the shim's deadline ahead for as long as the keeper lives. */
#ifndef MEMATTACH_DEADLINE_H
#define MEMATTACH_DEADLINE_H

#include "inject/attach/attachment.h"
#include "src/base/cleanup.h"

struct deadline;
/*
 * Starts it; attachment->control (the whole ring, mapped until deadline_stop) is open for records
 * from now on. Sets attachment->clock. 0, -ENOMEM, -errno.
 */
int deadline_start(struct attachment *attachment) _must_check_;
/* The keeper has got on with its work: without this the deadline is let pass after a while. */
void deadline_alive(struct deadline *deadline);
/* Ends it, the deadline is not moved any more. NULL is ignored. */
void deadline_stop(struct deadline *deadline);

#endif
