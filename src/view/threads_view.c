/* SPDX-License-Identifier: MIT */
/*
 * threads_view.c - see threads_view.h.
 *
 * A block belongs to the thread that allocated it, whoever has it now: "live" is what a thread
 * allocated and nobody freed. Mappings are no blocks. Which kernel thread is behind a number is
 * looked up while it lives; of one that came and went between two looks only the figures are known.
 */
#include "src/view/threads_view.h"

#include "src/report/estimated.h"
#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/threads_filter.h"
#include "src/view/view_put.h"

#define NAMED_THREADS 3u	/* of those chosen, in a text */

const char *threads_missing(const struct view_input *input)
{
	if (view_missing_of_moment(input))
		return view_missing_of_moment(input);
	return input->report.threads ? NULL : "it holds no threads: made by an older memattach, "
					      "or its --max-recording leaves no room for them";
}

static int choose(const struct view_input *input, struct threads_choice *ret)
{
	return threads_choose(input->report.threads, input->options.filter.thread, ret);
}

bool threads_none(const struct view_input *input)
{
	struct threads_choice choice;
	bool none;

	if (choose(input, &choice) < 0)
		return false;	/* whoever prints it runs out of memory, too */
	none = choice.count == 0;
	threads_choice_done(&choice);
	return none;
}

/* --- for people ------------------------------------------------------------------ */

static void put_name(FILE *out, const struct thread_row *row)
{
	if (row->id.name[0])
		text_put_printable(out, row->id.name);
	else
		fputc('-', out);
}

/* "3 (worker, id 4711)" */
static void put_thread(FILE *out, const struct thread_table *table, uint32_t number)
{
	const struct thread_row *row = thread_table_find(table, number);

	fprintf(out, "%u", number);
	if (!row || !row->id.tid)
		return;
	fputs(" (", out);
	put_name(out, row);
	fprintf(out, ", id %u)", row->id.tid);
}

void threads_put_chosen(FILE *out, const struct view_input *input)
{
	const struct thread_table *table = input->report.threads;
	uint64_t untold = threads_untold(table);
	struct threads_choice choice;

	if (choose(input, &choice) < 0)
		return;
	fprintf(out, "\n  Only what thread%s ", text_plural(choice.count));
	for (size_t i = 0; i < choice.count && i < NAMED_THREADS; i++) {
		fputs(i ? ", " : "", out);
		put_thread(out, table, choice.number[i]);
	}
	if (choice.count > NAMED_THREADS)
		fprintf(out, " and %zu more", choice.count - NAMED_THREADS);
	fputs(" allocated.\n", out);
	if (untold)
		fprintf(out, "  Of %s other calls, at sites with very many threads, it is not kept "
			"whose they were.\n", human_count((double)untold).text);
	threads_choice_done(&choice);
}

static void put_row(FILE *out, const struct view_input *input, const struct thread_row *r)
{
	const struct style *style = style_for(&input->report.options);
	char tid[16] = "-";

	if (r->id.tid)
		(void)snprintf(tid, sizeof(tid), "%u", r->id.tid);
	fprintf(out, "  %6u %8s %9s %11s %9s %11s", r->number, tid,
		human_count((double)r->alloc_count).text,
		human_bytes((double)r->alloc_bytes).text, human_count((double)r->free_count).text,
		human_bytes((double)r->free_bytes).text);
	fprintf(out, " %9s %9s %11s  %s", human_count((double)r->freed_others).text,
		human_count((double)r->live_count).text, human_bytes((double)r->live_bytes).text,
		style->name);
	put_name(out, r);
	fprintf(out, "%s", style->plain);
	if (r->id.ids > 1)
		fprintf(out, "  %s(and %u before it)%s", style->dim, r->id.ids - 1, style->plain);
	fputc('\n', out);
}

static void put_rows(FILE *out, const struct view_input *input)
{
	const struct thread_table *table = input->report.threads;
	size_t top = text_shown(&input->report.options, table->row_count);

	view_put_title(out, input, "Top %zu of %u threads by allocated bytes", top, table->total);
	fprintf(out, "  %6s %8s %9s %11s %9s %11s %9s %9s %11s  %s\n", "thread", "id", "allocs",
		"allocated", "frees", "freed", "others'", "live", "bytes", "name");
	for (size_t i = 0; i < top; i++)
		put_row(out, input, &table->row[i]);
}

