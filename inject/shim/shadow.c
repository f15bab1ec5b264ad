/* SPDX-License-Identifier: MIT */
/*
 * shadow.c - which call path is this? (docs/RECOGNITION.md)
 *
 * The walk goes outwards from the caller by published rules, until it comes to a frame of this
 * thread's last walk from where on nothing has changed: the same slot, return address and (if
 * anything depends on them) rbp and rbx; and then all outer slots, and the words that outer
 * frames took rbp, rbx or their CFA from, hold what they held. A step is a function of these
 * alone, so the rest of the walk would be the same again, and is not made.
 *
 * Every load lies between the stack pointer and the proven end of the stack. Whatever is not
 * certain is no path: the stack is copied then.
 */
#include "inject/shim/shadow.h"

#define IDLE_CYCLES (1ull << 36)	/* as in shim_threads.c */
#define PROBES 4u
#define RBX_LOST 1u	/* no frame's address: who needs it can't go on */

/* DEEP: it would go on, but no more frames are shown. */
enum step { STEP_ON, STEP_END, STEP_CUT, STEP_DEEP, STEP_FAILED };

struct walk {
	struct ring_control *control;
	struct shadow *shadow;
	struct shadow_new *work;
	uint64_t generation;
	uint64_t low, high;		/* the stack that may be read */
	uint64_t slot, ra, rbp, rbx;	/* the frame that it has come to */
	uint32_t count;			/* frames in work */
	uint32_t joined;		/* frames of the shadow that hold still */
	int32_t cursor;			/* the shadow's innermost frame that may be met */
	bool overflow;			/* more checks than there is room for */
	enum ring_copied why;		/* there is no path */
};

static bool shadow_claim(const struct ring_control *control, struct shadow *shadow,
			 uint64_t thread)
{
	uint64_t owner = shim_load(&shadow->owner);
	uint64_t used = shim_load(&shadow->used), now = shim_load(&control->deadline);

	if (owner & SHADOW_BUSY || (owner != 0 && (now <= used || now - used <= IDLE_CYCLES)))
		return false;
	if (!shim_exchange_if(&shadow->owner, owner, thread | SHADOW_BUSY))
		return false;
	shadow->frames = 0;
	return true;
}

/*
 * From "mine" to "mine, busy". Only this thread's own signal handlers may be in the way, and what
 * one instruction does they see as a whole: no lock, unless the shadow was idle for so long that
 * another thread may be about to take it over.
 */
static bool shadow_enter(const struct ring_control *control, struct shadow *shadow,
			 uint64_t thread)
{
	uint64_t used = shim_load(&shadow->used), now = shim_load(&control->deadline);

	if (now - used <= IDLE_CYCLES / 2)
		return arch_exchange_if_own(&shadow->owner, thread, thread | SHADOW_BUSY);
	return shim_exchange_if(&shadow->owner, thread, thread | SHADOW_BUSY);
}

/* Nobody can be in it twice, nor take over what is in use. */
struct shadow_place *shadow_open(struct ring_control *control, uint64_t thread)
{
	uint8_t *places = (uint8_t *)control + control->shadows_offset;
	uint64_t at = shim_hash(thread), mask = control->shadow_slots - 1;
	struct shadow_place *place;

	if (thread == 0 || thread & SHADOW_BUSY)
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		place = (struct shadow_place *)(places + ((at + i) & mask) * RING_SHADOW_BYTES);
		if ((shim_load(&place->shadow.owner) & ~SHADOW_BUSY) != thread)
			continue;
		return shadow_enter(control, &place->shadow, thread) ? place : NULL;
	}
	for (uint32_t i = 0; i < PROBES; i++) {
		place = (struct shadow_place *)(places + ((at + i) & mask) * RING_SHADOW_BYTES);
		if (shadow_claim(control, &place->shadow, thread))
			return place;
	}
	return NULL;
}

void shadow_close(struct shadow_place *place, uint64_t thread)
{
	/* Release: its partner is the next one's compare-exchange. */
	shim_store_release(&place->shadow.owner, thread);
}

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	if (address < walk->low || address % 8 != 0 || address > walk->high - 8)
		return false;
	*ret = *(const uint64_t *)address;
	return true;
}

/* Do the frames outside of shadow frame at still lie as they did? */
static bool still_holds(struct walk *walk, uint32_t at)
{
	const struct shadow *shadow = walk->shadow;
	uint64_t value;

	if (shadow->frame[0].slot > walk->high - 8)
		return false;
	for (uint32_t i = at; i-- > 0;) {
		if (*(const uint64_t *)shadow->frame[i].slot != shadow->frame[i].ra) {
			walk->cursor = (int32_t)i - 1;
			return false;
		}
	}
	for (uint32_t i = shadow->state[at].checks; i-- > 0;) {
		if (!read_word(walk, shadow->check[i].address, &value) ||
		    value != shadow->check[i].value) {
			walk->cursor = -1;
			return false;
		}
	}
	return true;
}

