/* SPDX-License-Identifier: MIT */
/*
 * feed_names.c - names for the screen, a few milliseconds at a time.
 *
 * First the stack that is looked at, then the rows that are seen, then all others in the
 * background, so that a filter finds what nobody scrolled to. A name that takes long is asked
 * for again at the next turn: by then the child that reads the files knows it (apart.h).
 * Where nobody looks only what is asked for is named.
 */
#include <errno.h>
#include <string.h>

#include "src/report/caller.h"
#include "src/report/text_put.h"
#include "src/screen/feed_private.h"

#define QUEUE_BYTES	(64u << 10)	/* with so much unsent, names can wait */
#define MAX_NAMED	(SCREEN_MAX_SITES * 3u)
#define PLACE_BYTES	512u

const struct symbol_frame *feed_frame(struct feed *feed, const struct frame *frame,
				      size_t *ret_count)
{
	const struct symbol_frame *symbol = symbolizer_frame_soon(feed->names.symbolizer, frame,
								  ret_count);

	return name_shaper_frames(feed->names.shaper, frame, symbol, symbol ? *ret_count : 0,
				  ret_count);
}

/* server.c:12, or the module. */
static void describe_place(const struct symbol_frame *symbol, char place[PLACE_BYTES])
{
	if (symbol->file && symbol->line)
		(void)snprintf(place, PLACE_BYTES, "%s:%u", text_base_name(symbol->file),
			       symbol->line);
	else
		(void)snprintf(place, PLACE_BYTES, "%s",
			       text_base_name(symbol->file ? symbol->file : symbol->module));
}

static int put_name(struct apart_answer *to, const struct symbol_frame *symbol,
		    const struct frame *frame)
{
	_cleanup_free_ char *title = text_frame_title(symbol, frame);
	char place[PLACE_BYTES];

	describe_place(symbol, place);
	return apart_put_text(to, title ? title : "?") ?: apart_put_text(to, place);
}

/* ---- sites ---- */

static bool is_named(const struct feed *feed, uint32_t site)
{
	return site < feed->named_room && (feed->named[site / 8] & 1u << site % 8);
}

static int note_named(struct feed *feed, uint32_t site)
{
	if (site >= feed->named_room) {
		uint32_t room = (site + 4096u) & ~4095u;
		uint8_t *grown = realloc(feed->named, room / 8);

		if (!grown)
			return -ENOMEM;
		memset(grown + feed->named_room / 8, 0, (room - feed->named_room) / 8);
		feed->named = grown;
		feed->named_room = room;
	}
	feed->named[site / 8] |= (uint8_t)(1u << site % 8);
	feed->named_count++;
	return 0;
}

static uint32_t wanted_count(const struct feed *feed)
{
	return feed->want.count < SCREEN_MAX_WANTED ? feed->want.count : SCREEN_MAX_WANTED;
}

void feed_name_anew(struct feed *feed)
{
	for (uint32_t i = 0; i < wanted_count(feed); i++) {
		uint32_t site = feed->want.site[i];

		if (!is_named(feed, site))
			continue;
		feed->named[site / 8] &= (uint8_t)~(1u << site % 8);
		feed->named_count--;
	}
}

/* The name of source-level frame `wanted` of those from machine frame `from` on: all are known. */
static int put_frame_name(struct feed *feed, const struct stack *stack, uint32_t from,
			  uint32_t wanted)
{
	for (uint32_t i = from; i < stack->frame_count; i++) {
		size_t count;
		const struct symbol_frame *symbol = feed_frame(feed, &stack->frame[i], &count);

		if (!symbol)
			return -EAGAIN;
		if (wanted < count)
			return put_name(&feed->out.bytes, &symbol[wanted], &stack->frame[i]);
		wanted -= (uint32_t)count;
	}
	return -EAGAIN;
}

/* Which source-level frame stands for the stack from machine frame `from` on; -EAGAIN. */
static int find_caller(struct feed *feed, const struct stack *stack, uint32_t from,
		       uint32_t *ret)
{
	struct caller_search search = { 0 };

	for (uint32_t i = from; i < stack->frame_count && !search.ended; i++) {
		size_t count;
		const struct symbol_frame *symbol = feed_frame(feed, &stack->frame[i], &count);

		if (!symbol)
			return -EAGAIN;
		caller_search_frames(&search, symbol, count);
	}
	*ret = caller_search_found(&search);
	return 0;
}

