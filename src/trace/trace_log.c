/* SPDX-License-Identifier: MIT */
/*
 * trace_log.c - see trace_log.h.
 *
 * Events become lines in a queue (queue.h), in order. From its head they go out as soon as
 * they are complete and their caller has a name, into the buffer of a thread that writes. Both
 * are bounded, and what finds no room is counted. Filters are asked last: an order that is
 * right needs every call.
 */
#include "src/trace/trace_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/base/hashmap.h"
#include "src/base/log.h"
#include "src/live/thread_ids.h"
#include "src/report/style.h"
#include "src/trace/format.h"
#include "src/trace/out.h"
#include "src/trace/queue.h"
#include "src/trace/trace_places.h"

#define QUEUE_LINES	131072u
#define OUT_BYTES	(4u << 20)
#define ROOM		(2u * TRACE_QUEUE_SPARE) /* a call, and what is to be said */
#define PUMP_EVENTS	1024u		/* inside a drain */
#define REFINE_TICKS	1.0		/* seconds between corrections of the clock's rate */
#define WAIT_MS		20u
#define TEXT_BLOCKS	1000u

struct trace_log {
	struct trace_log_input in;
	const struct trace_format *format;
	struct trace_scene scene;
	struct trace_queue *queue;
	struct trace_places *places;
	struct trace_out *out;
	int fd;			/* of output; -1: the standard output */
	int error;		/* the output ended with it */
	bool left;
	FILE *text;		/* the next line, as text */
	char *bytes;
	size_t byte_count;
	bool ready;		/* bytes is the line at the head of the queue */
	uint64_t now;		/* TSC: everything before has been seen */
	uint64_t epoch, gap_cycles;
	uint64_t late;		/* calls left out since the last line that said so */
	uint32_t events;
	double refined;		/* seconds since the beginning */
	struct trace_counts counts;
	uint32_t lost[RING_MAX_RINGS];	/* as the last record of each ring said */
	struct hashmap tids;	/* thread pointer -> id */
	bool called[RING_MAX_ENTRIES];	/* the entry is the function that was asked for */
};

static int open_output(struct trace_log *log)
{
	const char *path = log->in.output;

	if (!path)
		return 0;
	/* a fifo that nobody reads is an error, not a wait; then writes may wait */
	log->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		       0666);
	if (log->fd < 0 || fcntl(log->fd, F_SETFL, 0) < 0) {
		log_error("can't write %s: %s; choose another place", path,
			  errno == ENXIO ? "nobody reads from it" : strerror(errno));
		return -ENOTDIR;
	}
	return 0;
}

static int open_parts(struct trace_log *log)
{
	const struct trace_log_input *in = &log->in;
	const struct trace_places_input places = {
		.symbolizer = in->symbolizer, .names = in->names, .filter = in->filter,
		.shape = in->names_shape, .text = log->format->place,
	};
	int error = trace_queue_new(QUEUE_LINES, (uint64_t)1e9, &log->queue);

	if (!error)
		error = trace_places_new(&places, &log->places);
	if (!error)
		error = trace_out_new(log->fd >= 0 ? log->fd : STDOUT_FILENO, OUT_BYTES,
				      &log->out);
	log->text = error ? NULL : open_memstream(&log->bytes, &log->byte_count);
	if (!error && !log->text)
		error = -ENOMEM;
	return error;
}

int trace_log_open(const struct trace_log_input *input, struct trace_log **ret)
{
	struct trace_log *log = calloc(1, sizeof(*log));
	int error;

	if (!log)
		return -ENOMEM;
	log->in = *input;
	log->fd = -1;
	log->format = input->json ? &trace_format_json : &trace_format_text;
	log->scene = (struct trace_scene){
		.plan = input->plan, .hello = &input->view->hello, .ticks = &input->watch->ticks,
		.color = input->color && !input->output,
	};
	error = open_output(log);
	if (!error)
		error = open_parts(log);
	if (error) {
		trace_log_close(log);
		return error;
	}
	*ret = log;
	return 0;
}

void trace_log_close(struct trace_log *log)
{
	if (!log)
		return;
	trace_out_free(log->out);
	cleanup_fd(&log->fd);
	if (log->text)
		(void)fclose(log->text);
	free(log->bytes);
	trace_places_free(log->places);
	trace_queue_free(log->queue);
	hashmap_done(&log->tids);
	free(log);
}

