/* SPDX-License-Identifier: MIT */
/*
 * watch.c - see watch.h.
 *
 * Events come in an order that keeps each address's history right (reader.h).
 * A stack copy still lies in shared memory: it is copied once, and only the copy
 * is looked at. When the dynamic loader announces a change, the maps are read
 * before any later event is booked, so that its frames find their modules.
 */
#include "src/watch/watch_counts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "inject/attach/ring_publish.h"
#include "src/base/hashmap.h"
#include "src/base/spare_pages.h"
#include "src/watch/counter_bounds.h"
#include "src/watch/evict.h"
#include "src/watch/watch_ahead.h"

#define PAGE 4096ull
#define RULES_NS 5000000ull	/* between tries to publish rules; more after failures */
#define RULES_MAX_NS 200000000ull
#define BEGUN_NS 1000000000ull
#define BEAT_EVENTS EVICT_EVENTS
#define LOOK_NS 5000000ull	/* between looks at the maps for wrong frees */
#define CALLS_END_NS 300000000ull /* calls from before the attach have returned: free_places */
enum { HOLD_DRAINS = 200 };
#define HOLD_PAUSE_NS 5000000ull
#define BETWEEN_NS 1000000ull	/* from one drain to the next, while other work is done */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int map_ring(struct watch *w, int fd)
{
	struct stat file;
	void *mapping;

	if (fstat(fd, &file) < 0)
		return -errno;
	if (file.st_size < (off_t)sizeof(struct ring_control))
		return -EBADMSG;
	mapping = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	w->control = mapping;
	w->mapped_bytes = (size_t)file.st_size;
	return 0;
}

/* The hooked functions' own code and, anywhere in a stack, the shim's: no report shows it. */
static int set_allocator_frames(struct watch *w)
{
	struct frame_range range[RING_MAX_ENTRIES];
	size_t count = 0;

	for (uint32_t i = 0; i < w->plan->entry_count; i++) {
		const struct hook_entry *e = &w->plan->entry[i];
		const struct module *m = modules_find(w->view->modules, e->address);
		uint64_t bias = m ? m->bias : 0;

		if (w->plan->family[e->family].kind == HOOK_FAMILY_MALLOC)
			range[count++] = (struct frame_range){ m ? m->id : 0, e->low - bias,
							       e->high - bias };
	}
	for (uint32_t id = 1; id <= modules_count(w->view->modules); id++) {
		const struct module *m = modules_get(w->view->modules, id);

		if (m && m->kind == MODULE_SHIM && !m->closed)
			stacks_hide_module(w->stacks, id);
	}
	return sites_set_allocator_frames(w->sites, range, count);
}

/*
 * Where nothing is known to be mapped the target's maps may be from before a mapping that no
 * hook saw. While a request to the keeper is pending, files of modules can't be had.
 */
static enum wrong_free_reason place_of(void *context, const struct event *event)
{
	struct watch *w = context;
	enum wrong_free_reason reason = free_places_judge(w->places, event);
	uint64_t now = now_ns();

	if (reason != WRONG_FREE_UNMAPPED || now < w->next_look_ns || w->view->link->busy)
		return reason;
	w->next_look_ns = now + LOOK_NS;
	return target_view_refresh(w->view) < 0 ? reason : free_places_judge(w->places, event);
}

