/* SPDX-License-Identifier: MIT */
/*
 * diff_text.c - a comparison for people: totals, then what is new, grew, shrank, is gone.
 *
 * Whether rates and leaks can be compared at all is said first. What got more is shown with its
 * whole stack, because somebody will have to find it; what got less by the frame that
 * stands for it (report/caller.h).
 * All names come from the documents, which may say anything: printed by text_put.h only.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/report/caller.h"
#include "src/report/diff_write.h"
#include "src/report/human.h"
#include "src/report/text_put.h"

static void put_process(FILE *out, const struct diff_document *document)
{
	fprintf(out, "process %lld, ", (long long)document->pid);
	text_put_printable(out, document->exe);
}

static void put_warning(FILE *out, const struct style *style, const char *label, const char *text)
{
	fprintf(out, "  %s%-10s%s%s\n", style->warn, label, style->plain, text);
}

static void put_header(FILE *out, const struct diff *diff, const struct style *style)
{
	const struct diff_document *old = &diff->document[DIFF_OLD];
	const struct diff_document *new = &diff->document[DIFF_NEW];

	fprintf(out, "%smemattach diff:%s ", style->bold, style->plain);
	put_process(out, old);
	if (!diff->same_process) {
		fputs("; then ", out);
		put_process(out, new);
	}
	fputc('\n', out);
	if (isfinite(diff->hours)) {
		text_put_label(out, "apart");
		fprintf(out, "%s\n", human_seconds(diff->hours * 3600).text);
	} else {
		put_warning(out, style, "apart", diff->same_process ?
			    "the newer one is not later: no rates" : "two processes: no rates");
	}
	if (!diff->leaks_compared)
		put_warning(out, style, "leaks", old->searched || new->searched ?
			    "only one of them was made with a search of memory: not compared" :
			    "made without a search of memory: nothing to compare");
	else if (old->covers_older_blocks != new->covers_older_blocks)
		put_warning(out, style, "leaks", "blocks from before the attach are covered in "
			    "one of them only");
}

static void put_rate(FILE *out, const struct diff *diff, int64_t growth)
{
	double rate = diff_rate(diff, growth);

	if (isfinite(rate))
		fprintf(out, "%s/h", human_bytes_signed(rate).text);
}

static void put_totals(FILE *out, const struct diff *diff)
{
	static const char *const name[DIFF_SUMS] = { "live", "definitely lost", "indirectly lost",
						     "possibly lost", "still reachable" };

	fprintf(out, "\n  %-16s %12s %12s %14s\n", "", "old", "new", "growth");
	for (size_t i = 0; i < (diff->leaks_compared ? DIFF_SUMS : 1); i++) {
		uint64_t old = diff->document[DIFF_OLD].sum[i].bytes;
		uint64_t new = diff->document[DIFF_NEW].sum[i].bytes;
		int64_t growth = (int64_t)new - (int64_t)old;

		fprintf(out, "  %-16s %12s %12s %14s  ", name[i], human_bytes((double)old).text,
			human_bytes((double)new).text, human_bytes_signed((double)growth).text);
		put_rate(out, diff, growth);
		fputs(diff_sum_within(diff, i) ? "; within the 95 % intervals\n" : "\n", out);
	}
}

static void put_amount(FILE *out, const struct diff_amount *amount)
{
	text_put_blocks(out, amount->bytes, amount->count);
	if (amount->indirect_count)
		fprintf(out, " (+ %s indirectly in %s)",
			human_bytes((double)amount->indirect_bytes).text,
			human_count((double)amount->indirect_count).text);
}

static void put_amounts(FILE *out, const struct diff_entry *entry)
{
	if (entry->change != DIFF_ADDED)
		put_amount(out, &entry->amount[DIFF_OLD]);
	if (entry->change == DIFF_GREW || entry->change == DIFF_SHRANK)
		fputs(" -> ", out);
	if (entry->change != DIFF_GONE)
		put_amount(out, &entry->amount[DIFF_NEW]);
}

static void put_frame(FILE *out, const struct style *style, const struct diff_frame *frame)
{
	struct symbol_frame symbol = {
		.function = frame->function, .file = frame->file, .line = frame->line,
		.column = frame->column, .module = frame->module ? frame->module : "",
		.offset = frame->offset, .inlined = frame->inlined,
	};
	struct frame place = { .offset = frame->offset };

	text_put_frame(out, style, &symbol, &place);
}

static uint32_t find_caller(const struct diff_entry *entry)
{
	struct caller_search search = { 0 };

	for (uint32_t i = 0; i < entry->frame_count && !search.ended; i++) {
		const struct diff_frame *frame = &entry->frame[i];
		const struct caller_function f = { .function = frame->function,
						   .module = frame->module, .file = frame->file,
						   .line = frame->line };

		(void)caller_search_next(&search, &f);
	}
	return caller_search_found(&search);
}

static void put_stack(FILE *out, const struct style *style, const struct diff_entry *entry)
{
	bool more = entry->change == DIFF_ADDED || entry->change == DIFF_GREW;

	for (uint32_t i = 0; more && i < entry->frame_count; i++)
		put_frame(out, style, &entry->frame[i]);
	if (!more && entry->frame_count > 0)
		put_frame(out, style, &entry->frame[find_caller(entry)]);
	if (entry->frame_count == 0)
		fprintf(out, "      %s%s%s\n", style->dim, entry->estimate ? "unknown" :
			"allocated before the attach", style->plain);
}

/* The verdict as words: "definitely-lost" has a hyphen for tools only. */
static void put_verdict(FILE *out, const char *verdict)
{
	_cleanup_free_ char *words = verdict ? strdup(verdict) : NULL;

	for (char *c = words; c && *c; c++)
		if (*c == '-')
			*c = ' ';
	text_put_printable(out, words ? words : "?");
}

