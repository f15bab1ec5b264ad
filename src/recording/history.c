/* SPDX-License-Identifier: MIT */
/*
 * history.c - see history.h.
 *
 * The recording is hostile as any: it is read by recording_read, which checks it, into memory,
 * before anything is done to the target, and by the process that has no privilege.
 * Frames without a build id (code made at run time, files built without one) are equal to none:
 * a site that is taken for another would be given its lifetimes. Rejected: functions and lines
 * as the key, which survive a rebuild; a rebuilt program may be the one whose leak was mended.
 */
#include "src/recording/history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/base/hashmap.h"
#include "src/recording/recorded_candidates.h"

#define MAX_BUILD_ID	128u	/* digits, as modules.h has them */
#define COMPARED_FLAGS	((uint32_t)(FRAME_RETURN | FRAME_SIGNAL))

struct history {
	struct recording_content content;
	struct suspect_past *past;	/* of content.snapshot->site[i] */
	struct hashmap by_stack;	/* hash -> i, of sites with something to tell */
};

static const char *recorded_build_id(void *context, uint32_t module)
{
	return recording_build_id(context, module);
}

static struct history_modules own_modules(const struct history *history)
{
	return (struct history_modules){ recorded_build_id,
					 (void *)(uintptr_t)&history->content };
}

static const char *build_id_of(const struct history_modules *modules, const struct frame *frame)
{
	const char *ret = frame->module ? modules->build_id(modules->context, frame->module) : "";

	return strnlen(ret, MAX_BUILD_ID + 1) > MAX_BUILD_ID ? "" : ret;
}

/* False: it can't be compared. */
static bool hash_stack(enum site_kind kind, const struct frame *frame, uint32_t count,
		       const struct history_modules *modules, uint64_t *ret)
{
	uint64_t hash = hashmap_hash((uint64_t)kind + 1);

	for (uint32_t i = 0; i < count; i++) {
		const char *build_id = build_id_of(modules, &frame[i]);

		if (!build_id[0])
			return false;
		for (; *build_id; build_id++)
			hash = hash * 31 + (unsigned char)*build_id;
		hash = hashmap_hash(hash ^ frame[i].offset);
	}
	*ret = hash;
	return count > 0;
}

/* The recorded frames of a site without the allocator's own; count 0: none. */
static struct stack stack_of(const struct history *history, const struct snapshot_site *site)
{
	struct stack stack = stacks_get(history->content.stacks, site->stack);
	uint32_t skip = site->skip_frames < stack.frame_count ? site->skip_frames :
								stack.frame_count;

	stack.frame_count -= skip;
	if (skip)
		stack.frame += skip;
	return stack;
}

static int index_site(struct history *history, size_t i)
{
	const struct recording_content *content = &history->content;
	const struct snapshot_site *site = &content->snapshot->site[i];
	struct history_modules modules = own_modules(history);
	struct suspect_past *past = &history->past[i];
	struct stack stack = stack_of(history, site);
	struct suspect_finding finding;
	uint64_t hash, other;

	if (!recording_suspect(content, i, NULL, &finding) ||
	    !hash_stack(site->kind, stack.frame, stack.frame_count, &modules, &hash) ||
	    hashmap_get(&history->by_stack, hash, &other))
		return 0;
	*past = (struct suspect_past){ .seconds = content->lives->seconds,
				       .life = site_lives_find(content->lives, site->id),
				       .growing = finding.growing };
	return hashmap_put(&history->by_stack, hash, i);
}

static int index_sites(struct history *history)
{
	size_t count = history->content.snapshot->site_count;
	int error = 0;

	history->past = calloc(count + 1, sizeof(*history->past));
	if (!history->past)
		return -ENOMEM;
	for (size_t i = 0; !error && i < count; i++)
		error = index_site(history, i);
	return error;
}

static int check_program(const struct history *history, const char *path, const char *build_id,
			 char problem[HISTORY_PROBLEM_BYTES])
{
	if (!history->content.lives && history->content.warning[0])
		return -EBADMSG;
	if (!history->content.lives || !history->content.lives->count) {
		(void)snprintf(problem, HISTORY_PROBLEM_BYTES,
			       "%.300s holds no lifetimes of blocks: nothing was watched, or an "
			       "older memattach made it", path);
		return -ENODATA;
	}
	if (!build_id[0]) {
		(void)snprintf(problem, HISTORY_PROBLEM_BYTES,
			       "the process's executable has no build id, so that no recording can "
			       "be shown to be of it (link it with -Wl,--build-id)");
		return -ESRCH;
	}
	if (recording_has_build_id(&history->content, build_id))
		return 0;
	(void)snprintf(problem, HISTORY_PROBLEM_BYTES,
		       "%.200s is of another program, or of another build of it: it has no module "
		       "with the executable's build id %.80s", path, build_id);
	return -ESRCH;
}

int history_open(const char *path, const char *build_id, char problem[HISTORY_PROBLEM_BYTES],
		 struct history **ret)
{
	struct history *history = calloc(1, sizeof(*history));
	int error = history ? 0 : -ENOMEM;

	problem[0] = '\0';
	if (!error)
		error = recording_read(path, &history->content);
	if (!error)
		error = check_program(history, path, build_id, problem);
	if (!error)
		error = index_sites(history);
	if (error && !problem[0])
		recording_explain(path, error, problem, HISTORY_PROBLEM_BYTES);
	if (error)
		history_free(history);
	else
		*ret = history;
	return error;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	recording_content_done(&history->content);
	hashmap_done(&history->by_stack);
	free(history->past);
	free(history);
}

double history_seconds(const struct history *history)
{
	return history->content.lives->seconds;
}

static bool is_same(const struct frame *a, const struct history_modules *a_modules,
		    const struct frame *b, const struct history_modules *b_modules)
{
	return a->offset == b->offset &&
	       (a->flags & COMPARED_FLAGS) == (b->flags & COMPARED_FLAGS) &&
	       strcmp(build_id_of(a_modules, a), build_id_of(b_modules, b)) == 0;
}

const struct suspect_past *history_find(const struct history *history, enum site_kind kind,
					const struct frame *frame, uint32_t count,
					const struct history_modules *modules)
{
	struct history_modules own = own_modules(history);
	const struct snapshot_site *site;
	struct stack stack;
	uint64_t hash, at;

	if (!hash_stack(kind, frame, count, modules, &hash) ||
	    !hashmap_get(&history->by_stack, hash, &at))
		return NULL;
	site = &history->content.snapshot->site[at];
	stack = stack_of(history, site);
	if (site->kind != kind || stack.frame_count != count)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!is_same(&stack.frame[i], &own, &frame[i], modules))
			return NULL;
	return &history->past[at];
}
