/* SPDX-License-Identifier: MIT */
/*
 * session_leaks.c - see session_leaks.h.
 *
 * The books are copied as they stood at the moment of the picture: from then on the target
 * runs, frees and allocates, and is left before the search begins. Only the walk of the heaps
 * comes before that: should an allocator have been at work in the picture, the next one needs
 * books of its own (with those of an older moment, blocks get the sites of others before them).
 */
#include "src/session/session_leaks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "inject/quiesce/vectors.h"
#include "src/base/log.h"
#include "src/elf/link_map.h"
#include "src/leak/mark/mark.h"
#include "src/leak/roots/roots.h"
#include "src/report/caller.h"
#include "src/session/show_bytes.h"
#include "src/session/under_way.h"

enum { MAX_PICTURES = 30, MAX_LATE = 3, SAME_PLACE = 4 };
/* For an allocator to finish what it was at: longer each time, as it may wait for a processor. */
#define BETWEEN_PICTURES_NS 10000000l
#define LONGEST_BETWEEN_NS 100000000l
#define MAX_SEARCHED	(256ull << 30)	/* by two processors: some minutes */

void session_leaks_init(struct session_leaks *l, const struct session_options *options,
			struct target_view *view, const struct hook_plan *plan)
{
	memset(l, 0, sizeof(*l));
	l->options = options;
	l->view = view;
	l->plan = plan;
	l->picture.mem = l->pagemap = -1;
}

int session_leaks_open_history(struct session_leaks *l)
{
	const struct proto_hello *hello = &l->view->hello;
	const char *path = l->options->history;
	char problem[HISTORY_PROBLEM_BYTES];
	struct link_map_auxv auxv = { 0 };
	const struct module *program;

	if (!path)
		return 0;
	link_map_parse_auxv(hello->auxv, hello->auxv_bytes, &auxv);
	program = modules_find(l->view->modules, auxv.entry);
	if (history_open(path, program ? program->build_id : "", problem, &l->history) == 0)
		return 0;
	log_error("--history: %s", problem);
	return -ENOTDIR;
}

/* What is newer than the picture is not missing in it: view->maps are older. */
static int note_uncopied(struct session_leaks *l)
{
	const struct ranges *live = &l->picture.live_ranges;
	const struct range *end = live->range ? live->range + live->count : NULL;
	const struct procmaps *before = &l->view->maps;
	int error = 0;

	for (size_t i = 0; !error && i < before->count; i++) {
		const struct procmap *map = &before->map[i];
		const struct range *r = ranges_at_or_above(live, map->start);
		bool counts = (map->prot & PROCMAP_W) && !(map->prot & PROCMAP_SHARED);

		for (; counts && !error && r && r < end && r->low < map->end; r++)
			error = ranges_add(&l->uncopied, r->low > map->start ? r->low : map->start,
					   r->high < map->end ? r->high : map->end);
	}
	ranges_normalize(&l->uncopied);
	return error;
}

/* What the picture has no copy of. */
static int add_live(struct session_leaks *l)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error = procmaps_read(l->view->maps_fd, &maps);

	/* an ended target keeps nothing */
	if (error)
		return error == -ENOMEM ? error : 0;
	error = picture_add_live(&l->picture, fcntl(l->view->mem, F_DUPFD_CLOEXEC, 0), &maps);
	return error ? error : note_uncopied(l);
}

static int open_picture(struct session_leaks *l, struct keeper_link *link)
{
	_cleanup_fd_ int maps = keeper_link_take_fd(link, 1), threads = -1;
	int mem = keeper_link_take_fd(link, 0), error;
	size_t count = link->reply.value[2], vectors = link->reply.value[3];
	size_t first = count * sizeof(struct picture_thread);
	size_t bytes = first + vectors * sizeof(struct picture_vector);
	uint64_t pause_us = link->reply.value[0];
	/* else what was mapped again since the copy looks like what is kept from children */
	bool complete = link->reply.value[4];
	void *list;

	threads = keeper_link_take_fd(link, 2);
	l->pagemap = keeper_link_take_fd(link, 3);
	list = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, threads, 0) : MAP_FAILED;
	if (list == MAP_FAILED) {
		cleanup_fd(&mem);
		return -EIO;
	}
	error = picture_open(mem, maps, list, count, &l->picture) ?:
		picture_add_vectors(&l->picture, (void *)((char *)list + first), vectors);
	(void)munmap(list, bytes);
	l->picture.pause_us = pause_us;
	ranges_done(&l->uncopied);
	if (!error && !complete && !l->options->stop_for_picture)
		error = add_live(l);
	return error;
}

