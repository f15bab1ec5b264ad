/* SPDX-License-Identifier: MIT */
/*
 * heap_jemalloc_find.c - jemalloc's page map and its table of small classes, without symbols.
 *
 * The map is an array of pointers in the library's writable memory, of 2 MiB if it was built for
 * addresses of 48 bits: that tells the two forms apart. Any of them that is not 0 leads to a leaf,
 * maybe through a node, whose elements lead to records that say what page they
 * are for: that gives the number of the pointer, and the array's begin. Before it stands a
 * pointer to the first base, which must be one. The classes are a table that has only one form.
 * Taken is only the library of the one release whose structures are known, by the version
 * that it carries. A jemalloc inside of a program is refused: which of its functions are
 * jemalloc's can't be told, and so neither whether a thread is in the midst of a change.
 */
#include "src/heap/jemalloc/heap_jemalloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_VERSION	"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"
#define HASH_DIGITS	40u
#define SEARCHED_BYTES	(64ull << 20)	/* of a file, for what it says of itself */
#define MAX_DATA	(64ull << 20)	/* writable memory of the library: it has some 2 MiB */
#define ROOT_AFTER_BASE	120u		/* a pointer and a mutex before it */
#define BLOCK_BYTES	(64u << 10)
#define MAX_CANDIDATES	4608u		/* 4,096 are arenas, or it is the first */
#define TRIED_ELEMENTS	16u
#define RECORD_ADDRESS	8u

/* The largest first. */
static const struct jemalloc_form forms[] = {
	{ .root_entries = 1u << 18, .node_entries = 1, .leaf_pages = 1u << 18, .element_words = 1 },
	{ .root_entries = 1u << 15, .node_entries = 1u << 15, .leaf_pages = 1u << 15,
	  .element_words = 2 },
};

/* --- the library -------------------------------------------------------------- */

/* The text before "-g" and 40 digits, at, that is a version: "5.3.0-0" or the like. */
static bool take_version(struct jemalloc *jemalloc, const uint8_t *low, const uint8_t *at)
{
	size_t length = 0;

	for (unsigned int i = 0; i < HASH_DIGITS; i++)
		if (!isxdigit(at[2 + i]))
			return false;
	while (at - length > low && length < sizeof(jemalloc->version) - 1 &&
	       (isdigit(at[-1 - (ptrdiff_t)length]) || at[-1 - (ptrdiff_t)length] == '.' ||
		at[-1 - (ptrdiff_t)length] == '-'))
		length++;
	if (length < 5)
		return false;
	memcpy(jemalloc->version, at - length, length);
	jemalloc->version[length] = '\0';
	if (strcmp(jemalloc->version + length - 2, "-0") == 0)
		jemalloc->version[length - 2] = '\0';
	return true;
}

static void find_version(struct jemalloc *jemalloc, const uint8_t *file, size_t bytes)
{
	const uint8_t *at = file, *end = file + bytes;

	while (at && (size_t)(end - at) > 2 + HASH_DIGITS) {
		at = memmem(at, (size_t)(end - at) - HASH_DIGITS, "-g", 2);
		if (at && take_version(jemalloc, file, at))
			return;
		at = at ? at + 2 : NULL;
	}
}

static bool is_library(const struct module *module)
{
	const char *name = strrchr(module->path, '/');

	name = name ? name + 1 : module->path;
	return strncmp(name, "libjemalloc", 11) == 0;
}

static uint64_t root_bytes(const struct jemalloc_form *form)
{
	return form->root_entries * 8ull;
}

/* The map's form follows from the room for it. NULL: the module has none, and is not read. */
static const struct jemalloc_form *find_form(const struct module *module)
{
	uint64_t room = 0;

	for (uint32_t i = 0; i < module->segment_count; i++)
		if ((module->segment[i].flags & PF_W) && module->segment[i].memory_bytes > room)
			room = module->segment[i].memory_bytes;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (room > root_bytes(&forms[i]))
			return &forms[i];
	return NULL;
}

/* By a message that all of them carry. */
static bool is_jemalloc(const uint8_t *file, size_t bytes)
{
	static const char text[] = "<jemalloc>: ";

	return memmem(file, bytes, text, sizeof(text) - 1);
}

