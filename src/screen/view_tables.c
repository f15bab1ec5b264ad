/* SPDX-License-Identifier: MIT */
/*
 * view_tables.c - sites and threads as tables.
 *
 * Figures first, in columns of their own, names last, since they are what may be cut. 80 columns
 * leave 31 for a name; wider terminals also show how many blocks, and where in the sources,
 * narrower ones fewer figures.
 */
#include <math.h>
#include <string.h>

#include "src/report/human.h"
#include "src/screen/screen_put.h"
#include "src/screen/screen_view.h"

#include <ncurses.h>

#define WIDE_COLUMNS	120	/* from here on there is room for counts */
#define PLACE_COLUMNS	100	/* and from here on for places */

struct figure {
	const char *title;
	int width;
	enum model_column column;	/* COLUMN_COUNT: can't be sorted by */
	int least;			/* columns of the terminal, for it to be shown */
};

static const struct figure figures[] = {
	{ "live", 10, COLUMN_LIVE, 0 },
	{ "growth", 13, COLUMN_GROWTH, 40 },
	{ "alloc'd", 10, COLUMN_ALLOCATED, 54 },
	{ "temp", 8, COLUMN_TEMPORARY, 72 },
	{ "age", 6, COLUMN_AGE, 60 },
	{ "blocks", 10, COLUMN_COUNT, WIDE_COLUMNS },
	{ "allocs", 10, COLUMN_COUNT, WIDE_COLUMNS },
};

/* 12s, 2m03, 4h05, 6d07. */
static struct human short_age(double seconds)
{
	struct human human;
	double s = fmin(floor(seconds), 8.6e7);	/* 999 days */
	int whole = (int)s;

	if (whole < 60)
		(void)snprintf(human.text, HUMAN_BYTES, "%ds", whole);
	else if (whole < 3600)
		(void)snprintf(human.text, HUMAN_BYTES, "%dm%02d", whole / 60, whole % 60);
	else if (whole < 86400)
		(void)snprintf(human.text, HUMAN_BYTES, "%dh%02d", whole / 3600,
			       whole / 60 % 60);
	else
		(void)snprintf(human.text, HUMAN_BYTES, "%dd%02d", whole / 86400,
			       whole / 3600 % 24);
	return human;
}

/* As a change, or as it is. */
static struct human bytes_of(const struct model *model, double bytes)
{
	return model->differences ? human_bytes_signed(bytes) : human_bytes(bytes);
}

static struct human count_of(const struct model *model, double count)
{
	struct human size = human_count(fabs(count)), human;

	if (!model->differences || count == 0)
		return size;
	(void)snprintf(human.text, HUMAN_BYTES, "%c%.30s", count < 0 ? '-' : '+', size.text);
	return human;
}

static struct human figure_text(const struct model *model, const struct model_figures *f, size_t i)
{
	struct human human;

	switch (i) {
	case 0: return bytes_of(model, f->live);
	case 1:
		human = human_bytes_signed(f->growth);
		if (strcmp(human.text, "0 B") != 0)
			(void)strcat(human.text, "/s");
		return human;
	case 2: return bytes_of(model, f->allocated);
	case 3:
		return model->state.every_alloc ? count_of(model, f->temporary) :
						  (struct human){ "-" };
	case 4: return short_age(f->age);
	case 5: return count_of(model, f->blocks);
	default: return count_of(model, f->allocations);
	}
}

static bool is_shown(const struct figure *figure)
{
	return COLS >= figure->least;
}

static int name_column(void)
{
	int x = 2;

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		if (is_shown(&figures[i]))
			x += figures[i].width;
	return x;
}

static const char *arrow(const struct model *model, enum model_column column)
{
	bool up = model->reversed != (column == COLUMN_NAME);

	if (model->column != column)
		return "";
	if (view_is_utf8())
		return up ? "\xe2\x96\xb2" : "\xe2\x96\xbc";
	return up ? "^" : "v";
}

