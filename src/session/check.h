/* SPDX-License-Identifier: MIT */
/*
 * check.h - a search for leaks while a session goes on, as often as the user of the live screen
 * likes. Nothing of it is left in the target, whichever way it ends.
 */
#ifndef MEMATTACH_SESSION_CHECK_H
#define MEMATTACH_SESSION_CHECK_H

#include "src/session/session_leaks.h"

struct session;
struct session_check {
	struct session_leaks leaks;	/* the picture that is being searched */
	struct apart *search;		/* by whom; NULL: nobody */
	unsigned int tries, late;	/* pictures that were torn, or came before their records */
	double next;			/* CLOCK_MONOTONIC: another is taken then; 0: none */
};

/* Between two drains of the rings: begins one that is asked for, hands on what was found. */
void session_check_turn(struct session *session);
/* Ends one that is under way: nobody wants to know any more. */
void session_check_end(struct session *session);

#endif