/* The keeper's thread records are the picture's. */
_Static_assert(sizeof(struct picture_thread) == sizeof(struct stop_thread) &&
		       offsetof(struct picture_thread, registers) ==
			       offsetof(struct stop_thread, registers),
	       "they cross as they are");
_Static_assert(sizeof(struct picture_vector) == sizeof(struct vector_word) &&
		       offsetof(struct picture_vector, value) ==
			       offsetof(struct vector_word, value),
	       "they cross as they are");

struct copying {
	struct session_leaks *l;
	const struct watch *watch;
	const struct ticks *ticks;
	double now;
	int error;
};

/*
 * Sites are told apart by the innermost call alone: (module, offset), or the stack's id. Calls in
 * the C library and the C++ runtime (operator new) are the same for all who allocate by them.
 */
static uint64_t place_of(const struct session_leaks *l, const struct watch *watch, uint32_t id)
{
	const struct site *site = sites_peek(watch->sites, id);
	struct stack stack;

	if (!site || !site->stack)
		return id;
	stack = stacks_get(watch->stacks, site->stack);
	for (uint32_t i = site->skip_frames; i < stack.frame_count; i++) {
		const struct module *m = modules_get(l->view->modules, stack.frame[i].module);

		if (!m || !caller_is_library(m->path))
			return (uint64_t)stack.frame[i].module << 48 ^ stack.frame[i].offset;
	}
	return id;
}

static void copy_block(void *context, const struct live_block *block)
{
	struct copying *c = context;
	struct session_leaks *l = c->l;

	/* It lies in one of those that are searched, if anywhere. */
	if (c->error || l->known_count == l->known_room || block->custom)
		return;
	l->known[l->known_count] = (struct session_block){
		.known = { .address = block->address, .bytes = block->size,
			   .site = block->site, .place = place_of(l, c->watch, block->site),
			   .age = c->now - ticks_seconds(c->ticks, block->time),
			   .weight = block->weight },
		.time = block->time, .weight = block->weight,
	};
	c->error = hashmap_put(&l->by_address, block->address, l->known_count);
	l->known_count++;
}

