/* SPDX-License-Identifier: MIT */
/*
 * daemon_control.c - see daemon_control.h.
 *
 * Who may see everything sees everything; another user sees his own processes, and of the others
 * not even how many there are.
 */
#include "cli/daemon/daemon_control_private.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/base/version.h"

#define NOT_YOURS_ALONE \
	"it is not yours alone: the kernel would not let you trace it (another user or group, " \
	"capabilities, not dumpable), or not what it was when its session began; ask as root, or " \
	"as a member of memattachd's group"

/* --- for all commands ----------------------------------------------------- */

void daemon_outcomes_note(struct daemon_outcomes *outcomes, const struct daemon_watch *watch)
{
	struct daemon_outcome *outcome = &outcomes->last[outcomes->next++ % DAEMON_OUTCOMES];

	*outcome = (struct daemon_outcome){ .serial = watch->serial, .status = watch->status };
	memcpy(outcome->why, watch->why, sizeof(outcome->why));
}

enum control_reply daemon_control_refuse(struct question *q, int status, const char *text)
{
	emit_begin(q->to, NULL, '{');
	emit_text(q->to, "error", text);
	emit_int(q->to, "status", status);
	emit_end(q->to, '}');
	return CONTROL_ANSWERED;
}

bool daemon_control_may_see_watch(const struct daemon_state *state,
				  const struct control_peer *peer,
				  const struct daemon_watch *watch)
{
	const struct rights_subject subject = daemon_watch_subject(watch);

	return rights_allow(state->search, &subject, peer);
}

bool daemon_control_may_see_job(const struct daemon_state *state, const struct control_peer *peer,
				const struct restore_job *job)
{
	const struct rights_subject subject = { job->of.pid, job->of.start_time, NULL };

	return restore_is_there(job) && rights_allow(state->search, &subject, peer);
}

bool daemon_control_may_see_waiting(const struct daemon_state *state,
				    const struct control_peer *peer,
				    const struct roster_process *process)
{
	const struct rights_subject subject = { process->pid, process->start_time, NULL };

	return process->state == ROSTER_WAITING && !restore_find(state->restore, process->pid) &&
	       rights_allow(state->search, &subject, peer);
}

/* Its session may still be that of a process that had the same id before. */
static bool may_touch(const struct question *q, pid_t pid)
{
	const struct daemon_watch *watch = daemon_control_watch(q, pid);
	const struct rights_subject subject = watch ? daemon_watch_subject(watch) :
						      (struct rights_subject){ .pid = pid };

	return rights_allow(q->state->search, &subject, q->peer);
}

pid_t daemon_control_pid(struct question *q)
{
	json_int_t pid = json_integer_value(json_object_get(q->asked->request, "pid"));
	bool is_his;

	if (pid <= 0 || pid > INT_MAX) {
		(void)daemon_control_refuse(q, SESSION_USAGE, "\"pid\" is missing, or is none");
		return 0;
	}
	if (may_touch(q, (pid_t)pid))
		return (pid_t)pid;
	is_his = process_user(q->state->search, (pid_t)pid) == q->peer->uid;
	(void)daemon_control_refuse(q, SESSION_REFUSED, is_his ? NOT_YOURS_ALONE :
				    NO_SUCH_PROCESS);
	return 0;
}

struct daemon_watch *daemon_control_watch(const struct question *q, pid_t pid)
{
	for (size_t i = 0; i < *q->state->watches; i++)
		if ((*q->state->watch)[i].pid == pid)
			return &(*q->state->watch)[i];
	return NULL;
}

struct daemon_watch *daemon_control_session(const struct question *q, uint64_t serial)
{
	for (size_t i = 0; i < *q->state->watches; i++)
		if ((*q->state->watch)[i].serial == serial)
			return &(*q->state->watch)[i];
	return NULL;
}

/* --- figures -------------------------------------------------------------- */

static const char *mode_name(uint32_t mode)
{
	static const char *const name[] = {
		[SCREEN_ADAPTIVE] = "adaptive", [SCREEN_SAMPLED] = "sampled",
		[SCREEN_EXACT] = "exact", [SCREEN_COUNTS] = "counts",
	};

	return mode < ARRAY_SIZE(name) ? name[mode] : NULL;
}

