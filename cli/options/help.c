/* SPDX-License-Identifier: MIT */
/*
 * help.c - memattach help [COMMAND], memattach COMMAND --help.
 *
 * `memattach help --table` prints the same for programs, fields with tabs in between:
 * "command NAME OPERANDS TEXT", "option COMMAND NAME LETTER VALUE ARGUMENT CHOICES TEXT", "views",
 * "metrics" and "formats" with their names; "-" stands for nothing.
 */
#include "cli/options/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/options/options_view.h"
#include "src/base/cleanup.h"
#include "src/base/log.h"
#include "src/export/export.h"

#define OPTION_COLUMNS	26
#define HELP_COLUMNS	79

static const struct help_command *find_command(const char *name)
{
	for (const struct help_command *c = help_command_table; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static void put_views(FILE *out)
{
	for (const struct view *view = view_table(); view->name; view++)
		fprintf(out, "%s ", view->name);
	fputs("leaks", out);
}

static void put_metrics(FILE *out)
{
	for (int i = 0; i < VIEW_METRIC_COUNT; i++)
		fprintf(out, "%s%s", i ? " " : "", view_metric_name((enum view_metric)i));
}

static void put_formats(FILE *out)
{
	for (const struct export_format *format = export_table(); format->name; format++)
		fprintf(out, "%s ", format->name);
	fputs("help", out);
}

static void put_choices(FILE *out, const struct help_option *option)
{
	switch (option->value) {
	case HELP_VIEW: put_views(out); break;
	case HELP_METRIC: put_metrics(out); break;
	case HELP_FORMAT: put_formats(out); break;
	default: fputs(option->choices ? option->choices : "-", out);
	}
}

/* --- for people ---------------------------------------------------------------------- */

/* ": malloc, mmap, all", from column on, in as many lines as it takes. */
static void put_choice_words(FILE *out, const struct help_option *option, size_t column)
{
	_cleanup_free_ char *words = NULL;
	char *rest, *word;
	size_t bytes;
	FILE *memory = open_memstream(&words, &bytes);

	if (!memory)
		return;
	put_choices(memory, option);
	if (fclose(memory) != 0)
		return;
	for (rest = words; (word = strsep(&rest, " "));) {
		bool wraps = column + strlen(word) + 3 > HELP_COLUMNS;

		fprintf(out, "%c", word == words ? ':' : ',');
		if (wraps)
			fprintf(out, "\n%*s%s", OPTION_COLUMNS + 4, "", word);
		else
			fprintf(out, " %s", word);
		column = (wraps ? OPTION_COLUMNS + 4 : column + 2) + strlen(word);
	}
}

static void put_option(FILE *out, const struct help_option *option)
{
	bool may = option->value == HELP_MAY_CHOOSE;
	char left[64];

	(void)snprintf(left, sizeof(left), "%c%c%c --%s%s%s%s", option->letter ? '-' : ' ',
		       option->letter ? option->letter : ' ', option->letter ? ',' : ' ',
		       option->name, may ? "[=" : option->argument ? "=" : "",
		       option->argument ? option->argument : "", may ? "]" : "");
	fprintf(out, "  %-*s  %s", OPTION_COLUMNS, left, option->text);
	if (option->value >= HELP_CHOICE)
		put_choice_words(out, option, OPTION_COLUMNS + 4 + strlen(option->text));
	fputc('\n', out);
}

int help_print(const char *name)
{
	const struct help_command *command = find_command(name);

	if (!command) {
		log_error("%s: no such command; see `memattach --help`", name);
		return SESSION_USAGE;
	}
	printf("Usage: memattach %s\n%s\n\nOptions:\n", command->usage, command->text);
	for (const struct help_option *o = help_option_table; o->name; o++)
		if (o->commands & command->bit)
			put_option(stdout, o);
	printf("\nThe manual: man memattach-%s\n", command->name);
	return fflush(stdout) ? SESSION_FAILED : SESSION_OK;
}

/* --- for programs -------------------------------------------------------------------- */

static void put_row(const struct help_command *command, const struct help_option *option)
{
	static const char *const kind[] = {
		[HELP_NONE] = "none", [HELP_TEXT] = "text", [HELP_PID] = "pid",
		[HELP_FILE] = "file", [HELP_FOLDER] = "folder", [HELP_CHOICE] = "choice",
		[HELP_MAY_CHOOSE] = "optional",
		[HELP_LIST] = "list", [HELP_VIEW] = "choice", [HELP_METRIC] = "choice",
		[HELP_FORMAT] = "choice",
	};

	printf("option\t%s\t%s\t%c\t%s\t%s\t", command->name, option->name,
	       option->letter ? option->letter : '-', kind[option->value],
	       option->argument ? option->argument : "-");
	put_choices(stdout, option);
	printf("\t%s\n", option->text);
}

static void put_names(const char *what, void (*put)(FILE *out))
{
	printf("%s\t", what);
	put(stdout);
	putchar('\n');
}

static int print_table(void)
{
	for (const struct help_command *c = help_command_table; c->name; c++)
		printf("command\t%s\t%s\t%s\n", c->name, c->operands[0] ? c->operands : "-",
		       c->text);
	for (const struct help_command *c = help_command_table; c->name; c++)
		for (const struct help_option *o = help_option_table; o->name; o++)
			if (o->commands & c->bit)
				put_row(c, o);
	put_names("views", put_views);
	put_names("metrics", put_metrics);
	put_names("formats", put_formats);
	return fflush(stdout) ? SESSION_FAILED : SESSION_OK;
}

int help_run(int argc, char **argv, const char *about)
{
	if (argc < 2)
		return fputs(about, stdout) < 0 ? SESSION_FAILED : SESSION_OK;
	return strcmp(argv[1], "--table") == 0 ? print_table() : help_print(argv[1]);
}

/* --- COMMAND --help ------------------------------------------------------------------ */

/* Is the next argument the value of this one? */
static bool takes_next(const char *argument)
{
	for (const struct help_option *o = help_option_table; o->name; o++) {
		if (o->value == HELP_NONE || o->value == HELP_MAY_CHOOSE)
			continue;
		if (argument[1] == '-' ? strcmp(argument + 2, o->name) == 0 :
					 o->letter && argument[1] == o->letter && !argument[2])
			return true;
	}
	return false;
}

bool help_is_wanted(const char *name, char **argument)
{
	const struct help_command *command = find_command(name);
	bool others = command && strstr(command->operands, "command");	/* its own options follow */

	if (!command)
		return false;
	for (; *argument && strcmp(*argument, "--") != 0; argument++) {
		if (strcmp(*argument, "--help") == 0 || strcmp(*argument, "-h") == 0)
			return true;
		if ((*argument)[0] != '-' && others)
			return false;
		if ((*argument)[0] == '-' && argument[1] && takes_next(*argument))
			argument++;
	}
	return false;
}
