/* SPDX-License-Identifier: MIT */
/* memattachd.c - background sampling of the processes that its settings name. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/daemon/daemon.h"
#include "src/base/give_back.h"
#include "src/base/log.h"
#include "src/base/version.h"
#include "src/daemon/control_ask.h"
#include "src/sandbox/sandbox.h"
#include "src/session/session.h"

#define LARGE_BLOCK (16 << 10)	/* bytes */

static const char help_text[] =
	"memattachd [--config=FILE] [--state=FOLDER] [--control=SOCKET]\n"
	"                    watches the processes that its settings name, until SIGTERM; SIGHUP:\n"
	"                    reads the settings again\n"
	"memattachd --check-config [--config=FILE]\n"
	"                    says what is wrong with the settings, or whom they mean now\n"
	"memattachd --version | --help\n"
	"\n"
	"Settings: " SETTINGS_FILE " and " SETTINGS_FOLDER "/*.conf,\n"
	"or FILE alone. Recordings: " STATE_FOLDER ", $STATE_DIRECTORY or FOLDER.\n"
	"`memattach status` asks at " CONTROL_PATH ",\n"
	"$RUNTIME_DIRECTORY/control or SOCKET.\n"
	"Exit status: 0 stopped, all processes are as they were; 2 wrong usage or settings,\n"
	"3 not on this machine, 5 something was left dormant, 6 internal error.\n"
	"The manual: man memattachd, man memattach.conf\n";

enum { OPT_CONFIG = 256, OPT_STATE, OPT_CONTROL, OPT_CHECK, OPT_HELP, OPT_VERSION };
static const struct option long_options[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "check-config", no_argument, NULL, OPT_CHECK },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int bad_usage(const char *argument, const char *what)
{
	log_error("%s: %s; see `memattachd --help`", argument, what);
	return SESSION_USAGE;
}

/* ret_status: what to end with, where it returns false. */
static bool take_options(int argc, char **argv, struct daemon_files *files, bool *ret_check,
			 int *ret_status)
{
	int option;

	opterr = 0;
	*ret_status = SESSION_OK;
	while ((option = getopt_long(argc, argv, "+:", long_options, NULL)) != -1) {
		switch (option) {
		case OPT_CONFIG:
			files->config = optarg;
			files->config_given = true;
			break;
		case OPT_STATE:
			files->state = optarg;
			break;
		case OPT_CONTROL:
			files->control = optarg;
			break;
		case OPT_CHECK:
			*ret_check = true;
			break;
		case OPT_HELP:
			(void)fputs(help_text, stdout);
			return false;
		case OPT_VERSION:
			printf("memattachd %s (%s)\n", VERSION_TEXT, VERSION_FEATURES);
			return false;
		default:
			*ret_status = bad_usage(argv[optind - 1], option == ':' ? "needs a value" :
						"no such option");
			return false;
		}
	}
	if (argv[optind])
		*ret_status = bad_usage(argv[optind], "unexpected argument");
	return !argv[optind];
}

/* Recordings hold what processes do: nobody else's business. */
static int check_state(const char *state)
{
	if (mkdir(state, 0750) < 0 && errno != EEXIST) {
		log_error("%s: can't make this folder for recordings: %s; name another one by "
			  "--state=FOLDER", state, strerror(errno));
		return SESSION_FAILED;
	}
	return SESSION_OK;
}

int main(int argc, char **argv)
{
	const char *state = getenv("STATE_DIRECTORY");	/* systemd.exec(5); and this: */
	const char *runtime = getenv("RUNTIME_DIRECTORY");
	char control[PATH_MAX] = CONTROL_PATH;
	struct daemon_files files = {
		.config = SETTINGS_FILE, .folder = SETTINGS_FOLDER,
		.state = state && state[0] ? state : STATE_FOLDER, .control = control,
	};
	bool check = false;
	int status;

	(void)setlocale(LC_CTYPE, "");
	/* large blocks on their own, for good: what attaching takes goes back when it is done */
	give_back_from(LARGE_BLOCK);
	log_init(LOG_NOTICE);
	if (runtime && runtime[0])
		(void)snprintf(control, sizeof(control), "%s/control", runtime);
	if (!take_options(argc, argv, &files, &check, &status))
		return status;
	if (check)
		return daemon_check(&files);
	status = check_state(files.state);
	(void)sandbox_prepare();	/* what fails, fails in a child again, and is said there */
	return status == SESSION_OK ? daemon_run(&files) : status;
}