double trace_scene_time(struct trace_scene *scene, uint64_t tsc)
{
	double time = ticks_seconds(scene->ticks, tsc);

	if (time > scene->latest)
		scene->latest = time;
	return scene->latest;
}

const char *trace_scene_call(const struct trace_scene *scene, const struct trace_line *call)
{
	static char name[HOOK_NAME_BYTES];
	size_t length;

	if (call->entry >= scene->plan->entry_count)
		return "?";
	length = strcspn(scene->plan->entry[call->entry].name, "(");
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, scene->plan->entry[call->entry].name, length);
	name[length] = '\0';
	return name;
}

/* ---- out ---- */

static FILE *begin_text(struct trace_log *log)
{
	(void)fseeko(log->text, 0, SEEK_SET);
	return log->text;
}

/* Puts out what was printed since begin_text. 0, -EAGAIN no room yet, -errno for good. */
static int put_text(struct trace_log *log)
{
	int error = trace_out_put(log->out, log->bytes, log->byte_count);

	if (error && error != -EAGAIN && !log->error)
		log->error = error;
	return error;
}

static int end_text(struct trace_log *log)
{
	if (fflush(log->text) != 0 && !log->error)
		log->error = -ENOMEM;
	return log->error ? log->error : put_text(log);
}

/* The same, and waits for room. */
static void end_text_waiting(struct trace_log *log)
{
	int error = end_text(log);

	while (error == -EAGAIN) {
		trace_out_wait(log->out, WAIT_MS);
		error = put_text(log);
	}
}

/* The place that stands for the stack of an allocation; NULL: not known (yet). */
static const struct trace_place *caller_place(struct trace_log *log, uint32_t stack_id,
					      uint32_t skip, bool wait)
{
	struct stack stack = stacks_get(log->in.watch->stacks, stack_id);
	uint32_t from = skip < stack.frame_count ? skip : 0;

	return stack.frame_count ? trace_places_caller(log->places, &stack, from, wait) : NULL;
}

static bool has_stack(const struct trace_log *log, const struct trace_line *line)
{
	return stacks_get(log->in.watch->stacks, line->stack).frame_count > 0;
}

/* Is the line shown? *ret_place is for a call only. -EAGAIN: its name is not known yet. */
static int judge(struct trace_log *log, const struct trace_line *line,
		 const struct trace_place **ret_place)
{
	bool called = log->called[line->entry % RING_MAX_ENTRIES];
	const struct trace_place *place;
	int shown;

	*ret_place = NULL;
	if (line->kind != TRACE_CALL)
		return 1;
	if (!trace_filter_call(log->in.filter, line))
		return 0;
	place = trace_places_get(log->places, &line->caller, log->left);
	if (!place)
		return log->left ? 1 : -EAGAIN;
	shown = called ? place->passes_called : place->passes;
	if (!place->ends_search && has_stack(log, line)) {
		place = caller_place(log, line->stack, line->skip_frames, log->left);
		if (!place)
			return log->left ? 1 : -EAGAIN;
		shown |= called ? place->passes_called : place->passes;
	}
	*ret_place = place;
	return shown;
}

static void count_written(struct trace_log *log, const struct trace_line *line)
{
	log->counts.shown += line->kind == TRACE_CALL;
	log->counts.unreturned += line->kind == TRACE_CALL && !line->end;
	log->counts.lost += line->kind == TRACE_LOST ? line->count : 0;
	log->counts.late += line->kind == TRACE_LATE ? line->count : 0;
}

/* True: the line is done with. */
static bool write_line(struct trace_log *log, const struct trace_line *line)
{
	const struct trace_place *place = NULL;
	int shown = log->ready ? 1 : judge(log, line, &place);

	if (shown < 0)
		return false;
	if (!shown) {
		log->counts.filtered++;
		log->counts.unreturned += !line->end;
		return true;
	}
	if (!log->ready) {
		log->format->line(begin_text(log), &log->scene, line,
				  place ? place->text : log->format->no_place);
		log->ready = true;
		if (end_text(log) == -EAGAIN)
			return false;
	} else if (put_text(log) == -EAGAIN) {
		return false;
	}
	log->ready = false;
	count_written(log, line);
	return true;
}

