/* SPDX-License-Identifier: MIT */
/*
 * leak_mimalloc_model.c - see leak_mimalloc_model.h.
 *
 * The structs are declared with the members that mimalloc's have, so that the compiler computes
 * their offsets, not the tables under test.
 */
#include "tests/unit/leak_mimalloc_model.h"

#include <string.h>

#define SLICE	0x10000ull
#define BINS	75u
#define COOKIE	0x9e3779b97f4a7c15ull

struct page_plain {
	uint32_t slice_count, slice_offset;
	uint8_t state;
	uint16_t capacity, reserved;
	uint8_t flags, zero;
	uint64_t free;
	uint32_t used, size;
	uint64_t local_free, thread_free, heap, next, previous, padding;
};
struct page_coded {
	uint32_t slice_count, slice_offset;
	uint8_t state;
	uint16_t capacity, reserved;
	uint8_t flags, zero;
	uint64_t free;
	uint32_t used, size;
	uint64_t local_free, keys[2], thread_free, heap, next, previous, padding;
};
struct segment_head {
	uint64_t memid;
	bool pinned, large, committed;
	uint64_t alignment, align_offset;
	bool allow_decommit;
	uint64_t decommit_expire, decommit_mask[8], commit_mask[8];
	uint64_t abandoned_next, next, abandoned, abandoned_visits, used, cookie, slices, info;
	uint32_t kind;
	uint64_t entries, thread;
};
struct queue {
	uint64_t first, last, size;
};
struct heap_rest {
	uint64_t delayed, thread;
	int arena;
	uint64_t cookie, keys[2];
};
struct heap_plain {
	uint64_t tld, direct[129];
	struct queue queue[BINS];
	struct heap_rest rest;
};
struct heap_padded {
	uint64_t tld, direct[130];
	struct queue queue[BINS];
	struct heap_rest rest;
};
struct tld {
	unsigned long long heartbeat;
	bool recurse;
	uint64_t backing, heaps;
	struct queue spans[36];
	uint64_t count, peak_count, current_size, peak_size;
};

static const struct lab_area areas[] = {
	{ MIMODEL_LIB, MIMODEL_LIB_BYTES, offsetof(struct mimodel, lib) },
	{ MIMODEL_OTHER, MIMODEL_OTHER_BYTES, offsetof(struct mimodel, other) },
	{ MIMODEL_FIRST, MIMODEL_FIRST_BYTES, offsetof(struct mimodel, first) },
	{ MIMODEL_SECOND, MIMODEL_SMALL_BYTES, offsetof(struct mimodel, second) },
	{ MIMODEL_ENDED, MIMODEL_SMALL_BYTES, offsetof(struct mimodel, ended) },
	{ MIMODEL_HUGE, MIMODEL_HEAD_BYTES, offsetof(struct mimodel, huge) },
	{ MIMODEL_EMPTY, MIMODEL_HEAD_BYTES, offsetof(struct mimodel, empty) },
};

static const char maps[] =
	"20000000000-20002000000 rw-p 00000000 00:00 0\n"
	"20004000000-20004100000 rw-p 00000000 00:00 0\n"
	"20004100000-20006000000 ---p 00000000 00:00 0\n"
	"20008000000-2000a000000 rw-p 00000000 00:00 0\n"
	"2000c000000-2000d900000 rw-p 00000000 00:00 0\n"
	"20010000000-20012000000 rw-p 00000000 00:00 0\n"
	"7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /lib/libmimalloc.so.2\n"
	"7f0000002000-7f0000008000 rw-p 00002000 08:01 77 /lib/libmimalloc.so.2\n"
	"7f0000100000-7f0000102000 rw-p 00000000 00:00 0\n";

static size_t page_bytes(const struct mimodel *m)
{
	return m->build ? sizeof(struct page_coded) : sizeof(struct page_plain);
}

uint64_t mimodel_used(uint64_t segment)
{
	return segment + offsetof(struct segment_head, used);
}

uint64_t mimodel_page(const struct mimodel *m, uint64_t segment, unsigned int slice)
{
	return segment + sizeof(struct segment_head) + slice * page_bytes(m);
}

uint64_t mimodel_thread_free(const struct mimodel *m, uint64_t page)
{
	return page + (m->build ? offsetof(struct page_coded, thread_free)
				: offsetof(struct page_plain, thread_free));
}

uint64_t mimodel_segment_count(uint64_t tld)
{
	return tld + offsetof(struct tld, count);
}

