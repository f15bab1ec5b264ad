/* SPDX-License-Identifier: MIT */
/*
 * daemon_http.c - see daemon_http.h.
 *
 * What is written here goes to files in memory, so nobody is waited for; recordings are read by
 * children.
 */
#include "cli/daemon/daemon_http.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/base/memfd.h"
#include "src/base/version.h"
#include "src/base/why.h"
#include "src/daemon/http_page.h"
#include "src/daemon/http_server.h"
#include "src/daemon/metrics.h"

static const struct control_peer everybody = { .uid = 0, .all = true };

void daemon_http_init(struct daemon_http *http)
{
	*http = (struct daemon_http){ .next = INFINITY, .file_next = INFINITY };
	http_init(&http->http, HTTP_PROGRAM);
	for (size_t i = 0; i < DAEMON_HTTP_EXPORTS; i++)
		http->export[i].fd = -1;
}

/* --- figures -------------------------------------------------------------- */

static void count_waiting(const struct daemon_state *state, const struct control_peer *peer,
			  struct metrics *metrics)
{
	for (size_t i = 0; i < state->roster->count; i++) {
		const struct roster_process *process = &state->roster->process[i];

		if (daemon_control_may_see_waiting(state, peer, process))
			metrics->count[process->refusals ? METRICS_REFUSED : METRICS_WAITING]++;
	}
	for (size_t i = 0; i < state->restore->count; i++)
		metrics->count[METRICS_CLEANING] +=
			daemon_control_may_see_job(state, peer, &state->restore->job[i]);
}

/* What peer may see; names are borrowed. 0, with ret->target the caller's to free; -ENOMEM. */
static int collect(const struct daemon_state *state, const struct control_peer *peer, double now,
		   struct metrics *ret)
{
	*ret = (struct metrics){
		.version = VERSION_TEXT, .now = now,
		.target = calloc(*state->watches + 1, sizeof(*ret->target)),
	};
	if (!ret->target)
		return -ENOMEM;
	for (size_t i = 0; i < *state->watches; i++) {
		const struct daemon_watch *watch = &(*state->watch)[i];

		if (!daemon_control_may_see_watch(state, peer, watch))
			continue;
		ret->count[watch->ending ? METRICS_LEAVING : METRICS_WATCHED]++;
		ret->target[ret->targets++] = (struct metrics_target){
			.pid = watch->pid, .name = watch->name.text, .rule = watch->rule,
			.seconds = now - watch->begun, .figures = &watch->figures,
		};
	}
	count_waiting(state, peer, ret);
	return 0;
}

/* --- answers -------------------------------------------------------------- */

static int write_answer(FILE *out, struct daemon_state *state, const struct control_peer *peer,
			uint32_t kind, double now)
{
	struct emit to = { .out = out };
	struct metrics metrics;
	int error;

	if (kind == HTTP_TARGETS) {
		daemon_control_put_status(state, peer, &to);
		return emit_finish(&to);
	}
	error = collect(state, peer, now, &metrics);
	if (!error)
		error = kind == HTTP_METRICS ? metrics_write(out, &metrics) :
					       http_page_write(out, &metrics);
	free(metrics.target);
	return error;
}

/* Into a new file in memory, from its beginning. A descriptor or -errno. */
static int make_answer(struct daemon_state *state, const struct control_peer *peer, uint32_t kind,
		       double now)
{
	int fd = memfd_new("answer"), copy = fd < 0 ? -1 : dup(fd), error;
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		error = -errno;
		cleanup_fd(&copy);
	} else {
		error = write_answer(out, state, peer, kind, now);
		if (fclose(out) != 0 && !error)
			error = -errno;
	}
	if (!error)
		return fd;
	cleanup_fd(&fd);
	return error;
}

/* --- recordings ----------------------------------------------------------- */

static struct daemon_watch *recorded(const struct daemon_state *state,
				     const struct control_peer *peer, pid_t pid)
{
	for (size_t i = 0; i < *state->watches; i++)
		if ((*state->watch)[i].pid == pid && (*state->watch)[i].recording &&
		    daemon_control_may_see_watch(state, peer, &(*state->watch)[i]))
			return &(*state->watch)[i];
	return NULL;
}