static void write_lines(struct trace_log *log)
{
	const struct trace_line *line;

	while (!log->error && (line = trace_queue_first(log->queue, log->now)) != NULL) {
		if (!write_line(log, line))
			return;
		trace_queue_shift(log->queue);
	}
}

int trace_log_pump(struct trace_log *log)
{
	double seconds = ticks_seconds(log->scene.ticks, ticks_now());

	if (seconds > log->refined + REFINE_TICKS) {
		ticks_refine(&log->in.watch->ticks);
		log->refined = seconds;
	}
	log->now = reader_time(log->in.watch->reader);
	write_lines(log);
	trace_out_flush(log->out);
	if (!log->error)
		log->error = trace_out_error(log->out);
	return log->error;
}

/* ---- in ---- */

/* May somebody be kept waiting for this log: the target by its user's wish, or nobody but us? */
static bool may_wait(const struct trace_log *log)
{
	const struct ring_control *control = log->in.watch->control;

	return log->left ||
	       (log->in.block && !log->in.view->link->stop_wanted &&
		!log->in.view->link->target_gone && !log->in.view->link->busy &&
		__atomic_load_n(&control->mode, __ATOMIC_RELAXED) != RING_MODE_OFF);
}

static void wait_a_moment(struct trace_log *log)
{
	const struct timespec pause = { 0, 1000000 };

	(void)nanosleep(&pause, NULL);		/* a name may be what is waited for */
	trace_out_wait(log->out, WAIT_MS);
	if (log->left)
		return;
	(void)__atomic_add_fetch(&log->in.watch->control->beat, 1, __ATOMIC_RELAXED);
	if (keeper_link_poll(log->in.view->link, 0))
		log->error = -EPIPE;
}

/* The room that an event may need, if it can be had. */
static void make_room(struct trace_log *log)
{
	struct trace_line late = { .kind = TRACE_LATE, .time = log->now };

	if (++log->events % PUMP_EVENTS == 0 || trace_queue_room(log->queue) < ROOM)
		write_lines(log);
	while (trace_queue_room(log->queue) < ROOM && !log->error && may_wait(log)) {
		wait_a_moment(log);
		write_lines(log);
	}
	late.count = log->late;
	if (log->late && trace_queue_room(log->queue) >= ROOM &&
	    trace_queue_remark(log->queue, &late))
		log->late = 0;
}

static struct frame caller_of(const struct trace_log *log, uint64_t caller)
{
	const struct module *m = modules_find(log->in.view->modules, caller);

	return (struct frame){ .module = m ? m->id : 0, .flags = FRAME_RETURN,
			       .offset = caller - (m ? m->bias : 0) };
}

static struct trace_line line_of(const struct trace_log *log, const struct event *event)
{
	const struct hook_plan *plan = log->in.plan;

	return (struct trace_line){
		.entry = event->entry, .time = event->time, .thread = event->thread,
		.shape = event->entry < plan->entry_count ? plan->entry[event->entry].shape :
							    (uint16_t)RING_SHAPE_NONE,
		.caller = caller_of(log, event->caller),
	};
}

/* The thread's id, as its call may never return to say it. 0: not known. */
static uint32_t tid_of(struct trace_log *log, uint64_t thread)
{
	uint64_t tid;

	if (hashmap_get(&log->tids, thread, &tid))
		return (uint32_t)tid;
	tid = thread_ids_read(&log->in.view->reader, thread);
	if (tid && hashmap_put(&log->tids, thread, tid) < 0)
		return 0;
	return (uint32_t)tid;
}

/* The thread at this pointer may be another one by now. */
static void note_tid(struct trace_log *log, uint64_t thread, uint32_t tid)
{
	if (tid && tid_of(log, thread) != tid && hashmap_put(&log->tids, thread, tid) < 0)
		log_debug("out of memory: the id of a thread is not kept");
}

static void announce(struct trace_log *log, const struct event *event)
{
	struct trace_line line = line_of(log, event);

	line.tid = tid_of(log, event->thread);

	line.argument[0] = event->address;
	line.argument[1] = event->size;
	if (event->kind == RING_FREE)
		line.old_known = live_size_at(log->in.watch->live, event->address,
					      &line.old_size);
	trace_queue_announce(log->queue, &line);
}

