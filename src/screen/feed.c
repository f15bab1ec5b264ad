/* SPDX-License-Identifier: MIT */
/*
 * feed.c - see feed.h.
 *
 * Between two drains of the rings there are milliseconds. So the socket never blocks, figures
 * are put only into an empty queue (a screen whose terminal is stopped gets none, and costs
 * nothing), and names are asked for in slices. What the screen says is believed as little as
 * what a target says: it showed that target's names.
 */
#include "src/screen/feed.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "src/live/snapshot_rates.h"
#include "src/screen/feed_private.h"

#define REQUESTS_AT_ONCE 16
#define LATE_SECONDS	0.01	/* until what took too long is asked for again */
#define BUSY_SECONDS	0.1
#define END_MS 2000

static double clock_seconds(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double feed_now(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

int feed_new(int socket, const struct feed_names *names, struct feed **ret)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return -ENOMEM;
	feed->socket = socket;
	feed->names = *names;
	feed->lost = feed->received = feed->saving.file = -1;
	*ret = feed;
	return 0;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	cleanup_fd(&feed->socket);
	cleanup_fd(&feed->lost);
	cleanup_fd(&feed->received);
	feed_saving_done(&feed->saving);
	screen_outbox_done(&feed->out);
	screen_inbox_done(&feed->in);
	free(feed->named);
	free(feed);
}

/* The session goes on without it: whoever started us sees it end, and decides. */
static void lose_screen(struct feed *feed)
{
	(void)shutdown(feed->socket, SHUT_RDWR);
	feed->lost = feed->socket;
	feed->socket = -1;
	feed_saving_done(&feed->saving);
}

static void send_some(struct feed *feed)
{
	if (feed->socket >= 0 && screen_send(feed->socket, &feed->out))
		lose_screen(feed);
}

void feed_begin(struct feed *feed, const struct snapshot_target *target, const char *version)
{
	int error = screen_outbox_begin(&feed->out, SCREEN_TARGET);
	int32_t pid = target->pid;

	if (!error)
		error = apart_put(&feed->out.bytes, &pid, sizeof(pid));
	if (!error)
		error = apart_put_text(&feed->out.bytes, target->cmdline);
	if (!error)
		error = apart_put_text(&feed->out.bytes, target->exe);
	if (!error)
		error = apart_put_text(&feed->out.bytes, version);
	(void)screen_outbox_end(&feed->out, error);
	send_some(feed);
}

void feed_text(struct feed *feed, enum screen_type type, const char *text)
{
	int error = screen_outbox_begin(&feed->out, type);

	if (!error)
		error = apart_put_text(&feed->out.bytes, text);
	(void)screen_outbox_end(&feed->out, error);
}

void feed_note(struct feed *feed, const char *text)
{
	feed_text(feed, SCREEN_NOTE, text);
}

static void hear_budget(struct feed *feed)
{
	double percent;

	memcpy(&percent, feed->in.bytes, sizeof(percent));
	if (percent > 0 && percent <= 100)	/* and a number */
		feed->budget = percent;
}

double feed_budget(struct feed *feed)
{
	double percent = feed->budget;

	feed->budget = 0;
	return percent;
}

bool feed_wants_names(struct feed *feed)
{
	bool wanted = feed->names_wanted;

	feed->names_wanted = false;
	return wanted;
}

static void hear_wants(struct feed *feed)
{
	memcpy(&feed->want, feed->in.bytes, sizeof(feed->want));
	if (feed->names.only_wanted)
		feed_name_anew(feed);
}

static void hear(struct feed *feed)
{
	for (int i = 0; i < REQUESTS_AT_ONCE && feed->socket >= 0; i++) {
		int result = screen_receive(feed->socket, &feed->in, &feed->received);

		if (result == 0)
			return;
		if (result == 1 && feed->in.header.type == SCREEN_WANT &&
		    feed->in.header.bytes == sizeof(feed->want)) {
			hear_wants(feed);
		} else if (result == 1 && feed->in.header.type == SCREEN_BUDGET &&
			   feed->in.header.bytes == sizeof(feed->budget)) {
			hear_budget(feed);
		} else if (result == 1 && feed->in.header.type == SCREEN_LEAKS) {
			feed->leaks_wanted = true;
		} else if (result == 1 && feed->in.header.type == SCREEN_NAME_RECORDING) {
			feed->names_wanted = true;
		} else if (result == 1 && feed->in.header.type == SCREEN_SAVE) {
			feed_save_begin(feed, feed->received);
			feed->received = -1;
		} else {
			lose_screen(feed);
		}
	}
}

static void find_names(struct feed *feed, const struct sites *sites, const struct stacks *stacks)
{
	int error = feed_name_some(feed, sites, stacks);

	if (!error)
		error = feed_save_some(feed, stacks);
	feed->names_late = error == -EAGAIN;
	if (error)
		feed->next_slice = feed_now() + LATE_SECONDS;
}

void feed_turn(struct feed *feed, const struct sites *sites, const struct stacks *stacks,
	       bool busy)
{
	double now;

	if (feed->socket < 0)
		return;
	hear(feed);
	now = feed_now();
	if (feed->socket >= 0 && now >= feed->next_slice + (busy ? BUSY_SECONDS : 0)) {
		feed->next_slice = now;
		find_names(feed, sites, stacks);
	}
	send_some(feed);
}

bool feed_is_open(const struct feed *feed)
{
	return feed->socket >= 0;
}

bool feed_is_busy(const struct feed *feed)
{
	return feed->socket >= 0 && (feed->saving.file >= 0 || feed->names_late ||
				     screen_outbox_waiting(&feed->out) > 0);
}

/* ---- figures ---- */

static void put_rates(const struct snapshot *snapshot, struct screen_state *to)
{
	const struct snapshot_rates rates = snapshot_rates(snapshot);

	to->alloc_rate = rates.allocs.value;
	to->alloc_rate_low = rates.allocs.low;
	to->alloc_rate_high = rates.allocs.high;
	to->free_rate = rates.frees.value;
	to->byte_rate = rates.bytes.value;
	to->byte_rate_low = rates.bytes.low;
	to->byte_rate_high = rates.bytes.high;
	to->alloc_rate_average = snapshot_rate_on_average(snapshot);
}

/* What this process took of a CPU since the last time. */
static double own_cost(struct feed *feed)
{
	double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID), now = feed_now();
	double share = feed->at > 0 && now > feed->at ? (cpu - feed->cpu_seconds) /
							(now - feed->at) : -1;

	feed->cpu_seconds = cpu;
	feed->at = now;
	return share;
}

