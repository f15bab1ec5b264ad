/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - calls by requested size.
 *
 * Powers of two by their lower end: 8 is for 8 to 15 bytes, and 0 for nothing asked for. Sizes
 * of their own as the session kept them: from some 16,000 different ones on they are rounded up
 * (docs/NUMBERS.md), so bytes are those of the totals only while there are fewer.
 */
#include "src/view/overview.h"

#include <errno.h>

#include "src/report/estimated.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

#define MAX_POWERS	65u
#define BAR_COLUMNS	30u

struct bar {
	uint64_t low, high, calls;
};

static struct bar *make_powers(const struct snapshot *snapshot, size_t *ret_count)
{
	struct bar *bar = calloc(MAX_POWERS, sizeof(*bar));
	size_t count = 0;

	for (size_t i = 0; bar && i < snapshot->histogram_count; i++) {
		uint64_t size = snapshot->histogram[i].size;
		unsigned int power = size ? 64u - (unsigned int)__builtin_clzll(size) : 0;

		bar[power].calls = view_sum(bar[power].calls, snapshot->histogram[i].count);
	}
	for (unsigned int power = 0; bar && power < MAX_POWERS; power++) {
		if (bar[power].calls == 0)
			continue;
		bar[count].calls = bar[power].calls;
		bar[count].low = power ? 1ull << (power - 1) : 0;
		bar[count++].high = power ? (1ull << (power - 1)) * 2 - 1 : 0;
	}
	*ret_count = count;
	return bar;
}

static struct bar *make_sizes(const struct snapshot *snapshot, size_t *ret_count)
{
	struct bar *bar = calloc(snapshot->histogram_count + 1, sizeof(*bar));

	for (size_t i = 0; bar && i < snapshot->histogram_count; i++)
		bar[i] = (struct bar){ snapshot->histogram[i].size, snapshot->histogram[i].size,
				       snapshot->histogram[i].count };
	*ret_count = snapshot->histogram_count;
	return bar;
}

static struct bar *make_bars(const struct view_input *input, size_t *ret_count)
{
	return (input->options.exact_sizes ? make_sizes : make_powers)(input->report.snapshot,
								       ret_count);
}

static int by_calls(const void *left, const void *right)
{
	const struct bar *a = left, *b = right;

	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->low < b->low ? -1 : a->low > b->low;
}

static int by_size(const void *left, const void *right)
{
	const struct bar *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

/* With --top: the sizes that are asked for most, still in the order of sizes. */
static size_t keep_top(struct bar *bar, size_t count, uint32_t top)
{
	if (!top || top >= count)
		return count;
	qsort(bar, count, sizeof(*bar), by_calls);
	qsort(bar, top, sizeof(*bar), by_size);
	return top;
}

static uint64_t sum_bars(const struct bar *bar, size_t count, uint64_t *ret_most)
{
	uint64_t sum = 0;

	*ret_most = 0;
	for (size_t i = 0; i < count; i++) {
		sum = view_sum(sum, bar[i].calls);
		*ret_most = bar[i].calls > *ret_most ? bar[i].calls : *ret_most;
	}
	return sum;
}

static void put_size(FILE *out, const struct bar *bar)
{
	char text[80];

	if (bar->low == bar->high)
		snprintf(text, sizeof(text), "%s B", human_exact(bar->low).text);
	else if (bar->high < 1024)
		snprintf(text, sizeof(text), "%llu to %llu B", (unsigned long long)bar->low,
			 (unsigned long long)bar->high);
	else
		snprintf(text, sizeof(text), "%s to %s", human_bytes((double)bar->low).text,
			 human_bytes((double)bar->high).text);
	fprintf(out, "  %22s", text);
}

int histogram_text(FILE *out, const struct view_input *input)
{
	size_t count, shown;
	_cleanup_free_ struct bar *bar = make_bars(input, &count);
	char calls[HUMAN_BYTES + 1];
	uint64_t sum, most;

	if (!bar)
		return -ENOMEM;
	sum = sum_bars(bar, count, &most);
	shown = keep_top(bar, count, input->report.options.top);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Calls by requested size: %s%s calls, %zu of %zu %s",
		       view_mark(input->report.snapshot), human_exact(sum).text, shown, count,
		       input->options.exact_sizes ? "sizes" : "powers of two");
	for (size_t i = 0; i < shown; i++) {
		put_size(out, &bar[i]);
		(void)snprintf(calls, sizeof(calls), "%s%s", view_mark(input->report.snapshot),
			       human_count((double)bar[i].calls).text);
		fprintf(out, " %12s ", calls);
		view_put_share(out, bar[i].calls, sum);
		view_put_bar(out, bar[i].calls, most, BAR_COLUMNS);
	}
	return 0;
}

int histogram_json(struct emit *emit, const struct view_input *input)
{
	size_t count, shown;
	_cleanup_free_ struct bar *bar = make_bars(input, &count);
	uint64_t most;

	if (!bar)
		return -ENOMEM;
	emit_bool(emit, "estimated", view_is_estimate(input->report.snapshot));
	emit_text(emit, "buckets", input->options.exact_sizes ? "exact" : "powers");
	emit_uint(emit, "calls", sum_bars(bar, count, &most));
	shown = keep_top(bar, count, input->report.options.top);
	emit_begin(emit, "histogram", '[');
	for (size_t i = 0; i < shown; i++) {
		emit_begin(emit, NULL, '{');
		emit_uint(emit, "size_low", bar[i].low);
		emit_uint(emit, "size_high", bar[i].high);
		emit_uint(emit, "calls", bar[i].calls);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
	return 0;
}
