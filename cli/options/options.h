/* SPDX-License-Identifier: MIT */
/* options.h - the command line of every command, parsed into one struct. */
#ifndef MEMATTACH_OPTIONS_H
#define MEMATTACH_OPTIONS_H

#include <sys/types.h>

#include "src/session/session.h"

#define CLI_MAX_SEARCH 16u
#define CLI_MAX_TARGETS 1024u	/* of each kind; and of processes at the most */
#define CLI_DEFAULT_PROCESSES 64u

/* Which processes to watch. */
struct cli_targets {
	pid_t pid[CLI_MAX_TARGETS];		/* -p */
	size_t pids;
	const char *name[CLI_MAX_TARGETS];	/* --name */
	size_t names;
	const char *unit[CLI_MAX_TARGETS];	/* --unit */
	size_t units;
	uint32_t max;				/* --max-processes; 0: not given */
	bool follow;				/* --follow */
};

struct cli_options {
	bool mixed;		/* options may stand behind operands */
	struct session_options session;
	const char *search[CLI_MAX_SEARCH];	/* --search */
	size_t searches;
	struct cli_targets targets;
	pid_t pid;		/* the first -p, 0: not given */
	bool may_have_screen;	/* a terminal's user did not ask for anything else */
	bool view_shaped;	/* options of a view were given */
	bool track_given;	/* --track */
	bool overflow_given;	/* --on-overflow */
	const char *export_to;	/* --to, NULL: not given */
	bool overhead_given, interval_given;	/* --overhead, --interval */
	bool by_daemon;		/* --daemon: memattachd is to do it */
	const char *control;	/* --control, NULL: not given */
	char **operands;	/* what is left: a command, a file, a view; NULL-terminated */
};

/*
 * Parses argv[1..] of the command argv[0]. On bad usage, which an option is that the command does
 * not take, prints one line on stderr and returns SESSION_USAGE; else SESSION_OK.
 */
int options_parse(int argc, char **argv, struct cli_options *ret) _must_check_;
/* The same for `memattach trace`: a log of calls, exact. */
int options_parse_trace(int argc, char **argv, struct cli_options *ret) _must_check_;

/*
 * The same for a command about files: options may stand behind its operands, as people type them,
 * and ret->operands has all of those. argv is sorted for it.
 */
int options_parse_mixed(int argc, char **argv, struct cli_options *ret) _must_check_;

/*
 * An option (its long name) that the help of command does not list is refused with one line on
 * stderr, which names the commands that take it: SESSION_USAGE; else SESSION_OK.
 */
int options_check_taken(const char *command, const char *option) _must_check_;

/* Says that value of option is not what is wanted: SESSION_USAGE. */
int options_bad(const char *option, const char *value, const char *wanted);

/*
 * --show-bytes, --access or --history without a leak report (leaks: the command makes one; the
 * last, one with a watch) is refused with one line on stderr: SESSION_USAGE; else SESSION_OK.
 */
int options_check_leaks(const struct cli_options *options, bool leaks) _must_check_;

/* What --counts does not go with is refused with one line: SESSION_USAGE; else SESSION_OK. */
int options_check_counts(const struct cli_options *options) _must_check_;
/* Adds a function of the program's own that option names (options_custom.c). */
int options_add_custom(struct cli_options *options, const char *option, enum ring_shape shape,
		       const char *value) _must_check_;
/* What these don't go with; says so. */
int options_check_custom(const struct session_options *options) _must_check_;

/* More than one -p, or what can find several: --name, --unit, --follow. */
bool options_are_several(const struct cli_options *options);
/*
 * For commands of one process: more than one -p is refused with one line on stderr, which names
 * the command: SESSION_USAGE; else SESSION_OK.
 */
int options_check_one(const struct cli_options *options, const char *command) _must_check_;
/* What can't be had of several processes is refused: as above. pre: they are several. */
int options_check_several(const struct cli_options *options) _must_check_;
/* The same but for whom: a command that is started. */
int options_check_following(const struct cli_options *options) _must_check_;

#endif