/* The frame that stands for the stack. 0, -EAGAIN not known yet, -ENOMEM. */
static int put_site(struct feed *feed, const struct site *site, const struct stacks *stacks)
{
	struct stack stack = stacks_get(stacks, site->stack);
	uint32_t wanted = 0;
	int error;

	if (stack.frame_count <= site->skip_frames)
		return apart_put(&feed->out.bytes, &site->id, sizeof(site->id)) ?:
		       apart_put_text(&feed->out.bytes, stack.flags & STACK_OTHER ?
						"other" : "unknown") ?:
		       apart_put_text(&feed->out.bytes, "");
	error = find_caller(feed, &stack, site->skip_frames, &wanted);
	if (!error)
		error = apart_put(&feed->out.bytes, &site->id, sizeof(site->id));
	return error ? error : put_frame_name(feed, &stack, site->skip_frames, wanted);
}

/* As a message of its own. */
static int name_site(struct feed *feed, const struct sites *sites, const struct stacks *stacks,
		     uint32_t id)
{
	const struct site *site = sites_peek(sites, id);
	int error;

	if (!site || is_named(feed, id) || feed->named_count >= MAX_NAMED)
		return 0;
	error = screen_outbox_begin(&feed->out, SCREEN_NAMES);
	if (!error)
		error = put_site(feed, site, stacks);
	if (screen_outbox_end(&feed->out, error))
		return error;
	return note_named(feed, id);
}

/* ---- the stack ---- */

static int put_frames(struct feed *feed, const struct stack *stack, uint32_t from,
		      uint32_t *ret_count, uint32_t *ret_left_out)
{
	int error = 0;

	for (uint32_t i = from; !error && i < stack->frame_count; i++) {
		size_t count;
		const struct symbol_frame *symbol;

		if (*ret_count == SCREEN_MAX_FRAMES) {
			*ret_left_out = stack->frame_count - i;
			break;
		}
		symbol = feed_frame(feed, &stack->frame[i], &count);
		if (!symbol)
			return -EAGAIN;
		for (size_t k = 0; !error && k < count && *ret_count < SCREEN_MAX_FRAMES; k++) {
			error = put_name(&feed->out.bytes, &symbol[k], &stack->frame[i]);
			++*ret_count;
		}
	}
	return error;
}

static int put_stack(struct feed *feed, const struct site *site, const struct stacks *stacks)
{
	struct stack stack = stacks_get(stacks, site->stack);
	struct { uint32_t site, count, left_out; } head = { .site = site->id };
	size_t at = feed->out.bytes.count;
	int error = apart_put(&feed->out.bytes, &head, sizeof(head));

	if (!error)
		error = put_frames(feed, &stack, site->skip_frames, &head.count, &head.left_out);
	if (!error && (stack.flags & STACK_TRUNCATED) && !head.left_out)
		head.left_out = 1;
	if (!error)
		memcpy(feed->out.bytes.bytes + at, &head, sizeof(head));
	return error;
}

static int send_stack(struct feed *feed, const struct sites *sites, const struct stacks *stacks)
{
	const struct site *site = sites_peek(sites, feed->want.stack);
	int error;

	if (!site || feed->stack_sent == feed->want.stack)
		return 0;
	error = screen_outbox_begin(&feed->out, SCREEN_STACK);
	if (!error)
		error = put_stack(feed, site, stacks);
	error = screen_outbox_end(&feed->out, error);
	if (!error)
		feed->stack_sent = feed->want.stack;
	return error;
}

/* ---- all ---- */

static bool may_go_on(const struct feed *feed, double until)
{
	return screen_outbox_waiting(&feed->out) < QUEUE_BYTES && feed_now() < until;
}

int feed_name_some(struct feed *feed, const struct sites *sites, const struct stacks *stacks)
{
	double until = feed_now() + FEED_SLICE_SECONDS;
	uint32_t wanted = wanted_count(feed);
	int error = 0;

	if (screen_outbox_waiting(&feed->out) >= QUEUE_BYTES)
		return 0;
	session_names_until(feed->names.names, until);
	error = send_stack(feed, sites, stacks);
	for (uint32_t i = 0; !error && i < wanted && may_go_on(feed, until); i++)
		error = name_site(feed, sites, stacks, feed->want.site[i]);
	while (!error && !feed->names.only_wanted && feed->cursor < sites_count(sites) &&
	       may_go_on(feed, until)) {
		error = name_site(feed, sites, stacks, feed->cursor + 1);
		feed->cursor += !error;
	}
	session_names_until(feed->names.names, 0);
	return error;
}
