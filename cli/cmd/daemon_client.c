/* SPDX-License-Identifier: MIT */
/* daemon_client.c - see daemon_client.h. What memattachd says is printable before it is said. */
#include "cli/cmd/daemon_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/report/printable.h"

static const char *socket_of(const struct cli_options *options)
{
	return options->control ? options->control : CONTROL_PATH;
}

int client_refused(const struct cli_options *options, int error, int status, const char *words)
{
	const char *path = socket_of(options);

	if (error == -ENOENT || error == -ECONNREFUSED)
		log_error("no memattachd answers at %s; start it (systemctl start memattachd), or "
			  "name its socket by --control=SOCKET", path);
	else if (error == -EREMOTEIO && options->pid)
		log_error("memattachd: process %d: %s", options->pid, words);
	else if (error == -EREMOTEIO)
		log_error("memattachd: %s", words);
	else if (error == -EBADMSG)
		log_error("%s: what answers is no memattachd of this version; use the memattach "
			  "that came with it", path);
	else
		log_error("memattachd can't be asked at %s: %s", path, error == -EACCES ?
			  "Permission denied; ask as root, or as a member of its group" :
			  why_of(error).text);
	return error == -EREMOTEIO && status > 0 && status <= SESSION_FAILED ? status :
	       SESSION_REFUSED;
}

int client_ask(const struct cli_options *options, json_t *request, int seconds,
	       struct control_told *ret)
{
	int error = request ? control_ask(socket_of(options), request, seconds, ret) : -ENOMEM;

	json_decref(request);
	return error ? client_refused(options, error, ret->status, ret->error) : SESSION_OK;
}

json_t *client_request(const char *command, pid_t pid)
{
	return json_pack("{s:s, s:i}", "command", command, "pid", (int)pid);
}

int client_check_one(const struct cli_options *options, const char *command, const char *usage)
{
	if (!options->pid || options->operands[0]) {
		log_error("usage: memattach %s", usage);
		return SESSION_USAGE;
	}
	return options_check_one(options, command);
}

int client_written(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return SESSION_OK;
	log_error("can't write the answer to the standard output: %s", why_file(-errno).text);
	return SESSION_FAILED;
}

int client_print_json(const json_t *document)
{
	(void)json_dumpf(document, stdout,
			 JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
	return client_written();
}

const char *client_process(const json_t *answer)
{
	static char text[128];
	const char *name = json_string_value(json_object_get(answer, "name"));
	char *shown = printable_copy(name ? name : "", PRINTABLE_TERMINAL);

	(void)snprintf(text, sizeof(text), "%lld %s",
		       (long long)json_integer_value(json_object_get(answer, "pid")),
		       shown ? shown : "");
	free(shown);
	return text;
}

static double end_of(const json_t *figures, const char *key, const char *end)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s_%s", key, end);
	return json_number_value(json_object_get(figures, name));
}

const char *client_mark(const json_t *figures, const char *key)
{
	return end_of(figures, key, "low") < end_of(figures, key, "high") ? "~" : "";
}
