/* SPDX-License-Identifier: MIT */
/*
 * cmd_attach_daemon.c - memattach attach --daemon -p PID, detach and set: memattachd does it.
 *
 * A session keeps the settings that it was begun with: set ends it, and has another begun.
 */
#include <stdio.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "src/base/log.h"

#define ATTACH_USAGE	"attach --daemon -p PID [--overhead=PCT | --sample=BYTES] [--interval=S]"
#define SET_USAGE	"set -p PID [--overhead=PCT | --sample=BYTES] [--interval=S] [--json]"
#define DETACH_USAGE	"detach -p PID [--json] [--control=SOCKET]"

/* What was said of how; the rest is as the rule or [defaults] have it. */
static json_t *attach_request(const struct cli_options *options)
{
	json_t *request = client_request("attach", options->pid);
	int error = request ? 0 : -1;

	if (!error && options->overhead_given)
		error = json_object_set_new(request, "overhead",
					    json_real(options->session.overhead_percent));
	if (!error && options->session.sample_bytes)
		error = json_object_set_new(request, "sample",
				json_integer((json_int_t)options->session.sample_bytes));
	if (!error && options->interval_given)
		error = json_object_set_new(request, "interval",
					    json_real(options->session.interval));
	if (error) {
		json_decref(request);
		request = NULL;
	}
	return request;
}

static void say_watched(const json_t *answer)
{
	const char *recording = json_string_value(json_object_get(answer, "recording"));
	const char *rule = json_string_value(json_object_get(answer, "rule"));

	printf("%s is watched by memattachd (%s), %s\n", client_process(answer),
	       rule ? rule : "?", recording ? recording : "without a recording");
}

/* pre: options are those of one process. */
static int attach(const struct cli_options *options)
{
	struct control_told told;
	int status = client_ask(options, attach_request(options), CONTROL_WAIT_LONG, &told);

	if (status != SESSION_OK)
		return status;
	if (options->session.json)
		status = client_print_json(told.document);
	else
		say_watched(told.document);
	json_decref(told.document);
	return status == SESSION_OK ? client_written() : status;
}

int cmd_attach_daemon(int argc, char **argv)
{
	static char name[] = "attach --daemon";
	struct cli_options options;
	int status;

	argv[0] = name;
	status = options_parse(argc, argv, &options);
	if (status == SESSION_OK)
		status = client_check_one(&options, name, ATTACH_USAGE);
	return status == SESSION_OK ? attach(&options) : status;
}

static void say_left(pid_t pid, const json_t *answer)
{
	const char *state = json_string_value(json_object_get(answer, "state"));

	if (state && state[0] == 'l')
		printf("%d is left as it was, and not watched again until attach --daemon\n", pid);
	else if (state && state[0] == 'e')
		printf("%d has ended\n", pid);
	else
		printf("%d was not watched; it will not be until attach --daemon\n", pid);
}

int cmd_detach(int argc, char **argv)
{
	struct cli_options options;
	struct control_told told;
	int status = options_parse(argc, argv, &options);

	if (status == SESSION_OK)
		status = client_check_one(&options, "detach", DETACH_USAGE);
	if (status == SESSION_OK)
		status = client_ask(&options, client_request("detach", options.pid),
				    CONTROL_WAIT_LONG, &told);
	if (status != SESSION_OK)
		return status;
	if (options.session.json)
		status = client_print_json(told.document);
	else
		say_left(options.pid, told.document);
	json_decref(told.document);
	return status == SESSION_OK ? client_written() : status;
}

int cmd_set(int argc, char **argv)
{
	struct cli_options options;
	struct control_told told;
	int status = options_parse(argc, argv, &options);

	if (status == SESSION_OK)
		status = client_check_one(&options, "set", SET_USAGE);
	if (status == SESSION_OK && !options.overhead_given && !options.session.sample_bytes &&
	    !options.interval_given) {
		log_error("set what? usage: memattach %s", SET_USAGE);
		status = SESSION_USAGE;
	}
	if (status == SESSION_OK)
		status = client_ask(&options, client_request("detach", options.pid),
				    CONTROL_WAIT_LONG, &told);
	if (status != SESSION_OK)
		return status;
	json_decref(told.document);
	status = attach(&options);
	if (status != SESSION_OK)
		log_error("%d was left, and is not watched any more", options.pid);
	return status;
}
