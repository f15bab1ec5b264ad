/* SPDX-License-Identifier: MIT */
/* cmd_report.c - memattach report FILE: prints a recording again. */
#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "src/base/log.h"
#include "src/recording.h"

static int explain(const char *path, int error)
{
	if (error == -EBADMSG)
		log_error("%s is not a recording, or is damaged; "
			  "make one with `memattach -p PID -o FILE`",
			  path);
	else if (error == -ENODATA)
		log_error("%s ends before its first interval: nothing to report", path);
	else if (error == -EPROTONOSUPPORT)
		log_error("%s was made by a newer memattach; use that one", path);
	else
		log_error("%s: %s", path, strerror(-error));
	return SESSION_USAGE;
}

int cmd_report(int argc, char **argv)
{
	struct recording_content content;
	struct report_input input;
	struct cli_options options;
	int status = options_parse(argc, argv, &options), error;

	if (status == SESSION_OK)
		status = options_check_show_bytes(&options, false);
	if (status != SESSION_OK)
		return status;
	if (!options.operands[0] || options.operands[1]) {
		log_error("usage: memattach report FILE [--json] [--top N]");
		return SESSION_USAGE;
	}
	error = recording_read(options.operands[0], &content);
	if (error)
		return explain(options.operands[0], error);
	input = (struct report_input){
		.snapshot = content.snapshot, .stacks = content.stacks, .names = content.names,
		.options = { .top = options.session.top, .color = options.session.color },
		.leaks = content.leaks,
	};
	error = report_find(options.session.json ? "json" : "text")->write(stdout, &input);
	if (fflush(stdout) != 0 || error) {
		log_error("can't write the report: %s", strerror(error ? -error : errno));
		status = SESSION_FAILED;
	}
	recording_content_done(&content);
	return status;
}
