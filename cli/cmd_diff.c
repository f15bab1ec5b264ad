/* SPDX-License-Identifier: MIT */
/*
 * cmd_diff.c - memattach diff OLD.json NEW.json: what is new, grew, shrank, is gone.
 *
 * Status 1 where definitely lost memory is new or more: a test can rely on it. Options may
 * stand behind the files, as people type them; the other commands stop at the first operand.
 */
#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "src/base/log.h"
#include "src/report/diff_write.h"

struct request {
	const char *path[DIFF_SIDES];
	size_t paths;
	bool json;
	struct report_options options;
};

static int usage(void)
{
	log_error("usage: memattach diff OLD.json NEW.json [--json] [--top N]");
	return SESSION_USAGE;
}

static int parse_request(int argc, char **argv, struct request *ret)
{
	struct cli_options options;

	/* Each round reads the options in front of one file. */
	for (;;) {
		int status = options_parse(argc, argv, &options);

		if (status == SESSION_OK)
			status = options_check_leaks(&options, false);
		if (status != SESSION_OK)
			return status;
		ret->json |= options.session.json;
		ret->options.color = options.session.color;
		if (options.session.top)
			ret->options.top = options.session.top;
		if (!options.operands[0])
			break;
		if (ret->paths == DIFF_SIDES)
			return usage();
		ret->path[ret->paths++] = options.operands[0];
		argc -= (int)(options.operands - argv);
		argv = options.operands;
	}
	return ret->paths == DIFF_SIDES ? SESSION_OK : usage();
}

static int compare(struct diff *diff, const struct request *request)
{
	char problem[DIFF_PROBLEM_BYTES];
	int error;

	for (int side = 0; side < DIFF_SIDES; side++) {
		if (diff_read(diff, (enum diff_side)side, request->path[side], problem) == 0)
			continue;
		log_error("%s", problem);
		return SESSION_USAGE;
	}
	error = diff_compare(diff);
	if (!error)
		error = request->json ? diff_write_json(stdout, diff, &request->options) :
			diff_write_text(stdout, diff, &request->options);
	if (!error)
		return diff->lost_grew ? SESSION_LEAKS : SESSION_OK;
	log_error("can't write the comparison: %s", strerror(-error));
	return SESSION_FAILED;
}

int cmd_diff(int argc, char **argv)
{
	struct request request = { .paths = 0 };
	struct diff *diff;
	int status = parse_request(argc, argv, &request);

	if (status != SESSION_OK)
		return status;
	if (diff_new(&diff) < 0) {
		log_error("%s", strerror(ENOMEM));
		return SESSION_FAILED;
	}
	status = compare(diff, &request);
	diff_free(diff);
	return status;
}
