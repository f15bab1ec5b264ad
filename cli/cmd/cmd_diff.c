/* SPDX-License-Identifier: MIT */
/*
 * cmd_diff.c - memattach diff OLD NEW: what is new, grew, shrank, is gone. Each is a recording, a
 * moment of one (FILE@120s) or a JSON document.
 *
 * Status 1 where definitely lost memory is new or more: a test can rely on it.
 */
#include <errno.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/open_recording.h"
#include "cli/options/options.h"
#include "src/base/log.h"
#include "src/base/why.h"
#include "src/recording/recording_diff.h"
#include "src/report/diff_write.h"

struct request {
	const char *path[DIFF_SIDES];
	bool json;
	struct report_options options;
};

static int usage(void)
{
	log_error("usage: memattach diff OLD NEW [--json] [--top N], each a recording, a moment of "
		  "one (FILE@120s) or a JSON document");
	return SESSION_USAGE;
}

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options options;
	int status = options_parse_mixed(argc, argv, &options);

	if (status != SESSION_OK)
		return status;
	if (!options.operands[0] || !options.operands[1] || options.operands[2])
		return usage();
	ret->path[DIFF_OLD] = options.operands[0];
	ret->path[DIFF_NEW] = options.operands[1];
	ret->json = options.session.json;
	ret->options.color = options.session.color;
	ret->options.top = options.session.top;
	return SESSION_OK;
}

/* A side that is a recording, and what is read of it. */
struct source {
	bool is_recording;
	struct recording_content content;
};

static int read_document(struct diff *diff, enum diff_side side, const char *path)
{
	char problem[DIFF_PROBLEM_BYTES];

	if (diff_read(diff, side, path, problem) == 0)
		return SESSION_OK;
	log_error("%s", problem);
	return SESSION_USAGE;
}

static int open_sources(struct diff *diff, const struct request *request,
			struct source source[DIFF_SIDES])
{
	int status = SESSION_OK;

	for (int side = 0; side < DIFF_SIDES && status == SESSION_OK; side++) {
		bool is_recording = recording_diff_is(request->path[side]);

		status = is_recording ? open_recording(request->path[side], &source[side].content) :
			 read_document(diff, (enum diff_side)side, request->path[side]);
		source[side].is_recording = is_recording && status == SESSION_OK;
		if (source[side].is_recording)
			status = open_recording_blocks(request->path[side], &source[side].content,
						       "a comparison");
	}
	return status;
}

/* Recordings know each other's files only once both are there. */
static int add_recordings(struct diff *diff, const struct source source[DIFF_SIDES])
{
	int error = 0;

	for (int side = 0; side < DIFF_SIDES && !error; side++) {
		const struct source *other = &source[DIFF_NEW - side];

		if (source[side].is_recording)
			error = recording_diff_add(diff, (enum diff_side)side,
						   &source[side].content,
						   other->is_recording ? &other->content : NULL);
	}
	return error;
}

static int print(struct diff *diff, const struct request *request)
{
	int error = diff_compare(diff);

	if (!error)
		error = request->json ? diff_write_json(stdout, diff, &request->options) :
			diff_write_text(stdout, diff, &request->options);
	return error;
}

static int compare(struct diff *diff, const struct request *request)
{
	struct source source[DIFF_SIDES] = { { .is_recording = false } };
	int status = open_sources(diff, request, source), error = 0;

	if (status == SESSION_OK)
		error = add_recordings(diff, source);
	if (status == SESSION_OK && !error)
		error = print(diff, request);
	for (int side = 0; side < DIFF_SIDES; side++)
		if (source[side].is_recording)
			recording_content_done(&source[side].content);
	if (error) {
		log_error("can't write the comparison to the standard output: %s",
			  why_file(error).text);
		return SESSION_FAILED;
	}
	return status == SESSION_OK && diff->lost_grew ? SESSION_LEAKS : status;
}

int cmd_diff(int argc, char **argv)
{
	struct request request = { .json = false };
	struct diff *diff;
	int status = parse_request(argc, argv, &request);

	if (status != SESSION_OK)
		return status;
	if (diff_new(&diff) < 0) {
		log_error("nothing can be compared: %s", why_of(-ENOMEM).text);
		return SESSION_FAILED;
	}
	status = compare(diff, &request);
	diff_free(diff);
	return status;
}
