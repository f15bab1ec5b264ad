/* SPDX-License-Identifier: MIT */
/*
 * timeline_view.c - the session's intervals, one line each.
 *
 * A long session has thousands: for people, as many neighbours are joined as it takes to get
 * to some tens of lines. What happened in joined intervals is added up, levels are those at the
 * end, so the columns of events still add up to the session.
 */
#include "src/view/overview.h"

#include <errno.h>

#include "src/report/counts_report.h"
#include "src/report/report_json.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

#define TEXT_LINES	40u
#define BAR_COLUMNS	24u

struct interval {
	struct timeline_point point;
	uint64_t allocated;	/* bytes since the session began */
};

/* At most lines (0: all) of them; NULL: out of memory. */
static struct interval *make_intervals(const struct snapshot *snapshot, uint32_t lines,
				       size_t *ret_count)
{
	size_t points = snapshot->timeline_count;
	size_t each = lines && points > lines ? (points + lines - 1) / lines : 1;
	struct interval *to = calloc(points / each + 2, sizeof(*to));
	uint64_t allocated = 0;

	for (size_t i = 0; to && i < points; i++) {
		const struct timeline_point *from = &snapshot->timeline[i];
		struct interval *in = &to[i / each];

		allocated = view_sum(allocated, from->alloc_bytes);
		in->allocated = allocated;
		if (i % each == 0)
			in->point = *from;
		else
			timeline_join(&in->point, from);
	}
	*ret_count = (points + each - 1) / each;
	return to;
}

static bool is_counted(const struct view_input *input)
{
	return !snapshot_knows_live(input->report.snapshot, NULL);
}

static uint64_t most_live(const struct interval *in, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = in[i].point.live_bytes > most ? in[i].point.live_bytes : most;
	return most;
}

/* The sampled sizes of the process are 0 where they could not be read. */
static const char *size_or_dash(uint64_t bytes, struct human *room)
{
	*room = human_bytes((double)bytes);
	return bytes ? room->text : "-";
}

static bool is_estimate(const struct timeline_point *p, const struct timeline_bounds *in)
{
	return p->bounded && in->low < in->high;
}

/* "~1,234" where it is an estimate. */
static struct human marked(struct human figure, const struct timeline_point *p,
			   const struct timeline_bounds *in)
{
	struct human ret = figure;

	if (is_estimate(p, in))
		(void)snprintf(ret.text, sizeof(ret.text), "~%.*s", (int)sizeof(ret.text) - 2,
			       figure.text);
	return ret;
}

/* What lives, or by how much that has changed. */
static struct human level_text(const struct view_input *input, const struct timeline_point *p)
{
	if (!is_counted(input))
		return marked(human_bytes((double)p->live_bytes), p, &p->in.live_bytes);
	return p->trend_known ? human_bytes_signed((double)p->trend_bytes) :
				(struct human){ "-" };
}

static void put_interval(FILE *out, const struct view_input *input, const struct interval *in,
			 uint64_t most)
{
	const struct timeline_point *p = &in->point;
	struct human rss, vsz, when = human_bytes((double)in->allocated);

	if (input->options.time_in_bytes)
		fprintf(out, "  %11s", when.text);
	else
		fprintf(out, "  %9.3f s", p->time);
	fprintf(out, " %9s %9s %11s %11s",
		marked(human_count((double)p->alloc_count), p, &p->in.alloc_count).text,
		marked(human_count((double)p->free_count), p, &p->in.free_count).text,
		marked(human_bytes((double)p->alloc_bytes), p, &p->in.alloc_bytes).text,
		when.text);
	fprintf(out, " %11s %11s %11s", level_text(input, p).text,
		size_or_dash(p->rss_bytes, &rss), size_or_dash(p->vsz_bytes, &vsz));
	view_put_bar(out, p->live_bytes, most, BAR_COLUMNS);
}

static bool has_estimates(const struct interval *in, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_estimate(&in[i].point, &in[i].point.in.alloc_bytes) ||
		    is_estimate(&in[i].point, &in[i].point.in.live_bytes))
			return true;
	return false;
}

int timeline_text(FILE *out, const struct view_input *input)
{
	uint32_t top = input->report.options.top;
	size_t count;
	_cleanup_free_ struct interval *in = make_intervals(input->report.snapshot,
							    top ? top : TEXT_LINES, &count);
	uint64_t most;

	if (!in)
		return -ENOMEM;
	most = most_live(in, count);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Timeline: %zu interval%s in %zu line%s",
		       input->report.snapshot->timeline_count,
		       text_plural(input->report.snapshot->timeline_count), count,
		       text_plural(count));
	fprintf(out, "  %11s %9s %9s %11s %11s %11s %11s %11s\n",
		input->options.time_in_bytes ? "allocated" : "until", "allocs", "frees",
		"allocated", "all so far", is_counted(input) ? "trend" : "live", "RSS", "VSZ");
	for (size_t i = 0; i < count; i++)
		put_interval(out, input, &in[i], most);
	if (has_estimates(in, count))
		fputs("  ~ is an estimate; --json has the ends of its 95 % interval.\n", out);
	return 0;
}

int timeline_json(struct emit *emit, const struct view_input *input)
{
	size_t count;
	_cleanup_free_ struct interval *in = make_intervals(input->report.snapshot,
							    input->report.options.top, &count);

	if (!in)
		return -ENOMEM;
	emit_text(emit, "time_unit", input->options.time_in_bytes ? "B" : "s");
	emit_begin(emit, "timeline", '[');
	for (size_t i = 0; i < count; i++) {
		const struct timeline_point *p = &in[i].point;

		emit_begin(emit, NULL, '{');
		if (input->options.time_in_bytes)
			emit_uint(emit, "time", in[i].allocated);
		else
			emit_real(emit, "time", p->time);
		emit_uint(emit, "alloc_count", p->alloc_count);
		emit_uint(emit, "free_count", p->free_count);
		emit_uint(emit, "alloc_bytes", p->alloc_bytes);
		emit_uint(emit, "alloc_bytes_so_far", in[i].allocated);
		emit_uint_if(emit, "live_bytes", p->live_bytes, !is_counted(input));
		if (is_counted(input))
			counts_json_trend(emit, p->trend_bytes, p->trend_known);
		emit_uint_if(emit, "rss_bytes", p->rss_bytes, p->rss_bytes);
		emit_uint_if(emit, "vsz_bytes", p->vsz_bytes, p->vsz_bytes);
		json_put_point_ends(emit, p, !is_counted(input));
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	return 0;
}
