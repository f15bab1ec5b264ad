/* SPDX-License-Identifier: MIT */
/*
 * session_plan.c - OPENED -> PLANNED: what of a target is to be hooked, and what stands in the way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/elf/link_map.h"
#include "src/plan/hook_planner.h"
#include "src/session/refusal.h"
#include "src/session/session.h"
#include "src/session/state.h"

#define MAX_EXE_BYTES (1ll << 29)

/* The executable's whole file, for symbols that are not loaded. Kept while a plan is made. */
static int exe_file(void *context, const struct procmap *map, struct planner_file *ret)
{
	struct session *s = context;
	const struct module *m = modules_find(s->view.modules, map->start);
	struct stat file;
	ssize_t got = 0;

	if (!m || m->fd < 0 || fstat(m->fd, &file) < 0 || file.st_size > MAX_EXE_BYTES)
		return -ENOENT;
	free(s->exe_file);
	s->exe_file = malloc((size_t)file.st_size + 1);
	if (!s->exe_file)
		return -ENOMEM;
	for (off_t at = 0; at < file.st_size; at += got) {
		got = pread(m->fd, s->exe_file + at, (size_t)(file.st_size - at), at);
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
	}
	ret->bytes = s->exe_file;
	ret->size = (size_t)file.st_size;
	return 0;
}

int session_plan(struct session *s, bool map_only)
{
	s->map_only = map_only;

	struct hook_planner_input input = {
		.maps = &s->view.maps, .reader = &s->view.reader,
		.auxv = s->view.hello.auxv, .auxv_bytes = s->view.hello.auxv_bytes,
		.track = s->options->track, .custom = &s->options->custom,
		.map_only = map_only, .clearance = s->clearance,
		.file = exe_file, .file_context = s,
	};
	int error = hook_planner_run(&input, &s->plan);

	free(s->exe_file);	/* it may have hundreds of megabytes */
	s->exe_file = NULL;
	s->map_only = map_only;
	if (error) {
		(void)snprintf(s->link.reply.text, sizeof(s->link.reply.text), "%s",
			       link_map_error(error));
		return session_fail(s, SESSION_REFUSED, "can't read the target's list of modules",
				    error);
	}
	if (s->options->task != SESSION_CLEANUP && (s->options->track & ALLOCATOR_TRACK_MALLOC))
		nameless_add(&s->nameless, s->view.modules, &s->plan);
	s->planned_modules = modules_count(s->view.modules);
	return 0;
}

/* Families of allocators that later has and plan does not are named in plan as not seen. */
static void add_later(struct hook_plan *plan, const struct hook_plan *later)
{
	for (uint32_t i = 0; i < later->family_count; i++) {
		const struct hook_family *family = &later->family[i];
		bool known = family->kind != HOOK_FAMILY_MALLOC;

		for (uint32_t k = 0; k < plan->family_count && !known; k++)
			known = strcmp(plan->family[k].module, family->module) == 0 &&
				strcmp(plan->family[k].name, family->name) == 0;
		if (known)
			continue;
		if (plan->family_count == HOOK_MAX_FAMILIES ||
		    plan->skipped_count >= HOOK_MAX_SKIPPED) {
			plan->left_out++;
			return;
		}
		plan->family[plan->family_count] = *family;
		plan->skipped_family[plan->skipped_count] = (uint8_t)plan->family_count++;
		(void)snprintf(plan->skipped[plan->skipped_count++], HOOK_SKIPPED_BYTES,
			       "all of %.20s: loaded after the attach; attach again to see it",
			       family->name);
	}
}

void session_plan_later(struct session *s)
{
	struct hook_planner_input input = {
		.maps = &s->view.maps, .reader = &s->view.reader,
		.auxv = s->view.hello.auxv, .auxv_bytes = s->view.hello.auxv_bytes,
		.track = ALLOCATOR_TRACK_MALLOC, .map_only = true,
	};
	uint32_t count = modules_count(s->view.modules);
	_cleanup_free_ struct hook_plan *later = NULL;

	if (count == s->planned_modules || !(s->options->track & ALLOCATOR_TRACK_MALLOC))
		return;
	later = malloc(sizeof(*later));
	if (!later || hook_planner_run(&input, later))
		return;		/* its list of modules changes: the next time */
	s->planned_modules = count;
	add_later(&s->plan, later);
	nameless_add(&s->nameless, s->view.modules, &s->plan);
}

int session_refuse(struct session *s, const struct session_refusal *refusal)
{
	if (session_has_ended(s))	/* which looks as if it had nothing */
		return session_fail(s, SESSION_TARGET_ENDED, "can't attach", -ESRCH);
	log_error("%s; %s", refusal->reason, refusal->remedy);
	s->exit = SESSION_REFUSED;
	return -ENOTSUP;
}

/*
 * A program that is being started is entered by dlopen only where that makes a difference: some
 * functions that throw can't be hooked otherwise. Its loader has done its work for now, and holds
 * no lock.
 */
static int plan_start(struct session *s)
{
	int error = session_plan(s, false);
	uint32_t all = s->plan.entry_count;
	uint64_t dlopen = s->plan.dlopen;

	if (!error)
		error = session_plan(s, true);
	if (!error && dlopen && s->plan.entry_count < all)
		error = session_plan(s, false);
	return error;
}

int session_make_plan(struct session *s)
{
	int error = s->options->task == SESSION_RUN && s->options->loader != LOADER_MAP ?
			    plan_start(s) :
			    session_plan(s, s->options->loader == LOADER_MAP);
	struct session_refusal refusal;

	if (error)
		return error;
	if (session_refusal_of(&s->plan, s->options, &refusal))
		return session_refuse(s, &refusal);
	s->state = STATE_PLANNED;
	return 0;
}

static bool plan_hooks(const struct hook_plan *plan, enum ring_shape shape)
{
	for (uint32_t i = 0; i < plan->entry_count; i++)
		if (plan->entry[i].shape == shape)
			return true;
	return false;
}

/*
 * Samples bear names if that is asked for. Rules hold only as long as every change of code is seen
 * before it happens: by these hooks.
 */
bool session_recognises(const struct session *s)
{
	struct link_map_auxv auxv = { 0 };

	const struct session_options *o = s->options;
	bool usual = o->mode == SNAPSHOT_EXACT || o->counts == COUNTS_SITES;
	bool sampled = o->mode == SNAPSHOT_SAMPLED || o->mode == SNAPSHOT_ADAPTIVE;

	if (o->stacks == STACKS_COPY ||
	    (!usual && !(sampled && o->stacks == STACKS_RECOGNISE)))
		return false;
	link_map_parse_auxv(s->view.hello.auxv, s->view.hello.auxv_bytes, &auxv);
	return plan_hooks(&s->plan, RING_SHAPE_MMAP) && plan_hooks(&s->plan, RING_SHAPE_MUNMAP) &&
	       plan_hooks(&s->plan, RING_SHAPE_MREMAP) &&
	       (auxv.base == 0 || plan_hooks(&s->plan, RING_SHAPE_DL_STATE));
}
