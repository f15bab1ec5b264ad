/* SPDX-License-Identifier: MIT */
/*
 * growth.c - see growth.h.
 *
 * A run is a row of snapshots each of which lies, with its whole interval, above every snapshot
 * in the older half of what came before the run. Of levels that vary without growing, whatever
 * their distribution, eight in a row are that with a chance that can be counted: all orders are as
 * likely. The younger half is left out since what grows slowly is never far above what it was a
 * moment ago. Rejected: a straight line through the points, whose test takes errors for
 * independent and alike, and calls every cache that fills and every afternoon's peak growth; a
 * fixed threshold, which nobody knows to set.
 */
#include "src/daemon/growth.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t growth_bytes(const struct growth *growth, const struct growth_point *point)
{
	return point->live > growth->base.high ? point->live - growth->base.high : 0;
}

double growth_seconds(const struct growth *growth, const struct growth_point *point)
{
	return point->time > growth->base.time ? point->time - growth->base.time : 0;
}

/* --- the past ------------------------------------------------------------- */

static struct growth_span join(const struct growth_span *a, const struct growth_span *b)
{
	return (struct growth_span){ larger(a->high, b->high), larger(a->rss, b->rss), b->time };
}

/* For another span: all become twice as long; or the oldest is forgotten. */
static void make_room(struct growth *g)
{
	if (g->span_length >= GROWTH_LONGEST_SPAN) {
		for (uint32_t i = 1; i < g->spans; i++)
			g->span[i - 1] = g->span[i];
		g->spans--;
		return;
	}
	for (uint32_t i = 0; i < g->spans / 2; i++)
		g->span[i] = join(&g->span[2 * i], &g->span[2 * i + 1]);
	g->spans /= 2;
	g->span_length *= 2;
}

static void remember(struct growth *g, const struct growth_point *point)
{
	const struct growth_span now = { point->high, point->rss, point->time };

	if (g->span_length == 0)
		g->span_length = g->span_filled = 1;
	if (g->spans && g->span_filled < g->span_length) {
		g->span[g->spans - 1] = join(&g->span[g->spans - 1], &now);
		g->span_filled++;
		return;
	}
	if (g->spans == GROWTH_SPANS)
		make_room(g);
	g->span[g->spans++] = now;
	g->span_filled = 1;
}

static struct growth_span older_half(const struct growth *g)
{
	struct growth_span half = g->span[0];

	for (uint32_t i = 1; i < g->spans / 2; i++)
		half = join(&half, &g->span[i]);
	return half;
}

/* --- runs ----------------------------------------------------------------- */

/* What was told of is the past that others are measured by. */
static void end_run(struct growth *g)
{
	for (uint32_t i = 0; g->told_bytes && i < g->spans; i++)
		g->span[i].high = larger(g->span[i].high, g->run_high);
	g->run = g->run_record = 0;
	g->run_high = g->record_high = g->told_bytes = 0;
}

/* The next one has to be longer: this process's level moves that slowly. */
static void fail_run(struct growth *g)
{
	if (g->run > g->failed)
		g->failed = g->run;
	end_run(g);
}

static bool begin_run(struct growth *g, const struct growth_point *point)
{
	struct growth_span base;

	if (g->spans * g->span_length < GROWTH_BEFORE)
		return false;
	base = older_half(g);
	if (point->low <= base.high)
		return false;
	g->base = base;
	return true;
}

static void go_on(struct growth *g, const struct growth_point *point)
{
	if (g->run < UINT32_MAX)
		g->run++;
	g->run_high = larger(g->run_high, point->high);
	if (point->low > g->record_high) {
		g->run_record = g->run;
		g->record_high = point->high;
	}
}

/* A quarter of what was told, or all of what was not told yet, is for certain no more there. */
static bool has_fallen(const struct growth *g, const struct growth_point *point)
{
	uint64_t kept = g->told_bytes - g->told_bytes / 4;

	return g->told_bytes ? point->high < g->base.high + kept : point->low <= g->base.high;
}

/* --- what is said of them ------------------------------------------------- */

static uint32_t run_wanted(const struct growth *g)
{
	uint32_t wanted = g->failed < GROWTH_LONGEST_RUN / 2 ? g->failed * 2 : GROWTH_LONGEST_RUN;

	return wanted > GROWTH_RUN ? wanted : GROWTH_RUN;
}

/* Blocks in the place of some from before the attach, which nobody counts, take no memory. */
static bool takes_memory(const struct growth *g, const struct growth_point *point, uint64_t bytes)
{
	return !point->rss || !g->base.rss ||
	       (point->rss > g->base.rss && point->rss - g->base.rss >= bytes / 4);
}

static bool is_much(const struct growth *g, uint64_t bytes)
{
	return bytes >= GROWTH_LEAST_BYTES &&
	       (double)bytes >= GROWTH_LEAST_SHARE * (double)g->base.high;
}

static bool grows(const struct growth *g, const struct growth_point *point, uint64_t bytes)
{
	if (g->told_bytes)
		return bytes / GROWTH_FACTOR >= g->told_bytes;
	return g->run >= run_wanted(g) && is_much(g, point->low - g->base.high);
}

/* For as long as it has grown, and longer than a pause would be. */
static bool holds(const struct growth *g)
{
	uint32_t since = g->run - g->run_record;

	return g->told_bytes && since >= GROWTH_HELD && since >= g->run_record;
}

static enum growth_news news_of_run(struct growth *g, const struct growth_point *point)
{
	uint64_t bytes = growth_bytes(g, point);

	if (grows(g, point, bytes) && point->sites && takes_memory(g, point, bytes)) {
		g->told_bytes = bytes;
		return GROWTH_GROWS;
	}
	if (!holds(g))
		return GROWTH_NOTHING;
	end_run(g);
	return GROWTH_HOLDS;
}

enum growth_news growth_take(struct growth *g, const struct growth_point *point)
{
	enum growth_news news = GROWTH_NOTHING;

	if (g->run && has_fallen(g, point))
		fail_run(g);
	if (g->run || begin_run(g, point)) {
		go_on(g, point);
		news = news_of_run(g, point);
	}
	remember(g, point);
	return news;
}
