/* SPDX-License-Identifier: MIT */
/*
 * options_taken.c - which command takes an option: those whose help lists it (help_table.c).
 *
 * All commands share one parser; without this, an option would be taken in silence by a command
 * that never looks at it, and its user would believe that it had an effect.
 */
#include "cli/options/options.h"

#include <string.h>

#include "cli/options/help.h"
#include "src/base/log.h"

#define NAMES_BYTES 200u

/*
 * What memattachd is told to do takes the options that the command which is like it takes; those of
 * the same name, done here, take others.
 */
static uint32_t bit_of(const char *command)
{
	if (strcmp(command, "attach --daemon") == 0)
		return HELP_ATTACH_BY_DAEMON;
	if (strcmp(command, "leaks --daemon") == 0)
		return HELP_LEAKS_BY_DAEMON;
	for (const struct help_command *c = help_command_table; c->name; c++)
		if (strcmp(c->name, command) == 0)
			return c->bit;
	return 0;
}

static const struct help_option *row_of(const char *option)
{
	for (const struct help_option *o = help_option_table; o->name; o++)
		if (strcmp(o->name, option) == 0)
			return o;
	return NULL;
}

static uint32_t count_bits(uint32_t bits)
{
	uint32_t count = 0;

	for (; bits; bits &= bits - 1)
		count++;
	return count;
}

/* "attach, run and leaks" */
static void put_commands(uint32_t bits, char names[NAMES_BYTES])
{
	uint32_t left = count_bits(bits);
	size_t length = 0;

	names[0] = '\0';
	for (const struct help_command *c = help_command_table; c->name; c++) {
		if (!(c->bit & bits))
			continue;
		left--;
		length += (size_t)snprintf(names + length, NAMES_BYTES - length, "%s%s", c->name,
					   left > 1 ? ", " : left == 1 ? " and " : "");
	}
}

int options_check_taken(const char *command, const char *option)
{
	const struct help_option *row = row_of(option);
	char letter[8] = "", names[NAMES_BYTES];

	if (!row || row->commands & bit_of(command))
		return SESSION_OK;
	if (row->letter)
		(void)snprintf(letter, sizeof(letter), " (-%c)", row->letter);
	put_commands(row->commands & HELP_ALL_COMMANDS, names);
	log_error("`memattach %s` takes no --%s%s: that is for %s; see `memattach help %s`",
		  command, option, letter, names, command);
	return SESSION_USAGE;
}
