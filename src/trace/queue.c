/* SPDX-License-Identifier: MIT */
/*
 * queue.c - see queue.h.
 *
 * A ring of lines, named by numbers that only grow. What was announced and has not returned is in
 * a small table beside it: as many as threads are inside such a call. Who never returns (its
 * record was lost, the thread ended) is pushed out by time.
 *
 * Rejected: sorting by the time of the call. Two calls of different threads overlap, and by
 * their beginnings a block can be allocated before the free that made it available begins.
 */
#include "src/trace/queue.h"

#include <errno.h>
#include <string.h>

#define OPEN_MAX 1024u	/* threads inside a free at once; of more the ends are not known */
#define NO_LINE UINT64_MAX
#define LEFT_OUT (UINT64_MAX - 1u)

struct open_call {
	struct trace_line call;
	uint64_t number;	/* of its line; NO_LINE: it has none yet, LEFT_OUT: nor will */
};
struct trace_queue {
	struct trace_line *line;
	size_t room;
	uint64_t first, next;	/* numbers: the lines [first, next) are here */
	uint64_t patience, latest;
	uint32_t open_count, open_places;	/* open calls, and those without a line */
	struct open_call open[OPEN_MAX];
};

int trace_queue_new(size_t lines, uint64_t patience, struct trace_queue **ret)
{
	struct trace_queue *queue = calloc(1, sizeof(*queue));

	if (queue)
		queue->line = calloc(lines, sizeof(*queue->line));
	if (!queue || !queue->line) {
		free(queue);
		return -ENOMEM;
	}
	queue->room = lines;
	queue->patience = patience;
	*ret = queue;
	return 0;
}

void trace_queue_free(struct trace_queue *queue)
{
	if (!queue)
		return;
	free(queue->line);
	free(queue);
}

size_t trace_queue_room(const struct trace_queue *queue)
{
	return queue->room - (size_t)(queue->next - queue->first);
}

static struct trace_line *line_at(struct trace_queue *queue, uint64_t number)
{
	return &queue->line[number % queue->room];
}

/* A copy of line at the end. Records of one ring may be stamped a moment before one another. */
static uint64_t push(struct trace_queue *queue, const struct trace_line *line)
{
	struct trace_line *place = line_at(queue, queue->next);

	*place = *line;
	if (place->time < queue->latest)
		place->time = queue->latest;
	queue->latest = place->time;
	return queue->next++;
}

static void forget(struct trace_queue *queue, uint32_t at)
{
	queue->open_places -= queue->open[at].number == NO_LINE;
	queue->open[at] = queue->open[--queue->open_count];
}

/* Its end will not be known, or is no longer wanted. */
static void give_up(struct trace_queue *queue, uint32_t at)
{
	uint64_t number = queue->open[at].number;

	if (number < LEFT_OUT && number >= queue->first)
		line_at(queue, number)->open = false;
	forget(queue, at);
}

/* A thread may be inside one call of each class: free may call munmap. */
static uint32_t find_open(const struct trace_queue *queue, const struct trace_line *call)
{
	uint32_t at = 0;

	while (at < queue->open_count &&
	       (queue->open[at].call.thread != call->thread ||
		trace_is_mapping(&queue->open[at].call) != trace_is_mapping(call)))
		at++;
	return at;
}

/* Room in the table, at the cost of those that have waited too long already. */
static bool make_room(struct trace_queue *queue, uint64_t now)
{
	for (uint32_t i = queue->open_count; queue->open_count == OPEN_MAX && i-- > 0;) {
		uint64_t begun = queue->open[i].call.time;

		if (now > begun && now - begun > queue->patience)
			give_up(queue, i);
	}
	return queue->open_count < OPEN_MAX;
}

static bool is_realloc(const struct trace_line *call)
{
	return call->shape != RING_SHAPE_FREE && call->shape != RING_SHAPE_MUNMAP;
}