static int make_books(struct watch *w)
{
	struct live_options options = {
		.exact = w->options.mode == SNAPSHOT_EXACT,
		.complete = w->options.mode == SNAPSHOT_EXACT && w->plan->left_out == 0 &&
			    w->plan->skipped_count == w->plan->harmless_count,
		.lost = w->reader ? reader_lost_records : NULL,
		.settle_ticks = (uint64_t)w->ticks.hz,
		.from_start = w->options.from_start,
		.place = place_of,
		.place_context = w,
		.free_stacks = w->options.free_stacks,
	};
	int error = stacks_new(&w->stacks);

	if (!error)
		error = free_places_new(w->view, &w->places);
	options.context = w->reader;
	for (uint32_t i = 0; i < w->plan->entry_count; i++) {
		const struct hook_entry *e = &w->plan->entry[i];

		options.realloc_entry[i] = e->shape == RING_SHAPE_REALLOC ||
					   e->shape == RING_SHAPE_REALLOCARRAY ||
					   e->shape == RING_SHAPE_CUSTOM_REALLOC;
		options.custom_entry[i] = ring_shape_is_custom(e->shape);
		options.glibc_entry[i] = strcmp(w->plan->family[e->family].name, "glibc") == 0;
	}
	if (!error)
		error = sites_new(w->stacks, &w->sites);
	if (!error)
		error = live_new(&options, w->sites, &w->live);
	return error ? error : set_allocator_frames(w);
}

static int look_again(void *context)
{
	return target_view_refresh(context);
}

/* Without room in the shared memory for it every stack is copied. */
static int make_recognition(struct watch *w)
{
	struct recognition_input input = {
		.control = w->control, .mapped_bytes = w->mapped_bytes, .stacks = w->stacks,
		.modules = w->view->modules, .unwinder = w->unwinder,
		.verify = w->options.verify_stacks, .look_again = look_again,
		.context = w->view,
	};
	int error;

	if (!w->options.recognise)
		return 0;
	error = recognition_new(&input, &w->recognition);
	return error == -ENOTSUP ? 0 : error;
}

int watch_open(struct watch *w, struct target_view *view, const struct hook_plan *plan,
	       struct unwinder *unwinder, const struct watch_options *options, int ring_fd)
{
	_cleanup_fd_ int fd = ring_fd;
	struct reader_source source;
	int error;

	spare_clear(w, offsetof(struct watch, stack_copy));
	w->view = view;
	w->plan = plan;
	w->unwinder = unwinder;
	w->options = *options;
	w->stack_places.by_kernel = view->hello.may_readv;
	error = map_ring(w, fd);
	source = (struct reader_source){ .mapping = w->control, .bytes = w->mapped_bytes };
	if (!error)
		error = ticks_calibrate(10, &w->ticks);
	if (!error)
		error = reader_new(&source, &w->reader);
	if (!error)
		error = make_books(w);
	if (!error && options->mode == SNAPSHOT_EXACT)
		reader_foresee(w->reader, watch_foresee, w);
	if (!error && w->options.mode == SNAPSHOT_COUNTS)
		error = watch_counts_open(w);
	if (!error)
		error = make_recognition(w);
	if (!error)
		evict_begin(w);
	return error;
}

int watch_open_empty(struct watch *w, struct target_view *view, const struct hook_plan *plan,
		     const struct watch_options *options)
{
	int error;

	spare_clear(w, offsetof(struct watch, stack_copy));
	w->view = view;
	w->plan = plan;
	w->options = *options;
	w->begin_ns = now_ns();
	error = ticks_calibrate(10, &w->ticks);
	return error ? error : make_books(w);
}

void watch_close(struct watch *w)
{
	live_free(w->live);
	thread_ids_done(&w->threads);
	free_places_free(w->places);
	sites_free(w->sites);
	recognition_free(w->recognition);
	counts_free(w->counts);
	stacks_free(w->stacks);
	reader_free(w->reader);
	timeline_done(&w->timeline);
	if (w->control)
		(void)munmap(w->control, w->mapped_bytes);
	w->control = NULL;
}