/* The first bytes of its file, the caller's; module_file() would keep all of them. */
static uint8_t *read_file(const struct module *module, size_t *ret_bytes)
{
	size_t bytes = module->file_bytes < SEARCHED_BYTES ? module->file_bytes : SEARCHED_BYTES;
	uint8_t *copy = bytes ? malloc(bytes) : NULL;
	ssize_t got = -1;

	if (copy && !module->pages && module->file) {
		memcpy(copy, module->file, bytes);
		got = (ssize_t)bytes;
	} else if (copy && module->fd >= 0) {
		got = pread(module->fd, copy, bytes, 0);
	}
	*ret_bytes = got > 0 ? (size_t)got : 0;
	return copy;
}

/* 1 if it is a jemalloc that is known, 0 none, -ENOTSUP. */
static int try_module(struct jemalloc *jemalloc, const struct module *module)
{
	const struct jemalloc_form *form = find_form(module);
	_cleanup_free_ uint8_t *file = NULL;
	size_t bytes;

	if (!module->file || !form)
		return 0;
	file = read_file(module, &bytes);
	if (!file || !is_jemalloc(file, bytes))
		return 0;
	jemalloc->module = module;
	jemalloc->form = form;
	find_version(jemalloc, file, bytes);
	if (!is_library(module))
		return jemalloc_fail(jemalloc, -ENOTSUP, "jemalloc is part of the program");
	if (!memmem(file, bytes, KNOWN_VERSION, sizeof(KNOWN_VERSION) - 1))
		return jemalloc_fail(jemalloc, -ENOTSUP,
				     "the structures of this version are not known");
	return 1;
}

int jemalloc_find_module(struct jemalloc *jemalloc)
{
	int found = 0;

	for (uint32_t id = 1; id <= modules_count(jemalloc->modules); id++) {
		const struct module *module = modules_get(jemalloc->modules, id);
		const struct module *before = jemalloc->module;
		int r = module && !module->closed && module->kind == MODULE_FILE ?
			try_module(jemalloc, module) : 0;

		if (r < 0)
			return r;
		if (r > 0 && before)
			return jemalloc_fail(jemalloc, -ENOTSUP, "there is more than one");
		found |= r;
	}
	return found;
}

/* --- its writable memory ------------------------------------------------------ */

/* What is looked for; 1 found, 0 not here, negative: an error. */
typedef int try_word(struct jemalloc *jemalloc, uint64_t address, uint64_t word);

static int search_range(struct jemalloc *jemalloc, uint64_t low, uint64_t high, try_word *try)
{
	_cleanup_free_ uint64_t *words = malloc(BLOCK_BYTES);
	int r = 0;

	if (!words)
		return -ENOMEM;
	while (low < high && r == 0) {
		size_t wanted = high - low < BLOCK_BYTES ? (size_t)(high - low) : BLOCK_BYTES;
		size_t got = picture_read_some(jemalloc->picture, low, words, wanted) / 8;

		if (got == 0)
			return 0;
		for (size_t i = 0; i < got && r == 0; i++)
			if (words[i])
				r = try(jemalloc, low + 8 * i, words[i]);
		low += 8 * got;
	}
	return r;
}

static int search_data(struct jemalloc *jemalloc, try_word *try)
{
	const struct module *module = jemalloc->module;
	int r = 0;

	for (uint32_t i = 0; i < module->segment_count && r == 0; i++) {
		const struct module_segment *s = &module->segment[i];
		uint64_t low = (s->address + module->bias + 7) & ~7ull;

		if ((s->flags & PF_W) && s->memory_bytes < MAX_DATA && low < JEMALLOC_TOP)
			r = search_range(jemalloc, low, low + s->memory_bytes, try);
	}
	return r;
}

/* --- small classes ------------------------------------------------------------ */

struct bin_info {
	uint64_t bytes, slab_bytes;
	uint32_t regions, shards;
	uint64_t bits, groups;
};

static bool is_bin(const struct bin_info *info, uint32_t class)
{
	return info->bytes == jemalloc_class_bytes(class) && info->slab_bytes &&
	       info->slab_bytes % JEMALLOC_PAGE == 0 && info->slab_bytes < JEMALLOC_HUGE &&
	       info->regions == info->slab_bytes / info->bytes &&
	       info->regions <= JEMALLOC_REGIONS && info->bits == info->regions &&
	       info->groups == (info->bits + 63) / 64;
}

