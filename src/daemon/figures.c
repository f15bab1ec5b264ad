/* SPDX-License-Identifier: MIT */
/*
 * figures.c - see figures.h.
 *
 * A table of sites comes with them each time. The room for it is given back at once: of two hundred
 * sessions it would be most of what memattachd holds.
 */
#include "src/daemon/figures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/base/memfd.h"

#define MESSAGES_AT_ONCE 64u	/* then others get their turn: an analyst may never stop */
#define COUNT_MOST	(1ull << 53)

int figures_open(struct figures *figures, int *ret_theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*figures = (struct figures){ .socket = pair[0], .asked = { .file = -1 } };
	*ret_theirs = pair[1];
	return 0;
}

static void search_end(struct figures *figures, const char *why)
{
	struct figures_search *search = &figures->search;

	if (!search->under_way)
		return;
	search->under_way = false;
	search->answers++;
	(void)snprintf(search->why, sizeof(search->why), "%s", why);
	log_neutralise(search->why);
}

void figures_close(struct figures *figures)
{
	cleanup_fd(&figures->socket);
	screen_inbox_done(&figures->in);
	if (figures->asked.id && !figures->asked.there) {
		figures->asked.there = true;
		figures->asked.error = -EPIPE;
	}
	search_end(figures, "its session has ended");
	top_sites_drop(&figures->top);
}

/* --- what is asked -------------------------------------------------------- */

void figures_asked_done(struct figures *figures)
{
	if (figures->asked.id)
		cleanup_fd(&figures->asked.file);
	figures->asked = (struct figures_asked){ .file = -1 };
}

void figures_done(struct figures *figures)
{
	figures_close(figures);
	figures_asked_done(figures);
	top_sites_done(&figures->top);
}

/* A few bytes: all of them are sent, or none. file: -1 none. */
static int send_one(struct figures *figures, struct screen_outbox *out, int file)
{
	int error = file >= 0 ? screen_send_fd(figures->socket, out, file) :
				screen_send(figures->socket, out);

	return !error && screen_outbox_waiting(out) > 0 ? -EAGAIN : error;
}

static int figures_ask(struct figures *figures, enum screen_type type, int file)
{
	struct screen_outbox out = { .sent = 0 };
	int error = screen_outbox_begin(&out, type);

	error = screen_outbox_end(&out, error);
	if (!error)
		error = send_one(figures, &out, file);
	screen_outbox_done(&out);
	return error;
}

int figures_set_budget(struct figures *figures, double percent)
{
	struct screen_outbox out = { .sent = 0 };
	int error;

	if (figures->socket < 0)
		return -EPIPE;
	error = screen_outbox_begin(&out, SCREEN_BUDGET);
	if (!error)
		error = apart_put(&out.bytes, &percent, sizeof(percent));
	error = screen_outbox_end(&out, error);
	if (!error)
		error = send_one(figures, &out, -1);
	screen_outbox_done(&out);
	return error;
}

int figures_want_names(struct figures *figures)
{
	return figures->socket < 0 ? -EPIPE : figures_ask(figures, SCREEN_NAME_RECORDING, -1);
}

/* Where they can't be asked for now they are the next time. */
static void want_names(struct figures *figures)
{
	struct screen_outbox out = { .sent = 0 };
	struct screen_want want;
	int error = screen_outbox_begin(&out, SCREEN_WANT);

	top_sites_want(&figures->top, &want);
	if (!error)
		error = apart_put(&out.bytes, &want, sizeof(want));
	error = screen_outbox_end(&out, error);
	if (!error)
		(void)!send_one(figures, &out, -1);
	screen_outbox_done(&out);
}

/* file: -1 none is sent. */
static int begin_to_ask(struct figures *figures, uint64_t id, enum screen_type type, int file)
{
	int error = figures->socket < 0 ? -EPIPE :
		    figures->asked.id   ? -EBUSY :
					  figures_ask(figures, type, file);

	if (error) {
		cleanup_fd(&file);
		return error;
	}
	figures->asked = (struct figures_asked){ .id = id, .file = file };
	return 0;
}

int figures_ask_snapshot(struct figures *figures, uint64_t id, int file_take)
{
	return begin_to_ask(figures, id, SCREEN_SAVE, file_take);
}

/* One search at a time: its answer is for both who asked for it. */
static bool is_searching(const struct figures *figures)
{
	const struct figures_asked *asked = &figures->asked;

	return figures->search.under_way || (asked->id && !asked->there && asked->file < 0);
}

