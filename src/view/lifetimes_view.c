/* SPDX-License-Identifier: MIT */
/*
 * lifetimes_view.c - see lifetimes_view.h.
 *
 * Ages are told in powers of ten; a block's lifetime is known to a sixteenth (lifetimes.h), so
 * one that is as near to such a limit may count on its other side. How many outlive an age is
 * Kaplan-Meier's estimate (leak/candidates/survival.h): blocks that still live count as having
 * lived at least as long as they did, not as freed. An age beyond the time that was watched has
 * none.
 */
#include "src/view/lifetimes_view.h"

#include <errno.h>
#include <math.h>

#include "src/leak/candidates/survival.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

#define NS		1e9
#define DECADES		12	/* from 1 us to 100,000 s */
#define TEXT_AGES	6
#define BAR_COLUMNS	30u

struct lived {
	const struct view_site *site;
	const struct site_life *life;
};
struct lived_list {
	struct view_sites *sites;
	struct lived *lived;
	size_t count;
	enum view_metric metric;
	double blocks[DECADES + 1];	/* freed, by lifetime: below the decade's end */
	double freed;
};

const char *lifetimes_missing(const struct view_input *input)
{
	if (view_missing_of_moment(input))
		return view_missing_of_moment(input);
	return input->lives ? NULL : "it holds no lifetimes of blocks: made by an older memattach";
}

/* Seconds. */
static double decade_end(int decade)
{
	static const double end[DECADES] = { 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3,
					     1e4, 1e5 };

	return end[decade];
}

static void list_done(struct lived_list *list)
{
	view_sites_free(list->sites);
	free(list->lived);
}

static void add_freed(struct lived_list *list, const struct lifetimes *freed)
{
	for (unsigned int i = 0; i < freed->count; i++) {
		double seconds = lifetimes_step_middle(freed->first + i) / NS;
		int decade = 0;

		while (decade < DECADES && seconds >= decade_end(decade))
			decade++;
		list->blocks[decade] += freed->bucket[i];
		list->freed += freed->bucket[i];
	}
}