static int copy_books(struct session_leaks *l, const struct watch *watch, uint64_t moment)
{
	struct copying c = { .l = l, .watch = watch, .ticks = &watch->ticks,
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

/* More than can be read: never done. */
static int check_size(const struct session_leaks *l)
{
	struct proto_message *reply = &l->view->link->reply;
	uint64_t bytes = picture_filled_bytes(&l->picture);

	if (bytes <= MAX_SEARCHED)
		return 0;
	(void)snprintf(reply->text, sizeof(reply->text),
		       "%llu GiB of its memory would have to be read, more than the %llu GiB that "
		       "can be%s", (unsigned long long)(bytes >> 30), MAX_SEARCHED >> 30,
		       l->picture.holes.count ? "" : " (the kernel does not tell what is empty)");
	return -EFBIG;
}

/* What the mappings are like at the picture; that they can't be had is no reason to fail. */
static int begin_memory(struct session_leaks *l, struct analysis_input *input)
{
	int error;

	if (!l->memory)
		return 0;
	error = session_memory_take(l->memory, l->view, l->picture.idle, l->picture.idle_context);
	return error == -ENOMEM ? error : session_memory_begin_walk(l->memory, input);
}

static int end_memory(struct session_leaks *l, int error)
{
	if (!l->memory)
		return error;
	if (!error)
		return session_memory_end_walk(l->memory, l->analysis, &l->picture);
	session_memory_forget_walk(l->memory);
	return error;
}

static int walk(struct session_leaks *l, struct watch *watch)
{
	struct analysis_input input = {
		.picture = &l->picture, .modules = l->view->modules,
		.known = l->known ? known : NULL, .each_known = l->known ? each_known : NULL,
		.reachable = l->known ? note_reachable : NULL,
		.trace_to = l->options->trace_to,
		.context = l, .roots = l->options->roots,
		.heuristics = MARK_ALL_HEURISTICS, .workers = 2,
		.show_bytes = l->options->show_bytes,
		.salvage = l->same_why >= SAME_PLACE || l->view->link->target_ending,
		.torn = l->torn_why,
		.torn_bytes = sizeof(l->torn_why),
	};
	int error;

	if (watch) {
		l->picture.idle = watch_keep_up;
		l->picture.idle_context = watch;
	}
	error = begin_memory(l, &input);
	if (!error)
		error = picture_find_holes(&l->picture, l->pagemap, l->view->pagemap);
	if (!error && l->options->leaks)
		error = check_size(l);
	if (!error)
		error = analysis_begin(&input, &l->analysis);
	error = end_memory(l, error);
	l->picture.idle = NULL;
	return error;
}

/* What is freed from this moment on is to be judged. -EAGAIN: not by this picture. */
static int begin_older(struct session_leaks *l, struct watch *watch)
{
	const struct under_way input = { .picture = &l->picture, .modules = l->view->modules,
					 .plan = l->plan, .live = watch->live };

	l->under_way = under_way(&input);
	if (l->under_way)
		return -EAGAIN;
	live_await_older(watch->live, l->moment);
	return 0;
}

/*
 * All that was recorded up to the picture, and nothing after it. -ETIME: a thread is late with its
 * record; others may wait for room meanwhile, so that is not waited for many times.
 */
static int note_books(struct session_leaks *l, struct watch *watch)
{
	int error = watch_hold_at(watch, l->moment);

	if (!error)
		error = l->for_older ? begin_older(l, watch) : copy_books(l, watch, l->moment);
	watch_go_on(watch);
	return error;
}

int session_leaks_freeze(struct session_leaks *l)
{
	struct keeper_link *link = l->view->link;
	uint64_t value[PROTO_ASKED] = { l->plan->gadget_syscall_ret, l->plan->gadget_restorer,
			      l->options->stop_for_picture, 0 };
	int error;

	link->idle = NULL;	/* what comes after the picture stays in the rings */
	error = keeper_link_call(link, PROTO_FREEZE, value, NULL, 0);
	if (error)
		return error;
	l->taken = true;
	l->moment = link->reply.value[1];
	return open_picture(l, link);
}

int session_leaks_walk(struct session_leaks *l, const struct watch *watch)
{
	int error = copy_books(l, watch, l->moment);

	return error ? error : walk(l, NULL);
}

/* Do all threads stand where they stood in the picture before? Where they do is summed up. */
static bool is_asleep(struct session_leaks *l)
{
	uint64_t before = l->places, sum = l->picture.thread_count;

	for (size_t i = 0; i < l->picture.thread_count; i++) {
		const struct user_regs_struct *r = &l->picture.thread[i].registers;

		sum = (sum ^ r->rip) * 0x9e3779b97f4a7c15u + r->rsp;
	}
	l->places = sum;
	return sum == before;
}

/*
 * Work in progress moves on: what does not add up at the same address in picture after picture is
 * damaged. Words without an address may be said of different places.
 */
static void compare_torn(struct session_leaks *l)
{
	bool asleep = is_asleep(l);
	bool same = strcmp(l->torn_why, l->torn_before) == 0 &&
		    (strstr(l->torn_why, " at 0x") || asleep);

	l->same_why = l->torn && same ? l->same_why + 1 : 0;
	memcpy(l->torn_before, l->torn_why, sizeof(l->torn_before));
}

static void wait_for_another(int taken)
{
	long pause = taken * BETWEEN_PICTURES_NS;
	struct timespec t = { 0, pause < LONGEST_BETWEEN_NS ? pause : LONGEST_BETWEEN_NS };

	(void)nanosleep(&t, NULL);
}

/* torn: another moment is a better one. */
static int take_once(struct session_leaks *l, struct watch *watch)
{
	int error;

	l->torn = false;
	error = session_leaks_freeze(l);
	if (error)
		return error;
	error = watch ? note_books(l, watch) : 0;
	l->late += error == -ETIME;
	if (!error)
		error = walk(l, watch);
	l->torn = error == -EAGAIN || (error == -ETIME && l->late < MAX_LATE);
	return error;
}

static void say_torn(struct session_leaks *l)
{
	struct keeper_link *link = l->view->link;
	const char *why = link->target_ending ?
		"a thread was in its allocator, or in a hook, when the process ended, or its heap "
		"is damaged" :
		l->torn ? "its allocator is at work in every picture; try again" :
			  "records of what it did before the picture are late; try again";

	(void)snprintf(link->reply.text, sizeof(link->reply.text), "%s", why);
}

int session_leaks_take(struct session_leaks *l, struct watch *watch)
{
	int error = take_once(l, watch);

	/* at its end there is no other moment */
	for (int i = 1; l->torn && i < MAX_PICTURES && !l->view->link->target_ending; i++) {
		compare_torn(l);
		error = session_leaks_thaw(l);
		if (watch)
			(void)watch_drain(watch);
		wait_for_another(i);
		if (error) {	/* a picture that ended looks torn, too */
			l->ended = l->view->link->reply.value[0];
			l->torn = false;
			return error;
		}
		error = take_once(l, watch);
	}
	if (l->torn || (error == -ETIME && l->late))
		say_torn(l);
	return error;
}

/* glibc's malloc begins with the heap behind the program's data. */
static bool has_program_heap(const struct picture *picture)
{
	for (size_t i = 0; i < picture->maps.count; i++)
		if (strcmp(picture->maps.map[i].path, "[heap]") == 0)
			return true;
	return false;
}

/* An allocator that nobody can walk is named: "0 lost" says nothing about its older blocks. */
static void name_uncovered(struct session_leaks *l)
{
	struct leak_report *report = l->report;

	for (uint32_t i = 0; i < l->plan->family_count; i++) {
		const struct hook_family *f = &l->plan->family[i];
		struct leak_heap *heap = &report->heap[report->heap_count];
		/* another allocator stands before it, and it was never used */
		bool idle = strcmp(f->name, "glibc") == 0 && !has_program_heap(&l->picture);
		bool named = f->kind != HOOK_FAMILY_MALLOC || idle;

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

/*
 * Memory that is younger than the rest: a collector has let go of things in it meanwhile, and what
 * they led to looks lost. So nothing is surely lost then.
 */
static void doubt_late(struct session_leaks *l)
{
	struct leak_report *report = l->report;
	struct leak_sum *possibly = &report->kind[BLOCK_POSSIBLY_LOST];

	for (size_t i = 0; i < l->uncopied.count; i++)
		report->late_bytes += l->uncopied.range[i].high - l->uncopied.range[i].low -
				      picture_hole_bytes(&l->picture, l->uncopied.range[i].low,
							 l->uncopied.range[i].high);
	if (!report->late_bytes)
		return;
	for (int kind = BLOCK_POSSIBLY_LOST + 1; kind < BLOCK_KINDS; kind++) {
		possibly->count += report->kind[kind].count;
		possibly->bytes += report->kind[kind].bytes;
		report->kind[kind] = (struct leak_sum){ 0, 0 };
	}
	for (size_t i = 0; i < report->group_count; i++)
		if (report->group[i].verdict == LEAK_DEFINITELY_LOST)
			report->group[i].verdict = LEAK_POSSIBLY_LOST;
	leak_report_sort(report);
}

int session_leaks_search(struct session_leaks *l)
{
	int error = analysis_search(l->analysis, &l->report);

	if (!error)
		name_uncovered(l);
	if (!error)
		doubt_late(l);
	if (!error && l->options->show_bytes)
		error = session_contents_keep(l);
	return error;
}

/* A copy that has ended has no memory. */
static bool is_there(const struct picture *picture)
{
	const struct procmaps *maps = &picture->maps;
	char byte;

	for (size_t i = 0; i < maps->count; i++)
		if (maps->map[i].prot & PROCMAP_R)
			return pread(picture->mem, &byte, 1, (off_t)maps->map[i].start) == 1;
	return false;
}

bool session_leaks_keep_picture(struct session_leaks *l)
{
	if (!l->report || l->options->access_seconds <= 0 || l->options->stop_for_picture ||
	    l->view->link->target_ending || !is_there(&l->picture))
		return false;
	analysis_free(l->analysis);
	l->analysis = NULL;
	return true;
}

int session_leaks_thaw(struct session_leaks *l)
{
	int error;

	if (!l->taken)
		return 0;
	analysis_free(l->analysis);
	l->analysis = NULL;
	picture_done(&l->picture);
	cleanup_fd(&l->pagemap);
	l->taken = false;
	error = keeper_link_call(l->view->link, PROTO_THAW, NULL, NULL, 0);
	if (!error && l->options->stop_for_picture && l->memory && l->memory->figures)
		l->memory->figures->pause_us = l->view->link->reply.value[1];
	return error;
}

void session_leaks_done(struct session_leaks *l)
{
	analysis_free(l->analysis);
	l->analysis = NULL;
	picture_done(&l->picture);
	cleanup_fd(&l->pagemap);
	hashmap_done(&l->by_address);
	free(l->known);
	leak_report_free(l->report);
	history_free(l->history);
	session_contents_done(l);
	ranges_done(&l->uncopied);
	l->known = NULL;
	l->report = NULL;
	l->history = NULL;
}
