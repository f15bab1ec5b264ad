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
#include <string.h>
#include <sys/socket.h>

int figures_open(struct figures *figures, int *ret_theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*figures = (struct figures){ .socket = pair[0] };
	*ret_theirs = pair[1];
	return 0;
}

void figures_close(struct figures *figures)
{
	cleanup_fd(&figures->socket);
	screen_inbox_done(&figures->in);
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
			 uint32_t *ret, double *ret_growth)
{
	struct screen_point point;
	struct screen_site site;
	int error = 0;

	*ret = 0;
	*ret_growth = 0;
	for (uint32_t i = 0; !error && i < state->point_count; i++)
		error = apart_get(reader, &point, sizeof(point));
	for (uint32_t i = 0; !error && i < state->site_count; i++) {
		error = apart_get(reader, &site, sizeof(site));
		*ret += !error && site.growing;
		*ret_growth += !error && site.growing ? number(site.growth) : 0;
	}
	return error;
}

/* 1 new figures, 0 of no interest here, -EBADMSG. */
static int take_message(struct figures *figures)
{
	struct apart_reader reader = { figures->in.bytes, figures->in.header.bytes };
	struct screen_state state;
	uint32_t growing;
	double growth;

	if (figures->in.header.type != SCREEN_STATE)
		return 0;
	if (apart_get(&reader, &state, sizeof(state)) || state.point_count > SCREEN_MAX_POINTS ||
	    state.site_count > SCREEN_MAX_SITES || count_growing(&reader, &state, &growing, &growth))
		return -EBADMSG;
	take_state(figures, &state);
	figures->growing = growing;
	figures->growth = number(growth);
	return 1;
}

bool figures_take(struct figures *figures, double now)
{
	bool fresh = false;
	int result = 0;

	while (figures->socket >= 0 &&
	       (result = screen_receive(figures->socket, &figures->in, NULL)) == 1) {
		result = take_message(figures);
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
