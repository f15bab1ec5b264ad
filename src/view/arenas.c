/* SPDX-License-Identifier: MIT */
/*
 * arenas.c - see arenas.h.
 *
 * Each arena has a line of bytes and one of chunks. Columns from used to own add up to what the
 * arena has from the system. malloc_info's "fast" is fast; its "rest" is unsorted, small, large and
 * top; what it does not tell, tcache among it, it leaves in use.
 */
#include "src/view/arenas.h"

#include <errno.h>

#include "src/report/report_text.h"
#include "src/report/text_put.h"
#include "src/view/regions_view.h"
#include "src/view/view_put.h"

#define WIDTH 9

const char *heaps_missing(const struct view_input *input)
{
	return input->heaps ? NULL : "its heaps were not walked: --heaps does so at the end of a "
				     "session, as do --leaks and --view=arenas";
}

void arenas_put_allocator(FILE *out, const struct heap_total *heap)
{
	text_put_printable(out, heap->allocator);
	if (heap->version[0])
		fputc(' ', out);
	text_put_printable(out, heap->version);
}

static void put_total(FILE *out, const struct view_input *input, const struct heap_total *heap)
{
	fprintf(out, "  ");
	arenas_put_allocator(out, heap);
	if (!heap->covered) {
		fprintf(out, ": not known: ");
		text_put_printable(out, heap->why[0] ? heap->why :
						       "its structures can't be read yet");
		fputc('\n', out);
		return;
	}
	fprintf(out, ": %s %s", human_bytes((double)heap->memory.bytes).text,
		heap->has_arenas ? "from the system" : "that its blocks lie in");
	if (input->heaps->resident_known)
		fprintf(out, ", %s of it resident",
			human_bytes((double)heap->memory.resident).text);
	fprintf(out, "\n    live blocks: %s, %s usable", human_exact(heap->live.count).text,
		human_bytes((double)heap->live.bytes).text);
	fprintf(out, "; free ones: %s, %s", human_exact(heap->free.count).text,
		human_bytes((double)heap->free.bytes).text);
	if (heap->has_arenas)
		fprintf(out, "; %s with mappings of their own, %s",
			human_exact(heap->mapped.count).text,
			human_bytes((double)heap->mapped.bytes).text);
	fputc('\n', out);
}

static void put_arena_name(FILE *out, const struct heap_arena *arena, bool sum)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%llx", arena->address ? "0x" : "",
		 (unsigned long long)arena->address);
	fprintf(out, "  %-14s", sum ? "all" : arena->address ? text : "the others");
}

static void put_arena(FILE *out, const struct view_input *input, const struct heap_arena *arena,
		      bool sum)
{
	put_arena_name(out, arena, sum);
	regions_put_bytes(out, arena->system_bytes, true, WIDTH);
	regions_put_bytes(out, arena->resident, input->heaps->resident_known, WIDTH);
	for (int part = 0; part < HEAP_PARTS; part++)
		regions_put_bytes(out, arena->part[part].bytes, true, WIDTH);
	fprintf(out, " %8s\n", arena->attached == HEAP_UNKNOWN ? "-" :
							       human_exact(arena->attached).text);
	fprintf(out, "  %-14s %*s %*s", "", WIDTH, "", WIDTH, "chunks");
	for (int part = 0; part < HEAP_OWN; part++)
		fprintf(out, " %*s", WIDTH, human_count((double)arena->part[part].count).text);
	fputc('\n', out);
}

static void put_arenas(FILE *out, const struct view_input *input)
{
	const struct heap_figures *heaps = input->heaps;
	const struct style *style = style_for(&input->report.options);
	size_t top = text_shown(&input->report.options, heaps->arena_count);
	struct heap_arena sum = heap_figures_sum(heaps, NULL);

	if (!heaps->arena_count)
		return;
	view_put_title(out, input, "Arenas: %zu of %zu, the main one first", top,
		       heaps->arena_count);
	fprintf(out, "  %-14s %*s %*s", "", WIDTH, "system", WIDTH, "resident");
	for (int part = 0; part < HEAP_PARTS; part++)
		fprintf(out, " %*s", WIDTH, heap_part_name((enum heap_part)part));
	fprintf(out, " %8s\n", "attached");
	for (size_t i = 0; i < top; i++)
		put_arena(out, input, &heaps->arena[i], false);
	fprintf(out, "%s", style->bold);
	put_arena(out, input, &sum, true);
	fprintf(out, "%s", style->plain);
}