int figures_ask_leaks(struct figures *figures, uint64_t id)
{
	if (figures->asked.id || !is_searching(figures))
		return begin_to_ask(figures, id, SCREEN_LEAKS, -1);
	figures->asked = (struct figures_asked){ .id = id, .file = -1 };
	return 0;
}

int figures_search(struct figures *figures)
{
	int error = figures->socket < 0 ? -EPIPE : 0;

	if (!error && !is_searching(figures)) {
		error = figures_ask(figures, SCREEN_LEAKS, -1);
		if (error)	/* it has read nothing for thousands of questions */
			figures_close(figures);
	}
	if (error)
		return -EPIPE;
	figures->search.under_way = true;
	return 0;
}

/* Of a snapshot; one that was not asked for is nonsense. */
static int take_saved(struct figures *figures)
{
	struct apart_reader reader = { figures->in.bytes, figures->in.header.bytes };
	struct screen_saved saved;

	if (!figures->asked.id || figures->asked.there || figures->asked.file < 0 ||
	    apart_get(&reader, &saved, sizeof(saved)))
		return -EBADMSG;
	figures->asked.there = true;
	figures->asked.error = saved.error < 0 ? saved.error : 0;
	return 0;
}

static int put_in_memory(const struct screen_inbox *in)
{
	_cleanup_fd_ int file = memfd_new("memattach-leaks");
	int result = file;

	if (file < 0)
		return -errno;
	if (write(file, &in->header, sizeof(in->header)) != (ssize_t)sizeof(in->header) ||
	    write(file, in->bytes, in->header.bytes) != (ssize_t)in->header.bytes)
		return -ENOSPC;
	file = -1;
	return result;
}

static void hand_over(struct figures *figures)
{
	int file = put_in_memory(&figures->in);

	figures->asked.there = true;
	figures->asked.error = file < 0 ? file : 0;
	figures->asked.file = file < 0 ? -1 : file;
}

static double number(double value)
{
	return isfinite(value) ? value : 0;
}

/* As many as whoever reads JSON takes exactly; a target may have forged what was counted. */
static uint64_t count(uint64_t value)
{
	return value < COUNT_MOST ? value : COUNT_MOST;
}

static void take_counts(struct screen_state *to)
{
	uint64_t *const each[] = {
		&to->live_bytes, &to->live_count, &to->peak_bytes, &to->rss_bytes, &to->live_low,
		&to->live_high, &to->alloc_count, &to->alloc_bytes, &to->free_count,
		&to->alloc_count_low, &to->alloc_count_high, &to->alloc_bytes_low,
		&to->alloc_bytes_high, &to->free_count_low, &to->free_count_high,
		&to->sample_interval, &to->attach_stop_us, &to->lost_alloc, &to->lost_free,
		&to->lost_stack, &to->lost_map, &to->corrupt, &to->gaps, &to->sites_total,
	};

	for (size_t i = 0; i < ARRAY_SIZE(each); i++)
		*each[i] = count(*each[i]);
}

static void take_state(struct figures *figures, const struct screen_state *state)
{
	struct screen_state *to = &figures->state;
	double *const each[] = {
		&to->time, &to->interval, &to->alloc_rate, &to->free_rate, &to->byte_rate,
		&to->alloc_rate_low, &to->alloc_rate_high, &to->byte_rate_low,
		&to->byte_rate_high, &to->alloc_rate_average, &to->overhead_percent,
		&to->analyst_cpu, &to->blocked_seconds, &to->gap_seconds,
	};

	*to = *state;
	for (size_t i = 0; i < ARRAY_SIZE(each); i++)
		*each[i] = number(*each[i]);
	take_counts(to);
}

/* What sites say of the process. */
struct tally {
	uint32_t growing, too_few;
	double growth;
};

static void tally_add(struct tally *tally, const struct screen_site *site)
{
	tally->growing += site->growing != 0;
	tally->too_few += !site->growing && site->too_few;
	tally->growth += site->growing ? number(site->growth) : 0;
}

static int read_sites(struct apart_reader *reader, const struct screen_state *state,
		      struct top_sites *top, struct tally *tally)
{
	struct screen_point point;
	struct screen_site site;
	int error = 0;

	for (uint32_t i = 0; !error && i < state->point_count; i++)
		error = apart_get(reader, &point, sizeof(point));
	for (uint32_t i = 0; !error && i < state->site_count; i++) {
		error = apart_get(reader, &site, sizeof(site));
		if (error)
			break;
		tally_add(tally, &site);
		top_sites_offer(top, &site);
	}
	return error;
}

