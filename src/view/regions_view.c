/* SPDX-License-Identifier: MIT */
/*
 * regions_view.c - see regions_view.h.
 *
 * Three tables: kinds, files, the mappings with the most in memory. "own" is what nobody else has
 * in memory, but for forked children: what would be free if the process ended.
 */
#include "src/view/regions_view.h"

#include <errno.h>

#include "src/base/procmaps.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/view_put.h"

#define SIZES_HEAD "       size   resident        own    swapped       huge"

const char *regions_missing(const struct view_input *input)
{
	return input->regions ? NULL : "its mappings were not looked at: the process had ended, it "
				       "was made by an older memattach, or it has no end";
}

void regions_put_bytes(FILE *out, uint64_t bytes, bool known, int width)
{
	fprintf(out, " %*s", width, known ? human_bytes((double)bytes).text : "-");
}

static void put_sizes(FILE *out, const struct regions *regions, const struct region_sizes *sizes)
{
	regions_put_bytes(out, sizes->size, true, 10);
	regions_put_bytes(out, sizes->resident, regions->pages_known, 10);
	regions_put_bytes(out, sizes->own, regions->pages_known, 10);
	regions_put_bytes(out, sizes->swapped, regions->pages_known, 10);
	regions_put_bytes(out, sizes->huge, regions->huge_known, 10);
}

static void put_sum(FILE *out, const struct regions *regions, const char *label,
		    const struct region_sum *sum)
{
	fprintf(out, "  %-12s %10s", label, human_exact(sum->mappings).text);
	put_sizes(out, regions, &sum->sizes);
}

static void put_kinds(FILE *out, const struct view_input *input)
{
	const struct style *style = style_for(&input->report.options);
	struct region_sum sum[REGION_KINDS], all;

	regions_by_kind(input->regions, sum, &all);
	view_put_title(out, input, "Mappings by kind");
	fprintf(out, "  %-12s %10s%s\n", "", "mappings", SIZES_HEAD);
	for (int kind = 0; kind < REGION_KINDS; kind++) {
		if (!sum[kind].mappings)
			continue;
		put_sum(out, input->regions, region_kind_name((enum region_kind)kind), &sum[kind]);
		fputc('\n', out);
	}
	fprintf(out, "%s", style->bold);
	put_sum(out, input->regions, "all", &all);
	fprintf(out, "%s\n", style->plain);
	if (input->regions->rss_bytes)
		fprintf(out, "  %-12s %10s %10s %10s  resident, by the kernel's counters\n", "", "",
			"", human_bytes((double)input->regions->rss_bytes).text);
}

static int put_files(FILE *out, const struct view_input *input)
{
	struct region_sum *sum;
	size_t count, top;
	int err = regions_by_file(input->regions, &sum, &count);

	if (err < 0)
		return err;
	top = text_shown(&input->report.options, count);
	view_put_title(out, input, "Top %zu of %zu files by what is in memory", top, count);
	fprintf(out, "  %8s%s  file\n", "mappings", SIZES_HEAD);
	for (size_t i = 0; i < top; i++) {
		fprintf(out, "  %8s", human_exact(sum[i].mappings).text);
		put_sizes(out, input->regions, &sum[i].sizes);
		fprintf(out, "  ");
		text_put_printable(out, sum[i].path);
		fputc('\n', out);
	}
	free(sum);
	return 0;
}

static int by_resident(const void *left, const void *right)
{
	const struct region *a = *(const struct region *const *)left;
	const struct region *b = *(const struct region *const *)right;

	if (a->sizes.resident != b->sizes.resident)
		return a->sizes.resident > b->sizes.resident ? -1 : 1;
	if (a->sizes.size != b->sizes.size)
		return a->sizes.size > b->sizes.size ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void put_region(FILE *out, const struct view_input *input, const struct region *r)
{
	const struct style *style = style_for(&input->report.options);

	if (r->start == r->end)
		fprintf(out, "  %-25s", "all others");
	else
		fprintf(out, "  %012llx-%012llx", (unsigned long long)r->start,
			(unsigned long long)r->end);
	fprintf(out, " %c%c%c%c", r->prot & PROCMAP_R ? 'r' : '-', r->prot & PROCMAP_W ? 'w' : '-',
		r->prot & PROCMAP_X ? 'x' : '-', r->prot & PROCMAP_SHARED ? 's' : 'p');
	regions_put_bytes(out, r->sizes.size, true, 9);
	regions_put_bytes(out, r->sizes.resident, input->regions->pages_known, 9);
	fprintf(out, "  %-9s", region_kind_name(r->kind));
	fprintf(out, "%s", style->dim);
	if (r->tid)
		fprintf(out, " thread %d", r->tid);
	if (r->path[0])
		fputc(' ', out);
	text_put_printable(out, r->path);
	fprintf(out, "%s%s\n", r->deleted ? " (deleted)" : "", style->plain);
}

static int put_mappings(FILE *out, const struct view_input *input)
{
	const struct regions *regions = input->regions;
	_cleanup_free_ const struct region **sorted = calloc(regions->count + 1, sizeof(*sorted));
	size_t top = text_shown(&input->report.options, regions->count);

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < regions->count; i++)
		sorted[i] = &regions->region[i];
	qsort(sorted, regions->count, sizeof(*sorted), by_resident);
	view_put_title(out, input, "Top %zu of %zu mappings by what is in memory", top,
		       regions->count);
	for (size_t i = 0; i < top; i++)
		put_region(out, input, sorted[i]);
	return 0;
}

