/* SPDX-License-Identifier: MIT */
/* front_several.h - the front of several processes: a member for each, one report of all. */
#ifndef MEMATTACH_FRONT_SEVERAL_H
#define MEMATTACH_FRONT_SEVERAL_H

#include "cli/options/options.h"

/*
 * Watches what options->targets say, to the end of all. The exit status is that which asks for
 * most: SESSION_DORMANT, SESSION_FAILED, SESSION_LEAKS of any of them; else SESSION_OK if one was
 * left in good order, SESSION_TARGET_ENDED if one was watched, SESSION_REFUSED. Errors of the
 * report are its own.
 */
int front_several(const struct cli_options *options);
/*
 * Starts options->operands, found by PATH, and watches it from its first allocation, and what
 * descends from it, to the end of all. The exit status, as above.
 */
int front_several_run(const struct cli_options *options);

#endif
