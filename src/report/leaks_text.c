/* SPDX-License-Identifier: MIT */
/*
 * leaks_text.c - what is lost, for people: how far the search reached, then what it found.
 *
 * What was not covered, and why, stands before any figure: "0 lost" means nothing where older
 * blocks could not be seen. The words are memcheck's, which users know, and so is the closing
 * LEAK SUMMARY, in one line that a log keeps. Blocks that are merely reachable are
 * counted and not listed: they are most of a healthy program.
 * Types, variables and holders come from the target's memory and files: printable_copy.
 * Rejected: a table with a column each; a type of C++ alone is wider than a terminal.
 */
#include "src/report/leaks_text.h"

#include <math.h>

#include "src/report/access_text.h"
#include "src/report/caller.h"
#include "src/report/human.h"
#include "src/report/leaks_bytes.h"
#include "src/report/name_shape.h"
#include "src/report/text_put.h"

#define SHOWN_ADDRESSES	4u
#define SHOWN_EARLY	3u

/* unsearched: nobody knows whether it can be reached. */
static const char *verdict_title(enum leak_verdict verdict, bool unsearched)
{
	static const char *const title[] = {
		[LEAK_DEFINITELY_LOST] = "definitely lost",
		[LEAK_POSSIBLY_LOST] = "possibly lost",
		[LEAK_STUCK] = "stuck (still reachable)",
		[LEAK_GROWING] = "growing (still reachable)",
		[LEAK_OLD] = "old (still reachable)",
		[LEAK_REACHABLE] = "still reachable",
	};

	if (unsearched)
		return leak_verdict_name(verdict);
	return (size_t)verdict < ARRAY_SIZE(title) ? title[verdict] : "unknown";
}

/* One allocator, and whether its blocks from before the attach are among what was searched. */
static void put_heap(FILE *out, const struct report_input *input, const struct leak_heap *heap)
{
	const struct style *style = style_for(&input->options);
	const char *before = text_before(input->snapshot);

	text_put_label(out, "heap");
	text_put_printable(out, heap->allocator);
	if (heap->version[0]) {
		fputc(' ', out);
		text_put_printable(out, heap->version);
	}
	fputs(": ", out);
	text_put_blocks(out, heap->live_bytes, heap->live_count);
	if (heap->covered) {
		fprintf(out, ", those from %s too\n", before);
		return;
	}
	fprintf(out, "; %snot %scovered%s from %s", style->warn,
		heap->live_count ? "all " : "", style->plain, before);
	if (heap->why[0]) {
		fputs(": ", out);
		text_put_printable(out, heap->why);
	}
	fputc('\n', out);
}

/* Blocks that the process itself can't read now. */
static void put_protected(FILE *out, const struct leak_report *leaks)
{
	if (!leaks->protected.count)
		return;
	text_put_label(out, "protected");
	text_put_blocks(out, leaks->protected.bytes, leaks->protected.count);
	fprintf(out, " %s not readable for the process (mprotect), at",
		leaks->protected.count == 1 ? "is" : "are");
	for (uint64_t i = 0; i < leaks->protected.count && i < LEAK_MAX_PROTECTED; i++)
		fprintf(out, " 0x%llx", (unsigned long long)leaks->protected_address[i]);
	fprintf(out, "%s; what %s counts\n",
		leaks->protected.count > LEAK_MAX_PROTECTED ? " ..." : "",
		leaks->protected.count == 1 ? "it holds" : "they hold");
}

static void put_history(FILE *out, const struct leak_report *leaks)
{
	if (!(leaks->history > 0))
		return;
	text_put_label(out, "history");
	fprintf(out, "%s of an earlier recording, which knows %u of the sites with live blocks\n",
		human_seconds(leaks->history).text, leaks->history_sites);
}

/* Of a recording, whose process may be long gone. */
static void put_unsearched(FILE *out, const struct report_input *input)
{
	const struct style *style = style_for(&input->options);

	fprintf(out, "\n%sLeaks: sites whose blocks nobody seems to free%s\n", style->bold,
		style->plain);
	text_put_label(out, "judged");
	fprintf(out, "by how long blocks lived in %s, and by %s snapshots; memory was not "
		"searched\n", human_seconds(input->leaks->watched).text,
		human_exact(input->leaks->looks).text);
}