int regions_text(FILE *out, const struct view_input *input)
{
	int err;

	text_put_head(out, &input->report);
	put_kinds(out, input);
	err = put_files(out, input);
	return err < 0 ? err : put_mappings(out, input);
}

/* --- as JSON ------------------------------------------------------------------------ */

static void json_sizes(struct emit *emit, const struct regions *regions,
		       const struct region_sizes *sizes)
{
	emit_uint(emit, "size", sizes->size);
	emit_uint_if(emit, "resident_bytes", sizes->resident, regions->pages_known);
	emit_uint_if(emit, "own_bytes", sizes->own, regions->pages_known);
	emit_uint_if(emit, "swapped_bytes", sizes->swapped, regions->pages_known);
	emit_uint_if(emit, "huge_bytes", sizes->huge, regions->huge_known);
}

static void json_sum(struct emit *emit, const struct regions *regions, const char *key,
		     const char *kind, const struct region_sum *sum)
{
	emit_begin(emit, key, '{');
	if (kind)
		emit_text(emit, "kind", kind);
	if (sum->path)
		emit_text(emit, "file", sum->path);
	emit_uint(emit, "mappings", sum->mappings);
	json_sizes(emit, regions, &sum->sizes);
	emit_end(emit, '}');
}

static void json_address(struct emit *emit, const char *key, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	emit_text(emit, key, text);
}

static void json_region(struct emit *emit, const struct regions *regions, const struct region *r)
{
	const char prot[] = { r->prot & PROCMAP_R ? 'r' : '-', r->prot & PROCMAP_W ? 'w' : '-',
			      r->prot & PROCMAP_X ? 'x' : '-',
			      r->prot & PROCMAP_SHARED ? 's' : 'p', '\0' };

	emit_begin(emit, NULL, '{');
	json_address(emit, "start", r->start);
	json_address(emit, "end", r->end);
	emit_text(emit, "protection", prot);
	emit_uint(emit, "file_offset", r->offset);
	emit_text(emit, "kind", region_kind_name(r->kind));
	emit_text(emit, "path", r->path[0] ? r->path : NULL);
	emit_bool(emit, "deleted", r->deleted);
	emit_uint_if(emit, "thread", (uint64_t)(uint32_t)r->tid, r->tid != 0);
	json_sizes(emit, regions, &r->sizes);
	emit_end(emit, '}');
}

static void json_kinds(struct emit *emit, const struct regions *regions)
{
	struct region_sum sum[REGION_KINDS], all;

	regions_by_kind(regions, sum, &all);
	json_sum(emit, regions, "all", NULL, &all);
	emit_uint_if(emit, "rss_bytes", regions->rss_bytes, regions->rss_bytes != 0);
	emit_begin(emit, "kinds", '[');
	for (int kind = 0; kind < REGION_KINDS; kind++)
		if (sum[kind].mappings)
			json_sum(emit, regions, NULL, region_kind_name((enum region_kind)kind),
				 &sum[kind]);
	emit_end(emit, ']');
}

int regions_json(struct emit *emit, const struct view_input *input)
{
	const struct regions *regions = input->regions;
	struct region_sum *sum;
	size_t count;
	int err = regions_by_file(regions, &sum, &count);

	if (err < 0)
		return err;
	json_kinds(emit, regions);
	emit_begin(emit, "files", '[');
	for (size_t i = 0; i < count; i++)
		json_sum(emit, regions, NULL, NULL, &sum[i]);
	emit_end(emit, ']');
	free(sum);
	emit_uint(emit, "left_out", regions->left_out);
	emit_begin(emit, "mappings", '[');
	for (size_t i = 0; i < regions->count; i++)
		json_region(emit, regions, &regions->region[i]);
	emit_end(emit, ']');
	return 0;
}
