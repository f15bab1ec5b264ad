/* SPDX-License-Identifier: MIT */
/* cmd_run.c - memattach run [options] -- COMMAND [ARGS...]: from the first allocation on. */
#include "cli/cmd/commands.h"
#include "cli/front/front.h"
#include "cli/front/front_several.h"
#include "cli/options/options_view.h"
#include "src/base/log.h"

int cmd_run(int argc, char **argv)
{
	struct cli_options options;
	int status = options_parse(argc, argv, &options);

	if (status != SESSION_OK)
		return status;
	if (!options.operands[0]) {
		log_error("no command given; usage: memattach run [options] -- COMMAND [ARGS...]");
		return SESSION_USAGE;
	}
	status = options.targets.follow ? options_check_following(&options) : SESSION_OK;
	if (status == SESSION_OK)
		status = options_check_leaks(&options, options.session.leaks);
	if (status == SESSION_OK)
		status = options_check_view(&options);
	if (status == SESSION_OK)
		status = front_check_clock();
	if (status != SESSION_OK)
		return status;
	options.session.task = SESSION_RUN;
	if (options.targets.follow)
		return front_several_run(&options);
	return front_run_command(options.operands, &options.session);
}