void trace_queue_announce(struct trace_queue *queue, const struct trace_line *call)
{
	uint32_t at = find_open(queue, call);
	struct open_call *open;

	if (at < queue->open_count)	/* a signal handler's, or its record was lost */
		give_up(queue, at);
	if (!make_room(queue, call->time)) {
		if (!is_realloc(call) && trace_queue_room(queue) >= TRACE_QUEUE_SPARE)
			(void)push(queue, call);
		return;
	}
	open = &queue->open[queue->open_count++];
	*open = (struct open_call){ .call = *call, .number = NO_LINE };
	open->call.open = true;
	if (is_realloc(call))
		queue->open_places++;
	else if (trace_queue_room(queue) < TRACE_QUEUE_SPARE)
		open->number = LEFT_OUT;
	else
		open->number = push(queue, &open->call);
}

void trace_queue_mark(struct trace_queue *queue, const struct trace_line *call)
{
	uint32_t at = find_open(queue, call);
	struct open_call *open = &queue->open[at];

	if (at == queue->open_count || open->call.argument[0] != call->argument[0])
		return;
	open->call.wrong = call->wrong;
	if (open->number < LEFT_OUT && open->number >= queue->first)
		line_at(queue, open->number)->wrong = call->wrong;
}

/* Another thread's realloc gave block back before it returned: its place is before taker's. */
static void place_before(struct trace_queue *queue, const struct trace_line *taker)
{
	uint64_t block = trace_given(taker);

	for (uint32_t i = 0; block && queue->open_places && i < queue->open_count; i++) {
		struct open_call *open = &queue->open[i];

		if (open->number != NO_LINE || open->call.argument[0] != block ||
		    open->call.thread == taker->thread)
			continue;
		open->call.time = taker->time;
		open->number = push(queue, &open->call);
		queue->open_places--;
		return;
	}
}

/* Into the place that it got when it was announced. False: it has none any more. */
static void fill(struct trace_queue *queue, uint64_t number, const struct trace_line *call)
{
	struct trace_line *place;
	uint64_t time;

	if (number < queue->first)
		return;		/* it was let go without its end */
	place = line_at(queue, number);
	time = place->time;
	*place = *call;
	place->time = time;
}

bool trace_queue_return(struct trace_queue *queue, const struct trace_line *call, bool announced)
{
	uint32_t at = announced ? find_open(queue, call) : queue->open_count;
	bool known = at < queue->open_count &&
		     queue->open[at].call.argument[0] == call->argument[0];
	struct trace_line returned = *call;
	uint64_t number = known ? queue->open[at].number : NO_LINE;

	if (announced && !known && !is_realloc(call))
		return true;	/* it stands there already, without its end */
	if (known) {
		returned.old_size = queue->open[at].call.old_size;
		returned.old_known = queue->open[at].call.old_known;
		returned.wrong = queue->open[at].call.wrong;
		forget(queue, at);
	}
	if (number == LEFT_OUT)
		return false;
	if (number != NO_LINE) {
		fill(queue, number, &returned);
		return true;
	}
	if (trace_queue_room(queue) < TRACE_QUEUE_SPARE)
		return false;
	place_before(queue, &returned);
	(void)push(queue, &returned);
	return true;
}

bool trace_queue_remark(struct trace_queue *queue, const struct trace_line *line)
{
	if (trace_queue_room(queue) == 0)
		return false;
	(void)push(queue, line);
	return true;
}

const struct trace_line *trace_queue_first(struct trace_queue *queue, uint64_t now)
{
	const struct trace_line *line = line_at(queue, queue->first);

	if (queue->first == queue->next)
		return NULL;
	if (!line->open || trace_queue_room(queue) < TRACE_QUEUE_SPARE)
		return line;
	return now > line->time && now - line->time > queue->patience ? line : NULL;
}

void trace_queue_shift(struct trace_queue *queue)
{
	queue->first++;
}
