/* SPDX-License-Identifier: MIT */
/* commands.h - one function per command; argv[0] is the command's name. The exit status. */
#ifndef MEMATTACH_COMMANDS_H
#define MEMATTACH_COMMANDS_H

int cmd_attach(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_cleanup(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_watch(int argc, char **argv);

#endif
