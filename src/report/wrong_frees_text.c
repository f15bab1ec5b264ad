/* SPDX-License-Identifier: MIT */
/*
 * wrong_frees_text.c - what was freed wrongly, before any figure of sites: a program that
 * does so is broken, and may be dead by now.
 *
 * The three stacks come in the order in which one looks at them: the wrong call, the first
 * free, the allocation. What is not known is said, and how to come to know it.
 */
#include "src/report/wrong_frees_text.h"

#include "src/report/human.h"
#include "src/report/text_put.h"

static const char *what_is_wrong(enum wrong_free_reason reason)
{
	static const char *const text[] = {
		[WRONG_FREE_NOT] = "",
		[WRONG_FREE_AGAIN] = "which was freed before",
		[WRONG_FREE_INSIDE] = "which is inside a block",
		[WRONG_FREE_MISALIGNED] = "where no block can begin: it is not aligned",
		[WRONG_FREE_STACK] = "which is in a thread's stack",
		[WRONG_FREE_STATIC] = "which is in a module's code or static data",
		[WRONG_FREE_UNMAPPED] = "where there is no memory",
		[WRONG_FREE_MAPPED] = "in memory that the allocator did not hand out",
		[WRONG_FREE_FREE] = "in free memory of the heap, where no block begins",
	};

	return text[reason];
}

/* "double free: free(0x5…) of a block of 24 B, ..." */
static void put_title(FILE *out, const struct style *style, size_t rank,
		      const struct snapshot_wrong_free *wrong)
{
	bool twice = wrong_free_kind(wrong->reason) == WRONG_FREE_DOUBLE;

	fprintf(out, "\n%s!%zu  %s free%s: ", style->warn, rank + 1, twice ? "double" : "illegal",
		style->plain);
	text_put_printable(out, wrong->call);
	fprintf(out, " of 0x%llx, %s", (unsigned long long)wrong->address,
		what_is_wrong(wrong->reason));
	if (wrong->reason == WRONG_FREE_INSIDE)
		fprintf(out, " of %s, %s behind its beginning",
			human_bytes((double)wrong->block_size).text,
			human_bytes((double)(wrong->address - wrong->block_address)).text);
	else if (wrong->allocated.stack)
		fprintf(out, " (a %s of %s)",
			wrong->reason == WRONG_FREE_MAPPED ? "mapping" : "block",
			human_bytes((double)wrong->block_size).text);
	if (wrong->count > 1)
		fprintf(out, "; %s times, first", human_count((double)wrong->count).text);
	fputc('\n', out);
}

/* Who did it and when, relative to a later call (NULL: to the attach); its stack. */
static void put_call(FILE *out, const struct report_input *input, const char *what,
		     const struct snapshot_call *call, const struct snapshot_call *later)
{
	const struct snapshot_site place = { .stack = call->stack,
					     .skip_frames = call->skip_frames };
	double seconds = later ? later->time - call->time : call->time;

	fprintf(out, "    %s", what);
	if (call->thread != FREED_NO_THREAD)
		fprintf(out, " by thread %u", call->thread + 1);
	fprintf(out, ", %s %s\n", human_seconds(seconds > 0 ? seconds : 0).text,
		later ? "earlier" : input->snapshot->session.started ?
		"after the program began" : "after the attach");
	text_put_stack(out, input, &place);
}

static bool only_caller(const struct report_input *input, const struct snapshot_call *call)
{
	return call->stack &&
	       stacks_get(input->stacks, call->stack).flags & STACK_CALLER_ONLY;
}

static void put_wrong_free(FILE *out, const struct report_input *input, size_t rank)
{
	const struct snapshot_wrong_free *wrong = &input->snapshot->wrong_free[rank];
	bool twice = wrong_free_kind(wrong->reason) == WRONG_FREE_DOUBLE;

	put_title(out, style_for(&input->options), rank, wrong);
	put_call(out, input, twice ? "freed again" : "freed", &wrong->freed, NULL);
	if (wrong->freed_first.stack)
		put_call(out, input, "first freed", &wrong->freed_first, &wrong->freed);
	if (only_caller(input, &wrong->freed_first))
		fputs("      (--frees=stacks keeps the whole stack of every free)\n", out);
	if (wrong->allocated.stack)
		put_call(out, input, wrong->reason == WRONG_FREE_MAPPED ? "mapped" : "allocated",
			 &wrong->allocated,
			 wrong->freed_first.stack ? &wrong->freed_first : &wrong->freed);
	else if (wrong->freed_first.stack || wrong->reason == WRONG_FREE_INSIDE)
		fprintf(out, "    allocated %s\n", text_before(input->snapshot));
}

/* Frees of older blocks were to be judged: why are some not? */
static void put_uncovered(FILE *out, const struct report_input *input)
{
	const struct snapshot_older *older = &input->snapshot->session.older;
	const struct style *style = style_for(&input->options);

	if (!older->asked || !older->why[0] || !input->snapshot->complete)
		return;	/* or that is said already */
	fprintf(out, "  %s%-10s%sfrees of blocks from %s are not covered: ",
		style->warn, "unknown", style->plain, text_before(input->snapshot));
	text_put_printable(out, older->why);
	fputc('\n', out);
}

/* Verdicts need that nothing was missed: is it so, and why not? */
static void put_doubt(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;
	const struct snapshot_session *session = &snapshot->session;
	const struct style *style = style_for(&input->options);
	bool lost = session->lost.alloc || session->lost.free || session->lost.map ||
		    session->corrupt || session->gaps;

	if (snapshot->complete)
		return;
	fprintf(out, "  %s%-10s%s%s\n", style->warn, "unknown", style->plain,
		lost ? "wrong frees after the first lost record can't be told from others" :
		       "wrong frees: not every call that allocates is seen "
		       "(`memattach check` says which)");
}

void wrong_frees_text_put(FILE *out, const struct report_input *input)
{
	const struct snapshot *snapshot = input->snapshot;
	const struct style *style = style_for(&input->options);
	size_t count = snapshot->wrong_free_count, top = text_shown(&input->options, count);

	if (!snapshot->exact)
		return;
	put_doubt(out, input);
	put_uncovered(out, input);
	if (count == 0)
		return;
	fprintf(out, "\n%sWrong frees: %zu of %zu kinds%s\n", style->bold, top, count,
		style->plain);
	for (size_t i = 0; i < top; i++)
		put_wrong_free(out, input, i);
	if (snapshot->wrong_free_left_out)
		fprintf(out, "\n  and %s of other kinds, for which there was no room\n",
			human_count((double)snapshot->wrong_free_left_out).text);
}
