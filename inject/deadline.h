/* SPDX-License-Identifier: MIT */
/* deadline.h - keeps the shim's deadline ahead for as long as the keeper lives. */
#ifndef MEMATTACH_DEADLINE_H
#define MEMATTACH_DEADLINE_H

#include "inject/ring_abi.h"
#include "src/base/cleanup.h"

struct deadline;
/*
 * Starts it; control (borrowed, the whole ring, mapped until deadline_stop) is open for records
 * from now on. 0, -ENOMEM, -errno.
 */
int deadline_start(struct ring_control *control, struct deadline **ret) _must_check_;
/* The keeper has got on with its work: without this the deadline is let pass after a while. */
void deadline_alive(struct deadline *deadline);
/* Ends it, the deadline is not moved any more. NULL is ignored. */
void deadline_stop(struct deadline *deadline);

#endif
