/* SPDX-License-Identifier: MIT */
/* recognition.c - see recognition.h. */
#include "src/recognition/recognition.h"

#include <errno.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/ticks.h"
#include "src/recognition/path_table.h"

struct recognition {
	struct recognition_input in;
	struct rule_table *table;
	struct paths *paths;
	struct recognition_stats stats;
	uint64_t *seen;			/* the table of names that were told, */
	uint64_t seen_slots;		/* as it lay in the shared memory at first */
	uint64_t most;			/* names */
	uint64_t renewed;		/* TSC: when they began anew last */
	bool forget;			/* they are to */
	uint64_t closings, openings;	/* of modules, when rules were published last */
	bool had_jit;			/* rules for such code were published */
	struct frame frame[STACKS_MAX_FRAMES];
};

/* 0 or -EBADMSG. */
static int take_seen(struct recognition *r)
{
	uint64_t at = r->in.control->seen_offset, slots = r->in.control->seen_slots;

	if (at % sizeof(uint64_t) || at < RING_CONTROL_BYTES || at > r->in.mapped_bytes ||
	    slots == 0 || slots > (r->in.mapped_bytes - at) / sizeof(uint64_t))
		return -EBADMSG;
	r->seen = (void *)((uint8_t *)r->in.control + at);
	r->seen_slots = slots;
	r->most = slots / 2;
	return 0;
}

int recognition_new(const struct recognition_input *input, struct recognition **ret)
{
	struct recognition *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	r->in = *input;
	error = rule_table_new(input->control, input->mapped_bytes, &r->table);
	if (!error)
		error = take_seen(r);
	if (!error)
		error = paths_new(input->stacks, input->modules, &r->paths);
	if (error) {
		recognition_free(r);
		return error;
	}
	*ret = r;
	return 0;
}

void recognition_free(struct recognition *r)
{
	if (!r)
		return;
	rule_table_free(r->table);
	paths_free(r->paths);
	free(r);
}

void recognition_begin(struct recognition *r)
{
	r->in.control->verify = r->in.verify;
	__atomic_store_n(&r->in.control->recognise, 1, __ATOMIC_RELEASE);
}

bool recognition_wants_rules(const struct recognition *r)
{
	return r->stats.mismatched == 0 && !rule_table_holds(r->table, r->in.modules);
}

/*
 * Code that went may have made place for other code at the same addresses, of which the same
 * paths would bear the same names. The shim reads the epoch after the generation that is
 * published next; names of before can still be found for events that are on their way.
 */
static void leave_names_of_closed(struct recognition *r)
{
	uint64_t closings = modules_closings(r->in.modules);
	uint64_t openings = modules_openings(r->in.modules);
	/* What is new may lie where code had been made at run time. */
	bool same = closings == r->closings && (openings == r->openings || !r->had_jit);

	r->closings = closings;
	r->openings = openings;
	if (same)
		return;
	(void)__atomic_add_fetch(&r->in.control->path_epoch, 1, __ATOMIC_SEQ_CST);
}

int recognition_publish(struct recognition *r, uint64_t generation)
{
	struct rule_table_stats stats;
	int error;

	leave_names_of_closed(r);
	error = rule_table_publish(r->table, r->in.modules, generation, r->in.look_again,
				   r->in.context);
	rule_table_stats(r->table, &stats);
	r->had_jit |= stats.jit > 0;
	return error;
}

/*
 * The table of names fills up: they begin anew. What bears an old name may still come, and finds
 * it; a shim that puts an old one into the emptied table wastes a place, no more. Only the
 * names of before are kept, so what was written before the last time must have come.
 */
static void renew_names(struct recognition *r, uint64_t now)
{
	if (now <= r->renewed || (!r->forget && !paths_are_many(r->paths, r->most)))
		return;
	r->forget = false;
	r->renewed = ticks_now();
	paths_renew(r->paths);
	(void)__atomic_add_fetch(&r->in.control->path_epoch, 1, __ATOMIC_SEQ_CST);
	memset(r->seen, 0, r->seen_slots * sizeof(*r->seen));
}

int recognition_tell(struct recognition *r, const struct event *event)
{
	int error = paths_add(r->paths, event);

	renew_names(r, event->time);
	return error;
}

void recognition_set_most(struct recognition *r, uint64_t names)
{
	if (names < r->most)
		r->most = names;
}