/* Is the frame that the walk has come to one of the last walk's, and all behind it the same? */
static bool joins(struct walk *walk)
{
	const struct shadow *shadow = walk->shadow;
	const struct shadow_state *state;
	int32_t i = walk->cursor;
	uint32_t frames;

	while (i >= 0 && shadow->frame[i].slot < walk->slot)
		i--;
	walk->cursor = i;
	if (i < 0 || shadow->frame[i].slot != walk->slot || shadow->frame[i].ra != walk->ra)
		return false;
	/* What ends where there is no more room ends elsewhere if it begins elsewhere. */
	frames = walk->count + (uint32_t)i + 1;
	if (frames > SHADOW_FRAMES || (shadow->deep && frames != SHADOW_FRAMES))
		return false;
	state = &shadow->state[i];
	if ((state->live_rbp && state->rbp != walk->rbp) ||
	    (state->live_rbx && state->rbx != walk->rbx) || !still_holds(walk, (uint32_t)i))
		return false;
	walk->joined = (uint32_t)i + 1;
	return true;
}

static uint64_t base_of(const struct rules_rule *rule, uint64_t slot, uint64_t rbp, uint64_t rbx)
{
	if (rule->base == RULES_BASE_RSP)
		return slot + 8;
	return rule->base == RULES_BASE_RBP ? rbp : rbx;
}

static uint64_t saved_at(uint64_t base, int32_t offset)
{
	return base + (uint64_t)(int64_t)offset;
}

static enum step step_out(struct walk *walk, const struct rules_rule *rule)
{
	uint64_t base = base_of(rule, walk->slot, walk->rbp, walk->rbx);
	uint64_t cfa = saved_at(base, rule->cfa), rbp = walk->rbp, rbx = walk->rbx, ra;
	uint64_t rbp_from, rbx_from;

	if ((rule->flags & RULES_DEREF) && !read_word(walk, cfa, &cfa))
		return STEP_FAILED;
	if (cfa - 8 <= walk->slot || !read_word(walk, cfa - 8, &ra))
		return STEP_FAILED;
	rbp_from = saved_at(rule->flags & RULES_RBP_BY_RBP ? walk->rbp : cfa, rule->rbp);
	rbx_from = saved_at(rule->flags & RULES_RBX_BY_RBP ? walk->rbp : cfa, rule->rbx);
	if ((rule->flags & RULES_SAVES_RBP) && !read_word(walk, rbp_from, &rbp))
		return STEP_FAILED;
	if ((rule->flags & RULES_SAVES_RBX) && !read_word(walk, rbx_from, &rbx))
		return STEP_FAILED;
	walk->slot = cfa - 8;
	walk->ra = ra;
	walk->rbp = rbp;
	walk->rbx = rbx;
	return ra == 0 ? STEP_END : STEP_ON;
}

/* Nothing is known of this code but that it may keep a frame pointer: as the analyst's walk. */
static __attribute__((noinline)) enum step step_guess(struct walk *walk)
{
	uint64_t rbp = walk->rbp, outer, ra;

	if (rbp - (walk->slot + 8) >= RULES_GUESS_REACH || !read_word(walk, rbp, &outer) ||
	    !read_word(walk, rbp + 8, &ra))
		return STEP_CUT;
	walk->slot = rbp + 8;
	walk->ra = ra;
	walk->rbp = outer;
	walk->rbx = RBX_LOST;
	return ra == 0 ? STEP_END : STEP_ON;
}

/* The frame that the walk has come to is a new one; on to its caller. */
static enum step take_frame(struct walk *walk)
{
	struct shadow_new *frame = &walk->work[walk->count];

	if (walk->count == SHADOW_FRAMES)
		return STEP_DEEP;
	frame->slot = walk->slot;
	frame->ra = walk->ra;
	frame->rbp = walk->rbp;
	frame->rbx = walk->rbx;
	frame->rule = *shim_rule_find(walk->control, walk->generation, walk->ra);
	walk->count++;
	switch (frame->rule.kind) {
	case RULES_STEP:
		return step_out(walk, &frame->rule);
	case RULES_GUESS:
		return step_guess(walk);
	case RULES_END:
		return STEP_END;
	case RULES_CUT:	/* where a thread starts, rbp is 0 */
		return walk->rbp ? STEP_CUT : STEP_END;
	default:
		walk->why = RING_COPIED_NO_RULE;
		return STEP_FAILED;
	}
}

