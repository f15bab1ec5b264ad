/* SPDX-License-Identifier: MIT */
/* model_leaks.h - the answer to a search for leaks, as the live screen keeps it. For model.h. */
#ifndef MEMATTACH_SCREEN_MODEL_LEAKS_H
#define MEMATTACH_SCREEN_MODEL_LEAKS_H

#include <stdbool.h>

#include "src/screen/wire.h"

enum model_group_text { GROUP_TYPE = 0, GROUP_VARIABLE, GROUP_HELD_BY, GROUP_LAST_HELD_BY };
struct model_group {
	struct screen_group figures;
	char *text[SCREEN_GROUP_TEXTS];	/* printable; NULL: not known */
};
struct model_leaks {
	bool searching;
	double since;			/* seconds watched when it was asked for */
	bool unseen;			/* an answer came while something else was shown */
	bool found;			/* there is an answer, be it of an earlier search */
	struct screen_leaks head;
	char *uncovered;		/* "" all is covered; NULL as long as nothing was found */
	struct model_group *group;
	char *problem;			/* why the last search has no answer; NULL: it has */
};

/* Take the messages of these names; both as model_take. */
int model_leaks_found(struct model_leaks *leaks, struct apart_reader *reader) _must_check_;
int model_leaks_none(struct model_leaks *leaks, struct apart_reader *reader) _must_check_;
void model_leaks_done(struct model_leaks *leaks);

#endif
