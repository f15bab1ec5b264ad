/* SPDX-License-Identifier: MIT */
/*
 * model_order.c - which rows are seen, in which order, and which one is selected.
 *
 * A selection is a site, not a line: it stays with its site when others pass it. Only when that
 * is filtered out does the line stay and the site change.
 */
#include "src/screen/model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct order {
	const struct model *model;
	double *key;			/* by index in model->site */
};

/* Descending is the natural order of figures, ascending that of names. */
static int by_key(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int sign = order->model->reversed ? -1 : 1;
	double x = order->key[i], y = order->key[k];

	if (x != y)
		return x < y ? sign : -sign;
	return (i > k) - (i < k);
}

static int by_name(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct screen_site *site = order->model->site;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const char *x = model_name(order->model, site[i].id)->function;
	const char *y = model_name(order->model, site[k].id)->function;
	int compared = strcasecmp(x, y);

	if (!x[0] != !y[0])	/* what has no name yet comes last */
		return x[0] ? -1 : 1;
	if (compared)
		return order->model->reversed ? -compared : compared;
	return (i > k) - (i < k);
}

static double key_of(const struct model *model, const struct screen_site *site)
{
	struct model_figures figures = model_figures(model, site);
	const double key[COLUMN_COUNT] = {
		[COLUMN_LIVE] = figures.live, [COLUMN_GROWTH] = figures.growth,
		[COLUMN_ALLOCATED] = figures.allocated, [COLUMN_TEMPORARY] = figures.temporary,
		[COLUMN_AGE] = figures.age,
	};

	return key[model->column];
}

static bool passes(const struct model *model, const struct screen_site *site)
{
	const struct model_name *name = model_name(model, site->id);

	return !model->filter[0] || strcasestr(name->function, model->filter) ||
	       strcasestr(name->place, model->filter);
}

static void select_row(struct model *model, uint32_t row)
{
	model->sites.selected = row;
	model->sites.selected_id = row < model->row_count ?
				   model->site[model->row[row]].id : 0;
}

static void find_selected(struct model *model)
{
	uint32_t last = model->row_count ? model->row_count - 1 : 0;

	if (!model->sites.moved) {
		select_row(model, 0);
		return;
	}
	for (uint32_t i = 0; model->sites.selected_id && i < model->row_count; i++) {
		if (model->site[model->row[i]].id == model->sites.selected_id) {
			model->sites.selected = i;
			return;
		}
	}
	select_row(model, model->sites.selected < last ? model->sites.selected : last);
}

void model_arrange(struct model *model)
{
	_cleanup_free_ double *key = calloc((size_t)model->state.site_count + 1, sizeof(*key));
	struct order order = { model, key };

	if (!key || !model->row)
		return;		/* the order of before is as good as any */
	model->row_count = 0;
	for (uint32_t i = 0; i < model->state.site_count; i++) {
		key[i] = key_of(model, &model->site[i]);
		if (passes(model, &model->site[i]))
			model->row[model->row_count++] = i;
	}
	qsort_r(model->row, model->row_count, sizeof(*model->row),
		model->column == COLUMN_NAME ? by_name : by_key, &order);
	find_selected(model);
	model_scroll(model);
}

void model_settle(struct model *model)
{
	if (model->stale && (model->filter[0] || model->column == COLUMN_NAME))
		model_arrange(model);
	model->stale = false;
}

void model_move(struct model *model, long by)
{
	struct model_list *list = model_shown(model);
	long last = (long)model_shown_count(model) - 1, to = (long)list->selected;

	to = by < -to ? 0 : by > last - to ? last : to + by;
	list->selected = to > 0 ? (uint32_t)to : 0;
	list->moved = true;
	if (list == &model->sites)
		select_row(model, list->selected);
	model_scroll(model);
}

void model_scroll(struct model *model)
{
	struct model_list *list = model_shown(model);
	uint32_t count = model_shown_count(model), page = model->page ? model->page : 1;

	if (list->selected >= count)
		list->selected = count ? count - 1 : 0;
	if (list->selected < list->top)
		list->top = list->selected;
	if (list->selected >= list->top + page)
		list->top = list->selected - page + 1;
	if (list->top && list->top + page > count)
		list->top = count > page ? count - page : 0;
}