static uint64_t mix(uint64_t name, uint64_t ra)
{
	name = (name ^ ra) * SHIM_GOLDEN;
	return name ^ name >> 32;
}

static void add_check(struct walk *walk, uint64_t address, uint64_t value)
{
	struct shadow *shadow = walk->shadow;

	if (shadow->checks >= SHADOW_CHECKS) {
		walk->overflow = true;
		return;
	}
	shadow->check[shadow->checks++] = (struct shadow_check){ address, value };
}

/* What the walk from a frame on is called, and depends on. */
struct outer {
	uint64_t name;
	bool live_rbp, live_rbx;
};

/*
 * From what the walk depends on at frame's caller, whose slot, rbp and rbx are given, to what it
 * depends on at frame. Words that it rests on become checks.
 */
static void depend(struct walk *walk, const struct shadow_new *frame, uint64_t slot, uint64_t rbp,
		   uint64_t rbx, struct outer *outer)
{
	const struct rules_rule *rule = &frame->rule;
	bool saves_rbp = rule->flags & RULES_SAVES_RBP, saves_rbx = rule->flags & RULES_SAVES_RBX;
	bool rbp_by_rbp = rule->flags & RULES_RBP_BY_RBP;
	bool rbx_by_rbp = rule->flags & RULES_RBX_BY_RBP;
	bool wants_rbp = saves_rbp && outer->live_rbp, wants_rbx = saves_rbx && outer->live_rbx;

	if (rule->flags & RULES_DEREF)
		add_check(walk, saved_at(base_of(rule, frame->slot, frame->rbp, frame->rbx),
					 rule->cfa), slot + 8);
	if (wants_rbp)
		add_check(walk, saved_at(rbp_by_rbp ? frame->rbp : slot + 8, rule->rbp), rbp);
	if (wants_rbx)
		add_check(walk, saved_at(rbx_by_rbp ? frame->rbp : slot + 8, rule->rbx), rbx);
	outer->live_rbp = rule->base == RULES_BASE_RBP || (!saves_rbp && outer->live_rbp) ||
			  (wants_rbp && rbp_by_rbp) || (wants_rbx && rbx_by_rbp);
	outer->live_rbx = rule->base == RULES_BASE_RBX || (!saves_rbx && outer->live_rbx);
}

/* What the walk depends on where the frames that hold begin, or the outermost one. */
static struct outer outer_of(struct walk *walk, enum step end)
{
	struct shadow *shadow = walk->shadow;
	const struct shadow_state *state;

	if (walk->joined == 0) {
		shadow->checks = 0;
		return (struct outer){ .name = mix(shadow->epoch << 1 | (end != STEP_END), 0) };
	}
	state = &shadow->state[walk->joined - 1];
	shadow->checks = state->checks;
	return (struct outer){ state->name, state->live_rbp, state->live_rbx };
}

/* Was frame left, or is it where the walk has ended? last: the outermost one of all. */
static bool goes_on(const struct shadow_new *frame, bool last, enum step end)
{
	return frame->rule.kind == RULES_STEP ||
	       (frame->rule.kind == RULES_GUESS && !(last && end == STEP_CUT));
}

/*
 * Puts the new frames behind those that hold; the name of them all. Words are stored one by one:
 * a structure built on the stack and copied would be read back before its bytes have arrived.
 */
static uint64_t remember(struct walk *walk, enum step end)
{
	struct shadow *shadow = walk->shadow;
	uint64_t slot = walk->slot, rbp = walk->rbp, rbx = walk->rbx;
	struct outer outer = outer_of(walk, end);
	uint32_t at = walk->joined;

	for (uint32_t i = walk->count; i-- > 0; at++) {
		const struct shadow_new *frame = &walk->work[i];
		struct shadow_state *state = &shadow->state[at];

		/* What ends the walk is no frame: a return address of 0, or one too many. */
		if (!goes_on(frame, at == 0, end)) {
			outer.live_rbp = frame->rule.kind != RULES_END;
		} else {
			if (at == 0)
				add_check(walk, slot, walk->ra);
			depend(walk, frame, slot, rbp, rbx, &outer);
		}
		slot = frame->slot;
		rbp = frame->rbp;
		rbx = frame->rbx;
		outer.name = mix(outer.name, frame->ra);
		shadow->frame[at].slot = slot;
		shadow->frame[at].ra = frame->ra;
		state->rbp = rbp;
		state->rbx = rbx;
		state->name = outer.name;
		state->checks = (uint16_t)shadow->checks;
		state->live_rbp = outer.live_rbp;
		state->live_rbx = outer.live_rbx;
	}
	shadow->frames = at;
	return outer.name ? outer.name : 1;
}

