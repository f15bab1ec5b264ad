/* SPDX-License-Identifier: MIT */
/*
 * episodes.c - see episodes.h.
 *
 * An analyst that was taken over can tell anything. So what it tells faster than it should is not
 * looked at, and what has been told is told again only when it has doubled: no series of figures
 * makes more than a few events.
 */
#include "src/daemon/episodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/report/human.h"

void episodes_init(struct episodes *episodes, double every, double budget)
{
	*episodes = (struct episodes){ .every = every, .budget = budget, .taken = -every };
}

static void begin(struct episode_news *to, enum event_kind kind)
{
	to->kind = kind;
	to->numbers = 0;
}

static void number(struct episode_news *to, const char *name, uint64_t value)
{
	to->number[to->numbers++] = (struct event_number){ name, value };
}

static _printf_(2, 3) void text(struct episode_news *to, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(to->text, sizeof(to->text), format, arguments);
	va_end(arguments);
}

static _printf_(2, 3) void text_append(struct episode_news *to, const char *format, ...)
{
	size_t length = strlen(to->text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(to->text + length, sizeof(to->text) - length, format, arguments);
	va_end(arguments);
}

static uint64_t whole(double value)
{
	return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

/* --- growth and plateaus -------------------------------------------------- */

/* Low and high are believed only where they enclose the level. */
static struct growth_point point_of(const struct figures *figures)
{
	const struct screen_state *s = &figures->state;

	return (struct growth_point){
		.time = figures->time, .live = s->live_bytes, .rss = s->rss_bytes,
		.low = s->live_low < s->live_bytes ? s->live_low : s->live_bytes,
		.high = s->live_high > s->live_bytes ? s->live_high : s->live_bytes,
		.sites = figures->growing > 0 || figures->too_few > 0,
	};
}

static void tell_growth(struct episode_news *to, enum growth_news news,
			const struct growth *growth, const struct growth_point *point,
			const struct figures *figures)
{
	uint32_t sites = figures->growing;
	uint64_t bytes = growth_bytes(growth, point);
	double seconds = growth_seconds(growth, point);
	double rate = seconds > 0 ? (double)bytes / seconds : 0;
	struct human by = human_bytes((double)bytes), live = human_bytes((double)point->live);

	begin(to, news == GROWTH_GROWS ? EVENT_GROWTH : EVENT_PLATEAU);
	number(to, "LIVE_BYTES", point->live);
	number(to, "GROWTH_BYTES", bytes);
	number(to, "GROWTH_SECONDS", whole(seconds));
	if (news == GROWTH_HOLDS) {
		text(to, "it has grown by %s, and keeps that: %s live", by.text,
		     live.text);
		return;
	}
	number(to, "GROWTH_BYTES_PER_HOUR", whole(rate * 3600));
	number(to, "GROWING_SITES", sites);
	number(to, "TOO_FEW_SAMPLES_SITES", figures->too_few);
	text(to, "it grows: by %s in %s to %s live, %s an hour, at %u site%s", by.text,
	     human_seconds(seconds).text, live.text, human_bytes(rate * 3600).text, sites,
	     sites == 1 ? "" : "s");
	if (figures->too_few)
		text_append(to, "; %u site%s had too few samples to tell", figures->too_few,
			    figures->too_few == 1 ? "" : "s");
}

static size_t take_growth(struct episodes *e, const struct figures *figures,
			  struct episode_news *ret)
{
	const struct growth_point point = point_of(figures);
	enum growth_news news = growth_take(&e->growth, &point);

	if (news == GROWTH_NOTHING)
		return 0;
	tell_growth(ret, news, &e->growth, &point, figures);
	return 1;
}

/* --- the budget ----------------------------------------------------------- */

/* Of a process that does nothing a thousandth is above any budget, and nothing. */
static bool is_above(const struct episodes *e, const struct screen_state *state)
{
	return e->budget > 0 && state->mode == SCREEN_ADAPTIVE &&
	       state->overhead_percent > e->budget && state->analyst_cpu >= EPISODE_LEAST_CPU;
}

static size_t take_budget(struct episodes *e, const struct screen_state *state,
			  struct episode_news *ret)
{
	bool above = is_above(e, state);

	e->above = above ? e->above + 1 : 0;
	e->below = above ? 0 : e->below + 1;
	if (e->below >= EPISODE_BUDGET_RUN)
		e->over = false;
	if (e->over || e->above < EPISODE_BUDGET_RUN)
		return 0;
	e->over = true;
	begin(ret, EVENT_BUDGET);
	number(ret, "OVERHEAD_PPM", whole(state->overhead_percent * 1e4));
	number(ret, "BUDGET_PPM", whole(e->budget * 1e4));
	text(ret, "watching it costs %.2f %% of its processor time; the budget is %g %%",
	     state->overhead_percent, e->budget);
	return 1;
}

/* --- losses --------------------------------------------------------------- */

static size_t take_loss(struct episodes *e, const struct screen_state *s,
			struct episode_news *ret)
{
	uint64_t lost = s->lost_alloc + s->lost_free + s->lost_stack + s->lost_map + s->corrupt;
	bool more = lost > e->lost_last && lost / GROWTH_FACTOR >= e->lost_told;
	bool gaps = s->gaps > e->gaps_last && s->gaps / GROWTH_FACTOR >= e->gaps_told;

	e->lost_last = lost;
	e->gaps_last = s->gaps;
	if (!more && !gaps)
		return 0;
	e->lost_told = lost;
	e->gaps_told = s->gaps;
	begin(ret, EVENT_LOSS);
	number(ret, "LOST_EVENTS", lost);
	number(ret, "GAPS", s->gaps);
	number(ret, "GAP_SECONDS", whole(s->gap_seconds));
	text(ret, "%llu events were lost, and %llu gaps of %.1f s in all: its figures may be off",
	     (unsigned long long)lost, (unsigned long long)s->gaps, s->gap_seconds);
	return 1;
}

size_t episodes_take(struct episodes *e, const struct figures *figures,
		     struct episode_news ret[EPISODE_NEWS])
{
	size_t count;

	if (figures->time < e->taken + e->every / 2)
		return 0;
	e->taken = figures->time;
	count = take_growth(e, figures, ret);
	count += take_budget(e, &figures->state, ret + count);
	return count + take_loss(e, &figures->state, ret + count);
}

/* --- leaks ---------------------------------------------------------------- */

size_t episodes_take_search(struct episodes *e, const struct figures_search *search,
			    struct episode_news *ret)
{
	uint64_t count = search->found.kind[SCREEN_DEFINITELY].count;
	uint64_t bytes = search->found.kind[SCREEN_DEFINITELY].bytes;

	if (count == 0 || bytes / GROWTH_FACTOR < e->leaked_told ||
	    (e->leaked_told && bytes == 0))
		return 0;
	e->leaked_told = bytes;
	begin(ret, EVENT_LEAK);
	number(ret, "LEAKED_BLOCKS", count);
	number(ret, "LEAKED_BYTES", bytes);
	text(ret, "%llu block%s of %s in all definitely lost", (unsigned long long)count,
	     count == 1 ? "" : "s", human_bytes((double)bytes).text);
	return 1;
}