/* Rules for the modules of now; as long as the target changes them, none hold. */
static void publish_rules(struct watch *w)
{
	uint64_t generation = __atomic_load_n(&w->control->module_generation, __ATOMIC_SEQ_CST);
	int error;

	if (!w->recognition || !recognition_wants_rules(w->recognition) || w->view->link->busy)
		return;
	error = target_view_refresh(w->view);
	if (error >= 0)
		error = recognition_publish(w->recognition, generation);
	if (error == -ENOMEM && !w->error)
		w->error = error;
	if (error != -EAGAIN || w->rules_pause_ns < RULES_NS)
		w->rules_pause_ns = RULES_NS;
	else if (w->rules_pause_ns < RULES_MAX_NS)
		w->rules_pause_ns *= 2;
	w->next_rules_ns = now_ns() + w->rules_pause_ns;
}

/* The beginning, when all paths are new, counts for itself. */
static void say_begun(struct watch *w)
{
	if (!w->recognition || w->begun || !w->begin_ns || now_ns() - w->begin_ns < BEGUN_NS)
		return;
	w->begun = true;
	recognition_say(w->recognition, "in the first second");
}

/* At once and not again for a while. */
static void publish_stacks(struct watch *w)
{
	uint64_t begin = now_ns(), ticks = ticks_now();

	/* while a request to the keeper is pending, files can't be had: soon again */
	stack_places_put_off(&w->stack_places);
	if (w->view->link->busy)
		return;
	(void)target_view_publish_stacks(w->view, w->control, w->mapped_bytes,
					 w->plan->main_stack_end);
	stack_places_told(&w->stack_places, w->booked, ticks, begin, now_ns());
}

static void publish(struct watch *w)
{
	uint64_t generation = __atomic_load_n(&w->control->module_generation, __ATOMIC_ACQUIRE);

	publish_stacks(w);
	if (w->begin_ns && now_ns() - w->begin_ns < CALLS_END_NS && !w->options.from_start)
		free_places_note(w->places);
	__atomic_store_n(&w->control->module_ack, generation, __ATOMIC_RELEASE);
	publish_rules(w);
	say_begun(w);
}

static enum ring_mode ring_mode(const struct watch *w)
{
	if (w->counts)
		return RING_MODE_COUNT;
	return w->options.mode == SNAPSHOT_EXACT ? RING_MODE_ALL : RING_MODE_SAMPLE;
}

static void begin_pace(struct watch *w)
{
	bool sampled = w->options.mode == SNAPSHOT_SAMPLED ||
		       w->options.mode == SNAPSHOT_ADAPTIVE;
	const struct pace_input input = {
		.control = w->control, .control_bytes = w->mapped_bytes, .reader = w->reader,
		.live = w->live, .sites = w->sites, .ticks = &w->ticks,
		.target = w->view->hello.pid,
		.percent = w->options.mode == SNAPSHOT_ADAPTIVE ? w->options.percent : 0,
		.pair_cost = w->options.pair_cost, .custom_cost = w->options.custom_cost,
		.sampled = sampled,
		.woken = (w->options.unhurried || sampled) && watch_is_woken(w),
	};

	pace_begin(&w->pace, &input);
}

void watch_begin(struct watch *w)
{
	struct ring_control *c = w->control;

	publish(w);
	c->may_readv = w->view->hello.may_readv;
	c->may_wait = w->view->hello.may_wait;
	c->overflow = w->options.block ? RING_OVERFLOW_BLOCK : RING_OVERFLOW_DROP;
	c->interval = w->options.mode == SNAPSHOT_SAMPLED ? w->options.sample_bytes : 0;
	c->free_stacks = w->options.free_stacks;
	if (w->options.observe)
		c->calls = RING_CALLS | (w->view->hello.may_gettid ? RING_CALLS_TID : 0);
	if (w->recognition) {
		publish_rules(w);	/* what was mapped while the first were compiled */
		recognition_begin(w->recognition);
	}
	w->audit_generation = modules_generation(w->view->modules);
	w->epoch = __atomic_load_n(&c->epoch, __ATOMIC_RELAXED);
	ticks_restart(&w->ticks);
	w->begin_ns = now_ns();
	if (w->counts)
		watch_counts_allow(w, 0);
	begin_pace(w);
	held_look(&w->memory_held, target_view_sizes(w->view).data);
	__atomic_store_n(&c->mode, (uint32_t)ring_mode(w), __ATOMIC_RELEASE);
	if (live_tells_frees(w->live) && target_view_refresh(w->view) >= 0)
		free_places_note(w->places);
}