void recognition_forget(struct recognition *r)
{
	r->forget = true;
}

size_t recognition_bytes(const struct recognition *r)
{
	return sizeof(*r) + paths_bytes(r->paths);
}

uint32_t recognition_find(struct recognition *r, const struct event *event)
{
	uint32_t stack = paths_find(r->paths, event->path);

	r->stats.recognised += stack != 0;
	r->stats.truncated += stack && (stacks_get(r->in.stacks, stack).flags & STACK_TRUNCATED);
	r->stats.unknown += stack == 0 && event->stack_bytes == 0;
	return stack;
}

uint32_t recognition_foresee(const struct recognition *r, unsigned int stage, uint64_t path)
{
	if (stage > 0)
		return paths_glance(r->paths, path);
	paths_foresee(r->paths, path);
	return 0;
}

void recognition_copied(struct recognition *r, const struct event *event)
{
	uint32_t why = event->flags >> RING_COPIED_SHIFT;

	r->stats.copied[why < RING_COPIED_COUNT ? why : RING_COPIED_OTHER]++;
}

void recognition_say(const struct recognition *r, const char *when)
{
	const uint64_t *copied = r->stats.copied;

	log_debug("stacks %s: %llu recognised; copied for want of rules %llu, of a proven end "
		  "%llu, of a shadow %llu, of a frame's rule %llu, else %llu; "
		  "unasked %llu", when, (unsigned long long)r->stats.recognised,
		  (unsigned long long)copied[RING_COPIED_NO_RULES],
		  (unsigned long long)copied[RING_COPIED_NO_END],
		  (unsigned long long)copied[RING_COPIED_NO_SHADOW],
		  (unsigned long long)copied[RING_COPIED_NO_RULE],
		  (unsigned long long)copied[RING_COPIED_OTHER],
		  (unsigned long long)copied[RING_COPIED_UNASKED]);
}

uint32_t recognition_stack(const struct recognition *r, uint64_t path)
{
	return paths_find(r->paths, path);
}

/*
 * A copy that is not whole says nothing of what lies beyond its end, nor does a path that is not:
 * of the frames that a filled stack repeats the copy may hold too few to tell.
 */
static bool agree(const struct stack *known, const struct frame *frame, uint32_t count,
		  enum unwind_end end, bool whole)
{
	bool complete = !(known->flags & STACK_TRUNCATED);

	if (end == UNWIND_COMPLETE || whole) {
		if (known->frame_count != count || complete != (end == UNWIND_COMPLETE))
			return false;
	} else if (known->frame_count < count) {
		if (complete)
			return false;
		count = known->frame_count;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (known->frame[i].module != frame[i].module ||
		    known->frame[i].offset != frame[i].offset ||
		    known->frame[i].flags != frame[i].flags)
			return false;
	}
	return true;
}

static void say(const char *what, const struct frame *frame, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < 64; i++)
		log_debug("%s %u: module %u + 0x%llx, flags %u", what, i, frame[i].module,
			  (unsigned long long)frame[i].offset, frame[i].flags);
}

static void differ(struct recognition *r, const struct stack *known, uint32_t count)
{
	if (r->stats.mismatched++ == 0) {
		log_warning("a recognised stack is not the one that its copy shows: from here on "
			    "every stack is copied (please report this, with what it says when "
			    "MEMATTACH_DEBUG is set)");
		say("recognised", known->frame, known->frame_count);
		say("copied", r->frame, count);
	}
	__atomic_store_n(&r->in.control->recognise, 0, __ATOMIC_RELEASE);
}

void recognition_audit(struct recognition *r, const struct unwind_input *input, bool whole,
		       uint32_t stack)
{
	struct stack known = stacks_get(r->in.stacks, stack);
	enum unwind_end end;
	uint32_t count;

	if (stacks_is_dropped(r->in.stacks, stack))
		return;		/* nobody knows what it was */
	if (unwinder_walk(r->in.unwinder, input, r->frame, &count, &end) < 0)
		return;
	r->stats.audited++;
	count = stacks_drop_hidden(r->in.stacks, r->frame, count);
	if (!agree(&known, r->frame, count, end, whole))
		differ(r, &known, count);
}

void recognition_stats(const struct recognition *r, struct recognition_stats *ret)
{
	*ret = r->stats;
	rule_table_stats(r->table, &ret->rules);
}
