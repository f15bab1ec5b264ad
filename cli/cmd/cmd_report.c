/* SPDX-License-Identifier: MIT */
/*
 * cmd_report.c - memattach report FILE... [VIEW]: prints a recording again, or one view of it; of
 * several processes' recordings, the combined report.
 *
 * The view leaks says what was lost, where memory was searched; else, what looks like a leak by the
 * lifetimes in the recording.
 */
#include <errno.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/open_recording.h"
#include "cli/front/several_report.h"
#include "cli/options/options_view.h"
#include "src/base/file_reader.h"
#include "src/base/log.h"
#include "src/base/why.h"

struct request {
	char **path;			/* operands */
	size_t paths;
	bool leaks;			/* the view of that name */
	struct cli_options options;	/* with the view, if any */
};

static int usage(void)
{
	log_error("usage: memattach report FILE[@MOMENT]... [VIEW] [--json] [--top N]; views: %s, "
		  "leaks", options_view_names());
	return SESSION_USAGE;
}

/* Neither a view nor a file, and nothing like a moment of one. */
static bool is_misspelt(const char *operand)
{
	return access(operand, F_OK) < 0 && !strpbrk(operand, "/.@");
}

/* The last operand, behind a file: a view's name is the view's, also where a file has it. */
static int take_view(struct request *request, const char *name)
{
	const struct view *view = view_find(name);

	request->leaks = strcmp(name, "leaks") == 0;
	if (!request->leaks && !view) {
		if (!is_misspelt(name))
			return SESSION_OK;	/* one more file */
		log_error("there is no view '%s', and no file of that name; there are %s, leaks",
			  name, options_view_names());
		return SESSION_USAGE;
	}
	if (request->options.session.view || request->options.session.leaks_alone)
		return usage();	/* --view has named one */
	request->options.session.view = view;
	request->paths--;
	return SESSION_OK;
}

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options *options = &ret->options;
	int status = options_parse_mixed(argc, argv, options);

	if (status != SESSION_OK)
		return status;
	ret->path = options->operands;
	while (ret->path[ret->paths])
		ret->paths++;
	if (!ret->paths)
		return usage();
	if (ret->paths > 1)
		status = take_view(ret, ret->path[ret->paths - 1]);
	ret->leaks |= options->session.leaks && !options->session.view;
	return status == SESSION_OK ? options_check_view(options) : status;
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
	log_error("can't write the report to the standard output: %s",
		  why_file(error ? error : -errno).text);
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
	struct file_reader reader;
	const struct view_input input = {
		.reader = &reader, .report = input_for(content, request), .lives = content->lives,
		.blocks = content->blocks, .regions = content->regions,
		.heaps = content->heaps, .options = options->view_options,
	};
	const char *missing = view_missing(options->view, &input);

	file_reader_of_recording(content->path, content->snapshot->target.owner, &reader);
	if (!missing)
		return written(view_write(options->view, stdout, &input, options->json));
	log_error("%s: the view %s can't be shown: %s", request->path[0], options->view->name,
		  missing);
	return SESSION_USAGE;
}

static int report_one(const struct request *request)
{
	_cleanup_(name_shaper_cleanup) struct name_shaper *shaper = NULL;
	struct recording_content content;
	int status = open_recording(request->path[0], &content);

	if (status != SESSION_OK)
		return status;
	if (request->leaks)
		status = open_recording_leaks(request->path[0], &content);
	if (status == SESSION_OK)
		status = open_recording_names(&content, &request->options.session.names, &shaper);
	if (status == SESSION_OK)
		status = request->options.session.view ? print_view(&content, request) :
							 print(&content, request);
	recording_content_done(&content);
	return status;
}

/* To be ended by recording_content_done, whatever it returns. */
static int open_one(const struct request *request, size_t i, struct recording_content *ret)
{
	int status = open_recording(request->path[i], ret);

	if (status != SESSION_OK)
		*ret = (struct recording_content){ .snapshot = NULL };
	else if (request->leaks)
		status = open_recording_leaks(request->path[i], ret);
	else
		status = open_recording_blocks(request->path[i], ret, "a combined report");
	return status;
}

/* All of them at once: names and sites are those of the recordings. */
static int report_all(const struct request *request)
{
	size_t count = request->paths, open = 0;
	struct recording_content *content = calloc(count, sizeof(*content));
	struct several_input *input = calloc(count, sizeof(*input));
	struct session_options options = request->options.session;
	int status = content && input ? SESSION_OK : SESSION_FAILED;

	while (status == SESSION_OK && open < count) {
		status = open_one(request, open, &content[open]);
		input[open].content = &content[open];
		open++;
	}
	options.leaks_alone = request->leaks;
	if (status == SESSION_OK)
		status = several_report(input, count, 0, &options);
	while (open > 0)
		recording_content_done(&content[--open]);
	free(content);
	free(input);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct request request = { .path = NULL };
	int status = parse_request(argc, argv, &request);

	if (status != SESSION_OK)
		return status;
	return request.paths == 1 ? report_one(&request) : report_all(&request);
}
