/* SPDX-License-Identifier: MIT */
/*
 * report_names.c - see report_names.h.
 *
 * To find names takes a child that reads the target's files, and to write them room in the
 * recording: of a few hundred sessions few are ever looked at, so both are for these. What is found
 * is kept by the symbolizer alone, which answers the same at the end; so the finished recording has
 * what it would have without us. Code of a JIT compiler is left to the end, which reads its map.
 * The stacks of the sites with the most live bytes come first, as whoever reads looks at these.
 * Rejected: names from the child that reads the recording for HTTP. It would need the target's
 * files, and so privileges, and would find all of them anew each time.
 */
#include "src/session/report_names.h"

#include <string.h>

#include "src/session/session_report.h"
#include "src/session/state.h"

#define WANTED_SECONDS	120.0	/* after the last question */
#define SLICE_SECONDS	0.002
#define LATE_SECONDS	0.01	/* until what took too long is asked for again */
#define WRITE_SECONDS	1.0	/* from one transaction to the next, and to the first */
#define FRAMES_MOST	20000u	/* of a session: asked for, and written */
#define PLACES_AT_ONCE	256u	/* from one look at the clock to the next */

static bool can_write(const struct session_report *r)
{
	return r->recording && !r->recording_failed;
}

static bool is_wanted(const struct report_naming *n, double now)
{
	return n->until > 0 && now < n->until;
}

void session_report_names_want(struct session_report *r)
{
	struct report_naming *n = &r->naming;
	double now = session_now();

	if (!can_write(r))
		return;
	if (!is_wanted(n, now)) {	/* others may be the largest by now */
		n->top_count = n->place = n->top_next = 0;
		n->next_write = now + WRITE_SECONDS;
		n->found = true;
	}
	n->until = now + WANTED_SECONDS;
}

/* --- which frames --------------------------------------------------------- */

static void offer(struct report_naming *n, const struct site *site)
{
	uint64_t bytes = estimate_bytes(&site->live);
	uint32_t at = n->top_count;

	if (at == REPORT_NAMES_TOP && bytes <= n->top[at - 1].bytes)
		return;
	while (at > 0 && n->top[at - 1].bytes < bytes)
		at--;
	if (n->top_count < REPORT_NAMES_TOP)
		n->top_count++;
	memmove(&n->top[at + 1], &n->top[at], (n->top_count - 1 - at) * sizeof(n->top[0]));
	n->top[at].bytes = bytes;
	n->top[at].stack = site->stack;
}

/* False: the time is over. */
static bool find_top(struct report_naming *n, const struct sites *sites, double until)
{
	uint32_t count = sites_places(sites);

	while (n->place < count) {
		offer(n, sites_at(sites, n->place));
		if (++n->place % PLACES_AT_ONCE == 0 && session_now() >= until)
			return false;
	}
	n->place = UINT32_MAX;
	return true;
}

static bool is_asked_for(const struct report_naming *n, const struct frame *frame)
{
	for (uint32_t i = 0; i < n->frame_count; i++)
		if (n->frame[i].offset == frame->offset && n->frame[i].module == frame->module &&
		    n->frame[i].flags == frame->flags)
			return true;
	return false;
}

static void report_names_take(struct session_report *r, const struct frame *frame)
{
	struct report_naming *n = &r->naming;
	const struct module *module = modules_get(r->view->modules, frame->module);
	size_t count;

	if (!module || module->kind == MODULE_JIT || is_asked_for(n, frame) ||
	    symbolizer_frame_known(r->symbolizer, frame, &count))
		return;
	n->frame[n->frame_count++] = *frame;
	n->asked++;
}

static bool has_room(const struct report_naming *n)
{
	return n->frame_count < SYMBOLIZER_FORESEEN && n->asked < FRAMES_MOST;
}