static void put_search(FILE *out, const struct report_input *input)
{
	const struct leak_report *leaks = input->leaks;
	const struct style *style = style_for(&input->options);

	fprintf(out, "\n%sLeaks: what nothing in the process leads to any more%s\n", style->bold,
		style->plain);
	text_put_label(out, "searched");
	fprintf(out, "%s in %s; the process stood still for %s\n",
		human_bytes((double)leaks->scanned_bytes).text, human_seconds(leaks->seconds).text,
		human_seconds((double)leaks->pause_us / 1e6).text);
	if (leaks->unread_shared_bytes)
		fprintf(out, "  %-10s%s of shared memory were not searched: what only that leads "
			"to counts as lost\n", "",
			human_bytes((double)leaks->unread_shared_bytes).text);
	if (leaks->late_bytes)
		fprintf(out, "  %-10s%s that the process keeps from copies of it (MADV_DONTFORK) "
			"were read later\n  %-10sthan the rest: nothing is called more than "
			"possibly lost; --snapshot=stop has all in one moment\n", "",
			human_bytes((double)leaks->late_bytes).text, "");
	for (uint32_t i = 0; i < leaks->heap_count && i < LEAK_MAX_HEAPS; i++)
		put_heap(out, input, &leaks->heap[i]);
	if (leaks->heap_count == 0)
		fprintf(out, "  %s%-10s%sno allocator was found: only blocks seen since the "
			"%s\n", style->warn, "heap", style->plain,
			input->snapshot->session.started ? "beginning" : "attach");
	else if (!leaks->covers_older_blocks)
		fprintf(out, "  %s%-10s%sof blocks from %s, some or all are missing "
			"below\n", style->warn, "older", style->plain,
			text_before(input->snapshot));
	put_protected(out, leaks);
	put_history(out, leaks);
	access_text_put_run(out, input);
}

static void put_sum(FILE *out, const char *name, const struct leak_sum *sum)
{
	fprintf(out, "  %-16s %12s block%s %12s\n", name, human_count((double)sum->count).text,
		sum->count == 1 ? " " : "s", human_bytes((double)sum->bytes).text);
}

static void put_sums(FILE *out, const struct leak_report *leaks)
{
	fputc('\n', out);
	put_sum(out, "definitely lost", &leaks->kind[BLOCK_DEFINITELY_LOST]);
	put_sum(out, "indirectly lost", &leaks->kind[BLOCK_INDIRECTLY_LOST]);
	put_sum(out, "possibly lost", &leaks->kind[BLOCK_POSSIBLY_LOST]);
	put_sum(out, "still reachable", &leaks->kind[BLOCK_REACHABLE]);
	if (leaks->suppressed.count)
		put_sum(out, "suppressed", &leaks->suppressed);
}

static void put_title(FILE *out, const struct report_input *input, size_t rank)
{
	const struct leak_group *group = &input->leaks->group[rank];
	const struct style *style = style_for(&input->options);
	_cleanup_free_ char *type = report_names_text(&input->names, group->type);
	_cleanup_free_ char *variable = report_names_text(&input->names, group->variable);

	fprintf(out, "\n%s#%zu  %s:%s ", style->bold, rank + 1,
		verdict_title(group->verdict, input->leaks->unsearched), style->plain);
	text_put_blocks(out, group->bytes, group->count);
	if (group->size && group->count > 1)
		fprintf(out, " of %s each", human_bytes((double)group->size).text);
	else if (!group->size && group->size_class)
		fprintf(out, " of up to %s each", human_bytes((double)group->size_class).text);
	if (group->indirect_count)
		fprintf(out, " (+ %s indirectly in %s)",
			human_bytes((double)group->indirect_bytes).text,
			human_count((double)group->indirect_count).text);
	text_put_quoted(out, " of type", type);
	text_put_quoted(out, ", assigned to", variable);
	fputc('\n', out);
}

bool leaks_rest_on_too_few(const struct snapshot *snapshot, const struct leak_group *group)
{
	const struct snapshot_site *site = text_site_by_id(snapshot, group->site);
	bool by_site = group->verdict == LEAK_STUCK || group->verdict == LEAK_GROWING ||
		       group->verdict == LEAK_OLD;

	return by_site && site && site->verdict == SNAPSHOT_TOO_FEW;
}

size_t leaks_too_few_sites(const struct snapshot *snapshot)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->site_count; i++)
		count += snapshot->site[i].verdict == SNAPSHOT_TOO_FEW &&
			 snapshot->site[i].live_count > 0 &&
			 snapshot_knows_live(snapshot, &snapshot->site[i]);
	return count;
}