/* Of what is counted since the session began; figures that are exact are their own ends. */
static void put_ends(const struct snapshot *snapshot, struct screen_state *ret)
{
	const struct snapshot_totals *totals = &snapshot->totals;
	struct snapshot_intervals in = totals->in;

	if (!snapshot->intervals) {
		in.alloc_count.low = in.alloc_count.high = totals->alloc_count;
		in.alloc_bytes.low = in.alloc_bytes.high = totals->alloc_bytes;
		in.free_count.low = in.free_count.high = totals->free_count;
	}
	ret->alloc_count_low = in.alloc_count.low;
	ret->alloc_count_high = in.alloc_count.high;
	ret->alloc_bytes_low = in.alloc_bytes.low;
	ret->alloc_bytes_high = in.alloc_bytes.high;
	ret->free_count_low = in.free_count.low;
	ret->free_count_high = in.free_count.high;
}

static struct screen_state state_of(struct feed *feed, const struct snapshot *snapshot)
{
	const struct snapshot_session *session = &snapshot->session;
	const struct snapshot_totals *totals = &snapshot->totals;
	struct screen_state state = {
		.time = session->duration, .overhead_percent = session->overhead_percent,
		.blocked_seconds = session->blocked_seconds, .gap_seconds = session->gap_seconds,
		.live_bytes = totals->live_bytes, .live_count = totals->live_count,
		.live_low = totals->live_bytes_low, .live_high = totals->live_bytes_high,
		.peak_bytes = totals->peak_live_bytes, .rss_bytes = snapshot->target.rss_bytes,
		.alloc_count = totals->alloc_count, .alloc_bytes = totals->alloc_bytes,
		.free_count = totals->free_count,
		.sample_interval = session->sample_interval_bytes,
		.attach_stop_us = session->attach_stop_us_max,
		.lost_alloc = session->lost.alloc, .lost_free = session->lost.free,
		.lost_stack = session->lost.stack, .lost_map = session->lost.map,
		.corrupt = session->corrupt, .gaps = session->gaps,
		.sites_total = snapshot->site_count,
		.mode = (uint32_t)session->mode, .every_alloc = snapshot->every_alloc,
		.partial = snapshot_is_partial(snapshot),
	};