static int take_found(struct figures *figures, struct apart_reader *reader, double now)
{
	struct screen_leaks found;

	if (apart_get(reader, &found, sizeof(found)))
		return -EBADMSG;
	found.time = number(found.time);
	found.seconds = number(found.seconds);
	for (size_t i = 0; i < SCREEN_LEAK_KINDS; i++) {
		found.kind[i].count = count(found.kind[i].count);
		found.kind[i].bytes = count(found.kind[i].bytes);
	}
	figures->search.found = found;
	figures->search.found_time = now;
	figures->search.known = true;
	search_end(figures, "");
	return 0;
}

static int take_no(struct figures *figures, struct apart_reader *reader)
{
	const char *why = NULL;

	if (apart_get_text(reader, &why))
		return -EBADMSG;
	search_end(figures, why && why[0] ? why : "no reason given");
	return 0;
}

/* What was found, or why nothing was: its totals, and as a file as it came. */
static int take_leaks(struct figures *figures, double now)
{
	struct apart_reader reader = { figures->in.bytes, figures->in.header.bytes };
	bool asked = figures->asked.id && !figures->asked.there && figures->asked.file < 0;
	int error = 0;

	if (!is_searching(figures))
		return -EBADMSG;
	if (figures->search.under_way)
		figures->search.time = now;
	error = figures->in.header.type == SCREEN_LEAKS_FOUND ?
		take_found(figures, &reader, now) : take_no(figures, &reader);
	if (asked && !error)
		hand_over(figures);
	return error;
}

/* --- what comes ----------------------------------------------------------- */

/* 1, or -EBADMSG. */
static int take_figures(struct figures *figures)
{
	struct apart_reader reader = { figures->in.bytes, figures->in.header.bytes };
	struct screen_state state;
	struct tally tally = { 0 };

	top_sites_begin(&figures->top);
	if (apart_get(&reader, &state, sizeof(state)) || state.point_count > SCREEN_MAX_POINTS ||
	    state.site_count > SCREEN_MAX_SITES ||
	    read_sites(&reader, &state, &figures->top, &tally))
		return -EBADMSG;
	take_state(figures, &state);
	figures->growing = tally.growing;
	figures->too_few = tally.too_few;
	figures->growth = number(tally.growth);
	if (top_sites_end(&figures->top))
		want_names(figures);
	return 1;
}

/* 0, or -EBADMSG. */
static int take_names(struct figures *figures)
{
	struct apart_reader reader = { figures->in.bytes, figures->in.header.bytes };

	while (reader.left) {
		const char *function = NULL, *place = NULL;
		uint32_t site;

		if (apart_get(&reader, &site, sizeof(site)) ||
		    apart_get_text(&reader, &function) || apart_get_text(&reader, &place))
			return -EBADMSG;
		top_sites_name(&figures->top, site, function ? function : "",
			       place ? place : "");
	}
	return 0;
}

/* 1 new figures, 0 of no interest here, -EBADMSG. */
static int take_message(struct figures *figures, double now)
{
	switch (figures->in.header.type) {
	case SCREEN_STATE:
		return take_figures(figures);
	case SCREEN_TARGET:
		figures->attached = true;
		return 0;
	case SCREEN_NAMES:
		return take_names(figures);
	case SCREEN_SAVED:
		return take_saved(figures);
	case SCREEN_LEAKS_FOUND:
	case SCREEN_LEAKS_NONE:
		return take_leaks(figures, now);
	default:
		return 0;
	}
}

bool figures_take(struct figures *figures, double now)
{
	bool fresh = false;
	int got = 1, result = 0;

	for (unsigned int i = 0; i < MESSAGES_AT_ONCE && figures->socket >= 0 && got == 1; i++) {
		got = screen_receive(figures->socket, &figures->in, NULL);
		result = got == 1 ? take_message(figures, now) : got;
		got = result < 0 ? result : got;
		fresh = fresh || result == 1;
	}
	if (result < 0)		/* it is gone, or speaks nonsense */
		figures_close(figures);
	if (figures->in.got == 0 || figures->in.got >= sizeof(figures->in.header) +
						       figures->in.header.bytes)
		screen_inbox_done(&figures->in);
	if (fresh) {
		figures->known = true;
		figures->time = now;
	}
	return fresh;
}
