/* SPDX-License-Identifier: MIT */
/* memattach.c - a table of commands. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/options/help.h"
#include "src/base/log.h"
#include "src/base/version.h"
#include "src/session/session.h"

static const char help_text[] =
	"memattach -p PID [-d SECONDS] [--leaks [--history=FILE]] [-o FILE] [--json] [--top N]\n"
	"          [--exact | --sample=BYTES] [--interval=S] [--loader=auto|dlopen|map]\n"
	"          [--track=malloc|mmap|all] [--on-overflow=drop|block]\n"
	"          [--frees=callers|stacks] [--plain]\n"
	"                            watch a running process and leave it as it was; without -d,\n"
	"                            on a terminal: a live screen, ? shows its keys\n"
	"memattach -p PID -p PID... | --name=NAME | --unit=UNIT [--follow] [--max-processes=N]\n"
	"                            several processes, one report with a column each; --follow:\n"
	"                            what they fork, or become by exec, too\n"
	"memattach leaks -p PID [--trace-to=ADDRESS] [--show-bytes=N] [--access=SECONDS]\n"
	"                            what is lost, from one look at its memory; who holds a block\n"
	"memattach run [options] -- COMMAND [ARGS...]   the same from the first allocation on\n"
	"memattach trace -p PID [-d SECONDS] [-o FILE] [--json] [--size=N[-M]]\n"
	"          [--function=NAME] [--site=PLACE] [--thread=ID] [--module=NAME]\n"
	"                            one line a call; also trace [options] -- COMMAND [ARGS...]\n"
	"memattach check -p PID      what would be done or refused, and why; touches nothing\n"
	"memattach cleanup -p PID    finish a detach that a killed memattach left\n"
	"memattach report FILE[@120s]... [VIEW]   print a recording again, or one view: overview,\n"
	"                            hotspots, tree, flame, histogram, timeline, temporary, peak,\n"
	"                            lifetimes, blocks, filter, source, leaks [--json] [--top N]\n"
	"                            (--view=VIEW: the same straight from -p)\n"
	"memattach diff OLD NEW      what is new, grew, shrank, is gone [--json] [--top N];\n"
	"                            recordings, moments of them (FILE@120s), JSON documents\n"
	"memattach export FILE[@120s] --to=FORMAT [-o OUT]   for pprof, heaptrack, ms_print,\n"
	"                            flame graphs, ...; --to=help lists the formats\n"
	"memattach symbolize FILE [--search=FOLDER]...   find names that a recording lacks\n"
	"memattach status [--json]   what memattachd (8) watches, and how it fares\n"
	"memattach ps | top | watch  processes that can be watched; those that memattachd watches\n"
	"                            by live bytes, again and again; its events as they happen\n"
	"memattach attach --daemon -p PID | set -p PID | detach -p PID\n"
	"                            memattachd watches a process, in another way, leaves it\n"
	"memattach snapshot -p PID | leaks --daemon -p PID\n"
	"                            of a session of memattachd, which goes on\n"
	"memattach help COMMAND | COMMAND --help   its options\n"
	"memattach --version | --help\n"
	"\n"
	"Exit status: 0 done, 1 leaks found, 2 wrong usage, 3 refused (nothing touched),\n"
	"4 the target ended, 5 left dormant in the target (run cleanup), 6 internal error.\n"
	"The manual: man memattach, and for each command memattach-COMMAND\n";

static int print_help(int argc, char **argv)
{
	return help_run(argc, argv, help_text);
}

static int print_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("memattach %s (%s)\n", VERSION_TEXT, VERSION_FEATURES);
	return SESSION_OK;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool alone;	/* starts no program: ignored signals are not passed on */
} command[] = {
	{ "attach", cmd_attach, false },
	{ "run", cmd_run, false },
	{ "trace", cmd_trace, false },
	{ "leaks", cmd_leaks, false },
	{ "check", cmd_check, false },
	{ "cleanup", cmd_cleanup, false },
	{ "report", cmd_report, true },
	{ "diff", cmd_diff, true },
	{ "export", cmd_export, true },
	{ "symbolize", cmd_symbolize, true },
	{ "status", cmd_status, true },
	{ "ps", cmd_ps, true },
	{ "detach", cmd_detach, true },
	{ "set", cmd_set, true },
	{ "snapshot", cmd_snapshot, true },
	{ "watch", cmd_watch, true },
	{ "top", cmd_top, true },
	{ "--help", print_help, false },
	{ "-h", print_help, false },
	{ "help", print_help, false },
	{ "--version", print_version, false },
	{ "-V", print_version, false },
};

static int run_command(size_t i, int argc, char **argv)
{
	if (help_is_wanted(argv[1], argv + 2))
		return help_print(argv[1]);
	/* A limit on file sizes is an error like others, and said. */
	if (command[i].alone)
		(void)signal(SIGXFSZ, SIG_IGN);
	return command[i].run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	static char attach[] = "attach";	/* what `memattach -p PID` is short for */

	(void)setlocale(LC_CTYPE, "");	/* names in UTF-8 or in ASCII; numbers stay as they are */
	log_init(LOG_NOTICE);
	if (argc < 2) {
		log_error("no process given; usage: memattach -p PID, see `memattach --help`");
		return SESSION_USAGE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(command); i++)
		if (strcmp(argv[1], command[i].name) == 0)
			return run_command(i, argc, argv);
	if (argv[1][0] == '-' && help_is_wanted("attach", argv + 1))
		return help_print("attach");
	if (argv[1][0] == '-') {
		argv[0] = attach;
		return cmd_attach(argc, argv);
	}
	log_error("%s: no such command; see `memattach --help`", argv[1]);
	return SESSION_USAGE;
}
