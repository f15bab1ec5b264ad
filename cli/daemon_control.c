/* SPDX-License-Identifier: MIT */
/*
 * daemon_control.c - see daemon_control.h.
 *
 * Who may see everything sees everything; another user sees his own processes, and of the others
 * not even how many there are.
 */
#include "cli/daemon_control.h"

#include <string.h>
#include <unistd.h>

#include "src/version.h"

struct question {
	const struct daemon_state *state;
	const struct control_peer *peer;
	struct emit *to;
	double now;
};

bool daemon_control_may_see(const struct daemon_state *state, const struct control_peer *peer,
			    pid_t pid)
{
	return peer->all || process_user(state->search, pid) == peer->uid;
}

static bool may_see(const struct question *q, pid_t pid)
{
	return daemon_control_may_see(q->state, q->peer, pid);
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
	emit_uint(to, "live_bytes", state->live_bytes);
	emit_uint(to, "live_bytes_low", state->live_low);
	emit_uint(to, "live_bytes_high", state->live_high);
	emit_uint(to, "live_count", state->live_count);
	emit_uint(to, "peak_live_bytes", state->peak_bytes);
	emit_uint(to, "rss_bytes", state->rss_bytes);
	emit_uint(to, "alloc_count", state->alloc_count);
	emit_uint(to, "alloc_bytes", state->alloc_bytes);
	emit_uint(to, "free_count", state->free_count);
	emit_real(to, "allocs_per_second", state->alloc_rate);
	emit_real(to, "alloc_bytes_per_second", state->byte_rate);
	emit_uint(to, "sites", state->sites_total);
	emit_uint(to, "growing_sites", figures->growing);
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

static void emit_processes(struct question *q)
{
	const struct roster *roster = q->state->roster;

	emit_begin(q->to, "processes", '[');
	for (size_t i = 0; i < q->state->watches; i++)
		if (may_see(q, q->state->watch[i].pid))
			emit_watched(q, &q->state->watch[i]);
	for (size_t i = 0; i < roster->count; i++)
		if (roster->process[i].state == ROSTER_WAITING &&
		    may_see(q, roster->process[i].pid))
			emit_waiting(q, &roster->process[i]);
	emit_end(q->to, ']');
}

/* --- commands ------------------------------------------------------------- */

static void answer_status(struct question *q)
{
	emit_begin(q->to, NULL, '{');
	emit_begin(q->to, "memattachd", '{');
	emit_uint(q->to, "protocol", CONTROL_PROTOCOL);
	emit_text(q->to, "version", VERSION_TEXT);
	emit_int(q->to, "pid", getpid());
	emit_bool(q->to, "sees_all", q->peer->all);
	emit_uint_if(q->to, "rules", q->state->settings->rules, q->peer->all);
	emit_uint_if(q->to, "max_targets", q->state->settings->max_targets, q->peer->all);
	emit_bool(q->to, "told_by_kernel", q->state->told);
	emit_end(q->to, '}');
	emit_processes(q);
	emit_end(q->to, '}');
}

void daemon_control_answer(void *context, const struct control_peer *peer,
			   const json_t *request, struct emit *to)
{
	const char *command = json_string_value(json_object_get(request, "command"));
	struct question q = { context, peer, to, roster_now() };

	if (command && strcmp(command, "status") == 0)
		answer_status(&q);
	else
		control_error(to, command ? "no such command" : "\"command\" is missing");
}