/*
 * Calls of this ring that are missing since its last one. What two writers saw of the count may
 * be in another order than their records.
 */
static void note_losses(struct trace_log *log, const struct event *event)
{
	uint32_t *seen = &log->lost[event->ring % RING_MAX_RINGS];
	uint32_t lost = ring_call_lost(event->size), more = lost - *seen;
	struct trace_line line = { .kind = TRACE_LOST, .time = event->time, .count = more };

	if (more && more < 1u << 31 && trace_queue_remark(log->queue, &line))
		*seen = lost;
}

/* The allocation is booked before the record of the whole call comes. */
static void note_stack(const struct trace_log *log, struct trace_line *line)
{
	uint64_t block = trace_is_mapping(line) ? 0 : trace_given(line);
	uint32_t id = block ? live_site_at(log->in.watch->live, block) : 0;
	const struct site *site = id ? sites_peek(log->in.watch->sites, id) : NULL;

	line->stack = site ? site->stack : 0;
	line->skip_frames = site ? site->skip_frames : 0;
}

static bool returned(struct trace_log *log, const struct event *event)
{
	const struct ring_call *call = event->call;
	struct trace_line line = line_of(log, event);

	note_losses(log, event);
	line.begin = call->begin;
	line.end = call->end > call->begin ? call->end : call->begin + 1;
	memcpy(line.argument, call->argument, sizeof(line.argument));
	line.result = event->address;
	line.block = event->old_address;
	line.tid = ring_call_tid(event->size);
	note_tid(log, line.thread, line.tid);
	note_stack(log, &line);
	return trace_queue_return(log->queue, &line, event->flags & RING_F_ANNOUNCED);
}

/* An interruption of the recording; its end is known when events come again. */
static void note_gap(struct trace_log *log, const struct event *event)
{
	const struct watch *w = log->in.watch;
	uint64_t cycles = __atomic_load_n(&w->control->gap_cycles, __ATOMIC_RELAXED);
	struct trace_line line = { .kind = TRACE_GAP, .time = event->time,
				   .count = cycles - log->gap_cycles };

	if (w->epoch == log->epoch || w->resumed || !trace_queue_remark(log->queue, &line))
		return;
	log->epoch = w->epoch;
	log->gap_cycles = cycles;
}

void trace_log_observe(void *context, const struct event *event)
{
	struct trace_log *log = context;
	bool known = event->kind == RING_CALL || event->kind == RING_FREE ||
		     event->kind == RING_UNMAP;

	if (!known || log->error)
		return;
	log->now = event->time;
	make_room(log);
	note_gap(log, event);
	if (event->kind != RING_CALL)
		announce(log, event);
	else if (!returned(log, event))
		log->late++;
}

void trace_log_observe_wrong(void *context, const struct event *event, bool twice)
{
	struct trace_log *log = context;
	struct trace_line line = line_of(log, event);

	line.argument[0] = event->address;
	line.wrong = twice ? TRACE_FREED_TWICE : TRACE_FREED_NO_BLOCK;
	trace_queue_mark(log->queue, &line);
}

/* ---- beginning and end ---- */

void trace_log_begin(struct trace_log *log)
{
	const struct watch *w = log->in.watch;
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	log->scene.begin_time = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	log->epoch = w->epoch;
	for (uint32_t i = 0; i < log->in.plan->entry_count; i++)
		log->called[i] = trace_filter_called(log->in.filter,
						     log->in.plan->entry[i].name);
	log->format->begin(begin_text(log), &log->scene);
	(void)end_text(log);	/* the buffer is empty */
}

void trace_log_left(struct trace_log *log)
{
	log->left = true;
}

struct unfreed_list {
	struct live_block *block;
	size_t count, room;
	bool failed;
	const struct trace_filter *filter;
};

static void collect(void *context, const struct live_block *block)
{
	struct unfreed_list *list = context;
	const struct trace_filter *filter = list->filter;
	size_t room = list->room ? list->room * 2 : 1024;
	struct live_block *grown;

	if (filter->by_size && (block->size < filter->size_low || block->size > filter->size_high))
		return;
	if (list->count == list->room) {
		grown = reallocarray(list->block, room, sizeof(*grown));
		list->failed |= !grown;
		if (!grown)
			return;
		list->block = grown;
		list->room = room;
	}
	list->block[list->count++] = *block;
}