static int by_bytes(const void *left, const void *right)
{
	const struct heap_bin *a = *(const struct heap_bin *const *)left;
	const struct heap_bin *b = *(const struct heap_bin *const *)right;

	if (a->sum.bytes != b->sum.bytes)
		return a->sum.bytes > b->sum.bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void put_bin(FILE *out, const struct heap_figures *heaps, const struct heap_bin *bin)
{
	char sizes[80];

	put_arena_name(out, &heaps->arena[bin->arena], false);
	if (bin->low == bin->high)
		snprintf(sizes, sizeof(sizes), "%s", human_exact(bin->low).text);
	else
		snprintf(sizes, sizeof(sizes), "%s to %s", human_exact(bin->low).text,
			 human_exact(bin->high).text);
	fprintf(out, " %-9s %24s B %10s chunks", heap_part_name(bin->part), sizes,
		human_exact(bin->sum.count).text);
	regions_put_bytes(out, bin->sum.bytes, true, WIDTH);
	regions_put_bytes(out, bin->sum.resident, heaps->resident_known, WIDTH);
	fputc('\n', out);
}

static int put_bins(FILE *out, const struct view_input *input)
{
	const struct heap_figures *heaps = input->heaps;
	_cleanup_free_ const struct heap_bin **sorted =
		calloc(heaps->bin_count + 1, sizeof(*sorted));
	size_t top = text_shown(&input->report.options, heaps->bin_count);

	if (!sorted)
		return -ENOMEM;
	if (!heaps->bin_count)
		return 0;
	for (size_t i = 0; i < heaps->bin_count; i++)
		sorted[i] = &heaps->bin[i];
	qsort(sorted, heaps->bin_count, sizeof(*sorted), by_bytes);
	view_put_title(out, input, "Top %zu of %zu bins by bytes", top, heaps->bin_count);
	fprintf(out, "  %-14s %-9s %26s %17s %*s %*s\n", "arena", "bin", "sizes", "", WIDTH,
		"bytes", WIDTH, "resident");
	for (size_t i = 0; i < top; i++)
		put_bin(out, heaps, sorted[i]);
	return 0;
}

static void put_address(FILE *out, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	fprintf(out, " %-15s", address ? text : "none yet");
}

static void put_threads(FILE *out, const struct view_input *input)
{
	const struct heap_figures *heaps = input->heaps;
	size_t top = text_shown(&input->report.options, heaps->thread_count);

	if (!heaps->thread_count)
		return;
	view_put_title(out, input, "Threads: %zu of %zu", top, heaps->thread_count);
	fprintf(out, "  %10s %-15s %-15s %10s %*s\n", "thread", "arena", "tcache", "chunks", WIDTH,
		"bytes");
	for (size_t i = 0; i < top; i++) {
		const struct heap_thread *t = &heaps->thread[i];

		fprintf(out, "  %10d", t->tid);
		put_address(out, t->arena);
		put_address(out, t->tcache);
		fprintf(out, " %10s", human_exact(t->cached.count).text);
		regions_put_bytes(out, t->cached.bytes, true, WIDTH);
		fputc('\n', out);
	}
}

int arenas_text(FILE *out, const struct view_input *input)
{
	const struct heap_figures *heaps = input->heaps;
	int err;

	text_put_head(out, &input->report);
	view_put_title(out, input, "Allocators");
	if (!heaps->heap_count)
		fprintf(out, "  none that is known holds memory\n");
	for (size_t i = 0; i < heaps->heap_count; i++)
		put_total(out, input, &heaps->heap[i]);
	fprintf(out, "  the process stood still for %s to be walked\n",
		human_seconds((double)heaps->pause_us / 1e6).text);
	put_arenas(out, input);
	err = put_bins(out, input);
	if (err < 0)
		return err;
	put_threads(out, input);
	return 0;
}

/* --- as JSON ------------------------------------------------------------------------ */

static void json_sum(struct emit *emit, const char *key, const struct heap_sum *sum, bool known,
		     bool resident_known)
{
	if (!known) {
		emit_null(emit, key);
		return;
	}
	emit_begin(emit, key, '{');
	emit_uint(emit, "count", sum->count);
	emit_uint(emit, "bytes", sum->bytes);
	emit_uint_if(emit, "resident_bytes", sum->resident, resident_known);
	emit_end(emit, '}');
}

static void json_address(struct emit *emit, const char *key, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	emit_text(emit, key, address ? text : NULL);
}

static void json_total(struct emit *emit, const struct heap_figures *heaps,
		       const struct heap_total *heap)
{
	bool covered = heap->covered, arenas = covered && heap->has_arenas;

	emit_begin(emit, NULL, '{');
	emit_text(emit, "allocator", heap->allocator);
	emit_text(emit, "version", heap->version[0] ? heap->version : NULL);
	emit_bool(emit, "covered", covered);
	emit_text(emit, "why", covered ? NULL : heap->why);
	emit_uint_if(emit, "arena_count", heap->arena_count, arenas);
	json_sum(emit, "live", &heap->live, covered, false);
	json_sum(emit, "free", &heap->free, covered, false);
	json_sum(emit, "mapped", &heap->mapped, arenas, heaps->resident_known);
	json_sum(emit, "memory", &heap->memory, covered, heaps->resident_known);
	emit_end(emit, '}');
}

/* From *next on, which moves. */
static void json_bins(struct emit *emit, const struct heap_figures *heaps, size_t arena,
		      size_t *next)
{
	emit_begin(emit, "bins", '[');
	for (; *next < heaps->bin_count && heaps->bin[*next].arena == arena; (*next)++) {
		const struct heap_bin *bin = &heaps->bin[*next];

		emit_begin(emit, NULL, '{');
		emit_text(emit, "bin", heap_part_name(bin->part));
		emit_uint(emit, "size_low", bin->low);
		emit_uint(emit, "size_high", bin->high);
		emit_uint(emit, "count", bin->sum.count);
		emit_uint(emit, "bytes", bin->sum.bytes);
		emit_uint_if(emit, "resident_bytes", bin->sum.resident, heaps->resident_known);
		emit_end(emit, '}');
	}
	emit_end(emit, ']');
}

static void json_arena(struct emit *emit, const struct heap_figures *heaps, size_t index,
		       size_t *next_bin)
{
	const struct heap_arena *arena = &heaps->arena[index];

	emit_begin(emit, NULL, '{');
	emit_uint(emit, "allocator", arena->heap);
	json_address(emit, "address", arena->address);
	emit_uint(emit, "system_bytes", arena->system_bytes);
	emit_uint(emit, "max_system_bytes", arena->max_system_bytes);
	emit_uint(emit, "stretches", arena->stretches);
	emit_uint_if(emit, "attached_threads", arena->attached, arena->attached != HEAP_UNKNOWN);
	emit_uint_if(emit, "resident_bytes", arena->resident, heaps->resident_known);
	emit_uint_if(emit, "trimmable_bytes", arena->trimmable, heaps->resident_known);
	for (int part = 0; part < HEAP_PARTS; part++)
		json_sum(emit, heap_part_name((enum heap_part)part), &arena->part[part], true,
			 heaps->resident_known);
	json_bins(emit, heaps, index, next_bin);
	emit_end(emit, '}');
}

static void json_thread(struct emit *emit, const struct heap_thread *thread)
{
	emit_begin(emit, NULL, '{');
	emit_uint(emit, "allocator", thread->heap);
	emit_uint(emit, "thread", (uint64_t)(uint32_t)thread->tid);
	json_address(emit, "arena", thread->arena);
	json_address(emit, "tcache", thread->tcache);
	emit_uint(emit, "cached_count", thread->cached.count);
	emit_uint(emit, "cached_bytes", thread->cached.bytes);
	emit_end(emit, '}');
}

int arenas_json(struct emit *emit, const struct view_input *input)
{
	const struct heap_figures *heaps = input->heaps;
	size_t next_bin = 0;

	emit_uint(emit, "pause_us", heaps->pause_us);
	emit_begin(emit, "allocators", '[');
	for (size_t i = 0; i < heaps->heap_count; i++)
		json_total(emit, heaps, &heaps->heap[i]);
	emit_end(emit, ']');
	emit_begin(emit, "arenas", '[');
	for (size_t i = 0; i < heaps->arena_count; i++)
		json_arena(emit, heaps, i, &next_bin);
	emit_end(emit, ']');
	emit_uint(emit, "bins_left_out", heaps->bins_left_out);
	emit_begin(emit, "threads", '[');
	for (size_t i = 0; i < heaps->thread_count; i++)
		json_thread(emit, &heaps->thread[i]);
	emit_end(emit, ']');
	return 0;
}
