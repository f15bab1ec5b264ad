/* SPDX-License-Identifier: MIT */
/*
 * realloc_view.c - see realloc_view.h.
 *
 * In place: the block has its address as before; whether it grew, and what was copied, is known
 * only where the books have the block's size from before (live_resize.c). In place, moved, failed,
 * of NULL and freed add up to the calls. Sites are sorted by calls: each is work, even if nothing
 * moves.
 */
#include "src/view/realloc_view.h"

#include <errno.h>

#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

struct realloc_list {
	struct snapshot snapshot;	/* borrowed but for this: what was only tried is a site */
	struct view_sites *sites;
	const struct view_site **ranked;
	size_t count;
	struct site_resizes sum;
};

const char *realloc_missing(const struct view_input *input)
{
	if (view_missing_of_moment(input))
		return view_missing_of_moment(input);
	return input->report.snapshot->resizes ? NULL : "it does not tell reallocs from other "
							"calls: made by an older memattach";
}

static uint64_t calls_of(const struct site_resizes *resizes)
{
	uint64_t sum = 0;

	for (int i = 0; i < SITE_RESIZES; i++)
		sum = view_sum(sum, resizes->count[i]);
	return sum;
}

static void realloc_view_add(struct site_resizes *to, const struct site_resizes *from)
{
	for (int i = 0; i < SITE_RESIZES; i++)
		to->count[i] = view_sum(to->count[i], from->count[i]);
	for (int i = 0; i < SITE_RESIZES_KNOWN; i++)
		to->known[i] = view_sum(to->known[i], from->known[i]);
	to->copied_bytes = view_sum(to->copied_bytes, from->copied_bytes);
}

/* Both are estimates where sampled, so that what is known may be more than there is. */
static uint64_t beyond(uint64_t all, uint64_t known)
{
	return all > known ? all - known : 0;
}

static uint64_t in_place_unknown(const struct site_resizes *r)
{
	return beyond(r->count[SITE_IN_PLACE],
		      view_sum(r->known[SITE_GROWN],
			       view_sum(r->known[SITE_SHRUNK], r->known[SITE_SAME])));
}

static uint64_t moved_unknown(const struct site_resizes *r)
{
	return beyond(r->count[SITE_MOVED], r->known[SITE_COPIED]);
}

/* Equal ones as in the snapshot. */
static int by_calls(const void *left, const void *right)
{
	const struct view_site *a = *(const struct view_site *const *)left;
	const struct view_site *b = *(const struct view_site *const *)right;
	uint64_t x = calls_of(&a->figures->resizes), y = calls_of(&b->figures->resizes);

	if (x != y)
		return x < y ? 1 : -1;
	return a < b ? -1 : a > b;
}

static void list_done(struct realloc_list *list)
{
	view_sites_free(list->sites);
	free(list->ranked);
}

static int list_make(const struct view_input *input, struct realloc_list *ret)
{
	struct realloc_list list = { .snapshot = *input->report.snapshot };
	struct view_input with_tried = *input;
	int err;

	list.snapshot.site_count += list.snapshot.tried_count;
	with_tried.report.snapshot = &list.snapshot;
	err = view_take(&with_tried, true, &list.sites);
	if (err == 0)
		list.ranked = calloc(list.sites->count + 1, sizeof(*list.ranked));
	if (err < 0 || !list.ranked) {
		list_done(&list);
		return err < 0 ? err : -ENOMEM;
	}
	for (size_t i = 0; i < list.sites->count; i++) {
		const struct view_site *site = &list.sites->site[i];

		if (calls_of(&site->figures->resizes) == 0)
			continue;
		list.ranked[list.count++] = site;
		realloc_view_add(&list.sum, &site->figures->resizes);
	}
	qsort(list.ranked, list.count, sizeof(*list.ranked), by_calls);
	*ret = list;	/* sites refer to the snapshot's sites alone */
	return 0;
}

/* --- for people ------------------------------------------------------------------ */

static void put_count(FILE *out, uint64_t count)
{
	fprintf(out, " %7s", human_count((double)count).text);
}

