/* SPDX-License-Identifier: MIT */
/*
 * help.h - what commands there are, and which options each takes: for `memattach help`, and, by
 * `memattach help --table`, for completions, man pages and their tests.
 */
#ifndef MEMATTACH_HELP_H
#define MEMATTACH_HELP_H

#include <stdbool.h>
#include <stdint.h>

/* What can stand behind an option's "=". */
enum help_value {
	HELP_NONE,	/* nothing */
	HELP_TEXT,	/* what nobody can guess: a number, a name */
	HELP_PID,
	HELP_FILE,
	HELP_FOLDER,
	HELP_CHOICE,	/* one of help_option.choices */
	HELP_MAY_CHOOSE,	/* the same, or nothing, not even "=" */
	HELP_LIST,	/* some of them, with commas in between */
	HELP_VIEW, HELP_METRIC, HELP_FORMAT,	/* a choice, by the tables of views, ... */
};

/* Bits of help_option.commands, in the order of the table of commands. */
enum {
	HELP_ATTACH = 1u << 0, HELP_RUN = 1u << 1, HELP_TRACE = 1u << 2, HELP_LEAKS = 1u << 3,
	HELP_CHECK = 1u << 4, HELP_CLEANUP = 1u << 5, HELP_REPORT = 1u << 6, HELP_DIFF = 1u << 7,
	HELP_EXPORT = 1u << 8, HELP_SYMBOLIZE = 1u << 9, HELP_STATUS = 1u << 10,
	HELP_PS = 1u << 11, HELP_DETACH = 1u << 12, HELP_SNAPSHOT = 1u << 13,
	HELP_WATCH = 1u << 14, HELP_TOP = 1u << 15, HELP_SET = 1u << 16,
	HELP_ALL_COMMANDS = (1u << 17) - 1,
	/* No commands of their own: attach --daemon, leaks --daemon. */
	HELP_ATTACH_BY_DAEMON = 1u << 28, HELP_LEAKS_BY_DAEMON = 1u << 29,
};

struct help_command {
	const char *name;
	uint32_t bit;
	const char *usage;	/* behind "memattach " */
	const char *text;	/* a line */
	/* What stands behind the options: "command", "recording", "recordings", "" nothing. */
	const char *operands;
};

struct help_option {
	const char *name;	/* without its dashes */
	char letter;		/* 0: none */
	enum help_value value;
	const char *argument;	/* what the value is called; NULL with HELP_NONE */
	const char *choices;	/* with spaces in between; NULL: none, or a table's */
	uint32_t commands;	/* that take it */
	const char *text;	/* a line */
};

/* Both end with a NULL name. */
extern const struct help_command help_command_table[];
extern const struct help_option help_option_table[];

/* memattach help [COMMAND | --table]; about: what is printed without a COMMAND. Exit status. */
int help_run(int argc, char **argv, const char *about);
/* Is --help or -h among the options of that command? argument: NULL-terminated. */
bool help_is_wanted(const char *command, char **argument);
/* Prints usage and options of a command. Exit status. */
int help_print(const char *command);

#endif
