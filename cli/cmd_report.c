/* SPDX-License-Identifier: MIT */
/*
 * cmd_report.c - memattach report FILE [VIEW]: prints a recording again, or one view of it.
 *
 * The view leaks says what was lost, where memory was searched; else, what looks like a leak by the
 * lifetimes in the recording.
 */
#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/open_recording.h"
#include "cli/options_view.h"
#include "src/base/log.h"
#include "src/recording/suspects.h"

struct request {
	const char *path;
	bool leaks;			/* the view of that name */
	struct cli_options options;	/* with the view, if any */
};

static int usage(void)
{
	log_error("usage: memattach report FILE[@MOMENT] [VIEW] [--json] [--top N]; views: %s, "
		  "leaks", options_view_names());
	return SESSION_USAGE;
}

static int take_view(struct request *request, const char *name)
{
	if (request->options.session.view || request->options.session.leaks_alone)
		return usage();	/* --view has named one */
	request->leaks = strcmp(name, "leaks") == 0;
	request->options.session.view = view_find(name);
	if (request->leaks || request->options.session.view)
		return SESSION_OK;
	log_error("there is no view '%s'; there are %s, leaks", name, options_view_names());
	return SESSION_USAGE;
}

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options *options = &ret->options;
	int status = options_parse_mixed(argc, argv, 0, options);
	char **operand = options->operands;

	if (status == SESSION_OK)
		status = options_check_leaks(options, false);
	if (status != SESSION_OK)
		return status;
	if (!operand[0] || (operand[1] && operand[2]))
		return usage();
	ret->path = operand[0];
	if (operand[1])
		status = take_view(ret, operand[1]);
	ret->leaks |= options->session.leaks && !options->session.view;
	return status == SESSION_OK ? options_check_view(options) : status;
}

/* What the view leaks shows. */
static int find_leaks(struct recording_content *content, const char *path)
{
	int error;

	if (content->leaks)
		return SESSION_OK;
	if (content->snapshot->session.recorded_seconds > 0) {
		log_error("%s: leaks are judged at the end of a recording; leave out the moment",
			  path);
		return SESSION_USAGE;
	}
	if (!content->lives) {
		log_error("%s holds no lifetimes of blocks to find leaks by: it is damaged, "
			  "or was made by an older memattach", path);
		return SESSION_USAGE;
	}
	error = recording_suspects(content, &content->leaks);
	if (error)
		log_error("%s", strerror(-error));
	return error ? SESSION_FAILED : SESSION_OK;
}

static struct report_input input_for(const struct recording_content *content,
				     const struct request *request)
{
	return (struct report_input){
		.snapshot = content->snapshot, .stacks = content->stacks, .names = content->names,
		.options = { .top = request->options.session.top,
			     .color = request->options.session.color },
		.leaks = content->leaks, .threads = content->threads,
	};
}

static int written(int error)
{
	if (fflush(stdout) == 0 && !error)
		return SESSION_OK;
	log_error("can't write the report: %s", strerror(error ? -error : errno));
	return SESSION_FAILED;
}

static int print(const struct recording_content *content, const struct request *request)
{
	const struct report_input input = input_for(content, request);
	const char *name = request->options.session.json ? "json" :
			   request->leaks ? "leaks" : "text";

	return written(report_find(name)->write(stdout, &input));
}

static int print_view(const struct recording_content *content, const struct request *request)
{
	const struct session_options *options = &request->options.session;
	const struct view_input input = {
		.report = input_for(content, request), .lives = content->lives,
		.blocks = content->blocks, .regions = content->regions,
		.heaps = content->heaps, .options = options->view_options,
	};
	const char *missing = view_missing(options->view, &input);

	if (!missing)
		return written(view_write(options->view, stdout, &input, options->json));
	log_error("%s: the view %s can't be shown: %s", request->path, options->view->name,
		  missing);
	return SESSION_USAGE;
}

int cmd_report(int argc, char **argv)
{
	struct request request = { .path = NULL };
	struct recording_content content;
	int status = parse_request(argc, argv, &request);

	if (status == SESSION_OK)
		status = open_recording(request.path, &content);
	if (status != SESSION_OK)
		return status;
	if (request.leaks)
		status = find_leaks(&content, request.path);
	if (status == SESSION_OK)
		status = request.options.session.view ? print_view(&content, &request) :
							print(&content, &request);
	recording_content_done(&content);
	return status;
}
