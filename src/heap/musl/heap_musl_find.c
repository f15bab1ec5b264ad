/* SPDX-License-Identifier: MIT */
/*
 * heap_musl_find.c - the context of mallocng, by its secret.
 *
 * The first word of the context is a random number, and the first of each page of metas is the
 * same number; the context knows the first and the last of those pages. Nothing else in a
 * library's writable data looks so: no symbol is needed, and there is none in a stripped
 * libc. What threads may change at this very moment does not belong to the signature. A context
 * that has never been used is not found: then nothing was allocated.
 * The allocator of musl before 1.2.1 is told by a bin of it: an empty one points to itself, like
 * glibc's, but stands behind a lock. It is not walked: it keeps no list of its heap's parts.
 */
#include "src/heap/musl/heap_musl.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define BLOCK_WORDS	8192u
#define MAX_DATA	(64ull << 20)	/* writable memory that is searched */
#define MAX_TEXT	(16u << 20)	/* of a library, for its version */
#define MAX_WAITERS	0x10000u	/* for a lock */

struct find {
	const struct picture *picture;
	const struct module *module;
	struct musl *ret;
	uint64_t *words;	/* BLOCK_WORDS of them */
	uint64_t budget;	/* bytes */
	enum musl_found found;
};

/* A pointer to a page of metas, as far as can be told without reading it. */
static bool is_area(uint64_t address)
{
	return address % MUSL_PAGE == 0 && address != 0 && address >> 47 == 0;
}

static bool is_context(const struct picture *picture, const uint64_t *words)
{
	return words[MUSL_SECRET] != 0 && (uint32_t)words[MUSL_INIT_DONE] == 1 &&
	       words[MUSL_AVAIL_COUNT] <= MUSL_AREA_SLOTS && words[MUSL_ALLOC_SHIFT] < 64 &&
	       is_area(words[MUSL_HEAD]) && is_area(words[MUSL_TAIL]) &&
	       picture_word(picture, words[MUSL_HEAD]) == words[MUSL_SECRET];
}

static bool is_lock(uint64_t word)
{
	return (uint32_t)word <= 1 && word >> 32 < MAX_WAITERS;
}

/* words: what stands at address, one before it, and one behind. glibc's bins have no locks. */
static bool is_old_bin(const uint64_t *words, uint64_t address)
{
	return words[0] == address - 16 && words[1] == address - 16 && is_lock(words[-1]) &&
	       is_lock(words[2]);
}

static void heap_musl_find_take(struct find *find, uint64_t address)
{
	struct musl *ret = find->ret;

	if (picture_read(find->picture, address, ret->words, sizeof(ret->words)) < 0 ||
	    !is_context(find->picture, ret->words))
		return;
	find->found = MUSL_MALLOCNG;
	ret->context = address;
	ret->code_low = find->module->low;
	ret->code_high = find->module->high;
}

static void search_words(struct find *find, uint64_t low, size_t count)
{
	for (size_t i = 0; i + MUSL_TAIL < count && find->found != MUSL_MALLOCNG; i++) {
		const uint64_t *words = &find->words[i];

		if ((uint32_t)words[MUSL_INIT_DONE] == 1 && is_context(find->picture, words))
			heap_musl_find_take(find, low + 8 * i);
		else if (i > 0 && is_old_bin(words, low + 8 * i))
			find->found = MUSL_OLDMALLOC;
	}
}

static void search_range(struct find *find, uint64_t low, uint64_t high)
{
	while (low < high && find->found != MUSL_MALLOCNG) {
		size_t wanted = high - low < BLOCK_WORDS * 8 ? (size_t)(high - low)
							      : BLOCK_WORDS * 8;
		size_t got = picture_read_some(find->picture, low, find->words, wanted) / 8;

		search_words(find, low, got);
		if (got <= MUSL_TAIL + 1)
			return;
		low += 8 * (got - MUSL_TAIL - 1);
	}
}