static void put_titles(const struct model *model, int y)
{
	char title[32];
	int x = 0;

	view_fill(y, VIEW_BAR);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		const struct figure *figure = &figures[i];
		bool chosen = figure->column == model->column;

		if (!is_shown(figure))
			continue;
		(void)snprintf(title, sizeof(title), "%s%s", figure->title,
			       chosen ? arrow(model, figure->column) : "");
		view_put_right(y, x, figure->width, chosen ? VIEW_CHOSEN : VIEW_BAR, title);
		x += figure->width;
	}
	(void)snprintf(title, sizeof(title), "allocated by%s", arrow(model, COLUMN_NAME));
	(void)view_put(y, name_column(), COLS, model->column == COLUMN_NAME ? VIEW_CHOSEN :
			VIEW_BAR, title);
}

/* Not by reversed colours alone: some terminals, and some eyes, don't show them. */
static void put_cursor(int y)
{
	view_fill(y, VIEW_CHOSEN);
	(void)view_put(y, 0, 1, VIEW_CHOSEN, ">");
}

static void put_site(const struct model *model, int y, const struct screen_site *site, bool chosen)
{
	const struct model_name *name = model_name(model, site->id);
	struct model_figures f = model_figures(model, site);
	int x = 0, left, taken;

	if (chosen)
		put_cursor(y);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		enum view_style style = chosen ? VIEW_CHOSEN :
					i == 1 && site->growing ? VIEW_WARN : VIEW_PLAIN;

		if (!is_shown(&figures[i]))
			continue;
		view_put_right(y, x + 1, figures[i].width - 1, style,
			       figure_text(model, &f, i).text);
		x += figures[i].width;
	}
	x = name_column();
	left = COLS - x;
	taken = view_put(y, x, COLS >= PLACE_COLUMNS && name->place[0] ? left * 2 / 3 : left,
			 chosen ? VIEW_CHOSEN : VIEW_NAME,
			 name->function[0] ? name->function : "...");
	if (COLS >= PLACE_COLUMNS)
		(void)view_put(y, x + taken + 2, left - taken - 2, chosen ? VIEW_CHOSEN : VIEW_DIM,
			       name->place);
}

int view_sites(struct model *model, int y, int end)
{
	put_titles(model, y++);
	model->page = end > y ? (uint32_t)(end - y) : 1;
	model_scroll(model);
	for (uint32_t i = model->sites.top; i < model->row_count && y < end; i++)
		put_site(model, y++, &model->site[model->row[i]], i == model->sites.selected);
	return end;
}

/* ---- threads ---- */

static void put_thread(int y, const struct screen_thread *thread, const struct screen_state *state,
		       bool chosen)
{
	enum view_style style = chosen ? VIEW_CHOSEN : VIEW_PLAIN;
	char tid[16] = "-";

	if (chosen)
		put_cursor(y);
	if (thread->tid)
		(void)snprintf(tid, sizeof(tid), "%u", thread->tid);
	(void)view_putf(y, 1, 6, style, "%u", thread->number);
	view_put_right(y, 7, 9, style, tid);
	view_put_right(y, 17, 10, style, human_count((double)thread->alloc_count).text);
	view_put_right(y, 28, 11, style, human_bytes((double)thread->alloc_bytes).text);
	view_put_right(y, 40, 10, style, human_count((double)thread->free_count).text);
	view_put_right(y, 51, 10, style, human_count((double)thread->freed_others).text);
	view_put_right(y, 62, 7, style, short_age(fmax(state->time - thread->last_time, 0)).text);
}

int view_threads(struct model *model, int y, int end)
{
	view_fill(y, VIEW_BAR);
	(void)view_putf(y++, 1, COLS, VIEW_BAR, "%-6s%9s %10s %11s %10s %10s %7s", "thread",
			"tid", "allocs", "allocated", "frees", "of others", "idle");
	model->page = end > y ? (uint32_t)(end - y) : 1;
	model_scroll(model);
	for (uint32_t i = model->threads.top; i < model->state.thread_count && y < end; i++, y++)
		put_thread(y, &model->thread[i], &model->state, i == model->threads.selected);
	return end;
}