static int try_bins(struct jemalloc *jemalloc, uint64_t address, uint64_t word)
{
	struct bin_info info[JEMALLOC_BINS];

	if (word != jemalloc_class_bytes(0) ||
	    picture_read(jemalloc->picture, address, info, sizeof(info)) < 0)
		return 0;
	for (uint32_t i = 0; i < JEMALLOC_BINS; i++)
		if (!is_bin(&info[i], i))
			return 0;
	for (uint32_t i = 0; i < JEMALLOC_BINS; i++)
		jemalloc->bin[i] = (struct jemalloc_bin){ info[i].slab_bytes, info[i].regions };
	return 1;
}

/* --- the map ------------------------------------------------------------------ */

static bool is_in_data(const struct jemalloc *jemalloc, uint64_t low, uint64_t bytes)
{
	const struct module *module = jemalloc->module;

	for (uint32_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *s = &module->segment[i];
		uint64_t begin = s->address + module->bias;

		if ((s->flags & PF_W) && low >= begin && low - begin <= s->memory_bytes &&
		    bytes <= s->memory_bytes - (low - begin))
			return true;
	}
	return false;
}

/* An entry of the array is for so many bytes of memory. */
static uint64_t root_span(const struct jemalloc *jemalloc)
{
	return jemalloc_leaf_span(jemalloc) * jemalloc->form->node_entries;
}

/* Does this element, the index-th of a leaf that the word at pointer leads to, give the map? */
static bool try_element(struct jemalloc *jemalloc, uint64_t pointer, uint64_t index,
			uint64_t element)
{
	uint64_t record = element & (JEMALLOC_TOP - 1) & ~127ull;
	uint64_t address = jemalloc_word(jemalloc, record + RECORD_ADDRESS), root;

	if (!record || address >= JEMALLOC_TOP ||
	    address / JEMALLOC_PAGE % jemalloc->form->leaf_pages != index)
		return false;
	root = pointer - 8 * (address / root_span(jemalloc));
	if (!is_in_data(jemalloc, root - ROOT_AFTER_BASE,
			root_bytes(jemalloc->form) + ROOT_AFTER_BASE) ||
	    !jemalloc_is_base(jemalloc, jemalloc_word(jemalloc, root - ROOT_AFTER_BASE)))
		return false;
	jemalloc->root = root;
	return true;
}

/* The first elements of what may be a leaf. */
static bool try_leaf(struct jemalloc *jemalloc, uint64_t pointer, uint64_t leaf)
{
	const size_t count = BLOCK_BYTES / 8;
	unsigned int tried = 0;

	for (uint64_t i = 0; i < jemalloc->form->leaf_pages; i += count) {
		if (!jemalloc_read_elements(jemalloc, leaf, i, count))
			return false;
		for (size_t j = 0; j < count; j++) {
			if (!jemalloc->words[j])
				continue;
			if (try_element(jemalloc, pointer, i + j, jemalloc->words[j]))
				return true;
			if (++tried == TRIED_ELEMENTS)
				return false;
		}
	}
	return false;
}

/* May a part of the map, of so many bytes, be at address? */
static bool may_be_part(const struct jemalloc *jemalloc, uint64_t address, uint64_t bytes)
{
	const struct procmap *map;

	if (address % 64 != 0 || address < JEMALLOC_PAGE || address >= JEMALLOC_TOP)
		return false;
	map = procmaps_find(&jemalloc->picture->maps, address);
	return map && !map->inode && (map->prot & PROCMAP_W) && !(map->prot & PROCMAP_SHARED) &&
	       map->end - address >= bytes;
}

/* The first pointers of what may be a node. */
static bool try_node(struct jemalloc *jemalloc, uint64_t pointer, uint64_t node)
{
	const uint32_t entries = jemalloc->form->node_entries;
	_cleanup_free_ uint64_t *words = calloc(entries, sizeof(*words));
	unsigned int tried = 0;

	if (!words || picture_read(jemalloc->picture, node, words, entries * 8ull) < 0)
		return false;
	for (uint32_t i = 0; i < entries && tried < TRIED_ELEMENTS; i++) {
		if (!words[i])
			continue;
		tried++;
		if (may_be_part(jemalloc, words[i], jemalloc_leaf_bytes(jemalloc)) &&
		    try_leaf(jemalloc, pointer, words[i]))
			return true;
	}
	return false;
}

