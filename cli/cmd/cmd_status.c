/* SPDX-License-Identifier: MIT */
/* cmd_status.c - memattach status: what memattachd watches, and how it fares. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "cli/options/options.h"
#include "src/base/log.h"
#include "src/report/human.h"
#include "src/report/printable.h"

#define NAME_COLUMNS	16
#define RULE_COLUMNS	12

/* --- for people ----------------------------------------------------------- */

static double real_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Any bytes, cut after so many columns; fill: blanks up to there. */
static void put_text(const json_t *object, const char *key, int columns, bool fill)
{
	const char *text = json_string_value(json_object_get(object, key));
	char *shown = printable_copy(text ? text : "?", PRINTABLE_TERMINAL);
	int left = columns;

	if (shown) {
		printable_cut(shown, (size_t)columns);
		fputs(shown, stdout);
		left -= (int)printable_columns(shown);
	}
	free(shown);
	printf("%*s ", fill && left > 0 ? left : 0, "");
}

/* A figure, marked if it is an estimate, takes nine columns and one between. */
static void put_marked(const json_t *figures, const char *key, struct human text)
{
	char marked[HUMAN_BYTES + 1];

	(void)snprintf(marked, sizeof(marked), "%s%s", client_mark(figures, key), text.text);
	printf("%9s ", marked);
}

static void put_figures(const json_t *process)
{
	const json_t *figures = json_object_get(process, "figures");
	double growing = real_of(figures, "growing_sites");

	printf("%-10s ", human_seconds(real_of(process, "seconds")).text);
	if (!json_is_object(figures)) {
		fputs("no snapshot yet\n", stdout);
		return;
	}
	put_marked(figures, "live_bytes", human_bytes(real_of(figures, "live_bytes")));
	printf("%9s ", human_bytes(real_of(figures, "rss_bytes")).text);
	put_marked(figures, "allocs_per_second",
		   human_count(real_of(figures, "allocs_per_second")));
	printf("%7s  ", human_count(growing).text);
	if (real_of(figures, "overhead_percent") >= 0)
		printf("%.2g %%", real_of(figures, "overhead_percent"));
	else
		fputs("-", stdout);
	if (json_is_true(json_object_get(figures, "partial")))
		fputs("  not all of its allocators' functions are seen", stdout);
	putchar('\n');
}

/* When what was left in it is taken out, and why that has not been possible so far. */
static void put_cleaning(const json_t *process)
{
	const char *error = json_string_value(json_object_get(process, "error"));
	_cleanup_free_ char *shown = error ? printable_copy(error, PRINTABLE_TERMINAL) : NULL;
	double due_in = real_of(process, "due_in");

	fputs("cleaning, ", stdout);
	if (json_is_null(json_object_get(process, "due_in")))
		fputs("not tried again", stdout);
	else if (due_in > 0)
		printf("tried again in %s", human_seconds(due_in).text);
	else
		fputs("tried now", stdout);
	printf("%s%s\n", shown ? ": " : "", shown ? shown : "");
}

static void put_process(const json_t *process)
{
	const char *state = json_string_value(json_object_get(process, "state"));

	printf("%8.0f ", real_of(process, "pid"));
	put_text(process, "name", NAME_COLUMNS, true);
	put_text(process, "rule", RULE_COLUMNS, true);
	if (state && strcmp(state, "cleaning") == 0)
		put_cleaning(process);
	else if (state && (strcmp(state, "waiting") == 0 || strcmp(state, "refused") == 0))
		printf("%s, %s in %s\n", state, state[0] == 'r' ? "tried again" : "due",
		       human_seconds(real_of(process, "due_in")).text);
	else
		put_figures(process);
}

static void put_status(const json_t *answer)
{
	const json_t *own = json_object_get(answer, "memattachd");
	const json_t *processes = json_object_get(answer, "processes");
	bool all = json_is_true(json_object_get(own, "sees_all"));

	fputs("memattachd ", stdout);
	put_text(own, "version", NAME_COLUMNS, false);
	printf("process %.0f", real_of(own, "pid"));
	if (all)
		printf(", %.0f rules, at most %.0f processes", real_of(own, "rules"),
		       real_of(own, "max_targets"));
	else
		printf(": your own processes");
	putchar('\n');
	if (json_array_size(processes) == 0) {
		puts("no process is watched, or waits to be");
		return;
	}
	printf("%8s %-*s %-*s %-10s %9s %9s %9s %7s  %s\n", "pid", NAME_COLUMNS, "name",
	       RULE_COLUMNS, "rule", "watched", "live", "RSS", "allocs/s", "growing", "cost");
	for (size_t i = 0; i < json_array_size(processes); i++)
		put_process(json_array_get(processes, i));
}

int cmd_status(int argc, char **argv)
{
	struct cli_options options;
	struct control_told told;
	int status = options_parse(argc, argv, &options);

	if (status != SESSION_OK)
		return status;
	if (options.operands[0]) {
		log_error("usage: memattach status [--json] [--control=SOCKET]");
		return SESSION_USAGE;
	}
	status = client_ask(&options, json_pack("{s:s}", "command", "status"),
			    CONTROL_WAIT_SECONDS, &told);
	if (status != SESSION_OK)
		return status;
	if (options.session.json)
		status = client_print_json(told.document);
	else
		put_status(told.document);
	json_decref(told.document);
	return status == SESSION_OK ? client_written() : status;
}