static void put_age(FILE *out, const struct report_input *input, const struct leak_group *group)
{
	const struct style *style = style_for(&input->options);

	if (isfinite(group->oldest))
		fprintf(out, "%s %s old", group->count == 1 ? "   " : "    the oldest is",
			human_seconds(group->oldest).text);
	else
		fputs("    of unknown age", out);
	if (isfinite(group->growth))
		fprintf(out, "; %s%s/h%s", group->growth > 0 ? style->warn : "",
			human_bytes_signed(group->growth).text,
			group->growth > 0 ? style->plain : "");
	if (group->by_history)
		fputs("; as the earlier recording shows", out);
	if (leaks_rest_on_too_few(input->snapshot, group))
		fprintf(out, "; %son too few samples%s", style->warn, style->plain);
	fputc('\n', out);
}

static void put_addresses(FILE *out, const struct leak_group *group)
{
	if (group->address_count == 0)
		return;
	fputs("    at", out);
	for (uint32_t i = 0; i < group->address_count && i < SHOWN_ADDRESSES; i++)
		fprintf(out, " 0x%llx", (unsigned long long)group->address[i]);
	fputs(group->count > SHOWN_ADDRESSES ? " ...\n" : "\n", out);
	for (uint32_t i = 0; i < group->content_count && i < SHOWN_ADDRESSES; i++)
		leaks_bytes_put(out, &group->content[i]);
}

/* What holds the first example now; else, what memory that is not live has to say. */
static void put_holders(FILE *out, const struct report_input *input,
			const struct leak_group *group)
{
	_cleanup_free_ char *held_by = report_names_text(&input->names, group->held_by);
	_cleanup_free_ char *last = report_names_text(&input->names, group->last_held_by);

	if (held_by) {
		text_put_quoted(out, group->verdict == LEAK_POSSIBLY_LOST ?
				"    its middle is held by" : "    held by", held_by);
		fputc('\n', out);
	}
	if (last) {
		fputs("    still named by ", out);
		text_put_printable(out, last);
		if (group->count > 1)
			fprintf(out, " (%s of %s)",
				human_count((double)group->last_held_count).text,
				human_count((double)group->count).text);
		fputc('\n', out);
	}
}

/* A hint for blocks from before the attach. */
static void put_likely_site(FILE *out, const struct report_input *input,
			    const struct leak_group *group)
{
	const struct snapshot_site *site = text_site_by_id(input->snapshot, group->likely_site);
	_cleanup_free_ char *title = NULL;
	struct caller caller;
	struct stack stack;

	if (!group->likely_site || !site)
		return;
	stack = stacks_get(input->stacks, site->stack);
	caller = caller_of_stack(&input->names, &stack, site->skip_frames);
	if (!caller.symbol)
		return;
	title = text_frame_title(caller.symbol, caller.machine);
	fprintf(out, "      same size as what %s allocates (", title ? title : "?");
	text_put_location(out, caller.symbol);
	fputs(")\n", out);
}

static void put_origin(FILE *out, const struct report_input *input, const struct leak_group *group)
{
	const struct snapshot_site *site = text_site_by_id(input->snapshot, group->site);
	const struct style *style = style_for(&input->options);
	if (group->site && site)
		text_put_stack(out, input, site);
	else if (group->site)
		fprintf(out, "      %s(its stack is not known)%s\n", style->dim, style->plain);
	else
		fprintf(out, "      %sallocated %s%s%s\n", style->dim, text_before(input->snapshot),
			input->snapshot->every_alloc ? "" :
			", or not among the samples (--exact sees all)", style->plain);
}

static void put_group(FILE *out, const struct report_input *input, size_t rank)
{
	const struct leak_group *group = &input->leaks->group[rank];

	put_title(out, input, rank);
	put_age(out, input, group);
	put_addresses(out, group);
	put_holders(out, input, group);
	access_text_put(out, input, group);
	put_origin(out, input, group);
	put_likely_site(out, input, group);
}

/* Lost or suspect; they come first. */
static size_t count_suspects(const struct leak_report *leaks)
{
	size_t count = 0;

	while (count < leaks->group_count &&
	       (leaks->group[count].verdict < LEAK_REACHABLE ||
		access_text_shows(&leaks->group[count])))
		count++;
	return count;
}

