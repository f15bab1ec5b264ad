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
#include <sys/socket.h>

#include "src/base/log.h"

int figures_open(struct figures *figures, int *ret_theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*figures = (struct figures){ .socket = pair[0] };
	*ret_theirs = pair[1];
	return 0;
}

static double number(double value)
{
	return isfinite(value) ? value : 0;
}

static void take_state(struct figures *figures, const struct screen_state *state)
{
	struct screen_state *to = &figures->state;

	*to = *state;
	to->time = number(to->time);
	to->interval = number(to->interval);
	to->alloc_rate = number(to->alloc_rate);
	to->free_rate = number(to->free_rate);
	to->byte_rate = number(to->byte_rate);
	to->overhead_percent = number(to->overhead_percent);
	to->analyst_cpu = number(to->analyst_cpu);
	to->blocked_seconds = number(to->blocked_seconds);
	to->gap_seconds = number(to->gap_seconds);
}

static int count_growing(struct apart_reader *reader, const struct screen_state *state,
			 uint32_t *ret)
{
	struct screen_point point;
	struct screen_site site;
	int error = 0;

	*ret = 0;
	for (uint32_t i = 0; !error && i < state->point_count; i++)
		error = apart_get(reader, &point, sizeof(point));
	for (uint32_t i = 0; !error && i < state->site_count; i++) {
		error = apart_get(reader, &site, sizeof(site));
		*ret += !error && site.growing;
	}
	return error;
}

/* --- searches for leaks --------------------------------------------------- */

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

int figures_search(struct figures *figures)
{
	const struct screen_header ask = { .type = SCREEN_LEAKS };

	if (figures->socket < 0)
		return -EPIPE;
	if (figures->search.under_way)
		return 0;
	if (send(figures->socket, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(ask)) {
		figures_close(figures);	/* it has read nothing for thousands of questions */
		return -EPIPE;
	}
	figures->search.under_way = true;
	return 0;
}

static int take_found(struct figures *figures, struct apart_reader *reader)
{
	struct screen_leaks found;

	if (apart_get(reader, &found, sizeof(found)))
		return -EBADMSG;
	found.time = number(found.time);
	found.seconds = number(found.seconds);
	figures->search.found = found;
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

/* --- messages ------------------------------------------------------------- */

static int take_figures(struct figures *figures, struct apart_reader *reader)
{
	struct screen_state state;
	uint32_t growing;

	if (apart_get(reader, &state, sizeof(state)) || state.point_count > SCREEN_MAX_POINTS ||
	    state.site_count > SCREEN_MAX_SITES || count_growing(reader, &state, &growing))
		return -EBADMSG;
	take_state(figures, &state);
	figures->growing = growing;
	return 1;
}

/* 1 new figures, 0 something else, -EBADMSG. */
static int take_message(struct figures *figures, double now)
{
	struct apart_reader reader = { figures->in.bytes, figures->in.header.bytes };

	switch (figures->in.header.type) {
	case SCREEN_STATE:
		return take_figures(figures, &reader);
	case SCREEN_LEAKS_FOUND:
		figures->search.time = now;
		return take_found(figures, &reader);
	case SCREEN_LEAKS_NONE:
		figures->search.time = now;
		return take_no(figures, &reader);
	default:
		return 0;
	}
}

void figures_close(struct figures *figures)
{
	cleanup_fd(&figures->socket);
	screen_inbox_done(&figures->in);
	search_end(figures, "its session has ended");
}

bool figures_take(struct figures *figures, double now)
{
	bool fresh = false;
	int result = 0;

	while (figures->socket >= 0 &&
	       (result = screen_receive(figures->socket, &figures->in, NULL)) == 1) {
		result = take_message(figures, now);
		if (result < 0)
			break;
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
