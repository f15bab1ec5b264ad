/* SPDX-License-Identifier: MIT */
/*
 * diff_json.c - a comparison as a document, key by key as docs/diff.schema.json.
 *
 * As in the snapshot, every key is always there, and null is what can't be known: rates
 * between two processes, sums of memory that was not searched. Entries without a change are
 * left out: they are most of it, and both documents have them.
 */
#include "src/report/diff_write.h"
#include "src/report/emit.h"

static void put_document(struct emit *emit, const char *key, const struct diff_document *document)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "pid", (uint64_t)document->pid);
	emit_text(emit, "exe", document->exe);
	emit_real(emit, "start_time", document->start_time);
	emit_real_if(emit, "time", document->time);
	emit_bool(emit, "searched", document->searched);
	emit_bool(emit, "covers_older_blocks", document->covers_older_blocks);
	emit_end(emit, '}');
}

static void put_sum(struct emit *emit, const char *key, const struct diff_sum *sum)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "count", sum->count);
	emit_uint(emit, "bytes", sum->bytes);
	emit_end(emit, '}');
}

static void put_total(struct emit *emit, const struct diff *diff, size_t index)
{
	const struct diff_sum *old = &diff->document[DIFF_OLD].sum[index];
	const struct diff_sum *new = &diff->document[DIFF_NEW].sum[index];
	int64_t growth = (int64_t)new->bytes - (int64_t)old->bytes;

	if (index > 0 && !diff->leaks_compared) {
		emit_null(emit, diff_sum_name(index));
		return;
	}
	emit_begin(emit, diff_sum_name(index), '{');
	put_sum(emit, "old", old);
	put_sum(emit, "new", new);
	emit_int(emit, "growth", growth);
	emit_real_if(emit, "growth_per_hour", diff_rate(diff, growth));
	emit_bool(emit, "within_intervals", diff_sum_within(diff, index));
	emit_end(emit, '}');
}

static void put_frames(struct emit *emit, const struct diff_entry *entry)
{
	emit_begin(emit, "frames", '[');
	for (uint32_t i = 0; i < entry->frame_count; i++) {
		const struct diff_frame *frame = &entry->frame[i];

		emit_begin(emit, NULL, '{');
		emit_text(emit, "function", frame->function);
		emit_text(emit, "file", frame->file);
		emit_uint_if(emit, "line", frame->line, frame->line);
		emit_uint_if(emit, "column", frame->column, frame->column);
		emit_text(emit, "module", frame->module ? frame->module : "");
		emit_uint(emit, "offset", frame->offset);
		emit_bool(emit, "inlined", frame->inlined);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}

static void put_amount(struct emit *emit, const char *key, enum diff_part part,
		       const struct diff_amount *amount)
{
	emit_begin(emit, key, '{');
	emit_uint(emit, "count", amount->count);
	emit_uint(emit, "bytes", amount->bytes);
	if (part == DIFF_LEAKS) {
		emit_uint(emit, "indirect_count", amount->indirect_count);
		emit_uint(emit, "indirect_bytes", amount->indirect_bytes);
	} else {
		emit_uint(emit, "bytes_low", amount->bytes_low);
		emit_uint(emit, "bytes_high", amount->bytes_high);
	}
	emit_end(emit, '}');
}

static void put_names(struct emit *emit, const struct diff_entry *entry)
{
	emit_text(emit, "type", entry->type);
	emit_uint(emit, "size", entry->size);
	emit_text(emit, "variable", entry->variable);
	emit_text(emit, "held_by", entry->held_by);
	emit_text(emit, "address", entry->address);
}

static void put_entry(struct emit *emit, const struct diff *diff, enum diff_part part,
		      const struct diff_entry *entry)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "change", diff_change_name(entry->change));
	emit_text(emit, part == DIFF_LEAKS ? "verdict" : "kind", entry->verdict);
	put_amount(emit, "old", part, &entry->amount[DIFF_OLD]);
	put_amount(emit, "new", part, &entry->amount[DIFF_NEW]);
	emit_int(emit, "growth", entry->growth);
	emit_real_if(emit, "growth_per_hour", diff_rate(diff, entry->growth));
	emit_bool(emit, "too_few_samples", entry->too_few);
	if (part == DIFF_LEAKS)
		put_names(emit, entry);
	else
		emit_bool(emit, "within_intervals", entry->within);
	put_frames(emit, entry);
	emit_end(emit, '}');
}

static void put_list(struct emit *emit, const struct diff *diff, enum diff_part part, uint32_t top)
{
	const struct diff_list *list = &diff->part[part];
	size_t count = top && top < list->count ? top : list->count;

	emit_begin(emit, part == DIFF_LEAKS ? "leaks" : "sites", '[');
	for (size_t i = 0; i < count; i++)
		put_entry(emit, diff, part, list->entry[i]);
	emit_end(emit, ']');
}

int diff_write_json(FILE *out, const struct diff *diff, const struct report_options *options)
{
	struct emit emit = { .out = out };

	emit_begin(&emit, NULL, '{');
	emit_text(&emit, "schema", "memattach-diff-1");
	put_document(&emit, "old", &diff->document[DIFF_OLD]);
	put_document(&emit, "new", &diff->document[DIFF_NEW]);
	emit_bool(&emit, "same_process", diff->same_process);
	emit_real_if(&emit, "seconds", diff->hours * 3600);
	emit_bool(&emit, "definitely_lost_grew", diff->lost_grew);
	emit_begin(&emit, "totals", '{');
	for (size_t i = 0; i < DIFF_SUMS; i++)
		put_total(&emit, diff, i);
	emit_end(&emit, '}');
	if (diff->leaks_compared)
		put_list(&emit, diff, DIFF_LEAKS, options->top);
	else
		emit_null(&emit, "leaks");
	put_list(&emit, diff, DIFF_SITES, options->top);
	emit_uint(&emit, "sites_within_intervals", diff->sites_within);
	emit_end(&emit, '}');
	return emit_finish(&emit);
}
