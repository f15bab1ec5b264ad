/* SPDX-License-Identifier: MIT */
/*
 * session_leaks.c - see session_leaks.h.
 *
 * The books are copied as they stood at the moment of the picture: from then on the target
 * runs, frees and allocates, and is left before the search begins.
 */
#include "src/session_leaks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/leak/mark.h"
#include "src/leak/roots.h"

enum { MAX_PICTURES = 30 };
#define BETWEEN_PICTURES_NS 10000000l	/* for an allocator to finish what it was at */

void session_leaks_init(struct session_leaks *l, const struct session_options *options,
			struct target_view *view, const struct hook_plan *plan)
{
	memset(l, 0, sizeof(*l));
	l->options = options;
	l->view = view;
	l->plan = plan;
	l->picture.mem = -1;
}

static int open_picture(struct session_leaks *l, struct keeper_link *link)
{
	_cleanup_fd_ int maps = keeper_link_take_fd(link, 1), threads = -1;
	int mem = keeper_link_take_fd(link, 0), error;
	size_t count = link->reply.value[2], bytes = count * sizeof(struct picture_thread);
	uint64_t pause_us = link->reply.value[0];
	void *list;

	threads = keeper_link_take_fd(link, 2);
	list = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, threads, 0) : MAP_FAILED;
	if (list == MAP_FAILED) {
		cleanup_fd(&mem);
		return -EIO;
	}
	error = picture_open(mem, maps, list, count, &l->picture);
	(void)munmap(list, bytes);
	l->picture.pause_us = pause_us;
	if (!error && !l->options->stop_for_picture)
		error = picture_add_live(&l->picture, fcntl(l->view->mem, F_DUPFD_CLOEXEC, 0),
					 &l->view->maps);
	return error;
}

/* The keeper's thread records are the picture's. */
_Static_assert(sizeof(struct picture_thread) == sizeof(struct stop_thread) &&
		       offsetof(struct picture_thread, registers) ==
			       offsetof(struct stop_thread, registers),
	       "they cross as they are");

struct copying {
	struct session_leaks *l;
	const struct ticks *ticks;
	double now;
	int error;
};

static void copy_block(void *context, const struct live_block *block)
{
	struct copying *c = context;
	struct session_leaks *l = c->l;

	if (c->error || l->known_count == l->known_room)
		return;
	l->known[l->known_count] = (struct session_block){
		.known = { .address = block->address, .bytes = block->size,
			   .site = block->site,
			   .age = c->now - ticks_seconds(c->ticks, block->time) },
		.time = block->time, .weight = block->weight,
	};
	c->error = hashmap_put(&l->by_address, block->address, l->known_count);
	l->known_count++;
}

static int copy_books(struct session_leaks *l, struct watch *watch, uint64_t moment)
{
	struct copying c = { .l = l, .ticks = &watch->ticks,
			     .now = ticks_seconds(&watch->ticks, moment) };

	hashmap_done(&l->by_address);
	free(l->known);
	l->known_count = 0;
	l->known_room = live_count(watch->live);
	l->known = calloc(l->known_room + 1, sizeof(*l->known));
	if (!l->known)
		return -ENOMEM;
	live_each(watch->live, copy_block, &c);
	return c.error;
}

int session_leaks_take(struct session_leaks *l, struct watch *watch)
{
	struct keeper_link *link = l->view->link;
	uint64_t value[4] = { l->plan->gadget_syscall_ret, l->plan->gadget_restorer,
			      l->options->stop_for_picture, 0 }, moment;
	int error, held;

	link->idle = NULL;	/* what comes after the picture stays in the rings */
	error = keeper_link_call(link, PROTO_FREEZE, value, NULL, 0);
	if (error)
		return error;
	l->taken = true;
	moment = l->moment = link->reply.value[1];
	error = open_picture(l, link);
	if (error || !watch)
		return error;
	held = watch_hold_at(watch, moment);
	if (held)
		log_debug("a record from before the picture is missing");
	error = copy_books(l, watch, moment);
	watch_go_on(watch);
	return error;
}

static bool known(void *context, uint64_t address, struct analysis_known *ret)
{
	const struct session_leaks *l = context;
	uint64_t at;

	if (!hashmap_get(&l->by_address, address, &at))
		return false;
	*ret = l->known[at].known;
	return true;
}

static void each_known(void *context,
		       void (*each)(void *each_context, const struct analysis_known *block),
		       void *each_context)
{
	const struct session_leaks *l = context;

	for (size_t i = 0; i < l->known_count; i++)
		each(each_context, &l->known[i].known);
}

static void note_reachable(void *context, const struct analysis_known *block)
{
	struct session_leaks *l = context;
	uint64_t at;

	if (hashmap_get(&l->by_address, block->address, &at))
		l->known[at].reachable = true;
}

static int search_once(struct session_leaks *l)
{
	struct analysis_input input = {
		.picture = &l->picture, .modules = l->view->modules,
		.known = l->known ? known : NULL, .each_known = l->known ? each_known : NULL,
		.reachable = l->known ? note_reachable : NULL,
		.trace_to = l->options->trace_to,
		.context = l, .roots = l->options->roots,
		.heuristics = MARK_ALL_HEURISTICS, .workers = 2,
	};

	return analysis_run(&input, &l->report);
}

/* An allocator that nobody can walk is named: "0 lost" says nothing about its older blocks. */
static void name_uncovered(struct session_leaks *l)
{
	struct leak_report *report = l->report;

	for (uint32_t i = 0; i < l->plan->family_count; i++) {
		const struct hook_family *f = &l->plan->family[i];
		struct leak_heap *heap = &report->heap[report->heap_count];
		bool named = f->kind != HOOK_FAMILY_MALLOC;

		for (uint32_t k = 0; k < report->heap_count; k++)
			named = named || strcmp(report->heap[k].allocator, f->name) == 0;
		if (named || report->heap_count == LEAK_MAX_HEAPS)
			continue;
		*heap = (struct leak_heap){ .covered = false };
		(void)snprintf(heap->allocator, sizeof(heap->allocator), "%.15s", f->name);
		(void)snprintf(heap->version, sizeof(heap->version), "%.31s", f->version);
		(void)snprintf(heap->why, sizeof(heap->why), "its structures can't be read yet");
		report->heap_count++;
		report->covers_older_blocks = false;
	}
}

int session_leaks_search(struct session_leaks *l)
{
	int error = search_once(l);

	/* the books stay as they were at the first one: sites of newer blocks are not known */
	for (int i = 1; error == -EAGAIN && i < MAX_PICTURES; i++) {
		error = session_leaks_thaw(l);
		(void)nanosleep(&(struct timespec){ 0, BETWEEN_PICTURES_NS }, NULL);
		if (!error)
			error = session_leaks_take(l, NULL);
		if (!error)
			error = search_once(l);
	}
	if (!error)
		name_uncovered(l);
	return error;
}

int session_leaks_thaw(struct session_leaks *l)
{
	if (!l->taken)
		return 0;
	picture_done(&l->picture);
	l->taken = false;
	return keeper_link_call(l->view->link, PROTO_THAW, NULL, NULL, 0);
}

void session_leaks_done(struct session_leaks *l)
{
	picture_done(&l->picture);
	hashmap_done(&l->by_address);
	free(l->known);
	leak_report_free(l->report);
	l->known = NULL;
	l->report = NULL;
}
