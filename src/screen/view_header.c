/* SPDX-License-Identifier: MIT */
/*
 * view_header.c - the top of the screen: what is watched, how much lives, how fast, what it costs.
 *
 * Six lines at any width: a terminal of 80 by 24 keeps 16 for sites and stack. What was lost has
 * a line of its own, also when it is nothing: figures are to be believed or not. Where there
 * are but few lines, sites come first.
 */
#include <string.h>

#include "src/report/human.h"
#include "src/screen/screen_put.h"
#include "src/screen/screen_view.h"

#include <ncurses.h>

#define LABEL_COLUMNS	7
#define GRAPH_COLUMN	52	/* what stands left of it needs that much */
#define GRAPH_MAX	120
#define LINES_FOR_LIVE	9	/* of the terminal, for live and lost */
#define LINES_FOR_ALL	15

static void put_bar(const struct model *model, int y)
{
	static const char *const mode[] = { "adaptive", "sampled", "exact", "counts" };
	const char *what = model->cmdline && model->cmdline[0] ? model->cmdline : model->exe;
	char right[80];
	int length;

	view_fill(y, VIEW_BAR);
	length = snprintf(right, sizeof(right), " %s%s%s  %s ", model->paused ? "PAUSED  " : "",
			  model->differences ? "SINCE MARK  " : "", mode[model->state.mode],
			  human_seconds(model->state.time).text);
	(void)view_putf(y, 1, COLS - length - 1, VIEW_BAR, "memattach  %d  %s", model->pid,
			what ? what : "");
	view_put_right(y, COLS - length, length, VIEW_BAR, right);
}

static void put_label(int y, const char *label)
{
	(void)view_put(y, 1, LABEL_COLUMNS, VIEW_DIM, label);
}

static void put_graph(const struct model *model, int y, bool rss)
{
	uint64_t value[SCREEN_MAX_POINTS];
	int width = COLS - GRAPH_COLUMN - 1;

	for (uint32_t i = 0; i < model->state.point_count; i++)
		value[i] = rss ? model->point[i].rss_bytes : model->point[i].live_bytes;
	if (width > GRAPH_MAX)
		width = GRAPH_MAX;
	view_graph(y, COLS - width - 1, width, value, model->state.point_count);
}

static void put_live(const struct model *model, int y)
{
	const struct screen_state *state = &model->state;
	int width = GRAPH_COLUMN - LABEL_COLUMNS - 2;

	put_label(y, "live");
	if (model->differences)
		(void)view_putf(y, 1 + LABEL_COLUMNS, width, VIEW_BOLD, "%s in %s since the mark",
				human_bytes_signed((double)state->live_bytes -
						   (double)model->mark_live).text,
				human_seconds(state->time - model->mark_time).text);
	else if (state->live_low < state->live_high)
		(void)view_putf(y, 1 + LABEL_COLUMNS, width, VIEW_BOLD,
				"%s (95 %%: %s to %s)", human_bytes((double)state->live_bytes).text,
				human_bytes((double)state->live_low).text,
				human_bytes((double)state->live_high).text);
	else
		(void)view_putf(y, 1 + LABEL_COLUMNS, width, VIEW_BOLD, "%s in %s blocks, peak %s",
				human_bytes((double)state->live_bytes).text,
				human_count((double)state->live_count).text,
				human_bytes((double)state->peak_bytes).text);
	put_graph(model, y, false);
}

static void put_rss(const struct model *model, int y)
{
	put_label(y, "RSS");
	(void)view_put(y, 1 + LABEL_COLUMNS, GRAPH_COLUMN - LABEL_COLUMNS - 2, VIEW_BOLD,
		       human_bytes((double)model->state.rss_bytes).text);
	put_graph(model, y, true);
}

static void put_rate(const struct model *model, int y)
{
	const struct screen_state *state = &model->state;
	int x = 1 + LABEL_COLUMNS;

	put_label(y, "rate");
	x += view_putf(y, x, COLS - x, VIEW_PLAIN, "%s allocs/s",
		       human_count(state->alloc_rate).text);
	if (state->alloc_rate_low < state->alloc_rate_high)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, " (95 %%: %s to %s)",
			       human_count(state->alloc_rate_low).text,
			       human_count(state->alloc_rate_high).text);
	x += view_putf(y, x, COLS - x, VIEW_PLAIN, "; %s allocs in all, %s/s on average",
		       human_count((double)state->alloc_count).text,
		       human_count(state->alloc_rate_average).text);
	(void)view_putf(y, x, COLS - x, VIEW_PLAIN, "; %s frees/s, %s/s",
			human_count(state->free_rate).text, human_bytes(state->byte_rate).text);
}

/* The sampling interval, and what watching costs: the target, and the machine. */
static void put_cost(const struct model *model, int y)
{
	const struct screen_state *state = &model->state;
	int x = 1 + LABEL_COLUMNS;

	put_label(y, "cost");
	if (state->sample_interval)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, "a sample per %s; ",
			       human_bytes((double)state->sample_interval).text);
	else if (state->partial)
		x += view_put(y, x, COLS - x, VIEW_PLAIN, "every event of hooked functions; ");
	else
		x += view_put(y, x, COLS - x, VIEW_PLAIN, "every event; ");
	if (state->partial)
		x += view_put(y, x, COLS - x, VIEW_WARN, "NOT ALL ARE HOOKED (report); ");
	if (state->overhead_percent >= 0)
		x += view_putf(y, x, COLS - x, VIEW_PLAIN, "%.2f %% of its time; ",
			       state->overhead_percent);
	if (state->blocked_seconds > 0)
		x += view_putf(y, x, COLS - x, VIEW_WARN, "it waited %s; ",
			       human_seconds(state->blocked_seconds).text);
	x += view_putf(y, x, COLS - x, VIEW_PLAIN, "longest stop %s",
		       human_seconds((double)state->attach_stop_us / 1e6).text);
	if (state->analyst_cpu >= 0)
		(void)view_putf(y, x, COLS - x, VIEW_PLAIN, "; analyst %.1f %% of a CPU",
				state->analyst_cpu * 100);
}

static int put_loss(int y, int x, uint64_t count, const char *what)
{
	if (!count)
		return x;
	return x + view_putf(y, x, COLS - x, VIEW_WARN, "%s %s  ",
			     human_count((double)count).text, what);
}

static void put_losses(const struct model *model, int y)
{
	const struct screen_state *state = &model->state;
	int begin = 1 + LABEL_COLUMNS, x = begin;

	put_label(y, "lost");
	x = put_loss(y, x, state->lost_alloc, "allocations");
	x = put_loss(y, x, state->lost_free, "frees");
	x = put_loss(y, x, state->lost_map, "mappings");
	x = put_loss(y, x, state->lost_stack, "stacks");
	x = put_loss(y, x, state->corrupt, "unreadable");
	x = put_loss(y, x, state->gaps, "gaps");
	if (x == begin)
		(void)view_put(y, x, COLS - x, VIEW_PLAIN, "nothing");
}

int view_header(const struct model *model, int y)
{
	put_bar(model, y);
	if (LINES < LINES_FOR_LIVE)
		return y + 1;
	put_live(model, y + 1);
	if (LINES < LINES_FOR_ALL) {
		put_losses(model, y + 2);
		return y + 3;
	}
	put_rss(model, y + 2);
	put_rate(model, y + 3);
	put_cost(model, y + 4);
	put_losses(model, y + 5);
	return y + 6;
}
