/* SPDX-License-Identifier: MIT */
/* cmd_attach.c - memattach -p PID, memattach check -p PID, memattach cleanup -p PID. */
#include "cli/commands.h"
#include "cli/front.h"
#include "cli/options.h"
#include "inject/ring_setup.h"
#include "src/base/log.h"

static int run(int argc, char **argv, enum session_task task)
{
	struct cli_options options;
	struct target target;
	int status = options_parse(argc, argv, &options);

	if (status != SESSION_OK)
		return status;
	if (!options.pid || options.operands[0]) {
		log_error("%s%s; usage: memattach %s-p PID, see `memattach --help`",
			  options.pid ? "unexpected argument " : "no process given",
			  options.pid ? options.operands[0] : "",
			  task == SESSION_CHECK   ? "check " :
			  task == SESSION_CLEANUP ? "cleanup " :
						    "");
		return SESSION_USAGE;
	}
	if (!ring_setup_tsc_is_trusted()) {
		log_error("the kernel does not trust this machine's time stamp counter; "
			  "memattach needs it to order events");
		return SESSION_REFUSED;
	}
	options.session.task = task;
	status = front_open_target(options.pid, &options.session, &target);
	return status == SESSION_OK ? front_run(&target, &options.session) : status;
}

int cmd_attach(int argc, char **argv)
{
	return run(argc, argv, SESSION_WATCH);
}

int cmd_check(int argc, char **argv)
{
	return run(argc, argv, SESSION_CHECK);
}

int cmd_cleanup(int argc, char **argv)
{
	return run(argc, argv, SESSION_CLEANUP);
}
