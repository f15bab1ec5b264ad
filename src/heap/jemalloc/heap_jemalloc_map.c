/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc_map.c - a walk through the page map: every extent, and its record.
 *
 * An element of a leaf is one word: the record's address, and above and below it what is
 * looked up most (class, state, is it a slab). With 57 bits it has two, and the second has these.
 * The first and the last page of every extent have one, pages within a slab as well. Elements must
 * agree with their records, which say where the extent begins and ends; the walk goes on behind its
 * end, so that no page is looked at twice. What lies between the first and the last page of a large
 * one is not looked at.
 */
#include "src/heap/jemalloc/heap_jemalloc.h"

#include <errno.h>

#define RECORD_BYTES	128u
#define RECORD_ALIGN	128u

/* Of an element. */
#define ELEMENT_SLAB	1u
#define ELEMENT_STATE	2u		/* first bit of three */
#define ELEMENT_CLASS	48u		/* first bit */
#define ELEMENT_LOW	0x1fu		/* slab, head of a mapping, state */
#define WIDE_CLASS	5u		/* first bit in the second word, which has 32 */

/* Of edata_t: words, and the first word's bits. */
enum record_word { RECORD_BITS, RECORD_ADDRESS, RECORD_SIZE, RECORD_BITMAP = 8 };
#define BITS_ARENA	0x0fffu
#define BITS_SLAB	(1u << 12)
#define BITS_HUGE	(1u << 14)	/* by the allocator of huge pages */
#define BITS_GUARDED	(1u << 16)	/* between pages that can't be accessed */
#define BITS_STATE	17u
#define BITS_CLASS	20u
#define BITS_FREE	28u
#define BITS_FREE_MASK	0x03ffu

enum state { STATE_ACTIVE, STATE_DIRTY, STATE_MUZZY, STATE_RETAINED, STATE_TRANSITION,
	     STATE_MERGING, STATES };

uint64_t jemalloc_class_bytes(uint32_t class)
{
	uint64_t base;

	if (class == 0)
		return 8;
	if (class <= 4)
		return 16ull * class;
	base = 64ull << (class - 5) / 4;
	return base + ((class - 5) % 4 + 1) * (base / 4);
}

static uint32_t state_of(uint64_t element)
{
	return element >> ELEMENT_STATE & 7;
}

static uint64_t record_of(uint64_t element)
{
	return element & ((1ull << ELEMENT_CLASS) - 1) & ~(uint64_t)(RECORD_ALIGN - 1);
}

/* Two words as one; a record that can't be is one where nothing is. */
static uint64_t element_of(uint64_t record, uint64_t more)
{
	if (record != record_of(record))
		record = RECORD_ALIGN;
	if (record == 0)
		return 0;
	return record | (more & ELEMENT_LOW) |
	       (uint64_t)((uint32_t)more >> WIDE_CLASS) << ELEMENT_CLASS;
}

bool jemalloc_read_elements(struct jemalloc *jemalloc, uint64_t address, uint64_t first,
			    size_t count)
{
	const uint32_t each = jemalloc->form->element_words;
	uint64_t *words = jemalloc->words;

	address += first * each * 8;
	if (picture_read(jemalloc->picture, address, words, count * each * 8) < 0)
		return false;
	for (size_t i = 0; each == 2 && i < count; i++)
		words[i] = element_of(words[2 * i], words[2 * i + 1]);
	return true;
}

static uint64_t element_in(struct jemalloc *jemalloc, const struct jemalloc_leaf *leaf,
			   uint64_t index)
{
	uint64_t at = leaf->address + index * jemalloc->form->element_words * 8;
	uint64_t word = jemalloc_word(jemalloc, at);

	return jemalloc->form->element_words == 1 ? word :
	       element_of(word, jemalloc_word(jemalloc, at + 8));
}

static uint64_t element_at(struct jemalloc *jemalloc, uint64_t address)
{
	const uint64_t span = jemalloc_leaf_span(jemalloc);
	size_t first = 0, end = jemalloc->leaf_count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;
		const struct jemalloc_leaf *leaf = &jemalloc->leaf[middle];

		if (address >= leaf->low && address - leaf->low < span)
			return element_in(jemalloc, leaf, (address - leaf->low) / JEMALLOC_PAGE);
		if (address < leaf->low)
			end = middle;
		else
			first = middle + 1;
	}
	return 0;
}

static int wrong(struct jemalloc *jemalloc, uint64_t low, const char *what)
{
	return jemalloc_fail(jemalloc, -EAGAIN, "%s at %llx", what, (unsigned long long)low);
}

/* A slab in use: its bitmap has a bit for each free region. */
static int take_slab(struct jemalloc *jemalloc, const uint64_t *record,
		     struct jemalloc_extent *ret)
{
	const struct jemalloc_bin *bin = &jemalloc->bin[ret->class];

	if (ret->class >= JEMALLOC_BINS || ret->high - ret->low != bin->slab_bytes ||
	    record[RECORD_ADDRESS] != ret->low)
		return wrong(jemalloc, ret->low, "a slab is of the wrong size");
	for (unsigned int i = 0; i < JEMALLOC_GROUPS; i++) {
		unsigned int left = bin->regions > 64 * i ? bin->regions - 64 * i : 0;
		uint64_t mask = left >= 64 ? UINT64_MAX : (1ull << left) - 1;

		ret->group[i] = record[RECORD_BITMAP + i] & mask;
		ret->free_regions += (uint32_t)__builtin_popcountll(ret->group[i]);
	}
	if (ret->free_regions != (record[RECORD_BITS] >> BITS_FREE & BITS_FREE_MASK))
		return wrong(jemalloc, ret->low, "a slab's count of free regions is wrong");
	return 0;
}

