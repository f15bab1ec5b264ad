/* SPDX-License-Identifier: MIT */
/*
 * cmd_snapshot.c - memattach snapshot -p PID: the report of a session of memattachd that goes on.
 *
 * It comes as a JSON document in a file without a name. For people the totals and the first sites
 * of it are printed; what is in it is the analyst's word, and made printable.
 */
#include "cli/cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/daemon_client.h"
#include "cli/cmd/snapshot_text.h"
#include "src/base/log.h"
#include "src/base/why.h"

#define USAGE		"snapshot -p PID [--json] [--top N] [-o FILE] [--control=SOCKET]"
#define SITES		10u

/* All of from, which is small, or of a recording's size. 0 or -errno. */
static int copy(int from, int to)
{
	char part[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, part, sizeof(part), at)) > 0) {
		for (ssize_t sent = 0, more; sent < n; sent += more) {
			more = write(to, part + sent, (size_t)(n - sent));
			if (more < 0)
				return -errno;
		}
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int put_in_file(int from, const char *path)
{
	_cleanup_fd_ int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int error = to < 0 ? -errno : copy(from, to);

	if (!error)
		return SESSION_OK;
	log_error("can't write %s: %s", path, why_file(error).text);
	return SESSION_FAILED;
}

static int put_json(int from)
{
	int error = copy(from, STDOUT_FILENO);

	if (!error)
		return SESSION_OK;
	log_error("can't write the answer to the standard output: %s", why_file(error).text);
	return SESSION_FAILED;
}

static int put_text(int from, uint32_t top)
{
	json_t *document = snapshot_text_read(from);

	if (!document) {
		log_error("what memattachd handed over is no snapshot");
		return SESSION_FAILED;
	}
	snapshot_text_put(document, top ? top : SITES);
	json_decref(document);
	return client_written();
}

int cmd_snapshot(int argc, char **argv)
{
	struct cli_options options;
	struct control_told told;
	int status = options_parse(argc, argv, &options);

	if (status == SESSION_OK)
		status = client_check_one(&options, "snapshot", USAGE);
	if (status == SESSION_OK)
		status = client_ask(&options, client_request("snapshot", options.pid),
				    CONTROL_WAIT_LONG, &told);
	if (status != SESSION_OK)
		return status;
	json_decref(told.document);
	if (options.session.output)
		status = put_in_file(told.fd, options.session.output);
	else if (options.session.json)
		status = put_json(told.fd);
	else
		status = put_text(told.fd, options.session.top);
	cleanup_fd(&told.fd);
	return status;
}