static size_t rest_offset(const struct mimodel *m)
{
	return m->build == MIMODEL_DEBUG ? offsetof(struct heap_padded, rest)
					 : offsetof(struct heap_plain, rest);
}

uint64_t mimodel_delayed(const struct mimodel *m, uint64_t heap)
{
	return heap + rest_offset(m);
}

/* --- making ------------------------------------------------------------------- */

static uint64_t key(uint64_t address, unsigned int number)
{
	return (address + number) * 0xd6e8feb86659fd93ull | 1;
}

static uint64_t coded(const struct mimodel *m, uint64_t owner, uint64_t to)
{
	uint64_t k0 = key(owner, 0), x = (to ? to : owner) ^ key(owner, 1);

	return m->build ? (x << k0 % 64 | x >> (64 - k0 % 64) % 64) + k0 : to;
}

/* Queue number bin is for blocks of: */
static uint64_t bin_bytes(unsigned int bin)
{
	static const uint8_t four[] = { 10, 12, 14, 16 };

	if (bin <= 8)
		return bin ? bin * 8 : 8;
	return bin < 73 ? (uint64_t)four[(bin - 9) % 4] << (bin - 9) / 4 << 3
			: 131072 + 8 * (bin - 72);
}

static void make_heap(struct mimodel *m, uint64_t at, uint64_t tld_at, uint64_t segments,
		      uint64_t bytes)
{
	struct heap_rest rest = { .thread = at, .cookie = COOKIE,
				  .keys = { key(at, 0), key(at, 1) } };
	struct tld tld = { .backing = at, .heaps = at, .count = segments, .peak_count = segments,
			   .current_size = bytes, .peak_size = bytes };
	uint64_t queues = at + rest_offset(m) - BINS * sizeof(struct queue);

	lab_put(&m->lab, at, tld_at);
	for (unsigned int i = 0; i < BINS; i++)
		lab_put(&m->lab, queues + i * sizeof(struct queue) + 16, bin_bytes(i));
	memcpy(lab_byte(&m->lab, at + rest_offset(m), sizeof(rest)), &rest, sizeof(rest));
	memcpy(lab_byte(&m->lab, tld_at, sizeof(tld)), &tld, sizeof(tld));
}

static void put_page(struct mimodel *m, uint64_t segment, unsigned int slice,
		     const struct page_plain *page)
{
	uint64_t at = mimodel_page(m, segment, slice);
	struct page_coded with = { .keys = { key(at, 0), key(at, 1) } };

	memcpy(&with, page, offsetof(struct page_coded, keys));
	with.thread_free = page->thread_free;
	with.heap = page->heap;
	memcpy(lab_byte(&m->lab, at, page_bytes(m)), m->build ? (const void *)&with : page,
	       page_bytes(m));
}

static void make_segment(struct mimodel *m, uint64_t at, uint64_t thread, uint64_t slices,
			 uint64_t pages)
{
	struct segment_head head = { .used = pages, .cookie = at ^ COOKIE, .slices = slices,
				     .info = 1, .kind = slices != 512, .entries = slices,
				     .thread = thread };

	/* Its last slice is a guard. */
	if (m->build == MIMODEL_SECURE)
		head.entries--;
	memcpy(lab_byte(&m->lab, at, sizeof(head)), &head, sizeof(head));
	put_page(m, at, 0, &(struct page_plain){ .slice_count = 1, .size = SLICE });
}

static void make_span(struct mimodel *m, uint64_t segment, unsigned int slice)
{
	unsigned int end = m->build == MIMODEL_SECURE ? 511 : 512;

	put_page(m, segment, slice, &(struct page_plain){ .slice_count = end - slice });
}

/* What a page is made of: block number n is what list says for n modulo its length. */
struct plan {
	uint64_t segment, heap;
	unsigned int slice, slices, size, capacity;
	const char *list;	/* L live, F free, f freed, t freed by others, d queued */
	bool aligned;
};

static uint64_t block_at(const struct plan *plan, unsigned int number)
{
	return plan->segment + plan->slice * SLICE + (plan->size <= 1024 ? 384 : 0) +
	       (uint64_t)number * plan->size;
}

static uint64_t push(struct mimodel *m, uint64_t owner, uint64_t head, uint64_t block)
{
	lab_put(&m->lab, block, coded(m, owner, head));
	m->lab.free_count++;
	return block;
}

