/* SPDX-License-Identifier: MIT */
/* daemon_client.h - for commands that ask memattachd: request, answer, what went wrong. */
#ifndef MEMATTACH_CLI_DAEMON_CLIENT_H
#define MEMATTACH_CLI_DAEMON_CLIENT_H

#include "cli/options/options.h"
#include "src/daemon/control_ask.h"

/*
 * Asks request (taken over) at the socket that options name. SESSION_OK: told is the caller's; else
 * the exit status, and why was said.
 */
int client_ask(const struct cli_options *options, json_t *request_take, int seconds,
	       struct control_told *ret);
/* Says why there is no answer (an error of control_ask.h): the exit status. */
int client_refused(const struct cli_options *options, int error, int status, const char *words);
/* {"command": command, "pid": the process}. NULL: no memory. */
json_t *client_request(const char *command, pid_t pid);
/* Exactly one -p, and no operand; else usage is said: SESSION_USAGE. */
int client_check_one(const struct cli_options *options, const char *command, const char *usage);
/* The document as a line, or as JSON for people. SESSION_OK or SESSION_FAILED. */
int client_print_json(const json_t *document);
/* Everything on stdout is written: SESSION_OK; else that is said: SESSION_FAILED. */
int client_written(void);
/* "1234 redis-server", printable, for answers that have both. Static, until the next call. */
const char *client_process(const json_t *answer);

/* Before a figure: "~" if it is an estimate (the ends of key's interval differ), else "". */
const char *client_mark(const json_t *figures, const char *key);

/* `memattach attach --daemon`, `memattach leaks --daemon`: argv as given. Exit status. */
int cmd_attach_daemon(int argc, char **argv);
int cmd_leaks_daemon(int argc, char **argv);

#endif
