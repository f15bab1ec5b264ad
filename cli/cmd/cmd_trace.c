/* SPDX-License-Identifier: MIT */
/* cmd_trace.c - memattach trace -p PID, or -- COMMAND [ARGS...]: one line a call. */
#include "cli/cmd/commands.h"
#include "cli/front/front.h"
#include "cli/options/options.h"
#include "src/base/log.h"

int cmd_trace(int argc, char **argv)
{
	struct cli_options options;
	struct target target;
	int status = options_parse_trace(argc, argv, &options);

	if (status == SESSION_OK)
		status = options_check_one(&options, "trace");
	if (status != SESSION_OK)
		return status;
	if (!options.pid == !options.operands[0]) {
		log_error("%s; usage: memattach trace -p PID, or memattach trace [options] -- "
			  "COMMAND [ARGS...]", options.pid ? "a process and a command were given" :
			  "no process given");
		return SESSION_USAGE;
	}
	status = front_check_clock();
	if (status != SESSION_OK)
		return status;
	options.session.task = options.pid ? SESSION_WATCH : SESSION_RUN;
	if (!options.pid)
		return front_run_command(options.operands, &options.session);
	status = front_open_target(options.pid, &options.session, &target);
	return status == SESSION_OK ? front_run(&target, &options.session) : status;
}
