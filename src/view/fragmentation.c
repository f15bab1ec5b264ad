/* SPDX-License-Identifier: MIT */
/*
 * fragmentation.c - see fragmentation.h.
 *
 * One table, in which parts add up to sums and those to the process: what was asked for, what
 * rounding up adds, what headers add, what is free in the heap and where, what else is mapped. Both
 * in address space and in memory. An estimate that is larger than all of which it is a part is cut
 * to that.
 */
#include "src/view/fragmentation.h"

#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/arenas.h"
#include "src/view/regions_view.h"
#include "src/view/view_put.h"

/* The parts of glibc's arenas that are not in use stand as heap_part has them, from ROW_FREE on. */
enum row_name {
	ROW_ASKED, ROW_ROUNDING, ROW_OLDER, ROW_LIVE, ROW_HEADERS, ROW_USED,
	ROW_FREE, ROW_OWN = ROW_FREE + HEAP_OWN - HEAP_TCACHE, ROW_UNDIVIDED, ROW_SYSTEM,
	ROW_KINDS, ROW_REST = ROW_KINDS + REGION_KINDS, ROW_PROCESS, ROWS
};
struct row {
	const char *key, *words;
	uint64_t bytes, resident;
	bool there, resident_known, is_sum, estimated;
};
struct table {
	const struct heap_figures *heaps;
	const struct regions *regions;	/* NULL: not known */
	struct row row[ROWS];
	struct heap_arena arenas;	/* all of them */
	struct heap_sum live, undivided, memory, mapped;
	bool divided;			/* all that is covered has arenas */
};

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static void set(struct table *t, int row, const char *key, const char *words, uint64_t bytes)
{
	t->row[row] = (struct row){ .key = key, .words = words, .bytes = bytes, .there = true };
}

static void set_resident(struct table *t, int row, uint64_t resident, bool known)
{
	t->row[row].resident = resident;
	t->row[row].resident_known = known && t->heaps->resident_known;
}

static void add_up(struct table *t)
{
	t->arenas = heap_figures_sum(t->heaps, NULL);
	t->divided = true;
	for (size_t i = 0; i < t->heaps->heap_count; i++) {
		const struct heap_total *heap = &t->heaps->heap[i];

		if (!heap->covered)
			continue;
		heap_sum_add(&t->live, &heap->live);
		heap_sum_add(&t->memory, &heap->memory);
		heap_sum_add(&t->mapped, &heap->mapped);
		if (heap->has_arenas)
			continue;
		t->divided = false;
		heap_sum_add(&t->undivided, &(struct heap_sum){
			1, less(heap->memory.bytes, heap->live.bytes), 0 });
	}
}

static void set_live(struct table *t)
{
	const struct heap_books *books = &t->heaps->books;
	uint64_t usable = books->usable_bytes < t->live.bytes ? books->usable_bytes : t->live.bytes;
	uint64_t asked = books->asked_bytes < usable ? books->asked_bytes : usable;

	if (books->known) {
		set(t, ROW_ASKED, "asked", "asked for since the attach", asked);
		set(t, ROW_ROUNDING, "rounding", "usable beyond what was asked for",
		    usable - asked);
	} else {
		usable = 0;
	}
	set(t, ROW_OLDER, "older", "in blocks from before the attach", t->live.bytes - usable);
	for (int row = ROW_ASKED; row <= ROW_OLDER; row++)
		t->row[row].estimated = books->estimated;
	set(t, ROW_LIVE, "live", "usable in live blocks", t->live.bytes);
}

static void set_used(struct table *t)
{
	uint64_t used = memory_sum(t->arenas.part[HEAP_USED].bytes, t->mapped.bytes);
	uint64_t resident = memory_sum(t->arenas.part[HEAP_USED].resident, t->mapped.resident);

	for (size_t i = 0; i < t->heaps->heap_count; i++)
		if (t->heaps->heap[i].covered && !t->heaps->heap[i].has_arenas)
			used = memory_sum(used, t->heaps->heap[i].live.bytes);
	set(t, ROW_HEADERS, "headers", "headers of chunks, and pages rounded up",
	    less(used, t->live.bytes));
	set(t, ROW_USED, "used", "in use", used);
	set_resident(t, ROW_USED, resident, t->divided);
}

