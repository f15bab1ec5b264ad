/* SPDX-License-Identifier: MIT */
/* nameless.c - see nameless.h. */
#include "src/session/nameless.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES	(1u << 20)
#define OVERLAP_BYTES	64u		/* more than a mark has */
#define MODULE_BYTES	(64ull << 20)	/* of constants that are looked at, of a module */
#define ALL_BYTES	(256ull << 20)	/* of all */

/*
 * What is in every build of an allocator: of a message, and of a name of an option or a figure. The
 * first letters are apart, so that this program does not have the texts itself.
 */
struct mark {
	char first;
	const char *rest;
};
struct marks {
	const char *family;
	struct mark text[2];
};

static const struct marks marks[] = {
	{ "jemalloc", { { '<', "jemalloc>: " }, { 'b', "ackground_thread" } } },
	{ "mimalloc", { { 'm', "imalloc: " }, { 'e', "ager_commit" } } },
	{ "tcmalloc", { { 'M', "ALLOC: " }, { ')', " Bytes in use by application" } } },
};

/* CPython, and a build of it that uses its mimalloc. */
static const struct mark python = { 'P', "YTHONMALLOC" };
static const struct mark free_threads = { 'f', "ree-threading build" };

enum { MARKS = ARRAY_SIZE(marks), TEXTS = 2, PYTHON = MARKS * TEXTS, FREE_THREADS, MIMALLOC = 1 };

static bool has_mark(const uint8_t *bytes, size_t count, const struct mark *mark)
{
	const uint8_t *end = bytes + count, *at = bytes;
	size_t length = strlen(mark->rest);

	while ((at = memmem(at, (size_t)(end - at), mark->rest, length))) {
		if (at > bytes && at[-1] == (uint8_t)mark->first)
			return true;
		at++;
	}
	return false;
}

static void note(unsigned int *seen, unsigned int number, const struct mark *mark,
		 const uint8_t *bytes, size_t count)
{
	if (!(*seen & 1u << number) && has_mark(bytes, count, mark))
		*seen |= 1u << number;
}

/* Notes in seen, a bit for each text, what bytes has. */
static void look_at_bytes(const uint8_t *bytes, size_t count, unsigned int *seen)
{
	for (unsigned int m = 0; m < MARKS; m++)
		for (unsigned int t = 0; t < TEXTS; t++)
			note(seen, m * TEXTS + t, &marks[m].text[t], bytes, count);
	note(seen, PYTHON, &python, bytes, count);
	note(seen, FREE_THREADS, &free_threads, bytes, count);
}

/* left: bytes that may still be read of this module. */
static void look_at_segment(const struct module *module, const struct module_segment *segment,
			    uint8_t *buffer, uint64_t *left, unsigned int *seen)
{
	uint64_t end = segment->offset + segment->file_bytes;

	for (uint64_t at = segment->offset; at < end && *left > 0; at += CHUNK_BYTES) {
		size_t wanted = CHUNK_BYTES + OVERLAP_BYTES;
		ssize_t got;

		if (end - at < wanted)
			wanted = (size_t)(end - at);
		got = pread(module->fd, buffer, wanted, (off_t)at);
		if (got <= 0)
			return;
		*left -= *left < CHUNK_BYTES ? *left : CHUNK_BYTES;
		look_at_bytes(buffer, (size_t)got, seen);
	}
}

static bool is_used(unsigned int mark, unsigned int seen)
{
	return mark != MIMALLOC || !(seen & 1u << PYTHON) || (seen & 1u << FREE_THREADS);
}

/* Linkers put constants into a segment of their own; where there is none they lie beside code. */
static const char *look_at_module(const struct module *module, uint8_t *buffer, uint64_t *read)
{
	uint64_t left = ALL_BYTES - *read < MODULE_BYTES ? ALL_BYTES - *read : MODULE_BYTES;
	unsigned int seen = 0, with_code = PF_X;

	*read += left;
	for (uint32_t i = 0; i < module->segment_count; i++)
		if (!(module->segment[i].flags & (PF_X | PF_W)))
			with_code = 0;
	for (uint32_t i = 0; i < module->segment_count; i++)
		if ((module->segment[i].flags & (PF_X | PF_W)) == with_code)
			look_at_segment(module, &module->segment[i], buffer, &left, &seen);
	*read -= left;
	for (unsigned int m = 0; m < MARKS; m++)
		if ((seen >> m * TEXTS & 3u) == 3u && is_used(m, seen))
			return marks[m].family;
	return NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* By addresses, or by name: the loader knows a module by another path than the kernel. */
static bool is_planned(const struct hook_plan *plan, const struct module *module)
{
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->family[plan->entry[i].family].kind == HOOK_FAMILY_MALLOC &&
		    plan->entry[i].address >= module->low && plan->entry[i].address < module->high)
			return true;
	for (uint32_t i = 0; i < plan->family_count; i++)
		if (plan->family[i].kind == HOOK_FAMILY_MALLOC &&
		    strcmp(file_name(plan->family[i].module), file_name(module->path)) == 0)
			return true;
	return false;
}

static void look(struct nameless *nameless, const struct modules *modules,
		 const struct hook_plan *plan)
{
	_cleanup_free_ uint8_t *buffer = malloc(CHUNK_BYTES + OVERLAP_BYTES);
	uint32_t count = modules_count(modules);

	while (buffer && nameless->looked < count && nameless->count < NAMELESS_MOST) {
		const struct module *module = modules_get(modules, ++nameless->looked);
		const char *family = NULL;

		if (module && !module->closed && module->kind == MODULE_FILE && module->fd >= 0 &&
		    !is_planned(plan, module))
			family = look_at_module(module, buffer, &nameless->read);
		if (!family)
			continue;
		nameless->found[nameless->count].family = family;
		nameless->found[nameless->count++].module = nameless->looked;
	}
}

static void nameless_skip(struct hook_plan *plan, const char *family, const struct module *module)
{
	struct hook_family *to = &plan->family[plan->family_count];

	if (plan->family_count == HOOK_MAX_FAMILIES || plan->skipped_count >= HOOK_MAX_SKIPPED) {
		plan->left_out++;
		return;
	}
	*to = (struct hook_family){ .kind = HOOK_FAMILY_MALLOC };
	(void)snprintf(to->name, sizeof(to->name), "%s", family);
	(void)snprintf(to->module, sizeof(to->module), "%.*s", HOOK_PATH_BYTES - 1, module->path);
	plan->skipped_family[plan->skipped_count] = (uint8_t)plan->family_count++;
	(void)snprintf(plan->skipped[plan->skipped_count++], HOOK_SKIPPED_BYTES,
		       "all of %s (%.24s): its functions have no names", family,
		       file_name(module->path));
}

void nameless_add(struct nameless *nameless, const struct modules *modules,
		  struct hook_plan *plan)
{
	look(nameless, modules, plan);
	for (uint32_t i = 0; i < nameless->count; i++) {
		const struct module *module = modules_get(modules, nameless->found[i].module);

		if (module && !module->closed && !is_planned(plan, module))
			nameless_skip(plan, nameless->found[i].family, module);
	}
}
