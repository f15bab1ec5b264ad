/* SPDX-License-Identifier: MIT */
/*
 * session_picture.h - the picture of a leak report in the course of a session.
 *
 * What goes wrong is said, and decides how the session ends.
 */
#ifndef MEMATTACH_SESSION_PICTURE_H
#define MEMATTACH_SESSION_PICTURE_H

#include "src/session/state.h"

/* A dead child stays behind, says error: the target is not as it was. */
void session_picture_is_left(struct session *s, int error);
/* Takes it; watch: what was watched, or NULL. s->leaks.taken says whether there is one. */
void session_picture_take(struct session *s, struct watch *watch);
/*
 * Searches it; s->report then has the leaks, if it was not for nothing. Gives it back, unless it is
 * of use until their blocks were watched.
 */
void session_picture_search(struct session *s);
/* Gives it back, if that was not done before. */
void session_picture_release(struct session *s);

/*
 * A program that is being started runs; if its memory is to be looked at, it is held at its end
 * for that (link.target_ending). 0, -errno.
 */
int session_picture_start(struct session *s) _must_check_;
/* It is let go where it is held at its end, and not held there any more. */
void session_picture_let_end(struct session *s);

#endif