static void set_free(struct table *t)
{
	static const char *const words[HEAP_PARTS] = {
		[HEAP_TCACHE] = "free, kept by threads (tcache)",
		[HEAP_FAST] = "free in fastbins",
		[HEAP_UNSORTED] = "free, unsorted",
		[HEAP_SMALL] = "free in small bins",
		[HEAP_LARGE] = "free in large bins",
		[HEAP_TOP] = "free at the end of arenas (top)",
		[HEAP_OWN] = "the allocator's own",
	};

	for (int part = HEAP_TCACHE; part <= HEAP_OWN && t->heaps->arena_count; part++) {
		int row = ROW_FREE + part - HEAP_TCACHE;

		set(t, row, heap_part_name((enum heap_part)part), words[part],
		    t->arenas.part[part].bytes);
		set_resident(t, row, t->arenas.part[part].resident, true);
	}
	if (!t->divided)
		set(t, ROW_UNDIVIDED, "undivided", "free or the allocator's own, not told apart",
		    t->undivided.bytes);
	set(t, ROW_SYSTEM, "allocators", "the allocators' from the system", t->memory.bytes);
	set_resident(t, ROW_SYSTEM, t->memory.resident, true);
}

/* Heaps lie in mappings of these kinds. */
static bool may_hold_heaps(int kind)
{
	return kind == REGION_HEAP || kind == REGION_ALLOCATOR || kind == REGION_ANONYMOUS;
}

static void set_others(struct table *t)
{
	static const char *const words[REGION_KINDS] = {
		[REGION_TEXT] = "code of the program and libraries",
		[REGION_RODATA] = "their constants",
		[REGION_DATA] = "their variables",
		[REGION_BSS] = "their variables that begin as zeros",
		[REGION_STACK] = "stacks",
		[REGION_FILE] = "mapped files",
		[REGION_SHARED] = "shared memory",
		[REGION_JIT] = "code of no file",
		[REGION_RESERVED] = "reserved, without access",
		[REGION_KERNEL] = "the kernel's",
		[REGION_MEMATTACH] = "memattach's, while it is attached",
	};
	struct region_sum sum[REGION_KINDS], all;
	struct region_sizes listed = { .size = 0 };

	regions_by_kind(t->regions, sum, &all);
	for (int kind = 0; kind < REGION_KINDS; kind++) {
		if (may_hold_heaps(kind) || !sum[kind].mappings)
			continue;
		region_sizes_add(&listed, &sum[kind].sizes);
		set(t, ROW_KINDS + kind, region_kind_name((enum region_kind)kind), words[kind],
		    sum[kind].sizes.size);
		set_resident(t, ROW_KINDS + kind, sum[kind].sizes.resident,
			     t->regions->pages_known);
	}
	set(t, ROW_REST, "rest", "other memory of no file",
	    less(all.sizes.size, memory_sum(t->memory.bytes, listed.size)));
	set_resident(t, ROW_REST, less(all.sizes.resident, memory_sum(t->memory.resident,
								       listed.resident)),
		     t->regions->pages_known);
	set(t, ROW_PROCESS, "process", "the process", all.sizes.size);
	set_resident(t, ROW_PROCESS, all.sizes.resident, t->regions->pages_known);
}

static void make(const struct view_input *input, struct table *t)
{
	static const enum row_name sums[] = { ROW_LIVE, ROW_USED, ROW_SYSTEM, ROW_PROCESS };

	*t = (struct table){ .heaps = input->heaps, .regions = input->regions };
	add_up(t);
	set_live(t);
	set_used(t);
	set_free(t);
	if (t->regions)
		set_others(t);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		t->row[sums[i]].is_sum = t->row[sums[i]].there;
}

static void put_row(FILE *out, const struct view_input *input, const struct table *t,
		    const struct row *row)
{
	const struct style *style = style_for(&input->report.options);
	const struct row *all = &t->row[ROW_PROCESS];
	char bytes[HUMAN_BYTES + 1];

	fprintf(out, "  %s%s %-42s", row->is_sum ? style->bold : "", row->is_sum ? "=" : " ",
		row->words);
	snprintf(bytes, sizeof(bytes), "%s%s", row->estimated ? "~" : "",
		 human_bytes((double)row->bytes).text);
	fprintf(out, " %11s", bytes);
	regions_put_bytes(out, row->resident, row->resident_known, 11);
	if (row->resident_known && all->resident_known) {
		fputc(' ', out);
		view_put_share(out, row->resident, all->resident);
	}
	fprintf(out, "%s\n", row->is_sum ? style->plain : "");
}