static int take_large(struct jemalloc *jemalloc, const uint64_t *record,
		      struct jemalloc_extent *ret)
{
	ret->address = record[RECORD_ADDRESS];
	if (ret->class < JEMALLOC_CLASSES)
		ret->bytes = jemalloc_class_bytes(ret->class);
	if (ret->address % 16 || ret->bytes == 0 || ret->bytes > ret->high - ret->address)
		return wrong(jemalloc, ret->low, "a large block is of the wrong size");
	return 0;
}

static int take_used(struct jemalloc *jemalloc, const uint64_t *record, uint64_t element,
		     struct jemalloc_extent *ret)
{
	uint64_t bits = record[RECORD_BITS];

	ret->used = true;
	ret->slab = bits & BITS_SLAB;
	ret->class = bits >> BITS_CLASS & 0xff;
	if ((element >> ELEMENT_CLASS) != ret->class || (element & ELEMENT_SLAB) != ret->slab)
		return wrong(jemalloc, ret->low, "a page map's class is wrong");
	return ret->slab ? take_slab(jemalloc, record, ret) : take_large(jemalloc, record, ret);
}

/* Where the extent lies, and that its last page says so as well. */
static int take_bounds(struct jemalloc *jemalloc, const uint64_t *record, uint64_t low,
		       uint64_t element, struct jemalloc_extent *ret)
{
	uint64_t bytes = record[RECORD_SIZE] & ~(uint64_t)(JEMALLOC_PAGE - 1), last;

	if (record[RECORD_ADDRESS] - low >= JEMALLOC_PAGE || bytes == 0 ||
	    low >= JEMALLOC_TOP || bytes > JEMALLOC_TOP - low)
		return wrong(jemalloc, low, "the page map has no extent");
	ret->low = low;
	ret->high = low + bytes;
	last = element_at(jemalloc, ret->high - JEMALLOC_PAGE);
	if (record_of(last) != ret->record || state_of(last) != state_of(element))
		return wrong(jemalloc, low, "the ends of an extent differ");
	return 0;
}

/* The extent that begins at low, by its first element. */
static int take_extent(struct jemalloc *jemalloc, uint64_t low, uint64_t element,
		       struct jemalloc_extent *ret)
{
	uint64_t record[RECORD_BYTES / 8];
	int r;

	*ret = (struct jemalloc_extent){ .record = record_of(element) };
	if (!jemalloc_read(jemalloc, ret->record, record, sizeof(record)))
		return wrong(jemalloc, low, "no record of an extent");
	ret->arena = record[RECORD_BITS] & BITS_ARENA;
	r = take_bounds(jemalloc, record, low, element, ret);
	if (r < 0)
		return r;
	if ((record[RECORD_BITS] >> BITS_STATE & 7) != state_of(element) ||
	    state_of(element) >= STATES)
		return wrong(jemalloc, low, "the state of an extent is wrong");
	if (record[RECORD_BITS] & (BITS_HUGE | BITS_GUARDED))
		return jemalloc_fail(jemalloc, -ENOTSUP, "it runs with %s",
				     record[RECORD_BITS] & BITS_HUGE ? "hpa" : "san_guard");
	return state_of(element) == STATE_ACTIVE ? take_used(jemalloc, record, element, ret) : 0;
}

struct map_walk {
	struct jemalloc *jemalloc;
	jemalloc_visit *visit;
	void *context;
	uint64_t next;		/* address from which on nothing was looked at */
	uint32_t count;
};

/* The elements in words, of pages from low on. */
static int walk_elements(struct map_walk *walk, const uint64_t *words, size_t count, uint64_t low)
{
	struct jemalloc_extent extent;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		if (!record_of(words[i]))
			continue;
		if (++walk->count > JEMALLOC_MAX_EXTENTS)
			return jemalloc_fail(walk->jemalloc, -ENOTSUP, "too many extents");
		r = take_extent(walk->jemalloc, low + i * JEMALLOC_PAGE, words[i], &extent);
		if (r < 0)
			return r;
		r = walk->visit(walk->context, &extent);
		walk->next = extent.high;
		i = (size_t)((extent.high - low) / JEMALLOC_PAGE) - 1;
	}
	return r;
}

static int walk_leaf(struct map_walk *walk, const struct jemalloc_leaf *leaf)
{
	struct jemalloc *jemalloc = walk->jemalloc;
	const uint64_t stretch = (uint64_t)JEMALLOC_WORDS / jemalloc->form->element_words *
				 JEMALLOC_PAGE;
	const uint64_t high = leaf->low + jemalloc_leaf_span(jemalloc);
	int r = 0;

	if (walk->next < leaf->low)
		walk->next = leaf->low;
	while (walk->next < high && r == 0) {
		uint64_t low = walk->next, end = low + stretch < high ? low + stretch : high;
		size_t count = (size_t)((end - low) / JEMALLOC_PAGE);

		if (!jemalloc_read_elements(jemalloc, leaf->address,
					    (low - leaf->low) / JEMALLOC_PAGE, count))
			return wrong(jemalloc, low, "no page map");
		r = walk_elements(walk, jemalloc->words, count, low);
		if (walk->next < end)
			walk->next = end;
	}
	return r;
}

int jemalloc_each_extent(struct jemalloc *jemalloc, jemalloc_visit *visit, void *context)
{
	struct map_walk walk = { .jemalloc = jemalloc, .visit = visit, .context = context };
	int r = 0;

	for (size_t i = 0; i < jemalloc->leaf_count && r == 0; i++)
		r = walk_leaf(&walk, &jemalloc->leaf[i]);
	return r;
}