static void emit_lost(struct emit *to, const struct screen_state *state)
{
	emit_begin(to, "lost", '{');
	emit_uint(to, "alloc", state->lost_alloc);
	emit_uint(to, "free", state->lost_free);
	emit_uint(to, "map", state->lost_map);
	emit_uint(to, "stack", state->lost_stack);
	emit_end(to, '}');
}

/* Null until the first snapshot. */
static void emit_figures(struct emit *to, const struct figures *figures, double now)
{
	const struct screen_state *state = &figures->state;

	if (!figures->known) {
		emit_null(to, "figures");
		return;
	}
	emit_begin(to, "figures", '{');
	emit_real(to, "age", now - figures->time);
	emit_text(to, "mode", mode_name(state->mode));
	emit_bool(to, "partial", state->partial);
	emit_uint(to, "live_bytes", state->live_bytes);
	emit_uint(to, "live_bytes_low", state->live_low);
	emit_uint(to, "live_bytes_high", state->live_high);
	emit_uint(to, "live_count", state->live_count);
	emit_uint(to, "peak_live_bytes", state->peak_bytes);
	emit_uint(to, "rss_bytes", state->rss_bytes);
	emit_uint(to, "alloc_count", state->alloc_count);
	emit_uint(to, "alloc_count_low", state->alloc_count_low);
	emit_uint(to, "alloc_count_high", state->alloc_count_high);
	emit_uint(to, "alloc_bytes", state->alloc_bytes);
	emit_uint(to, "alloc_bytes_low", state->alloc_bytes_low);
	emit_uint(to, "alloc_bytes_high", state->alloc_bytes_high);
	emit_uint(to, "free_count", state->free_count);
	emit_uint(to, "free_count_low", state->free_count_low);
	emit_uint(to, "free_count_high", state->free_count_high);
	emit_real(to, "allocs_per_second", state->alloc_rate);
	emit_real(to, "allocs_per_second_low", state->alloc_rate_low);
	emit_real(to, "allocs_per_second_high", state->alloc_rate_high);
	emit_real(to, "allocs_per_second_average", state->alloc_rate_average);
	emit_real(to, "alloc_bytes_per_second", state->byte_rate);
	emit_real(to, "alloc_bytes_per_second_low", state->byte_rate_low);
	emit_real(to, "alloc_bytes_per_second_high", state->byte_rate_high);
	emit_uint(to, "sites", state->sites_total);
	emit_uint(to, "growing_sites", figures->growing);
	emit_uint(to, "too_few_samples_sites", figures->too_few);
	emit_real(to, "growth_bytes_per_second", figures->growth);
	emit_uint(to, "sample_interval_bytes", state->sample_interval);
	emit_real(to, "overhead_percent", state->overhead_percent);
	emit_real(to, "analyst_cpu", state->analyst_cpu);
	emit_real(to, "gap_seconds", state->gap_seconds);
	emit_lost(to, state);
	emit_end(to, '}');
}

/* --- processes ------------------------------------------------------------ */

static void emit_watched(struct question *q, const struct daemon_watch *watch)
{
	emit_begin(q->to, NULL, '{');
	emit_int(q->to, "pid", watch->pid);
	emit_text(q->to, "name", watch->name.text);
	emit_text(q->to, "rule", watch->rule);
	emit_text(q->to, "state", watch->ending ? "leaving" : "watched");
	emit_real(q->to, "seconds", q->now - watch->begun);
	if (watch->most_percent > 0)
		emit_real(q->to, "budget_percent", watch->percent);
	else
		emit_null(q->to, "budget_percent");
	emit_text(q->to, "recording", watch->recording);
	emit_figures(q->to, &watch->figures, q->now);
	emit_end(q->to, '}');
}

static void emit_waiting(struct question *q, const struct roster_process *process)
{
	struct process_name name = process_name(q->state->search, process->pid);
	double left = process->due - q->now;

	emit_begin(q->to, NULL, '{');
	emit_int(q->to, "pid", process->pid);
	emit_text(q->to, "name", name.text);
	emit_text(q->to, "rule", q->state->settings->rule[process->rule].name);
	emit_text(q->to, "state", process->refusals ? "refused" : "waiting");
	emit_uint(q->to, "refusals", process->refusals);
	emit_real(q->to, "due_in", left > 0 ? left : 0);
	emit_end(q->to, '}');
}

