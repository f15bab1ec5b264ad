/* SPDX-License-Identifier: MIT */
/*
 * session_preattach.c - see session_preattach.h.
 *
 * The picture is the leak report's (session_leaks.c), taken a second time, at the beginning:
 * the same pause. Some tries are made; after them the session goes on without.
 *
 * An entry point is judged by the heap of its own allocator, where there is one of that name
 * only. Where an allocator stands that is not known, none is judged: it may be a wrapper, whose
 * blocks lie inside those of another, and which hands on what was never seen allocated.
 * So it is, too, with a glibc whose hooks (__free_hook, up to 2.33) are set.
 */
#include "src/session/session_preattach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/elf/elf_image.h"

static bool is_malloc(const struct hook_family *family)
{
	return family->kind == HOOK_FAMILY_MALLOC;
}

static bool is_known(const char *name)
{
	static const char *const known[] = { "glibc", "musl", "mimalloc", "jemalloc", "tcmalloc" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return false;
}

/* How many allocators of that name there are. */
static uint32_t namesakes(const struct hook_plan *plan, const char *name)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->family_count; i++)
		count += is_malloc(&plan->family[i]) && strcmp(plan->family[i].name, name) == 0;
	return count;
}

/* Does the program stand between glibc's entry and its heap? */
static bool is_diverted(const struct session_leaks *l, const struct hook_entry *entry)
{
	static const char *const hook[] = { "__malloc_hook", "__free_hook", "__realloc_hook",
					    "__memalign_hook" };
	const struct module *module = modules_find(l->view->modules, entry->address);
	struct elf_symbol symbol;
	struct elf_image image;

	if (!module || elf_image_open(&l->picture.reader, module->low, &image) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(hook); i++)
		if (elf_image_lookup(&image, hook[i], &symbol) == 0 &&
		    picture_word(&l->picture, symbol.address) != 0)
			return true;
	return false;
}

static void say(struct snapshot_older *ret, const char *what, const char *why)
{
	if (!ret->why[0])
		(void)snprintf(ret->why, sizeof(ret->why), "%.40s: %.100s", what, why);
}

/* Why the walk of that allocator ended without its blocks; NULL: it is not there at all. */
static const char *why_not(const struct session_leaks *l, const char *name)
{
	uint32_t count;
	const struct leak_heap *heap = analysis_heaps(l->analysis, &count);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(heap[i].allocator, name) == 0 && !heap[i].covered)
			return heap[i].why;
	/* glibc's idles beside another */
	return strcmp(name, "glibc") == 0 ? NULL : "its structures can't be read";
}

/* Which entry points are judged, and why others are not. */
static bool set_entries(const struct session_leaks *l, struct older *older,
			struct snapshot_older *ret)
{
	const struct hook_plan *plan = l->plan;
	bool any = false;

	for (uint32_t i = 0; i < plan->family_count; i++)
		if (is_malloc(&plan->family[i]) && !is_known(plan->family[i].name)) {
			say(ret, plan->family[i].module, "an allocator that is not known");
			return false;
		}
	for (uint32_t i = 0; i < plan->entry_count; i++) {
		const struct hook_entry *entry = &plan->entry[i];
		const struct hook_family *family = &plan->family[entry->family];
		bool glibc = strcmp(family->name, "glibc") == 0;

		if (!is_malloc(family))
			continue;
		if (namesakes(plan, family->name) > 1)
			say(ret, family->name, "there is more than one");
		else if (glibc && is_diverted(l, entry))
			say(ret, family->name, "the program has set its hooks (__free_hook)");
		else if (older_set_entry(older, (uint16_t)i, family->name))
			any = true;
		else if (why_not(l, family->name))
			say(ret, family->name, why_not(l, family->name));
	}
	return any;
}

static int give(struct session_leaks *l, struct watch *watch, struct snapshot_older *ret)
{
	struct older *older;
	int error = analysis_take_older(l->analysis, &older);

	if (error)
		return error;
	if (!set_entries(l, older, ret)) {
		older_free(older);
		return -ENOTSUP;
	}
	ret->count = older_count(older);
	ret->bytes = older_bytes(older);
	ret->memory_bytes = older_memory(older);
	ret->judged = live_set_older(watch->live, older);
	if (!ret->judged)
		say(ret, "memattach", "records were lost, or too much was freed during the walk");
	return 0;
}

static void explain(const struct session_leaks *l, int error, struct snapshot_older *ret)
{
	const char *text = l->view->link->reply.text;

	if (l->torn && l->under_way)
		text = "a thread may be in a call of an allocator from before the attach";
	if (!ret->why[0])
		(void)snprintf(ret->why, sizeof(ret->why), "%.150s",
			       text[0] ? text : why_of(error).text);
}

/* Takes the picture and gives the books what it shows. 0, or that something is left. */
static int older_take(struct session_leaks *leaks, struct watch *watch, struct snapshot_older *ret)
{
	struct target_view *view = leaks->view;
	int error = target_view_refresh(view), thaw;

	if (error >= 0)
		error = session_leaks_take(leaks, watch);
	if (!error)
		error = give(leaks, watch, ret);
	ret->pause_us = leaks->picture.pause_us;
	if (error) {
		(void)live_set_older(watch->live, NULL);
		explain(leaks, error, ret);
	}
	thaw = session_leaks_thaw(leaks);
	return view->link->target_gone || thaw == -ECANCELED ? 0 : thaw;
}

int session_older_take(const struct session_leaks *like, struct watch *watch,
		       struct snapshot_older *ret)
{
	const struct session_options *options = like->options;
	struct session_leaks leaks;
	int error = 0;

	if (!options->leaks || options->mode != SNAPSHOT_EXACT || options->task != SESSION_WATCH)
		return 0;
	ret->asked = true;
	session_leaks_init(&leaks, options, like->view, like->plan);
	leaks.for_older = true;
	if (live_complete(watch->live))
		error = older_take(&leaks, watch, ret);
	else
		say(ret, "memattach", "not every call that allocates is seen");
	session_leaks_done(&leaks);
	log_debug("older blocks: %llu, %llu bytes, in %llu: %s",
		  (unsigned long long)ret->count, (unsigned long long)ret->bytes,
		  (unsigned long long)ret->memory_bytes, ret->judged ? "known" : ret->why);
	return error;
}
