/* SPDX-License-Identifier: MIT */
/* pauses.h - how long a session sleeps from one drain of the rings to the next. */
#ifndef MEMATTACH_PAUSES_H
#define MEMATTACH_PAUSES_H

#include "src/session/state.h"

/*
 * Nanoseconds, after a drain of so many events at which a ring was so full (0 to 1); pause: the
 * one before it.
 */
uint64_t session_pause(const struct session *s, uint64_t pause, int events, double filled);
/*
 * Sleeps so long, but not beyond the moment due (session_now()). A ring that is half full ends it,
 * and so does a note of the keeper.
 */
void session_wait(struct session *s, uint64_t pause, double due);

#endif