static int try_root(struct jemalloc *jemalloc, uint64_t address, uint64_t word)
{
	bool leaves = jemalloc->form->node_entries == 1;

	if (!may_be_part(jemalloc, word, leaves ? jemalloc_leaf_bytes(jemalloc) :
						  jemalloc->form->node_entries * 8ull))
		return 0;
	/* leaf_count counts the candidates until there are leaves. */
	if (++jemalloc->leaf_count > MAX_CANDIDATES)
		return -EAGAIN;
	return leaves ? try_leaf(jemalloc, address, word) : try_node(jemalloc, address, word);
}

/* Leaves are apart from each other, or they are no leaves. */
static int by_address(const void *a, const void *b)
{
	const struct jemalloc_leaf *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int by_low(const void *a, const void *b)
{
	const struct jemalloc_leaf *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static int check_leaves(struct jemalloc *jemalloc)
{
	struct jemalloc_leaf *leaf = jemalloc->leaf;
	size_t count = jemalloc->leaf_count;

	qsort(leaf, count, sizeof(*leaf), by_address);
	for (size_t i = 0; i < count; i++)
		if (leaf[i].address % 8 || leaf[i].address >= JEMALLOC_TOP ||
		    (i > 0 && leaf[i].address - leaf[i - 1].address <
			       jemalloc_leaf_bytes(jemalloc)))
			return jemalloc_fail(jemalloc, -EAGAIN, "a leaf of its page map is wrong");
	qsort(leaf, count, sizeof(*leaf), by_low);
	return 0;
}

static int take_leaf(struct jemalloc *jemalloc, uint64_t low, uint64_t address)
{
	if (jemalloc->leaf_count == JEMALLOC_MAX_LEAVES)
		return jemalloc_fail(jemalloc, -ENOTSUP, "its page map is too large");
	jemalloc->leaf[jemalloc->leaf_count++] = (struct jemalloc_leaf){ low, address };
	return 0;
}

/* The leaves of an array of entries at address, each of which is for span bytes, from low on. */
static int read_array(struct jemalloc *jemalloc, uint64_t address, uint32_t entries, uint64_t span,
		      uint64_t low)
{
	const struct jemalloc_form *form = jemalloc->form;
	_cleanup_free_ uint64_t *words = calloc(entries, sizeof(*words));
	int r = 0;

	if (!words)
		return -ENOMEM;
	if (picture_read(jemalloc->picture, address, words, entries * 8ull) < 0)
		return jemalloc_fail(jemalloc, -EAGAIN, "its page map can't be read");
	for (uint64_t i = 0; i < entries && r == 0; i++) {
		uint64_t at = low + i * span;

		if (!words[i])
			continue;
		if (at >= JEMALLOC_TOP)
			return jemalloc_fail(jemalloc, -EAGAIN, "a leaf of its page map is wrong");
		if (span == jemalloc_leaf_span(jemalloc))
			r = take_leaf(jemalloc, at, words[i]);
		else
			r = read_array(jemalloc, words[i], form->node_entries,
				       span / form->node_entries, at);
	}
	return r;
}

static int read_leaves(struct jemalloc *jemalloc)
{
	int r;

	jemalloc->leaf = calloc(JEMALLOC_MAX_LEAVES, sizeof(*jemalloc->leaf));
	jemalloc->leaf_count = 0;
	if (!jemalloc->leaf)
		return -ENOMEM;
	r = read_array(jemalloc, jemalloc->root, jemalloc->form->root_entries, root_span(jemalloc),
		       0);
	return r < 0 ? r : check_leaves(jemalloc);
}

int jemalloc_find_map(struct jemalloc *jemalloc)
{
	int r = search_data(jemalloc, try_bins);

	if (r == 0)
		return jemalloc_fail(jemalloc, -EAGAIN, "its table of classes was not found");
	if (r > 0)
		r = search_data(jemalloc, try_root);
	if (r == 0 || r == -EAGAIN)
		return jemalloc_fail(jemalloc, -EAGAIN, "its page map was not found");
	return r < 0 ? r : read_leaves(jemalloc);
}