static void make_live(struct mimodel *m, const struct plan *plan, uint64_t block)
{
	uint64_t bytes = plan->size - (m->build == MIMODEL_DEBUG ? 8 : 0);

	lab_expect(&m->lab, block, bytes);
	if (plan->aligned)
		m->aligned = block;
}

static void queue(struct mimodel *m, uint64_t heap, uint64_t block)
{
	uint64_t at = mimodel_delayed(m, heap), head = lab_get(&m->lab, at);

	lab_put(&m->lab, at, push(m, heap, head, block));
}

static void make_page(struct mimodel *m, const struct plan *plan)
{
	uint64_t at = mimodel_page(m, plan->segment, plan->slice), begin = block_at(plan, 0);
	uint64_t end = plan->segment + (plan->slice + plan->slices) * SLICE;
	struct page_plain page = {
		.slice_count = plan->slices, .capacity = (uint16_t)plan->capacity,
		.reserved = (uint16_t)((end - begin) / plan->size), .size = plan->size,
		.heap = plan->heap, .flags = plan->aligned ? 2 : 0,
	};

	for (unsigned int i = 0; i < plan->capacity; i++) {
		uint64_t block = block_at(plan, i);
		char kind = plan->list[i % strlen(plan->list)];

		page.used += kind != 'F' && kind != 'f';
		if (kind == 'F')
			page.free = push(m, at, page.free, block);
		else if (kind == 'f')
			page.local_free = push(m, at, page.local_free, block);
		else if (kind == 't')
			page.thread_free = push(m, at, page.thread_free, block);
		else if (kind == 'd')
			queue(m, plan->heap, block);
		else
			make_live(m, plan, block);
	}
	page.thread_free |= 2;
	put_page(m, plan->segment, plan->slice, &page);
}

static void make_huge(struct mimodel *m)
{
	uint32_t slices = MIMODEL_HUGE_SLICES - 1 - (m->build == MIMODEL_SECURE);
	struct plan plan = { .segment = MIMODEL_HUGE, .slice = 1, .size = slices * SLICE };

	make_segment(m, MIMODEL_HUGE, MIMODEL_MAIN, MIMODEL_HUGE_SLICES, 1);
	put_page(m, MIMODEL_HUGE, 1, &(struct page_plain){
		.slice_count = slices, .capacity = 1, .reserved = 1, .used = 1, .size = plan.size,
		.heap = MIMODEL_MAIN });
	make_live(m, &plan, MIMODEL_HUGE + SLICE);
}

void mimodel_make(struct mimodel *m, enum mimodel_build build)
{
	const uint64_t first = MIMODEL_FIRST, segment = 512 * SLICE;

	*m = (struct mimodel){
		.build = build,
		.lab = { LAB_AGAIN(m->lab, areas), .maps = maps,
			 .registers = { .rsp = MIMODEL_STACK } },
	};
	lab_put_library(m->lib);
	make_heap(m, MIMODEL_MAIN, MIMODEL_TLD, 2, segment + MIMODEL_HUGE_SLICES * SLICE);
	make_heap(m, MIMODEL_OTHER, MIMODEL_OTHER_TLD, 1, segment);
	make_segment(m, first, MIMODEL_MAIN, 512, 4);
	make_page(m, &(struct plan){ first, MIMODEL_MAIN, 1, 1, 16, 64, "LFLftLd", false });
	make_page(m, &(struct plan){ first, MIMODEL_MAIN, 2, 1, build == MIMODEL_DEBUG ? 32 : 8, 90,
				     "LLF", false });
	make_page(m, &(struct plan){ first, MIMODEL_MAIN, 3, 1, 160, 25, "LLFf", true });
	make_page(m, &(struct plan){ first, MIMODEL_MAIN, 4, 2, 131072, 1, "L", false });
	make_span(m, first, 6);
	make_segment(m, MIMODEL_SECOND, MIMODEL_OTHER, 512, 1);
	make_page(m, &(struct plan){ MIMODEL_SECOND, MIMODEL_OTHER, 1, 1, 48, 80, "FLdtLL",
				     false });
	make_span(m, MIMODEL_SECOND, 2);
	make_segment(m, MIMODEL_ENDED, 0, 512, 1);
	make_page(m, &(struct plan){ MIMODEL_ENDED, 0, 1, 1, 2048, 32, "LtF", false });
	make_span(m, MIMODEL_ENDED, 2);
	make_segment(m, MIMODEL_EMPTY, 0, 512, 0);
	make_span(m, MIMODEL_EMPTY, 1);
	make_huge(m);
}
