/* SPDX-License-Identifier: MIT */
/*
 * cmd_report.c - memattach report FILE [VIEW]: prints a recording again.
 *
 * The view leaks says what was lost, where memory was searched; else, what looks like a leak by the
 * lifetimes in the recording. Options may stand behind the file, as people type them.
 */
#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "src/base/log.h"
#include "src/recording_suspects.h"

struct request {
	const char *path, *view;	/* view: NULL, all of it */
	bool json;
	struct report_options options;
};

static int usage(void)
{
	log_error("usage: memattach report FILE [leaks] [--json] [--top N]");
	return SESSION_USAGE;
}

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options options;
	bool leaks = false;

	/* Each round reads the options in front of one operand. */
	for (;;) {
		int status = options_parse(argc, argv, &options);

		if (status == SESSION_OK)
			status = options_check_leaks(&options, false);
		if (status != SESSION_OK)
			return status;
		ret->json |= options.session.json;
		leaks |= options.session.leaks;
		ret->options.color = options.session.color;
		if (options.session.top)
			ret->options.top = options.session.top;
		if (!options.operands[0])
			break;
		if (ret->view)	/* one is enough */
			return usage();
		*(ret->path ? &ret->view : &ret->path) = options.operands[0];
		argc -= (int)(options.operands - argv);
		argv = options.operands;
	}
	if (leaks && !ret->view)
		ret->view = "leaks";
	if (!ret->path || (ret->view && strcmp(ret->view, "leaks") != 0))
		return usage();
	return SESSION_OK;
}

static int explain(const char *path, int error)
{
	char text[512];

	recording_explain(path, error, text, sizeof(text));
	log_error("%s", text);
	return SESSION_USAGE;
}

/* What the view leaks shows. */
static int find_leaks(struct recording_content *content, const char *path)
{
	int error;

	if (content->leaks)
		return SESSION_OK;
	if (!content->lives) {
		log_error("%s holds no lifetimes of blocks to find leaks by: it was made by an "
			  "older memattach", path);
		return SESSION_USAGE;
	}
	error = recording_suspects(content, &content->leaks);
	if (error)
		log_error("%s", strerror(-error));
	return error ? SESSION_FAILED : SESSION_OK;
}

static int print(const struct recording_content *content, const struct request *request)
{
	const struct report_input input = {
		.snapshot = content->snapshot, .stacks = content->stacks, .names = content->names,
		.options = request->options, .leaks = content->leaks,
	};
	const char *name = request->json ? "json" : request->view ? request->view : "text";
	int error = report_find(name)->write(stdout, &input);

	if (fflush(stdout) == 0 && !error)
		return SESSION_OK;
	log_error("can't write the report: %s", strerror(error ? -error : errno));
	return SESSION_FAILED;
}

int cmd_report(int argc, char **argv)
{
	struct request request = { .path = NULL };
	struct recording_content content;
	int status = parse_request(argc, argv, &request), error;

	if (status != SESSION_OK)
		return status;
	error = recording_read(request.path, &content);
	if (error)
		return explain(request.path, error);
	if (request.view)
		status = find_leaks(&content, request.path);
	if (status == SESSION_OK)
		status = print(&content, &request);
	recording_content_done(&content);
	return status;
}
