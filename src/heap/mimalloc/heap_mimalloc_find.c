/* SPDX-License-Identifier: MIT */
/*
 * heap_mimalloc_find.c - each mimalloc of the process, by the table in its main heap.
 *
 * A heap has a queue of pages for each size class, and each queue says its size: 75 numbers at
 * even distances that nothing else holds. The main heap, with the first of them filled in, stands
 * in the writable data of the module that mimalloc is in. How far the table is from the heap's
 * beginning tells padded builds from others; how large a page's struct is, only segments tell
 * (heap_mimalloc.c). Symbols were rejected as the means: the heap's are hidden, and a static
 * mimalloc has none at all. But the number that mi_version returns is believed where it
 * is exported: layouts change from patch to patch, and that of 2.0.9 is the one known here.
 */
#include "src/heap/mimalloc/heap_mimalloc.h"

#include <errno.h>
#include <string.h>

#define BLOCK_BYTES	(64u << 10)
#define MAX_DATA	(256ull << 20)	/* writable memory of all modules that is looked at */
#define TABLE_WORDS	12u		/* sizes that are compared at first */
#define LEAST_STRIDE	3u		/* words from queue to queue: first, last, size */
#define MOST_STRIDE	5u
#define HEAP_AFTER	(24u * MIMALLOC_BINS)	/* the table's own bytes */

struct find {
	const struct picture *picture;
	const struct module *module;
	struct mimalloc *ret;
	size_t count, room;
	uint64_t budget;
	unsigned int version;		/* of the module at hand */
	bool table_seen, table_used;	/* in it: of no layout that is known */
	bool known_seen;		/* a main heap of a known layout, used or not */
};

const struct mimalloc_layout mimalloc_layouts[MIMALLOC_LAYOUTS] = {
	{ false, false, 80, 40, 8 + 129 * 8 },
	{ true, false, 96, 56, 8 + 129 * 8 },
	{ true, true, 96, 56, 8 + 130 * 8 },
};

/* 8, 8, 16, 24, ... 64, then four to each power of two; the last two are no sizes but names. */
uint64_t mimalloc_bin_bytes(unsigned int bin)
{
	const uint64_t medium = 128u << 10;

	if (bin <= 8)
		return bin ? 8ull * bin : 8;
	if (bin >= MIMALLOC_BINS - 2)
		return medium + 8ull * (bin - (MIMALLOC_BINS - 3));
	return 8 * (10 + 2ull * ((bin - 9) % 4)) << (bin - 9) / 4;
}

/* Is all of the table there, with its sizes at the end of queues of 24 bytes? */
static bool is_whole_table(const struct picture *picture, uint64_t queues)
{
	uint64_t word[3 * MIMALLOC_BINS];

	if (picture_read(picture, queues, word, sizeof(word)) < 0)
		return false;
	for (unsigned int bin = 0; bin < MIMALLOC_BINS; bin++) {
		if (word[3 * bin + 2] != mimalloc_bin_bytes(bin))
			return false;
	}
	return true;
}

/* The main heap, if its queues begin there: it and its thread's data name each other. */
static bool main_try(struct find *find, uint64_t queues, const struct mimalloc_layout *layout)
{
	uint64_t main = queues - layout->queues, after = queues + HEAP_AFTER;
	uint64_t tld = picture_word(find->picture, main);
	uint64_t cookie = picture_word(find->picture, after + 24);

	if (!tld || tld % 8 || picture_word(find->picture, tld + 16) != main)
		return false;
	find->known_seen = true;
	/* It is made by the first call, or when the library is loaded. */
	if (!cookie || !picture_word(find->picture, after + 8) || find->count == find->room)
		return true;
	find->ret[find->count++] = (struct mimalloc){
		.picture = find->picture, .code_low = find->module->low,
		.code_high = find->module->high, .layout = layout, .main = main,
		.cookie = cookie, .version = find->version,
	};
	return true;
}

/* Queues of pages begin there, stride words each: were they ever used? */
static bool is_used(const struct picture *picture, uint64_t queues, size_t stride)
{
	for (unsigned int bin = 0; bin < MIMALLOC_BINS; bin++) {
		if (picture_word(picture, queues + 8 * stride * bin))
			return true;
	}
	return false;
}