static void put_handover(FILE *out, const struct thread_table *table,
			 const struct thread_handover *h)
{
	fprintf(out, "  %9s %11s  ", human_count((double)h->count).text,
		human_bytes((double)h->bytes).text);
	if (!h->owner) {
		fputs("of pairs of threads that are not told apart\n", out);
		return;
	}
	fputs("thread ", out);
	put_thread(out, table, h->owner);
	fputs(" -> freed by ", out);
	put_thread(out, table, h->freer);
	fputc('\n', out);
}

static void put_handovers(FILE *out, const struct view_input *input)
{
	const struct thread_table *table = input->report.threads;
	size_t top = text_shown(&input->report.options, table->handover_count);

	if (table->handover_count == 0) {
		fputs("\n  No thread freed what another had allocated.\n", out);
		return;
	}
	view_put_title(out, input, "Who freed whose blocks: top %zu of %zu pairs by bytes", top,
		       table->handover_count);
	fprintf(out, "  %9s %11s  %s\n", "blocks", "bytes", "allocated by");
	for (size_t i = 0; i < top; i++)
		put_handover(out, table, &table->handover[i]);
}

int threads_text(FILE *out, const struct view_input *input)
{
	text_put_head(out, &input->report);
	put_rows(out, input);
	put_handovers(out, input);
	if (view_is_estimate(input->report.snapshot))
		fputs("\n  All figures of threads are estimates: what was drawn of each thread's "
		      "blocks, scaled.\n", out);
	return 0;
}

/* --- documents ------------------------------------------------------------------- */

void threads_json_chosen(struct emit *emit, const struct view_input *input)
{
	struct threads_choice choice;

	if (choose(input, &choice) < 0)
		return;
	emit_begin(emit, "only_threads", '[');
	for (size_t i = 0; i < choice.count; i++)
		emit_uint(emit, NULL, choice.number[i]);
	emit_end(emit, ']');
	emit_uint(emit, "untold_calls", threads_untold(input->report.threads));
	threads_choice_done(&choice);
}

static void json_row(struct emit *emit, const struct thread_row *r)
{
	emit_begin(emit, NULL, '{');
	emit_uint(emit, "number", r->number);
	emit_uint_if(emit, "tid", r->id.tid, r->id.tid);
	emit_text(emit, "name", r->id.name[0] ? r->id.name : NULL);
	emit_uint(emit, "ids_seen", r->id.ids);
	emit_uint(emit, "alloc_count", r->alloc_count);
	emit_uint(emit, "alloc_bytes", r->alloc_bytes);
	emit_uint(emit, "free_count", r->free_count);
	emit_uint(emit, "free_bytes", r->free_bytes);
	emit_uint(emit, "freed_others_count", r->freed_others);
	emit_uint(emit, "freed_others_bytes", r->freed_others_bytes);
	emit_uint(emit, "live_count", r->live_count);
	emit_uint(emit, "live_bytes", r->live_bytes);
	emit_real(emit, "first_time", r->first);
	emit_real(emit, "last_time", r->last);
	emit_end(emit, '}');
}

static void json_handover(struct emit *emit, const struct thread_handover *h)
{
	emit_begin(emit, NULL, '{');
	emit_uint_if(emit, "owner", h->owner, h->owner);
	emit_uint_if(emit, "freer", h->freer, h->freer);
	emit_uint(emit, "count", h->count);
	emit_uint(emit, "bytes", h->bytes);
	emit_end(emit, '}');
}

int threads_json(struct emit *emit, const struct view_input *input)
{
	const struct thread_table *table = input->report.threads;
	uint32_t top = input->report.options.top;

	emit_bool(emit, "estimated", view_is_estimate(input->report.snapshot));
	emit_uint(emit, "thread_count", table->total);
	emit_begin(emit, "threads", '[');
	for (size_t i = 0; i < table->row_count && !(top && i >= top); i++)
		json_row(emit, &table->row[i]);
	emit_end(emit, ']');
	emit_uint(emit, "handover_count", table->handover_count);
	emit_begin(emit, "handovers", '[');
	for (size_t i = 0; i < table->handover_count && !(top && i >= top); i++)
		json_handover(emit, &table->handover[i]);
	emit_end(emit, ']');
	return 0;
}