void watch_end(struct watch *w)
{
	uint64_t deadline = __atomic_load_n(&w->control->deadline, __ATOMIC_RELAXED);
	uint64_t now = ticks_now();

	w->lapsed = __atomic_load_n(&w->control->lapsed, __ATOMIC_ACQUIRE) >=
		    __atomic_load_n(&w->control->epoch, __ATOMIC_RELAXED);
	w->open_gap = w->lapsed && now > deadline ? now - deadline : 0;
	__atomic_store_n(&w->control->mode, RING_MODE_OFF, __ATOMIC_RELEASE);
	pace_end(&w->pace);
}

/* A stack of which only the innermost return address is known. */
int watch_caller_stack(struct watch *w, uint64_t caller, uint32_t *ret_stack)
{
	const struct module *m = modules_find(w->view->modules, caller);
	struct frame frame = { .module = m ? m->id : 0, .flags = FRAME_RETURN,
			       .offset = caller - (m ? m->bias : 0) };

	return stacks_intern(w->stacks, &frame, 1, STACK_TRUNCATED | STACK_CALLER_ONLY, ret_stack);
}

/* The stack is copied once, and only the copy is looked at. False: there is none. */
static bool take_copy(struct watch *w, const struct event *event, struct unwind_input *ret)
{
	*ret = event_unwind_input(event);
	if (!event->stack_bytes || event->stack_bytes > sizeof(w->stack_copy))
		return false;
	memcpy(w->stack_copy, event->stack, event->stack_bytes);
	ret->stack = w->stack_copy;
	if (event->path)	/* its caller is the first word of the copy */
		memcpy(&ret->registers.rip, w->stack_copy, sizeof(ret->registers.rip));
	return true;
}

/*
 * Only what is younger than the last change of the modules: what came before it is to be walked
 * by modules that are not known any more.
 */
static bool may_audit(struct watch *w, const struct event *event)
{
	uint64_t generation = modules_generation(w->view->modules);

	if (generation != w->audit_generation) {
		w->audit_generation = generation;
		w->audit_from = ticks_now();
	}
	return event->time >= w->audit_from;
}

/* The stack of an event that bears a path's name; 0: nobody knows it. */
uint32_t watch_named_stack(struct watch *w, const struct event *event)
{
	uint32_t stack = w->recognition ? recognition_find(w->recognition, event) : 0;
	struct unwind_input input;

	if (stack && event->stack_bytes && may_audit(w, event) && take_copy(w, event, &input))
		recognition_audit(w->recognition, &input, !(event->flags & RING_F_TRUNCATED),
				  stack);
	return stack;
}

/* It was copied although stacks have names. */
static void note_copy(struct watch *w, const struct event *event)
{
	recognition_copied(w->recognition, event);
	if (event->flags >> RING_COPIED_SHIFT == RING_COPIED_NO_END)
		stack_places_missed(&w->stack_places, event->time);
}

int watch_stack(struct watch *w, const struct event *event, uint32_t *ret_stack)
{
	struct unwind_input input;
	int error = -EINVAL;

	if (event->path) {
		*ret_stack = watch_named_stack(w, event);
		if (*ret_stack)
			return 0;
	}
	if (take_copy(w, event, &input))
		error = unwinder_stack(w->unwinder, w->stacks, &input, ret_stack);
	if (error == -EINVAL)
		error = watch_caller_stack(w, event->caller, ret_stack);
	if (w->recognition && !event->path)
		note_copy(w, event);
	w->events.unwound++;
	if (!error && (stacks_get(w->stacks, *ret_stack).flags & STACK_TRUNCATED))
		w->events.truncated++;
	return error;
}