static void table_try(struct find *find, uint64_t size_at, size_t stride)
{
	uint64_t queues = size_at - 8 * (stride - 1);

	find->table_seen = true;
	if (stride == 3 && (find->version == 209 || find->version == 0) &&
	    is_whole_table(find->picture, queues) &&
	    (main_try(find, queues, &mimalloc_layouts[0]) ||
	     main_try(find, queues, &mimalloc_layouts[2])))
		return;
	find->table_used = find->table_used || is_used(find->picture, queues, stride);
}

/* Returns where to go on. */
static size_t search_block(struct find *find, uint64_t low, const uint64_t *words, size_t count)
{
	size_t i = 0;

	for (; i + TABLE_WORDS * MOST_STRIDE <= count; i++) {
		if (words[i] != 8)
			continue;
		for (size_t stride = LEAST_STRIDE; stride <= MOST_STRIDE; stride++) {
			unsigned int bin = 1;

			while (bin < TABLE_WORDS &&
			       words[i + stride * bin] == mimalloc_bin_bytes(bin))
				bin++;
			if (bin == TABLE_WORDS)
				table_try(find, low + 8 * i, stride);
		}
	}
	return i;
}

static int search_range(struct find *find, uint64_t low, uint64_t high)
{
	_cleanup_free_ uint64_t *words = malloc(BLOCK_BYTES);

	if (!words)
		return -ENOMEM;
	while (low < high) {
		size_t wanted = high - low < BLOCK_BYTES ? (size_t)(high - low) : BLOCK_BYTES;
		size_t got = picture_read_some(find->picture, low, words, wanted);
		size_t done = search_block(find, low, words, got / 8);

		if (done == 0 || got < BLOCK_BYTES)
			break;
		low += 8 * done;
	}
	return 0;
}

/* What mi_version returns, if it is a function that loads a number and returns. */
static unsigned int read_version(const struct picture *picture, const struct module *module)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct elf_image image;
	struct elf_symbol symbol;
	uint8_t code[10], *at = code;
	uint32_t version;

	if (elf_image_open(&picture->reader, module->low, &image) < 0 ||
	    elf_image_lookup(&image, "mi_version", &symbol) < 0 ||
	    picture_read(picture, symbol.address, code, sizeof(code)) < 0)
		return 0;
	if (memcmp(at, landing, sizeof(landing)) == 0)
		at += sizeof(landing);
	memcpy(&version, at + 1, sizeof(version));
	/* Which it does not tell: 1 is none that ever was. */
	return at[0] == 0xb8 && at[5] == 0xc3 && version > 1 ? version : 1;
}

/* It is one that is not understood, and can't be one that nobody calls. */
static void note_unknown(struct find *find)
{
	if (find->known_seen || !(find->table_used || (find->version && find->table_seen)) ||
	    find->count == find->room)
		return;
	find->ret[find->count++] = (struct mimalloc){
		.picture = find->picture, .code_low = find->module->low,
		.code_high = find->module->high, .version = find->version,
	};
}

static int search_module(struct find *find, const struct module *module)
{
	int r = 0;

	find->module = module;
	find->version = read_version(find->picture, module);
	find->table_seen = find->table_used = find->known_seen = false;
	for (uint32_t i = 0; i < module->segment_count && r == 0; i++) {
		const struct module_segment *s = &module->segment[i];
		uint64_t low = (s->address + module->bias + 7) & ~7ull;
		uint64_t bytes = s->memory_bytes < find->budget ? s->memory_bytes : find->budget;

		if (!(s->flags & PF_W) || bytes > UINT64_MAX - low)
			continue;
		find->budget -= bytes;
		r = search_range(find, low, low + bytes);
	}
	note_unknown(find);
	return r;
}

int mimalloc_find(const struct picture *picture, const struct modules *modules,
		  struct mimalloc *ret, size_t room)
{
	struct find find = { .picture = picture, .ret = ret, .room = room, .budget = MAX_DATA };
	int r = 0;

	for (uint32_t id = 1; id <= modules_count(modules) && r == 0; id++) {
		const struct module *module = modules_get(modules, id);

		if (module && !module->closed && module->kind == MODULE_FILE)
			r = search_module(&find, module);
	}
	return r < 0 ? r : (int)find.count;
}