/* What of it could be given back, and how. */
static void put_trimmable(FILE *out, const struct table *t)
{
	if (!t->heaps->arena_count || !t->heaps->resident_known)
		return;
	fprintf(out, "\n  malloc_trim(0) in the process would give back %s",
		human_bytes((double)t->arenas.trimmable).text);
	if (t->row[ROW_PROCESS].resident_known)
		fprintf(out, ", %.1f %% of its resident memory",
			view_share(t->arenas.trimmable, t->row[ROW_PROCESS].resident));
	fprintf(out, ".\n");
}

static void put_notes(FILE *out, const struct table *t)
{
	const struct heap_books *books = &t->heaps->books;

	fputc('\n', out);
	if (t->regions && t->regions->rss_bytes)
		fprintf(out, "  resident by the kernel's counters, which lag: %s\n",
			human_bytes((double)t->regions->rss_bytes).text);
	if (!books->known)
		fprintf(out, "  what was asked for is not known: nothing was watched\n");
	if (books->estimated)
		fprintf(out, "  ~ estimated from samples\n");
	if (books->other_bytes)
		fprintf(out, "  %s asked for since the attach lies in what was not walked\n",
			human_bytes((double)books->other_bytes).text);
	for (size_t i = 0; i < t->heaps->heap_count; i++) {
		if (t->heaps->heap[i].covered)
			continue;
		fprintf(out, "  ");
		arenas_put_allocator(out, &t->heaps->heap[i]);
		fprintf(out, " was not walked (");
		text_put_printable(out, t->heaps->heap[i].why);
		fprintf(out, "): its memory stands under what it is mapped as\n");
	}
}

int fragmentation_text(FILE *out, const struct view_input *input)
{
	struct table t;

	make(input, &t);
	text_put_head(out, &input->report);
	view_put_title(out, input, "Where the memory is: from live bytes to resident ones");
	fprintf(out, "  %-44s %11s %11s\n", "", "size", "resident");
	for (int row = 0; row < ROWS; row++)
		if (t.row[row].there)
			put_row(out, input, &t, &t.row[row]);
	put_trimmable(out, &t);
	put_notes(out, &t);
	return 0;
}

/* --- as JSON ------------------------------------------------------------------------ */

static void json_row(struct emit *emit, const struct row *row)
{
	emit_begin(emit, NULL, '{');
	emit_text(emit, "name", row->key);
	emit_bool(emit, "sum", row->is_sum);
	emit_uint(emit, "bytes", row->bytes);
	emit_uint_if(emit, "resident_bytes", row->resident, row->resident_known);
	emit_bool(emit, "estimated", row->estimated);
	emit_end(emit, '}');
}

static void json_books(struct emit *emit, const struct heap_books *books)
{
	if (!books->known) {
		emit_null(emit, "since_attach");
		return;
	}
	emit_begin(emit, "since_attach", '{');
	emit_bool(emit, "estimated", books->estimated);
	emit_uint(emit, "count", books->count);
	emit_uint(emit, "asked_bytes", books->asked_bytes);
	emit_uint(emit, "usable_bytes", books->usable_bytes);
	emit_uint(emit, "other_count", books->other_count);
	emit_uint(emit, "other_bytes", books->other_bytes);
	emit_end(emit, '}');
}

int fragmentation_json(struct emit *emit, const struct view_input *input)
{
	struct table t;
	bool rss = input->regions && input->regions->rss_bytes;

	make(input, &t);
	json_books(emit, &t.heaps->books);
	emit_begin(emit, "rows", '[');
	for (int row = 0; row < ROWS; row++)
		if (t.row[row].there)
			json_row(emit, &t.row[row]);
	emit_end(emit, ']');
	emit_uint_if(emit, "rss_bytes", rss ? input->regions->rss_bytes : 0, rss);
	emit_uint_if(emit, "trimmable_bytes", t.arenas.trimmable,
		     t.heaps->arena_count && t.heaps->resident_known);
	emit_begin(emit, "not_walked", '[');
	for (size_t i = 0; i < t.heaps->heap_count; i++)
		if (!t.heaps->heap[i].covered)
			emit_text(emit, NULL, t.heaps->heap[i].allocator);
	emit_end(emit, ']');
	return 0;
}