/* For who asks the next time. */
static void want_names(struct daemon_watch *watch)
{
	if (figures_want_names(&watch->figures) == 0)
		daemon_watch_nudge(watch);
}

static int begin_export(struct daemon_http *http, const struct http_question *question,
			struct daemon_watch *watch)
{
	if (!watch)
		return -ESRCH;
	want_names(watch);
	for (size_t i = 0; i < DAEMON_HTTP_EXPORTS; i++)
		if (!http->export[i].child)
			return http_export_begin(&http->export[i], question, watch->recording);
	return -EBUSY;
}

static void reap_exports(struct daemon_http *http)
{
	for (size_t i = 0; i < DAEMON_HTTP_EXPORTS; i++) {
		struct http_export *export = &http->export[i];
		int error;

		if (!http_export_reap(export, &error))
			continue;
		http_answer(&http->http, export->id, error, error ? -1 : export->fd);
		http_export_done(export);
	}
}

/* --- questions ------------------------------------------------------------ */

static void answer(struct daemon_http *http, struct daemon_state *state,
		   const struct http_question *question, double now)
{
	const struct control_peer peer = { .uid = question->uid, .gid = question->gid,
					   .all = question->all == 1 };
	int error = -ENOENT, fd = -1;

	if (http_is_export(question->kind)) {
		error = begin_export(http, question, recorded(state, &peer, question->pid));
		if (!error)
			return;		/* when it has ended */
	} else if (question->kind < HTTP_KINDS) {
		fd = make_answer(state, &peer, question->kind, now);
		error = fd < 0 ? fd : 0;
	}
	http_answer(&http->http, question->id, error, fd);
	cleanup_fd(&fd);
}

/* --- the file ------------------------------------------------------------- */

static void write_file(struct daemon_http *http, struct daemon_state *state, double now)
{
	struct metrics metrics;
	int error = collect(state, &everybody, now, &metrics);

	if (!error)
		error = metrics_write_file(http->file, &metrics);
	free(metrics.target);
	if (error && error != http->file_error)
		log_error("metrics-file %s can't be written: %s", http->file, why_file(error).text);
	http->file_error = error;
	http->file_next = now + state->settings->metrics_every;
}

/* Figures that nobody renews would be taken for today's. */
static void leave_file(struct daemon_http *http)
{
	if (http->file)
		(void)unlink(http->file);
	free(http->file);
	http->file = NULL;
	http->file_next = INFINITY;
}

/* --- all ------------------------------------------------------------------ */

void daemon_http_apply(struct daemon_http *http, const struct settings *settings, gid_t group,
		       double now)
{
	for (size_t i = 0; i < DAEMON_HTTP_EXPORTS; i++)	/* who asked is gone */
		http_export_done(&http->export[i]);
	http_apply(&http->http, &settings->http, group, now);
	if (!settings->metrics_file || !http->file ||
	    strcmp(settings->metrics_file, http->file) != 0)
		leave_file(http);
	http->file_error = 0;
	if (settings->metrics_file && !http->file)
		http->file = strdup(settings->metrics_file);
	http->file_next = http->file ? now : INFINITY;
	http->next = now;
}

int daemon_http_fd(const struct daemon_http *http)
{
	return http->http.link;
}

double daemon_http_next(const struct daemon_http *http)
{
	return fmin(http->next, http->file_next);
}

void daemon_http_turn(struct daemon_http *http, struct daemon_state *state, double now)
{
	struct http_question question;

	reap_exports(http);
	for (unsigned int i = 0; i < HTTP_CONNECTIONS; i++) {
		if (http_next_question(&http->http, &question) != 1)
			break;
		answer(http, state, &question, now);
	}
	http->next = http_turn(&http->http, now);
	if (now >= http->file_next)
		write_file(http, state, now);
}

void daemon_http_done(struct daemon_http *http)
{
	for (size_t i = 0; i < DAEMON_HTTP_EXPORTS; i++)
		http_export_done(&http->export[i]);
	http_stop(&http->http);
	leave_file(http);
}