static void put_groups(FILE *out, const struct report_input *input)
{
	const struct style *style = style_for(&input->options);
	size_t suspects = count_suspects(input->leaks);
	size_t count = input->options.top ? input->leaks->group_count : suspects;
	size_t top = text_shown(&input->options, count);

	if (suspects == 0)
		fputs(input->leaks->unsearched ? "\n  Nothing suspect.\n" :
		      leak_report_walked_all(input->leaks) ?
			      "\n  Nothing lost, nothing suspect.\n" :
			      "\n  Nothing lost, nothing suspect in what was searched: not every "
			      "heap was.\n", out);
	if (top)
		fprintf(out, "\n%sTop %zu of %zu group%s%s\n", style->bold, top, count,
			text_plural(count), style->plain);
	for (size_t i = 0; i < top; i++)
		put_group(out, input, i);
}

static void put_early_site(FILE *out, const struct report_input *input,
			   const struct leak_early *early)
{
	const struct snapshot_site *site = text_site_by_id(input->snapshot, early->site);
	struct stack stack = stacks_get(input->stacks, site ? site->stack : 0);
	struct caller caller = caller_of_stack(&input->names, &stack,
					       site ? site->skip_frames : 0);

	fputs("    ", out);
	text_put_blocks(out, early->bytes, early->count);
	if (caller.symbol) {
		_cleanup_free_ char *title = text_frame_title(caller.symbol, caller.machine);

		fprintf(out, " of %s at ", title ? title : "?");
		text_put_location(out, caller.symbol);
	}
	if (early->longest > 0)
		fprintf(out, ": freed ones lived up to %s", human_seconds(early->longest).text);
	else
		fputs(": none was freed yet", out);
	fprintf(out, "; %s would tell\n", human_seconds(early->needs).text);
}

/* Neither suspect nor cleared, and why. */
static void put_early(FILE *out, const struct report_input *input)
{
	const struct leak_report *leaks = input->leaks;
	size_t top = input->options.top ? input->options.top : SHOWN_EARLY;

	if (leaks->early_count == 0)
		return;
	top = top < leaks->early_count ? top : leaks->early_count;
	fprintf(out, "\n  Too early to tell for %zu site%s, in %s:\n", leaks->early_count,
		text_plural(leaks->early_count), human_seconds(leaks->watched).text);
	for (size_t i = 0; i < top; i++)
		put_early_site(out, input, &leaks->early[i]);
	if (top < leaks->early_count)
		fputs("    ...\n", out);
}

/* These sites may grow, or not. */
static void put_too_few(FILE *out, const struct report_input *input)
{
	size_t count = leaks_too_few_sites(input->snapshot);

	if (count)
		fprintf(out, "\n  Too few samples to tell whether %zu site%s (watch for longer, "
			"use a smaller --sample=BYTES, or --exact)\n", count,
			count == 1 ? " grows" : "s grow");
}

static void put_summary(FILE *out, const struct report_input *input)
{
	static const struct {
		const char *name;
		enum block_kind kind;
	} part[] = {
		{ "definitely lost", BLOCK_DEFINITELY_LOST },
		{ ", indirectly lost", BLOCK_INDIRECTLY_LOST },
		{ ", possibly lost", BLOCK_POSSIBLY_LOST },
		{ ", still reachable", BLOCK_REACHABLE },
	};
	const struct leak_report *leaks = input->leaks;
	const struct style *style = style_for(&input->options);

	fprintf(out, "\n%sLEAK SUMMARY%s ", style->bold, style->plain);
	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		fprintf(out, "%s: ", part[i].name);
		text_put_blocks(out, leaks->kind[part[i].kind].bytes,
				leaks->kind[part[i].kind].count);
	}
	if (leaks->suppressed.count) {
		fputs(", suppressed: ", out);
		text_put_blocks(out, leaks->suppressed.bytes, leaks->suppressed.count);
	}
	if (!leaks->covers_older_blocks)
		fputs("; older blocks not all covered", out);
	fputc('\n', out);
}

void leaks_text_put(FILE *out, const struct report_input *input)
{
	if (input->leaks->unsearched) {
		put_unsearched(out, input);
	} else {
		put_search(out, input);
		put_sums(out, input->leaks);
	}
	put_groups(out, input);
	put_early(out, input);
	put_too_few(out, input);
	if (!input->leaks->unsearched)
		put_summary(out, input);
}