	put_ends(snapshot, &state);
	state.analyst_cpu = own_cost(feed);
	put_rates(snapshot, &state);
	return state;
}

static int put_points(struct apart_answer *to, const struct snapshot *snapshot, uint32_t count)
{
	const struct timeline_point *from = snapshot->timeline + snapshot->timeline_count - count;
	int error = 0;

	for (uint32_t i = 0; !error && i < count; i++) {
		const struct screen_point point = { from[i].time, from[i].live_bytes,
						    from[i].rss_bytes };

		error = apart_put(to, &point, sizeof(point));
	}
	return error;
}

static int put_sites(struct apart_answer *to, const struct snapshot *snapshot, uint32_t count)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < count; i++) {
		const struct snapshot_site *from = &snapshot->site[i];
		const struct screen_site site = {
			.id = from->id, .growing = from->verdict == SNAPSHOT_GROWING,
			.too_few = from->verdict == SNAPSHOT_TOO_FEW,
			.live_bytes = from->live_bytes, .live_count = from->live_count,
			.live_low = from->live_bytes_low, .live_high = from->live_bytes_high,
			.alloc_bytes = from->alloc_bytes, .alloc_count = from->alloc_count,
			.temporary_count = from->temporary_count, .growth = from->growth,
			.first_time = from->first_time, .last_time = from->last_time,
		};

		error = apart_put(to, &site, sizeof(site));
	}
	return error;
}

static uint32_t at_most(size_t count, uint32_t most)
{
	return count < most ? (uint32_t)count : most;
}

void feed_show(struct feed *feed, const struct feed_figures *figures)
{
	const struct snapshot *snapshot = figures->snapshot;
	struct screen_state state;
	int error;

	send_some(feed);
	if (feed->socket < 0 || screen_outbox_waiting(&feed->out))
		return;
	state = state_of(feed, snapshot);
	state.interval = figures->interval;
	state.point_count = at_most(snapshot->timeline_count, SCREEN_MAX_POINTS);
	state.site_count = at_most(snapshot->site_count, SCREEN_MAX_SITES);
	state.threads_total = live_threads(figures->live);
	state.thread_count = at_most(state.threads_total, SCREEN_MAX_THREADS);
	error = screen_outbox_begin(&feed->out, SCREEN_STATE);
	if (!error)
		error = apart_put(&feed->out.bytes, &state, sizeof(state));
	if (!error)
		error = put_points(&feed->out.bytes, snapshot, state.point_count);
	if (!error)
		error = put_sites(&feed->out.bytes, snapshot, state.site_count);
	if (!error)
		error = feed_put_threads(&feed->out.bytes, figures, state.thread_count);
	(void)screen_outbox_end(&feed->out, error);	/* out of memory: the next time, perhaps */
	send_some(feed);
}

/* ---- the end ---- */

void feed_end(struct feed *feed)
{
	if (feed->socket >= 0)
		(void)shutdown(feed->socket, SHUT_WR);
}

void feed_await_end(struct feed *feed)
{
	struct pollfd screen = { .fd = feed->socket, .events = POLLRDHUP };
	double end = feed_now() + END_MS / 1e3;
	int left = END_MS;

	while (feed->socket >= 0 && left > 0 && poll(&screen, 1, left) < 0 && errno == EINTR)
		left = (int)((end - feed_now()) * 1e3);
}