static int by_time(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	return x->time != y->time ? (x->time > y->time) - (x->time < y->time) :
				    (x->address > y->address) - (x->address < y->address);
}

static const struct trace_place *place_of(struct trace_log *log, const struct live_block *block)
{
	const struct site *site = sites_peek(log->in.watch->sites, block->site);

	return site ? caller_place(log, site->stack, site->skip_frames, true) : NULL;
}

/* Those that the filter shows, at the front of list. */
static void filter_blocks(struct trace_log *log, struct unfreed_list *list)
{
	const struct trace_filter *filter = log->in.filter;
	size_t kept = 0;
	bool called = false;

	if (!filter->site && !filter->function && !filter->module)
		return;
	for (uint32_t i = 0; i < log->in.plan->entry_count; i++)
		called |= log->called[i];
	for (size_t i = 0; i < list->count; i++) {
		const struct trace_place *place = place_of(log, &list->block[i]);

		if (place && (called ? place->passes_called : place->passes))
			list->block[kept++] = list->block[i];
	}
	list->count = kept;
}

static void write_block(struct trace_log *log, const struct live_block *block)
{
	const struct trace_place *place = place_of(log, block);
	const struct trace_block line = { .address = block->address, .size = block->size,
					  .time = block->time };

	log->format->block(begin_text(log), &log->scene, &line,
			   place ? place->text : log->format->no_place);
	end_text_waiting(log);
}

static void write_end(struct trace_log *log, const struct snapshot *snapshot)
{
	struct unfreed_list list = { .filter = log->in.filter };
	struct trace_end end = { .snapshot = snapshot, .counts = log->counts,
				 .signal = log->in.view->link->target_signal };
	size_t top;

	live_each(log->in.watch->live, collect, &list);
	if (list.count)
		qsort(list.block, list.count, sizeof(*list.block), by_time);
	filter_blocks(log, &list);
	top = log->in.top ? log->in.top : log->in.json ? list.count : TEXT_BLOCKS;
	if (top > list.count)
		top = list.count;
	end.blocks_left_out = list.count - top;
	log->format->end(begin_text(log), &log->scene, &end);
	end_text_waiting(log);
	for (size_t i = 0; i < top && !log->error; i++)
		write_block(log, &list.block[i]);
	free(list.block);
	if (list.failed)
		log_error("out of memory: blocks are missing from the log");
}

/* What the rings lost after the last call that they took. */
static void write_last_losses(struct trace_log *log)
{
	struct trace_line line = { .kind = TRACE_LOST, .time = log->now };
	struct reader_losses losses;
	uint64_t said = log->counts.lost;

	reader_losses(log->in.watch->reader, &losses);
	line.count = losses.call > said ? losses.call - said : 0;
	if (line.count) {
		log->format->line(begin_text(log), &log->scene, &line, NULL);
		end_text_waiting(log);
		log->counts.lost += line.count;
	}
	line.kind = TRACE_LATE;
	line.count = log->late;
	if (line.count) {
		log->format->line(begin_text(log), &log->scene, &line, NULL);
		end_text_waiting(log);
		log->counts.late += line.count;
	}
}

int trace_log_end(struct trace_log *log, const struct snapshot *snapshot)
{
	const struct trace_line *line;
	int error;

	log->left = true;
	while (!log->error && (line = trace_queue_first(log->queue, UINT64_MAX)) != NULL) {
		if (write_line(log, line))
			trace_queue_shift(log->queue);
		else
			trace_out_wait(log->out, WAIT_MS);
	}
	if (!log->error)
		write_last_losses(log);
	if (!log->error)
		write_end(log, snapshot);
	error = trace_out_finish(log->out);
	return log->error ? log->error : error;
}

void trace_log_explain(const struct trace_log *log, int error)
{
	const char *path = log->in.output;

	if (error == -EPIPE)
		log_error("nobody reads the log of calls any more: it ends here");
	else
		log_error("can't write the log of calls%s%s: %s; %s", path ? " to " : "",
			  path ? path : "", strerror(-error), error == -ENOSPC ?
			  "make room, or choose another place with -o" : "choose another place");
}