static int by_metric(const void *left, const void *right, void *context)
{
	const struct lived *a = left, *b = right;
	enum view_metric metric = *(const enum view_metric *)context;
	uint64_t x = view_metric_value(a->site->figures, metric);
	uint64_t y = view_metric_value(b->site->figures, metric);

	if (x != y)
		return x < y ? 1 : -1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static int list_make(const struct view_input *input, struct lived_list *ret)
{
	struct lived_list list = { .metric = view_metric_or(input, VIEW_FREE_COUNT) };
	int err = view_take(input, true, &list.sites);

	if (err == 0)
		list.lived = calloc(list.sites->count + 1, sizeof(*list.lived));
	if (err < 0 || !list.lived) {
		list_done(&list);
		return err < 0 ? err : -ENOMEM;
	}
	for (size_t i = 0; i < list.sites->count; i++) {
		const struct view_site *site = &list.sites->site[i];
		const struct site_life *life = site_lives_find(input->lives, site->figures->id);

		if (!life || site->figures->kind == SITE_MMAP)
			continue;
		list.lived[list.count++] = (struct lived){ site, life };
		add_freed(&list, &life->freed);
	}
	qsort_r(list.lived, list.count, sizeof(*list.lived), by_metric, &list.metric);
	*ret = list;
	return 0;
}

/* --- survival -------------------------------------------------------------------- */

struct curve {
	struct survival_point point[SURVIVAL_MAX_POINTS];
	size_t count;
};

static void make_curve(const struct lived *lived, struct curve *ret)
{
	const struct site_life *life = lived->life;
	const struct survival_window window = { .now = (uint64_t)(life->seconds * NS), .hz = NS };
	uint64_t living = site_life_living(life);
	double weight = living ? (double)lived->site->figures->live_count / (double)living : 0;
	struct survival survival;

	survival_init(&survival, &window, &life->freed);
	for (unsigned int i = 0; i < SITE_LIVES_PARTS; i++) {
		double born = (double)window.now / SITE_LIVES_PARTS * (i + 0.5);

		if (life->born[i])
			survival_add_live_many(&survival, (uint64_t)born, life->born[i], weight);
	}
	ret->count = survival_curve(&survival, ret->point, SURVIVAL_MAX_POINTS);
	survival_done(&survival);
}

/* The share of blocks that live longer than seconds. */
static double outlive(const struct curve *curve, double seconds)
{
	double share = 1;

	for (size_t i = 0; i < curve->count && curve->point[i].seconds <= seconds; i++)
		share = curve->point[i].share;
	return share;
}

/* The longest age that can be told about: decades [0, this]. */
static int last_decade(const struct site_lives *lives)
{
	int decade = 0;

	while (decade + 1 < DECADES && decade_end(decade + 1) <= lives->seconds)
		decade++;
	return decade;
}

/* --- for people ------------------------------------------------------------------ */

static void put_histogram(FILE *out, const struct lived_list *list)
{
	double most = 0;
	int first = 0, last = DECADES;

	for (int i = 0; i <= DECADES; i++)
		most = fmax(most, list->blocks[i]);
	while (first < DECADES && !(list->blocks[first] > 0))
		first++;
	while (last > first && !(list->blocks[last] > 0))
		last--;
	for (int i = first; i <= last && most > 0; i++) {
		fprintf(out, "  %s %10s %10s ", i < DECADES ? "below" : "above",
			human_seconds(decade_end(i < DECADES ? i : i - 1)).text,
			human_count(list->blocks[i]).text);
		fprintf(out, "%5.1f %%", 100 * list->blocks[i] / list->freed);
		view_put_bar(out, (uint64_t)(1000 * list->blocks[i] / most), 1000, BAR_COLUMNS);
	}
}

static void put_ages(FILE *out, int first, int last)
{
	fprintf(out, "  %9s %9s %9s %9s %9s %9s ", "freed", "live", "median", "9 in 10", "longest",
		"oldest");
	for (int i = first; i <= last; i++)
		fprintf(out, " %8s", human_seconds(decade_end(i)).text);
	fputc('\n', out);
}

static void put_site(FILE *out, const struct view_input *input, const struct lived *lived,
		     int first, int last)
{
	const struct snapshot_site *s = lived->site->figures;
	double oldest = lived->life->seconds - lived->life->oldest;
	struct curve curve;

	make_curve(lived, &curve);
	fprintf(out, "\n  %9s %9s %9s %9s", human_count((double)s->free_count).text,
		human_count((double)s->live_count).text, human_seconds(s->lifetime_p50).text,
		human_seconds(s->lifetime_p90).text);
	fprintf(out, " %9s %9s ", human_seconds(s->lifetime_max).text,
		isfinite(oldest) ? human_seconds(oldest).text : "-");
	for (int i = first; i <= last; i++)
		fprintf(out, " %6.1f %%", 100 * outlive(&curve, decade_end(i)));
	fputc('\n', out);
	view_put_stack(out, input, lived->site);
}

int lifetimes_text(FILE *out, const struct view_input *input)
{
	struct lived_list list;
	int last = last_decade(input->lives), first = last - TEXT_AGES + 1;
	int err = list_make(input, &list);
	size_t shown;

	if (err < 0)
		return err;
	first = first < 0 ? 0 : first;
	shown = text_shown(&input->report.options, list.count);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Lifetimes of %s freed blocks", human_count(list.freed).text);
	put_histogram(out, &list);
	view_put_title(out, input, "Top %zu of %zu sites by %s; of their blocks outlive ...", shown,
		       list.count, view_metric_words(list.metric));
	put_ages(out, first, last);
	for (size_t i = 0; i < shown; i++)
		put_site(out, input, &list.lived[i], first, last);
	list_done(&list);
	return 0;
}

/* --- documents ------------------------------------------------------------------- */

static void json_histogram(struct emit *emit, const struct lived_list *list)
{
	emit_begin(emit, "histogram", '[');
	for (int i = 0; i <= DECADES; i++) {
		emit_begin(emit, NULL, '{');
		emit_real(emit, "seconds_low", i ? decade_end(i - 1) : 0);
		emit_real_if(emit, "seconds_high", i < DECADES ? decade_end(i) : INFINITY);
		emit_uint(emit, "blocks", (uint64_t)llround(fmin(list->blocks[i], 9e18)));
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}

static void json_life(struct emit *emit, const struct view_input *input,
		      const struct lived *lived)
{
	const struct snapshot_site *s = lived->site->figures;
	int last = last_decade(input->lives);
	struct curve curve;

	make_curve(lived, &curve);
	emit_begin(emit, NULL, '{');
	emit_real(emit, "p50", s->lifetime_p50);
	emit_real(emit, "p90", s->lifetime_p90);
	emit_real(emit, "max", s->lifetime_max);
	emit_real_if(emit, "oldest", lived->life->seconds - lived->life->oldest);
	emit_begin(emit, "survival", '[');
	for (int i = 0; i <= last; i++) {
		emit_begin(emit, NULL, '{');
		emit_real(emit, "seconds", decade_end(i));
		emit_real(emit, "share", outlive(&curve, decade_end(i)));
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	view_json_site(emit, input, "site", lived->site);
	emit_end(emit, '}');
}

int lifetimes_json(struct emit *emit, const struct view_input *input)
{
	uint32_t top = input->report.options.top;
	struct lived_list list;
	int err = list_make(input, &list);

	if (err < 0)
		return err;
	emit_text(emit, "metric", view_metric_name(list.metric));
	emit_uint(emit, "freed", (uint64_t)llround(fmin(list.freed, 9e18)));
	json_histogram(emit, &list);
	emit_begin(emit, "lifetimes", '[');
	for (size_t i = 0; i < list.count && !(top && i >= top); i++)
		json_life(emit, input, &list.lived[i]);
	emit_end(emit, ']');
	list_done(&list);
	return 0;
}