/* Of a stack, from n->depth on. False: there is no room for more. */
static bool take_stack(struct session_report *r, const struct stacks *stacks, uint32_t id)
{
	struct report_naming *n = &r->naming;
	struct stack stack;

	if (id && !stacks_is_dropped(stacks, id)) {
		stack = stacks_get(stacks, id);
		for (; n->depth < stack.frame_count; n->depth++) {
			if (!has_room(n))
				return false;
			report_names_take(r, &stack.frame[n->depth]);
		}
	}
	n->depth = 0;
	return true;
}

/* As many frames as one question has, unless the time is over before. */
static void take_some(struct session_report *r, const struct watch *watch, double until)
{
	struct report_naming *n = &r->naming;

	if (!find_top(n, watch->sites, until))
		return;
	for (; n->top_next < n->top_count; n->top_next++)
		if (session_now() >= until ||
		    !take_stack(r, watch->stacks, n->top[n->top_next].stack))
			return;
	for (; n->stack < stacks_count(watch->stacks); n->stack++)
		if (session_now() >= until || !take_stack(r, watch->stacks, n->stack + 1))
			return;
}

/* --- their names ---------------------------------------------------------- */

/* False: one takes longer. */
static bool report_names_ask(struct session_report *r)
{
	struct report_naming *n = &r->naming;
	size_t count;

	symbolizer_foresee(r->symbolizer, n->frame, n->frame_count);
	symbolizer_ask_foreseen(r->symbolizer);
	for (uint32_t i = 0; i < n->frame_count; i++)
		if (!symbolizer_frame_soon(r->symbolizer, &n->frame[i], &count))
			return false;
	n->found = n->found || n->frame_count;
	n->frame_count = 0;
	return true;
}

static void find_names(struct session_report *r, const struct watch *watch)
{
	struct report_naming *n = &r->naming;
	double until = session_now() + SLICE_SECONDS;

	if (has_room(n))
		take_some(r, watch, until);
	if (!n->frame_count)
		return;
	session_names_until(r->names, until);
	if (!report_names_ask(r))
		n->next_slice = session_now() + LATE_SECONDS;
	session_names_until(r->names, 0);
}

static bool are_all_found(const struct report_naming *n, const struct stacks *stacks)
{
	return n->frame_count == 0 &&
	       (n->asked >= FRAMES_MOST ||
		(n->place == UINT32_MAX && n->top_next >= n->top_count &&
		 n->stack >= stacks_count(stacks)));
}

/* --- into the recording --------------------------------------------------- */

static const struct symbol_frame *known(void *context, const struct frame *frame,
					size_t *ret_count)
{
	return symbolizer_frame_known(context, frame, ret_count);
}

static void write_some(struct session_report *r, double now)
{
	const struct report_names names = { .frame = known, .context = r->symbolizer };
	struct report_naming *n = &r->naming;
	uint32_t most = FRAMES_MOST - n->written, count;

	if (most > RECORDING_NAMED_AT_ONCE)
		most = RECORDING_NAMED_AT_ONCE;
	count = recording_name_some(r->recording, &names, most);
	n->written += count;
	n->found = count > 0 && n->written < FRAMES_MOST;	/* there may be more */
	n->next_write = now + WRITE_SECONDS;
}

/* --- when ----------------------------------------------------------------- */

void session_report_names_turn(struct session_report *r, const struct watch *watch, bool busy)
{
	struct report_naming *n = &r->naming;
	double now = session_now();

	if (!is_wanted(n, now) || !can_write(r) || busy)
		return;
	if (now >= n->next_slice && !are_all_found(n, watch->stacks))
		find_names(r, watch);
	if (n->found && now >= n->next_write)
		write_some(r, now);
}

void session_report_names_interval(struct session_report *r)
{
	double now = session_now();

	if (is_wanted(&r->naming, now) && can_write(r))
		write_some(r, now);
}

bool session_report_names_are_due(const struct session_report *r, const struct watch *watch)
{
	const struct report_naming *n = &r->naming;

	return can_write(r) && is_wanted(n, session_now()) &&
	       (n->found || !are_all_found(n, watch->stacks));
}
