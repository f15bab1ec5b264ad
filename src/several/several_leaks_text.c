/* SPDX-License-Identifier: MIT */
/*
 * several_leaks_text.c - leaks of several processes for people: sums by kind, then groups.
 *
 * Blocks that are merely reachable are left out unless so many groups are asked for, as in the
 * report of one process. Processes without a search have no part in this: it is said how many.
 */
#include "src/several/several_put.h"

#include <errno.h>

#include "src/report/human.h"
#include "src/report/text_put.h"
#include "src/view/view_metric.h"

static const struct {
	const char *label;
	enum block_kind kind;
} sums[] = {
	{ "  definitely lost", BLOCK_DEFINITELY_LOST },
	{ "  indirectly lost", BLOCK_INDIRECTLY_LOST },
	{ "  possibly lost", BLOCK_POSSIBLY_LOST },
	{ "  reachable", BLOCK_REACHABLE },
};

static const char *verdict_words(enum leak_verdict verdict)
{
	static const char *const words[LEAK_VERDICTS] = {
		[LEAK_DEFINITELY_LOST] = "definitely lost", [LEAK_POSSIBLY_LOST] = "possibly lost",
		[LEAK_STUCK] = "stuck", [LEAK_GROWING] = "growing", [LEAK_OLD] = "old",
		[LEAK_REACHABLE] = "reachable",
	};

	return words[verdict];
}

static void put_sum(const struct several_columns *columns, size_t which, uint64_t *by_process)
{
	const struct several *several = columns->several;
	uint64_t total = 0;

	for (size_t i = 0; i < several->watched; i++) {
		const struct leak_report *leaks = several->process[i].content->leaks;

		by_process[i] = leaks ? leaks->kind[sums[which].kind].bytes : 0;
		total = view_sum(total, by_process[i]);
	}
	several_put_row(columns, sums[which].label, total, by_process);
}

static void put_what(FILE *out, const struct several_group *group)
{
	fputs("      ", out);
	text_put_blocks(out, group->bytes, group->count);
	if (group->indirect_count)
		fprintf(out, " (+ %s indirectly in %s)",
			human_bytes((double)group->indirect_bytes).text,
			human_count((double)group->indirect_count).text);
	text_put_quoted(out, " of type", group->like->type);
	text_put_quoted(out, ", assigned to", group->like->variable);
	text_put_quoted(out, ", held by", group->like->held_by);
	fputc('\n', out);
}

static void put_group(const struct several_columns *columns, const struct report_input *input,
		      size_t at, uint64_t *by_process)
{
	const struct several_group *group = &columns->several->group[at];
	const struct style *style = columns->style;
	FILE *out = columns->out;

	for (size_t i = 0; i < columns->several->watched; i++)
		by_process[i] = 0;
	for (uint32_t i = 0; i < group->part_count; i++)
		by_process[group->part[i].process] = group->part[i].bytes;
	fputc('\n', out);
	several_put_row(columns, verdict_words(group->like->verdict), group->bytes, by_process);
	put_what(out, group);
	if (group->site)
		text_put_stack(out, input, &input->snapshot->site[group->site - 1]);
	else
		fprintf(out, "      %sallocated before the attach%s%s\n", style->dim,
			input->snapshot->every_alloc ? "" : ", or not among the samples",
			style->plain);
}

static size_t count_suspects(const struct several *several)
{
	size_t count = 0;

	while (count < several->group_count &&
	       several->group[count].like->verdict < LEAK_REACHABLE)
		count++;
	return count;
}

/* "2 of 3 processes": whose memory the sums are about. */
static void put_title(const struct several_columns *columns)
{
	const struct several *several = columns->several;

	fprintf(columns->out, "\n%sLeaks%s", columns->style->bold, columns->style->plain);
	if (several->searched == 0)
		fputs(": sites whose blocks nobody seems to free; memory was not searched",
		      columns->out);
	else if (several->searched < several->watched)
		fprintf(columns->out, " of %zu of %zu processes: of the others no memory was "
			"searched", several->searched, several->watched);
	fputc('\n', columns->out);
}

int several_put_leaks(FILE *out, const struct several *several, const struct report_input *input)
{
	const struct several_columns columns = several_columns(out, several, &input->options);
	_cleanup_free_ uint64_t *by_process = calloc(several->watched + 1, sizeof(*by_process));
	size_t suspects = count_suspects(several);
	size_t count = input->options.top ? several->group_count : suspects;
	size_t top = text_shown(&input->options, count);

	if (!by_process)
		return -ENOMEM;
	put_title(&columns);
	several_put_heads(&columns, "");
	for (size_t i = 0; several->searched && i < ARRAY_SIZE(sums); i++)
		put_sum(&columns, i, by_process);
	if (suspects == 0)
		fputs(!several->searched ? "\n  Nothing suspect.\n" :
		      !several->unwalked ? "\n  Nothing lost, nothing suspect.\n" :
			      "\n  Nothing lost, nothing suspect in what was searched: not every "
			      "heap was.\n", out);
	if (top)
		fprintf(out, "\n%sTop %zu of %zu group%s%s\n", columns.style->bold, top, count,
			text_plural(count), columns.style->plain);
	for (size_t i = 0; i < top; i++)
		put_group(&columns, input, i, by_process);
	return 0;
}
