/* SPDX-License-Identifier: MIT */
/* cmd_attach.c - memattach -p PID (one or several), and leaks, check, cleanup -p PID. */
#include "cli/cmd/commands.h"
#include "cli/cmd/daemon_client.h"
#include "cli/front/front.h"
#include "cli/front/front_screen.h"
#include "cli/front/front_several.h"
#include "cli/options/options_view.h"
#include "src/base/log.h"

static const char *const task_name[] = {
	[SESSION_WATCH] = "", [SESSION_CHECK] = "check ", [SESSION_CLEANUP] = "cleanup ",
};
static const char *const command_name[] = {
	[SESSION_CHECK] = "check", [SESSION_CLEANUP] = "cleanup",
};

/* A live screen where one was not declined and can be drawn, else its plain lines. */
static void choose_screen(struct cli_options *options)
{
	struct session_options *session = &options->session;

	session->screen = options->may_have_screen && session->task == SESSION_WATCH &&
			  !options_are_several(options) && session->duration < 0 &&
			  front_screen_is_possible();
	if (session->screen)
		session->plain = false;
}

static int run(int argc, char **argv, enum session_task task, bool leaks)
{
	struct cli_options options;
	struct target target;
	int status = options_parse(argc, argv, &options);

	if (options.by_daemon)	/* which takes other options: they are parsed again */
		return leaks ? cmd_leaks_daemon(argc, argv) : cmd_attach_daemon(argc, argv);
	if (status == SESSION_OK && options.control) {
		log_error("--control is where memattachd is asked: it goes with --daemon");
		status = SESSION_USAGE;
	}
	if (status != SESSION_OK)
		return status;
	if ((!options.pid && !options_are_several(&options)) || options.operands[0]) {
		log_error("%s%s; usage: memattach %s-p PID, see `memattach --help`",
			  options.operands[0] ? "unexpected argument " : "no process given",
			  options.operands[0] ? options.operands[0] : "",
			  leaks ? "leaks " : task_name[task]);
		return SESSION_USAGE;
	}
	options.session.task = task;
	if (leaks) {	/* one look at what lies in memory, unless a time was given */
		options.session.leaks = true;
		if (options.session.duration < 0)
			options.session.duration = 0;
	}
	status = task != SESSION_WATCH ? options_check_one(&options, command_name[task]) :
		 options_are_several(&options) ? options_check_several(&options) : SESSION_OK;
	if (status != SESSION_OK)
		return status;
	choose_screen(&options);
	status = options_check_leaks(&options, options.session.leaks);
	if (status == SESSION_OK)
		status = options_check_view(&options);
	if (status != SESSION_OK)
		return status;
	if (options.session.stop_for_picture && options.session.duration != 0) {
		log_error("--snapshot=stop goes with -d 0: what is watched can't stand still; "
			  "see `memattach leaks -p PID`");
		return SESSION_USAGE;
	}
	if (task != SESSION_CLEANUP)
		status = front_check_clock();
	if (status != SESSION_OK)
		return status;
	if (options_are_several(&options))
		return front_several(&options);
	status = front_open_target(options.pid, &options.session, &target);
	return status == SESSION_OK ? front_run(&target, &options.session) : status;
}

int cmd_attach(int argc, char **argv)
{
	return run(argc, argv, SESSION_WATCH, false);
}

int cmd_check(int argc, char **argv)
{
	return run(argc, argv, SESSION_CHECK, false);
}

int cmd_cleanup(int argc, char **argv)
{
	return run(argc, argv, SESSION_CLEANUP, false);
}

int cmd_leaks(int argc, char **argv)
{
	return run(argc, argv, SESSION_WATCH, true);
}
