/* SPDX-License-Identifier: MIT */
/* cmd_watch.c - memattach watch: events of memattachd as they happen. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "src/base/log.h"
#include "src/report/printable.h"

static void put_time(const json_t *event)
{
	time_t when = (time_t)json_number_value(json_object_get(event, "time"));
	char text[32] = "?";
	struct tm tm;

	if (localtime_r(&when, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	printf("%s ", text);
}

static void put_event(const json_t *event, const char *kind)
{
	const char *said = json_string_value(json_object_get(event, "text"));
	char *text = printable_copy(said ? said : "", PRINTABLE_TERMINAL);
	char *shown = printable_copy(kind, PRINTABLE_TERMINAL);

	if (strcmp(kind, "missed") == 0) {
		printf("%lld events were missed: they came faster than they were read\n",
		       (long long)json_integer_value(json_object_get(event, "count")));
	} else {
		put_time(event);
		printf("%-8s %s: %s\n", shown ? shown : "?", client_process(event),
		       text ? text : "");
	}
	free(shown);
	free(text);
}

/* The first one is how things are. */
static int hear(void *context, const json_t *document)
{
	const struct cli_options *options = context;
	const char *kind = json_string_value(json_object_get(document, "event"));

	if (options->session.json) {
		(void)json_dumpf(document, stdout,
				 JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
		putchar('\n');
	} else if (kind) {
		put_event(document, kind);
	}
	return client_written();
}

int cmd_watch(int argc, char **argv)
{
	struct cli_options options;
	char words[256] = "";
	json_t *request;
	int status = options_parse(argc, argv, &options), result;

	if (status != SESSION_OK)
		return status;
	if (options.operands[0]) {
		log_error("usage: memattach watch [--json] [--control=SOCKET]");
		return SESSION_USAGE;
	}
	request = json_pack("{s:s}", "command", "watch");
	if (!request)
		return SESSION_FAILED;
	result = control_follow(options.control ? options.control : CONTROL_PATH, request, hear,
				&options, words);
	json_decref(request);
	if (result < 0)
		return client_refused(&options, result, SESSION_REFUSED, words);
	if (result == 0)
		log_notice("memattachd has ended, or we were too slow for it");
	return result;
}
