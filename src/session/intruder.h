/* SPDX-License-Identifier: MIT */
/* intruder.h - the place at which a test takes over the analyst. */
#ifndef MEMATTACH_SESSION_INTRUDER_H
#define MEMATTACH_SESSION_INTRUDER_H

/*
 * Called when the session has begun to watch. Does nothing; a program of the tests has a function
 * of this name that does what somebody might who has taken the analyst over.
 */
void intruder_begin(void);

#endif