/* Null once it is not tried again: memattachd stops. */
static void emit_cleaning(struct question *q, const struct restore_job *job)
{
	double left = job->due - q->now;

	emit_begin(q->to, NULL, '{');
	emit_int(q->to, "pid", job->of.pid);
	emit_text(q->to, "name", job->name.text);
	emit_text(q->to, "rule", job->of.rule);
	emit_text(q->to, "state", "cleaning");
	emit_uint(q->to, "tries", job->tries);
	emit_real_if(q->to, "due_in", job->child || left < 0 ? 0 : left);
	emit_text(q->to, "error", job->why[0] ? job->why : NULL);
	emit_end(q->to, '}');
}

static void emit_processes(struct question *q)
{
	const struct roster *roster = q->state->roster;
	const struct restore *restore = q->state->restore;

	emit_begin(q->to, "processes", '[');
	for (size_t i = 0; i < *q->state->watches; i++)
		if (daemon_control_may_see_watch(q->state, q->peer, &(*q->state->watch)[i]))
			emit_watched(q, &(*q->state->watch)[i]);
	for (size_t i = 0; i < restore->count; i++)
		if (daemon_control_may_see_job(q->state, q->peer, &restore->job[i]))
			emit_cleaning(q, &restore->job[i]);
	for (size_t i = 0; i < roster->count; i++)
		if (daemon_control_may_see_waiting(q->state, q->peer, &roster->process[i]))
			emit_waiting(q, &roster->process[i]);
	emit_end(q->to, ']');
}

/* --- commands ------------------------------------------------------------- */

static void emit_own(struct question *q)
{
	emit_begin(q->to, "memattachd", '{');
	emit_uint(q->to, "protocol", CONTROL_PROTOCOL);
	emit_text(q->to, "version", VERSION_TEXT);
	emit_int(q->to, "pid", getpid());
	emit_bool(q->to, "sees_all", q->peer->all);
	emit_uint_if(q->to, "rules", q->state->settings->rules, q->peer->all);
	emit_uint_if(q->to, "max_targets", q->state->settings->max_targets, q->peer->all);
	emit_bool(q->to, "told_by_kernel", q->state->told);
	emit_end(q->to, '}');
}

static enum control_reply answer_status(struct question *q)
{
	emit_begin(q->to, NULL, '{');
	emit_own(q);
	emit_processes(q);
	emit_end(q->to, '}');
	return CONTROL_ANSWERED;
}

void daemon_control_put_status(const struct daemon_state *state, const struct control_peer *peer,
			       struct emit *to)
{
	struct question q = { .state = state, .peer = peer, .to = to, .now = roster_now() };

	(void)answer_status(&q);
}

/* What is so far, then the events that change it. */
static enum control_reply answer_watch(struct question *q)
{
	if (!q->asked->may_stay)
		return daemon_control_refuse(q, SESSION_REFUSED, "too many follow, or wait, "
					     "already; try again later");
	(void)answer_status(q);
	return CONTROL_FOLLOWS;
}

static const struct {
	const char *name;
	daemon_command *answer;
} command_table[] = {
	{ "status", answer_status },
	{ "watch", answer_watch },
	{ "attach", daemon_control_attach },
	{ "detach", daemon_control_detach },
	{ "snapshot", daemon_control_snapshot },
	{ "leaks", daemon_control_leaks },
};

enum control_reply daemon_control_answer(void *context, const struct control_question *question,
					 struct emit *to)
{
	const char *command = json_string_value(json_object_get(question->request, "command"));
	struct question q = { context, question, question->peer, to, roster_now() };

	for (size_t i = 0; command && i < ARRAY_SIZE(command_table); i++)
		if (strcmp(command, command_table[i].name) == 0)
			return command_table[i].answer(&q);
	control_error(to, command ? "no such command" : "\"command\" is missing");
	return CONTROL_ANSWERED;
}