static void search_module(struct find *find, const struct module *module)
{
	find->module = module;
	for (uint32_t i = 0; i < module->segment_count && find->found != MUSL_MALLOCNG; i++) {
		const struct module_segment *s = &module->segment[i];
		uint64_t low = (s->address + module->bias + 7) & ~7ull;
		uint64_t bytes = s->memory_bytes < find->budget ? s->memory_bytes : find->budget;

		if (!(s->flags & PF_W) || bytes > UINT64_MAX - low)
			continue;
		find->budget -= bytes;
		search_range(find, low, low + bytes);
	}
}

static const char *file_name(const struct module *module)
{
	const char *name = strrchr(module->path, '/');

	return name ? name + 1 : module->path;
}

/* musl's libc and its loader are one file, which has several names. */
static bool is_musl(const struct module *module)
{
	const char *name = file_name(module);

	return strcmp(name, "libc.so") == 0 || strncmp(name, "ld-musl-", 8) == 0 ||
	       strncmp(name, "libc.musl-", 10) == 0;
}

static bool is_other_loader(const struct module *module)
{
	return strncmp(file_name(module), "ld-linux", 8) == 0 ||
	       strncmp(file_name(module), "ld-2.", 5) == 0;
}

static bool is_searched(const struct module *module)
{
	return module && !module->closed && module->kind == MODULE_FILE;
}

/* Does any module look like that? */
static bool have(const struct modules *modules, bool (*is)(const struct module *module))
{
	for (uint32_t id = 1; id <= modules_count(modules); id++) {
		const struct module *module = modules_get(modules, id);

		if (is_searched(module) && is(module))
			return true;
	}
	return false;
}

int musl_find(const struct picture *picture, const struct modules *modules, struct musl *ret)
{
	_cleanup_free_ uint64_t *words = malloc(BLOCK_WORDS * 8);
	struct find find = { .picture = picture, .ret = ret, .words = words, .budget = MAX_DATA };
	bool dynamic = have(modules, is_musl);

	if (!words)
		return -ENOMEM;
	/* A static program has it in itself; glibc's loader loads no program of musl's. */
	if (!dynamic && have(modules, is_other_loader))
		return MUSL_NONE;
	for (uint32_t id = 1; id <= modules_count(modules); id++) {
		const struct module *module = modules_get(modules, id);

		if (is_searched(module) && is_musl(module) == dynamic &&
		    find.found != MUSL_MALLOCNG)
			search_module(&find, module);
	}
	return (int)find.found;
}

/* The text at bytes, of at most size: 1.2.3 between two zeros? Its length, 0: no. */
static size_t version_length(const uint8_t *bytes, size_t size)
{
	size_t i = 0, dots = 0;

	for (; i < size && i < 12 && bytes[i]; i++) {
		if (bytes[i] != '.' && (bytes[i] < '0' || bytes[i] > '9'))
			return 0;
		dots += bytes[i] == '.';
	}
	return i < size && i >= 5 && i < 12 && dots == 2 ? i : 0;
}

bool musl_version(const struct musl *musl, const struct modules *modules, char *ret, size_t bytes)
{
	static const char start[] = { '\0', '1', '.' };
	const struct module *module = modules_find(modules, musl->code_low);
	size_t size = module && module->file ? module->file_bytes : 0;
	const uint8_t *at, *end;

	size = size < MAX_TEXT ? size : MAX_TEXT;
	at = size ? module_file(module, 0, size) : NULL;
	end = at + size;
	if (!at || !is_musl(module))
		return false;
	while ((at = memmem(at, (size_t)(end - at), start, sizeof(start)))) {
		size_t length = version_length(at + 1, (size_t)(end - at - 1));

		at++;
		if (length && length < bytes) {
			memcpy(ret, at, length);
			ret[length] = '\0';
			return true;
		}
	}
	return false;
}
