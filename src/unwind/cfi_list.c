/* SPDX-License-Identifier: MIT */
/*
 * cfi_list.c - which FDEs there are, and what code each one covers.
 *
 * The search table says where code starts and where its FDE is. A row whose FDE
 * is not about that code, or can't be read, stands for code about which nothing
 * is known up to the next row: that is what a search finds there.
 * A section without a table is read from its begin. Which one of FDEs that overlap
 * libdw finds, and how it goes on after an entry that can't be understood, depends
 * on what it was asked before: the former are odd, the latter makes the whole list
 * worth nothing.
 */
#include "src/unwind/cfi_list.h"

#include <errno.h>

#include "src/base/array.h"
#include "src/unwind/cfi_search.h"

void cfi_list_done(struct cfi_list *list)
{
	free(list->span);
	list->span = NULL;
	list->count = list->room = 0;
}

static int cfi_list_add(struct cfi_list *list, const struct cfi_span *span)
{
	struct cfi_span *grown;

	if (list->count == CFI_LIST_MAX)
		return -E2BIG;
	grown = array_room(list->span, sizeof(*span), list->count, &list->room);
	if (!grown)
		return -ENOMEM;
	list->span = grown;
	list->span[list->count++] = *span;
	return 0;
}

/* What the FDE covers. False when it can't be understood. */
static bool read_span(const struct cfi_list *list, struct cfi_span *span)
{
	const struct cfi_cached *cached;
	struct cfi_head head;

	if (cfi_entry_head(&list->source, span->fde, &head) < 0)
		return false;
	cached = cfi_cache_get(list->cache, &list->source, head.cie);
	return cached->result == 0 &&
	       cfi_entry_range(&cached->cie, &head, &span->start, &span->end) == 0;
}

/* overlap: spans that do are odd. */
static void set_reach(struct cfi_list *list, bool overlap)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct cfi_span *span = &list->span[i];

		if (overlap && (span->start < reach || (i + 1 < list->count &&
							span[1].start < span->end)))
			span->odd = true;
		if (span->end > reach && (overlap || !span->odd))
			reach = span->end;
		span->reach = reach;
	}
}

int cfi_list_from_table(struct cfi_list *list, const struct module *module)
{
	struct cfi_search search = cfi_search_open(module);
	int r = search.header == 0 ? -ENOENT : search.count > CFI_LIST_MAX ? -E2BIG : 0;

	for (uint32_t i = 0; i < search.count && r == 0; i++) {
		uint64_t start = cfi_search_start(&search, i);
		struct cfi_span span = { .fde = cfi_search_fde(&search, i) };

		if (i + 1 < search.count && cfi_search_start(&search, i + 1) == start)
			continue;	/* a search ends at the last of equals */
		if (list->count > 0 && list->span[list->count - 1].start > start)
			list->broken = true;
		span.odd = !read_span(list, &span) || span.start != start;
		if (span.odd) {
			span.start = start;
			span.end = UINT64_MAX;	/* up to the next one */
		}
		r = cfi_list_add(list, &span);
	}
	set_reach(list, false);
	return r;
}

/* The entry at address; *ret_next: where the next one is, 0: this was the terminator. */
static bool read_entry(struct cfi_list *list, uint64_t address, uint64_t *ret_next,
		       struct cfi_span *span)
{
	uint64_t id_of_cie = list->source.bytes ? 0xffffffff : 0;
	struct cfi_bytes bytes;

	if (cfi_entry_is_end(&list->source, address)) {
		*ret_next = 0;
		return true;
	}
	if (cfi_entry_open(&list->source, address, &bytes) < 0)
		return false;
	*ret_next = bytes.address + (uint64_t)(bytes.end - bytes.at);
	*span = (struct cfi_span){ .fde = address };
	if (cfi_bytes_fixed(&bytes, 4) == id_of_cie)
		return true;
	return read_span(list, span);
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_span *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

int cfi_list_from_section(struct cfi_list *list, uint64_t address, uint64_t bytes, bool whole)
{
	uint64_t end = address + bytes, next = address;
	int r = end < address ? -E2BIG : 0;

	while (r == 0 && next < end && !list->broken) {
		struct cfi_span span = { 0 };
		uint64_t at = next;

		if (!read_entry(list, at, &next, &span) || next > end) {
			list->broken = true;
		} else if (next == 0) {
			list->broken = whole && end - at > sizeof(uint32_t);
			break;
		} else if (span.end > span.start) {
			r = cfi_list_add(list, &span);
		}
	}
	if (list->count > 0)
		qsort(list->span, list->count, sizeof(*list->span), by_start);
	set_reach(list, true);
	return r;
}