static void put_figures(FILE *out, const struct site_resizes *r)
{
	fputc(' ', out);
	put_count(out, calls_of(r));
	put_count(out, r->count[SITE_IN_PLACE]);
	put_count(out, r->known[SITE_GROWN]);
	put_count(out, r->known[SITE_SHRUNK]);
	put_count(out, r->known[SITE_SAME]);
	put_count(out, in_place_unknown(r));
	put_count(out, r->count[SITE_MOVED]);
	fprintf(out, " %10s%c", human_bytes((double)r->copied_bytes).text,
		moved_unknown(r) ? '+' : ' ');
	put_count(out, r->count[SITE_RESIZE_FAILED]);
	put_count(out, r->count[SITE_FROM_NULL]);
	put_count(out, r->count[SITE_RESIZE_FREED]);
	fputc('\n', out);
}

static void put_notes(FILE *out, const struct view_input *input, const struct realloc_list *list)
{
	uint64_t unknown = moved_unknown(&list->sum);

	if (!input->report.snapshot->every_alloc)
		fputs("  Estimates; how large a block was is known only where it was sampled as "
		      "well,\n  and the new one large enough to be sampled almost surely.\n", out);
	if (unknown)
		fprintf(out, "  +: and what %s more moved, of blocks whose size before is not "
			"known.\n", human_count((double)unknown).text);
}

int realloc_text(FILE *out, const struct view_input *input)
{
	struct realloc_list list;
	int err = list_make(input, &list);
	size_t top;

	if (err < 0)
		return err;
	top = text_shown(&input->report.options, list.count);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Reallocations: top %zu of %zu sites by calls", top,
		       list.count);
	put_notes(out, input, &list);
	fprintf(out, "  %7s %39s %7s %10s  %7s %7s %7s\n", "",
		"in place: -----------------------------", "", "", "", "of", "to 0,");
	fprintf(out, "  %7s %7s %7s %7s %7s %7s %7s %10s  %7s %7s %7s\n", "calls", "all", "grown",
		"shrunk", "same", "unknown", "moved", "copied", "failed", "NULL", "freed");
	put_figures(out, &list.sum);
	for (size_t i = 0; i < top; i++) {
		fputc('\n', out);
		put_figures(out, &list.ranked[i]->figures->resizes);
		view_put_stack(out, input, list.ranked[i]);
	}
	list_done(&list);
	return 0;
}

/* --- documents ------------------------------------------------------------------- */

static void json_figures(struct emit *emit, const char *key, const struct site_resizes *r)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "calls", calls_of(r));
	emit_uint(emit, "in_place", r->count[SITE_IN_PLACE]);
	emit_uint(emit, "grown", r->known[SITE_GROWN]);
	emit_uint(emit, "shrunk", r->known[SITE_SHRUNK]);
	emit_uint(emit, "same", r->known[SITE_SAME]);
	emit_uint(emit, "in_place_unknown", in_place_unknown(r));
	emit_uint(emit, "moved", r->count[SITE_MOVED]);
	emit_uint(emit, "moved_unknown", moved_unknown(r));
	emit_uint(emit, "failed", r->count[SITE_RESIZE_FAILED]);
	emit_uint(emit, "from_null", r->count[SITE_FROM_NULL]);
	emit_uint(emit, "freed", r->count[SITE_RESIZE_FREED]);
	emit_uint(emit, "copied_bytes", r->copied_bytes);
	emit_end(emit, '}');
}

int realloc_json(struct emit *emit, const struct view_input *input)
{
	uint32_t top = input->report.options.top;
	struct realloc_list list;
	int err = list_make(input, &list);

	if (err < 0)
		return err;
	emit_uint(emit, "site_count", list.count);
	json_figures(emit, "sum", &list.sum);
	emit_begin(emit, "reallocs", '[');
	for (size_t i = 0; i < list.count && !(top && i >= top); i++) {
		emit_begin(emit, NULL, '{');
		json_figures(emit, "calls", &list.ranked[i]->figures->resizes);
		view_json_site(emit, input, "site", list.ranked[i]);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	list_done(&list);
	return 0;
}
