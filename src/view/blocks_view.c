/* SPDX-License-Identifier: MIT */
/*
 * blocks_view.c - see blocks_view.h.
 *
 * A filter is one of sites, except for sizes: of those each block's own is compared. What was not
 * kept (block_list.h), or not drawn in a sampled session, is counted by the sites' figures, which
 * stand above the list. Mappings are no blocks.
 */
#include "src/view/blocks_view.h"

#include <errno.h>
#include <math.h>

#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/threads_filter.h"
#include "src/view/view_put.h"

struct shown_block {
	const struct listed_block *block;
	const struct view_site *site;
};
struct shown_blocks {
	struct view_sites *sites;
	struct shown_block *shown;
	size_t count;
};

const char *blocks_missing(const struct view_input *input)
{
	if (view_missing_of_moment(input))
		return view_missing_of_moment(input);
	return input->blocks ? NULL : "it holds no blocks: it has no end, or was made by an older "
				      "memattach";
}

static void done(struct shown_blocks *blocks)
{
	view_sites_free(blocks->sites);
	free(blocks->shown);
}

static int by_id(const void *left, const void *right)
{
	const struct view_site *a = left, *b = right;

	return a->figures->id < b->figures->id ? -1 : a->figures->id > b->figures->id;
}

static const struct view_site *site_of(const struct view_sites *sites, uint32_t id)
{
	const struct snapshot_site wanted = { .id = id };
	const struct view_site key = { .figures = &wanted };

	return bsearch(&key, sites->site, sites->count, sizeof(key), by_id);
}

static bool is_wanted(const struct view_filter *filter, const struct listed_block *block)
{
	return (!filter->size_low && !filter->size_high) ||
	       (block->size >= filter->size_low && block->size <= filter->size_high);
}

/* blocks->sites is there. threads: NULL for all. */
static void show(const struct view_input *input, const struct threads_choice *threads,
		 struct shown_blocks *blocks)
{
	for (size_t i = 0; i < input->blocks->count; i++) {
		const struct listed_block *block = &input->blocks->block[i];
		const struct view_site *site = site_of(blocks->sites, block->site);

		if (site && is_wanted(&input->options.filter, block) &&
		    (!threads || threads_chosen(threads, block->thread)))
			blocks->shown[blocks->count++] = (struct shown_block){ block, site };
	}
}

static int make(const struct view_input *input, struct shown_blocks *ret)
{
	const char *wanted = input->options.filter.thread;
	struct shown_blocks blocks = { .count = 0 };
	struct threads_choice threads = { 0 };
	struct view_input one = *input;
	int err;

	one.options.filter.kind = VIEW_KIND_MALLOC;
	err = view_take(&one, true, &blocks.sites);
	if (err == 0 && wanted)
		err = threads_choose(input->report.threads, wanted, &threads);
	if (err == 0)
		blocks.shown = calloc(input->blocks->count + 1, sizeof(*blocks.shown));
	if (err < 0 || !blocks.shown) {
		threads_choice_done(&threads);
		done(&blocks);
		return err < 0 ? err : -ENOMEM;
	}
	qsort(blocks.sites->site, blocks.sites->count, sizeof(*blocks.sites->site), by_id);
	show(input, wanted ? &threads : NULL, &blocks);
	threads_choice_done(&threads);
	*ret = blocks;
	return 0;
}

/* Seconds; a recording may say anything. */
static double age_of(const struct view_input *input, const struct listed_block *block)
{
	double age = input->report.snapshot->session.duration - block->born;

	return isfinite(age) && age > 0 ? age : 0;
}

static void put_block(FILE *out, const struct view_input *input, const struct shown_block *shown)
{
	const struct style *style = style_for(&input->report.options);
	const struct listed_block *block = shown->block;
	const struct view_frame *caller = view_site_caller(shown->site);

	fprintf(out, "  0x%-14llx %11s %10s %7u %7u  %s", (unsigned long long)block->address,
		human_bytes((double)block->size).text, human_seconds(age_of(input, block)).text,
		block->thread, block->site, style->name);
	text_put_name(out, caller->title);
	if (caller->function)
		fprintf(out, "+0x%llx", (unsigned long long)caller->function_offset);
	fprintf(out, "%s", style->plain);
	if (caller->function || caller->file) {
		fprintf(out, "  %s", style->dim);
		view_put_location(out, caller);
		fprintf(out, "%s", style->plain);
	}
	fputc('\n', out);
}

int blocks_text(FILE *out, const struct view_input *input)
{
	struct shown_blocks blocks;
	int err = make(input, &blocks);
	size_t top;

	if (err < 0)
		return err;
	top = text_shown(&input->report.options, blocks.count);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Top %zu of %zu unfreed blocks by size", top, blocks.count);
	fprintf(out, "  Their sites hold %s blocks, %s; ",
		human_count((double)blocks.sites->sum[VIEW_LIVE_COUNT]).text,
		human_bytes((double)blocks.sites->sum[VIEW_LIVE_BYTES]).text);
	fprintf(out, "of all blocks, the %s largest are kept one by one.\n",
		human_exact(input->blocks->count).text);
	fprintf(out, "  %-16s %11s %10s %7s %7s  %s\n", "address", "size", "age", "thread", "site",
		"allocated by");
	for (size_t i = 0; i < top; i++)
		put_block(out, input, &blocks.shown[i]);
	done(&blocks);
	return 0;
}

static void json_block(struct emit *emit, const struct view_input *input,
		       const struct shown_block *shown)
{
	char address[32];

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)shown->block->address);
	emit_begin(emit, NULL, '{');
	emit_text(emit, "address", address);
	emit_uint(emit, "size", shown->block->size);
	emit_real(emit, "age", age_of(input, shown->block));
	emit_real(emit, "weight", shown->block->weight);
	emit_uint(emit, "thread", shown->block->thread);
	emit_uint(emit, "site", shown->block->site);
	view_json_frame(emit, "caller", view_site_caller(shown->site));
	emit_end(emit, '}');
}

int blocks_json(struct emit *emit, const struct view_input *input)
{
	uint32_t top = input->report.options.top;
	struct shown_blocks blocks;
	int err = make(input, &blocks);

	if (err < 0)
		return err;
	emit_uint(emit, "block_count", blocks.count);
	view_json_metrics(emit, input, "sum", blocks.sites->sum);
	emit_begin(emit, "blocks", '[');
	for (size_t i = 0; i < blocks.count && !(top && i >= top); i++)
		json_block(emit, input, &blocks.shown[i]);
	emit_end(emit, ']');
	done(&blocks);
	return 0;
}