/* How little the row says: in the words of reports. */
static void put_doubts(FILE *out, const struct style *style, const struct diff_entry *entry)
{
	if (entry->too_few)
		fprintf(out, "; %s%s%s", style->warn, entry->estimate ? "too few samples" :
			"on too few samples", style->plain);
	if (entry->within)
		fprintf(out, "; %swithin the 95 %% intervals%s", style->warn, style->plain);
}

static void put_entry(FILE *out, const struct diff *diff, const struct style *style,
		      const struct diff_entry *entry)
{
	fprintf(out, "\n%s%s%s", style->bold, human_bytes_signed((double)entry->growth).text,
		style->plain);
	if (isfinite(diff_rate(diff, entry->growth))) {
		fputs(" (", out);
		put_rate(out, diff, entry->growth);
		fputc(')', out);
	}
	fputs("  ", out);
	if (!entry->estimate) {
		put_verdict(out, entry->verdict);
		fputs(": ", out);
	}
	put_amounts(out, entry);
	text_put_quoted(out, " of type", entry->type);
	text_put_quoted(out, ", assigned to", entry->variable);
	text_put_quoted(out, ", held by", entry->held_by);
	put_doubts(out, style, entry);
	fputc('\n', out);
	put_stack(out, style, entry);
}

/* Of all changes of one kind, the largest first. */
static void put_changes(FILE *out, const struct diff *diff, enum diff_part part,
			enum diff_change change, const struct report_options *options)
{
	static const char *const title[DIFF_PARTS][DIFF_CHANGES] = {
		{ "Leaks that are new", "Leaks that grew", "Leaks that shrank",
		  "Leaks that are gone" },
		{ "Sites that are new", "Sites that grew", "Sites that shrank",
		  "Sites that are gone" },
	};
	const struct diff_list *list = &diff->part[part];
	const struct style *style = style_for(options);
	bool less = change == DIFF_SHRANK || change == DIFF_GONE;
	size_t count = 0, top;

	for (size_t i = 0; i < list->count; i++)
		count += list->entry[i]->change == change;
	top = text_shown(options, count);
	if (count)
		fprintf(out, "\n%s%s: %zu of %zu%s\n", style->bold, title[part][change], top,
			count, style->plain);
	for (size_t i = 0; i < list->count && top; i++) {
		const struct diff_entry *entry = list->entry[less ? list->count - 1 - i : i];

		if (entry->change != change)
			continue;
		put_entry(out, diff, style, entry);
		top--;
	}
}

static void put_part(FILE *out, const struct diff *diff, enum diff_part part,
		     const struct report_options *options)
{
	if (diff->part[part].count == 0 && (part == DIFF_SITES || diff->leaks_compared))
		fprintf(out, "\nNo %s changed.\n", part == DIFF_LEAKS ? "leak" : "site");
	for (int change = 0; change < DIFF_CHANGES; change++)
		put_changes(out, diff, part, (enum diff_change)change, options);
}

/* These sites may have changed, or not. */
static void put_within(FILE *out, const struct diff *diff)
{
	size_t count = diff->sites_within;

	if (count)
		fprintf(out, "\nWithin the 95 %% intervals, so not listed: %zu site%s (watch for "
			"longer, use a smaller --sample=BYTES, or --exact)\n", count,
			count == 1 ? " that differs" : "s that differ");
}

int diff_write_text(FILE *out, const struct diff *diff, const struct report_options *options)
{
	const struct style *style = style_for(options);

	errno = 0;
	put_header(out, diff, style);
	put_totals(out, diff);
	put_part(out, diff, DIFF_LEAKS, options);
	put_part(out, diff, DIFF_SITES, options);
	put_within(out, diff);
	if (diff->leaks_compared)
		fprintf(out, "\n%sSUMMARY%s definitely lost memory %s\n", style->bold,
			style->plain, diff->lost_grew ? "grew" : "did not grow");
	if (fflush(out) != 0)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}
