/* SPDX-License-Identifier: MIT */
/*
 * session_picture.h - the picture of a leak report in the course of a session.
 *
 * What goes wrong is said, and decides how the session ends.
 */
#ifndef MEMATTACH_SESSION_PICTURE_H
#define MEMATTACH_SESSION_PICTURE_H

#include "src/session_state.h"

/* Takes it; watch: what was watched, or NULL. s->leaks.taken says whether there is one. */
void session_picture_take(struct session *s, struct watch *watch);
/* Searches it and gives it back; s->report then has the leaks, if it was not for nothing. */
void session_picture_search(struct session *s);

#endif