/* The stack of a free: mostly its caller is all that is kept. 0: nothing is. */
static int free_stack_of(struct watch *w, const struct event *event, uint32_t *ret_stack)
{
	struct watch_caller *memo = &w->caller[hashmap_hash(event->caller) % WATCH_CALLERS];
	uint64_t generation = modules_generation(w->view->modules);
	int error;

	if (!live_tells_frees(w->live))
		return 0;
	if (live_wants_free_stack(w->live, event))
		return watch_stack(w, event, ret_stack);
	if (!memo->stack || memo->caller != event->caller || memo->generation != generation) {
		error = watch_caller_stack(w, event->caller, &memo->stack);
		if (error)
			return error;
		memo->caller = event->caller;
		memo->generation = generation;
	}
	*ret_stack = memo->stack;
	return 0;
}

static void count(struct watch *w, const struct event *event)
{
	enum ring_kind kind = event->kind;

	w->events.alloc += kind == RING_ALLOC;
	w->events.intervals += kind == RING_ALLOC ? event->interval : 0;
	w->events.free += kind == RING_FREE;
	w->events.map += kind == RING_MAP;
	w->events.unmap += kind == RING_UNMAP;
}

/* Records of a new epoch are seen after it is. */
static void look_for_gap(struct watch *w)
{
	uint64_t epoch = __atomic_load_n(&w->control->epoch, __ATOMIC_ACQUIRE);

	if (epoch == w->epoch || w->overwritten)
		return;
	w->overwritten = !counter_bounds_epoch(epoch, w->epoch, watch_seconds(w));
	if (w->overwritten)
		return;
	/* of several gaps only the last one's end is known */
	if (w->resumed || epoch - w->epoch > 1)
		live_lose_track(w->live, w->resumed);
	w->epoch = epoch;
	w->resumed = __atomic_load_n(&w->control->resumed, __ATOMIC_RELAXED);
}

static void pass_gap(struct watch *w, uint64_t now)
{
	if (!w->resumed || now < w->resumed)
		return;
	live_lose_track(w->live, w->resumed);
	w->resumed = 0;
}

static void tell(struct watch *w, const struct event *event)
{
	int error = w->recognition ? recognition_tell(w->recognition, event) : 0;

	if (error && !w->error)
		w->error = error;
}

/* What is unmapped holds no block from before the attach any more. */
static void note_unmapping(struct watch *w, const struct event *event)
{
	uint64_t low = event->address, high = (low + event->size + PAGE - 1u) & ~(PAGE - 1u);

	if (event->kind == RING_UNMAP)
		free_places_unmap(w->places, low, high);
	else if (event->kind == RING_UNMAP_UNDO)
		free_places_unmap_failed(w->places, low, high);
	else if (event->kind == RING_BRK)	/* from its size to its address */
		free_places_unmap(w->places, low, event->size);
}

static void book_event(struct watch *w, const struct event *event)
{
	uint32_t stack = 0;
	int error = 0;

	if (++w->booked % BEAT_EVENTS == 0) {	/* a full ring of copies can take seconds */
		(void)__atomic_add_fetch(&w->control->beat, 1, __ATOMIC_RELAXED);
		evict_if_needed(w);
	}
	look_for_gap(w);
	pass_gap(w, event->time);
	count(w, event);
	if (w->options.observe)
		w->options.observe(w->options.observer, event);
	if (event->kind == RING_MODULE)
		publish(w);
	note_unmapping(w, event);
	if (event->kind == RING_CALL || event->kind == RING_MODULE)
		return;
	if (event->kind == RING_PATH)
		return tell(w, event);
	if (w->counts && event->kind == RING_ALLOC) {
		error = watch_counts_event(w, event);
		w->error = w->error ? w->error : error;
		return;
	}
	if (live_wants_stack(event))
		error = watch_stack(w, event, &stack);
	else if (event->kind == RING_FREE)
		error = free_stack_of(w, event, &stack);
	if (!error)
		error = live_apply(w->live, event, stack);
	if (error && !w->error)
		w->error = error;
	/* it will never be as sure to live as now */
	if (live_threads(w->live) != w->threads.count)
		thread_ids_look(&w->threads, w->live, &w->view->reader, false);
}