static void begin(struct walk *walk, const struct shim_call *call)
{
	struct shadow *shadow = walk->shadow;
	uint64_t epoch = shim_load(&walk->control->path_epoch);

	if (shadow->generation != walk->generation || shadow->epoch != epoch)
		shadow->frames = 0;
	shadow->generation = walk->generation;
	shadow->epoch = epoch;
	walk->slot = (uint64_t)&call->caller;
	walk->ra = call->caller;
	walk->rbp = call->rbp;
	walk->rbx = call->rbx;
	walk->cursor = (int32_t)shadow->frames - 1;
}

/* Why there is no path, now that the walk has ended; RING_COPIED_UNASKED: there is one. */
static enum ring_copied why_none(const struct walk *walk, enum step step)
{
	if (shim_rules_generation(walk->control) != walk->generation)
		return RING_COPIED_NO_RULES;
	return step == STEP_FAILED ? walk->why : RING_COPIED_UNASKED;
}

/* The path's name; 0: it is not known. *ret_truncated: it ends before the thread's start. */
static uint64_t walk_run(struct walk *walk, const struct shim_call *call, bool *ret_truncated)
{
	enum step step = STEP_ON;

	begin(walk, call);
	while (step == STEP_ON && !joins(walk))
		step = take_frame(walk);
	shim_fence_acquire();
	walk->why = why_none(walk, step);
	if (walk->why) {
		walk->shadow->frames = 0;
		return 0;
	}
	if (walk->joined == 0) {
		walk->shadow->truncated = step != STEP_END;
		walk->shadow->deep = step == STEP_DEEP;
	}
	*ret_truncated = walk->shadow->truncated;
	return remember(walk, step);
}

static bool wants_copy(const struct ring_control *control, struct shadow *shadow)
{
	uint64_t verify = shim_load(&control->verify);

	if (verify == 0 || ++shadow->verify < verify)
		return false;
	shadow->verify = 0;
	return true;
}

/* By a walk, which may then be recalled by key. 0: it has no name that the reader knows. */
static uint64_t path_walked(struct ring_control *control, const struct shim_call *call,
			    struct shadow_place *place, struct walk *walk, uint64_t key)
{
	bool truncated;
	uint64_t path = walk_run(walk, call, &truncated);
	enum shim_tell told;

	if (path == 0)
		return 0;
	told = shim_path_tell(control, call, &place->shadow, path, truncated);
	/* A wait for room may have ended in a fork child, where there is no such memory. */
	if (shim_control() != control)
		return 0;
	if (walk->overflow)
		place->shadow.frames = 0;
	else if (told == SHIM_TOLD_BEFORE && key != 0)
		shim_recall_add(place, key, path);
	return told == SHIM_NOT_TOLD ? 0 : path;
}

static enum shim_path path_of(struct ring_control *control, const struct shim_call *call,
			      struct shadow_place *place, uint64_t bytes, uint64_t *ret_path)
{
	uint64_t sp = (uint64_t)&call->caller;
	struct shadow *shadow = &place->shadow;
	uint64_t generation = shim_rules_generation(control), key, path;

	*ret_path = RING_COPIED_NO_RULES;
	if (generation == 0)
		return SHIM_PATH_NONE;
	shim_store(&shadow->used, shim_load(&control->deadline));
	key = shim_recall_key(shadow, sp, call->caller);
	path = key ? shim_recall(control, place, call, sp + bytes, generation, key) : 0;
	if (path == 0) {
		struct walk walk = {
			.control = control, .shadow = shadow, .work = place->work,
			.generation = generation, .low = sp, .high = sp + bytes,
			.why = RING_COPIED_OTHER,
		};

		path = path_walked(control, call, place, &walk, key);
		*ret_path = walk.why ? walk.why : RING_COPIED_OTHER;
	}
	if (path == 0)
		return SHIM_PATH_NONE;
	*ret_path = path;
	shadow->last = path;
	return wants_copy(control, shadow) ? SHIM_PATH_AND_COPY : SHIM_PATH;
}

enum shim_path shim_path_find(struct ring_control *control, const struct shim_call *call,
			      uint64_t *ret_path)
{
	uint64_t bytes = shim_stack_proven(control, call);
	struct shadow_place *place;
	enum shim_path path;

	*ret_path = RING_COPIED_NO_END;
	if (bytes < 16 || bytes % 8 != 0)
		return SHIM_PATH_NONE;
	*ret_path = RING_COPIED_NO_SHADOW;
	place = shadow_open(control, call->thread);
	if (!place)
		return SHIM_PATH_NONE;
	path = path_of(control, call, place, bytes, ret_path);
	if (shim_control() == control)
		shadow_close(place, call->thread);
	return path;
}