static void book(void *context, const struct event *event)
{
	struct watch *w = context;
	const struct site_oddities *now = sites_oddities(w->sites), before = *now;
	bool twice;

	book_event(w, event);
	twice = now->double_free != before.double_free;
	if (w->options.observe_wrong && (twice || now->illegal_free != before.illegal_free))
		w->options.observe_wrong(w->options.observer, event, twice);
}

static int drain(struct watch *w)
{
	uint64_t alloc = w->events.alloc, free = w->events.free;
	uint64_t certain = w->events.map + w->events.unmap, intervals = w->events.intervals;
	struct pace_records booked;
	int events;

	pace_drain_begin(&w->pace);
	events = reader_drain(w->reader, book, w);
	booked = (struct pace_records){
		.alloc = w->events.alloc - alloc, .free = w->events.free - free,
		.certain = w->events.map + w->events.unmap - certain,
		.intervals = w->events.intervals - intervals,
	};
	pace_drain_end(&w->pace, &booked);
	return events;
}

double watch_seconds(const struct watch *w)
{
	return w->begin_ns ? (double)(now_ns() - w->begin_ns) / 1e9 : 0;
}

int watch_drain(struct watch *w)
{
	int events;

	watch_mind_confined(w);
	if (!w->held)
		pace_turn(&w->pace);
	if (w->counts)
		watch_counts_allow(w, watch_seconds(w));
	(void)__atomic_add_fetch(&w->control->beat, 1, __ATOMIC_RELAXED);
	events = drain(w);
	look_for_gap(w);
	pass_gap(w, reader_time(w->reader));
	live_settle(w->live, reader_time(w->reader));
	if (w->view->link->target_gone || w->view->link->busy)
		return events;
	if (stack_places_due(&w->stack_places, w->booked, now_ns()))
		publish(w);
	else if (now_ns() >= w->next_rules_ns)
		publish_rules(w);
	return events;
}

void watch_keep_up(void *context)
{
	struct watch *w = context;
	uint64_t begin = now_ns(), end;

	if (begin < w->next_between_ns)
		return;
	(void)watch_drain(w);
	end = now_ns();
	w->next_between_ns = end + (end - begin > BETWEEN_NS ? end - begin : BETWEEN_NS);
}

int watch_hold_at(struct watch *w, uint64_t moment)
{
	reader_hold(w->reader, moment);
	w->held = true;
	for (int i = 0; i < HOLD_DRAINS; i++) {
		(void)watch_drain(w);
		if (reader_time(w->reader) >= moment)
			return 0;
		reader_wait(w->reader, HOLD_PAUSE_NS);
	}
	return -ETIME;
}

void watch_go_on(struct watch *w)
{
	reader_hold(w->reader, 0);
	w->held = false;
}

void watch_look_at_threads(struct watch *w, bool last)
{
	if (!last && w->booked == w->looked)
		return;		/* none has done anything: it is as it was */
	w->looked = w->booked;
	thread_ids_look(&w->threads, w->live, &w->view->reader, true);
	thread_ids_name(&w->threads, w->view->link, last);
}

void watch_finish(struct watch *w)
{
	(void)reader_finish(w->reader, book, w);
	if (w->lapsed)
		live_lose_track(w->live, reader_time(w->reader));
	live_finish(w->live);
	if (w->recognition)
		recognition_say(w->recognition, "in all");
	ticks_refine(&w->ticks);
	if (w->counts && !w->error)
		w->error = watch_counts_read(w, true);
	w->finished = true;
	w->counts_ns = 0;
}
