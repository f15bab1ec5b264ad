/* SPDX-License-Identifier: MIT */
/*
 * test_shim_paths.c - the shim knows a call path by its name only if a whole walk by the same
 * rules would give it: on made-up stacks with made-up rules, told ones first, then random ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/made_rules.h"

enum { PLACES = MADE_PLACES, BELOW = 8192, ABOVE = 512, DEEP = 1400, MAX_PATH = 1024,
       NAMES = 20000 };
#define CODE MADE_CODE
#define JIT MADE_JIT
#define JIT_BYTES MADE_JIT_BYTES
#define PLACE MADE_PLACE

/* What was told of one name. */
struct told {
	uint64_t name;
	uint32_t count;
	bool truncated;
	uint64_t ra[MAX_PATH];
};
/* What the last event was recorded as. */
struct seen {
	unsigned int events, paths;
	uint16_t flags;
	uint64_t name;
};
struct world {
	struct shim_host host;
	void *malloc;
	struct made_rules made;
	struct rules_rule *rule;	/* of made */
	struct told *told;
	uint32_t told_count;
	struct seen seen;
	uint64_t *top;
	uint64_t *end;		/* of the made-up stack */
};

static char block[64];
static void *fake_malloc(size_t size)
{
	(void)size;
	return block;
}

static void publish(struct world *w)
{
	made_rules_publish(&w->made, w->host.control);
}

static struct told *told_find(struct world *w, uint64_t name)
{
	for (uint32_t i = 0; i < w->told_count; i++)
		if (w->told[i].name == name)
			return &w->told[i];
	return NULL;
}

static void take(void *context, const struct ring_record *record, const struct ring_stack *stack,
		 const uint8_t *bytes)
{
	struct world *w = context;

	(void)bytes;
	if (record->kind == RING_PATH) {
		struct told *told = told_find(w, record->address);

		w->seen.paths++;
		if (!told) {
			assert_true(w->told_count < NAMES);
			told = &w->told[w->told_count++];
		}
		told->name = record->address;
		told->count = record->stack_bytes;
		told->truncated = record->flags & RING_F_TRUNCATED;
		assert_true(told->count <= MAX_PATH);
		memcpy(told->ra, stack, told->count * 8);
		return;
	}
	w->seen.events++;
	w->seen.flags = record->flags;
	w->seen.name = record->flags & RING_F_PATH ? record->caller : 0;
}

static void call(struct world *w, uint64_t *top, uint64_t rbp, uint64_t rbx)
{
	w->seen = (struct seen){ .events = 0 };
	call_on(w->malloc, top, rbp, rbx);
	shim_host_drain(&w->host, 0, take, w, NULL);
	assert_int_equal(w->seen.events, 1);
}

static bool word(const struct world *w, uint64_t low, uint64_t address, uint64_t *ret)
{
	if (address < low || address % 8 || address > w->host.control->main_stack_high - 8)
		return false;
	*ret = *(uint64_t *)address;
	return true;
}

static struct rules_rule rule_of(const struct world *w, uint64_t ra)
{
	if (ra == (uint64_t)call_on_return)
		return (struct rules_rule){ .kind = RULES_STEP, .cfa = 8 };
	if (ra > CODE && ra <= CODE + 16 * PLACES)
		return w->rule[(ra - 1 - CODE) / 16];
	if (ra > JIT && ra <= JIT + JIT_BYTES)
		return made_guess;
	if (ra > MADE_WIDE && ra <= MADE_WIDE + 256 * MADE_WIDE_PLACES)
		return made_wide[(ra - 1 - MADE_WIDE) / 256 % 2];
	if (ra > (uint64_t)w->top && ra <= (uint64_t)w->end)
		return (struct rules_rule){ .kind = RULES_END };
	return (struct rules_rule){ .kind = RULES_COPY };
}

/* A word that can't be read is no harm as long as nothing depends on it. */
static void restore(const struct world *w, uint64_t low, uint64_t address, bool known_base,
		    uint64_t *ret, bool *ret_known)
{
	*ret_known = known_base && word(w, low, address, ret);
}

/* The walk as it is meant, from the first frame to the last. False: there is no path. */
static bool walk(const struct world *w, const uint64_t *top, uint64_t rbp, uint64_t rbx,
		 struct told *ret)
{
	uint64_t slot = (uint64_t)(top - 1), ra = (uint64_t)call_on_return, low = slot;
	bool rbp_known = true, rbx_known = true;

	ret->count = 0;
	for (;;) {
		struct rules_rule rule = rule_of(w, ra);
		uint64_t base = rule.base == RULES_BASE_RBP ? rbp :
				rule.base == RULES_BASE_RBX ? rbx : slot + 8;
		uint64_t cfa = base + (uint64_t)(int64_t)rule.cfa, frame_rbp = rbp;
		bool by_rbp_known = rbp_known;

		ret->truncated = rule.kind == RULES_CUT && rbp != 0;
		if (ret->count == MAX_PATH) {
			ret->truncated = true;
			return true;
		}
		if (rule.kind == RULES_COPY || (rule.kind == RULES_CUT && !rbp_known))
			return false;
		ret->ra[ret->count++] = ra;
		if (rule.kind == RULES_GUESS) {
			ret->truncated = rbp - (slot + 8) >= RULES_GUESS_REACH ||
					 !word(w, low, frame_rbp, &rbp) ||
					 !word(w, low, frame_rbp + 8, &ra);
			if (ret->truncated)
				return rbp_known;
			slot = frame_rbp + 8;
			rbx_known = false;
			if (ra == 0 || !rbp_known)
				return rbp_known;
			continue;
		}
		if (rule.kind != RULES_STEP)
			return true;
		if ((rule.base == RULES_BASE_RBP && !rbp_known) ||
		    (rule.base == RULES_BASE_RBX && !rbx_known) ||
		    ((rule.flags & RULES_DEREF) && !word(w, low, cfa, &cfa)) ||
		    cfa - 8 <= slot || !word(w, low, cfa - 8, &ra))
			return false;
		if (rule.flags & RULES_SAVES_RBP)
			restore(w, low, (rule.flags & RULES_RBP_BY_RBP ? frame_rbp : cfa) +
					(uint64_t)(int64_t)rule.rbp,
				!(rule.flags & RULES_RBP_BY_RBP) || by_rbp_known, &rbp, &rbp_known);
		if (rule.flags & RULES_SAVES_RBX)
			restore(w, low, (rule.flags & RULES_RBX_BY_RBP ? frame_rbp : cfa) +
					(uint64_t)(int64_t)rule.rbx,
				!(rule.flags & RULES_RBX_BY_RBP) || by_rbp_known, &rbx, &rbx_known);
		slot = cfa - 8;
		if (ra == 0)
			return true;
	}
}

/* One event; what the shim says of it is what a whole walk says. Returns whether it had a name. */
static bool check(struct world *w, uint64_t *top, uint64_t rbp, uint64_t rbx)
{
	struct told expected, *told;
	bool known;

	call(w, top, rbp, rbx);
	known = walk(w, top, rbp, rbx, &expected);
	if (!(w->seen.flags & RING_F_PATH))
		return false;
	assert_true(known);
	told = told_find(w, w->seen.name);
	assert_non_null(told);
	assert_int_equal(told->count, expected.count);
	assert_int_equal(told->truncated, expected.truncated);
	assert_memory_equal(told->ra, expected.ra, expected.count * 8);
	return true;
}

static void begin(struct world *w, uint64_t *area)
{
	const struct shim_host_options options = { .ring_bytes = 1u << 20, .recognise = true };

	memset(w, 0, sizeof(*w));
	w->told = calloc(NAMES, sizeof(*w->told));
	assert_non_null(w->told);
	memset(area, 0, (BELOW + ABOVE) * sizeof(*area));
	w->top = area + BELOW;
	w->end = w->top + ABOVE;
	w->rule = w->made.rule;
	w->made.low = w->top;
	w->made.high = w->end;
	shim_host_open(&w->host, &options);
	w->malloc = shim_host_hook(&w->host, RING_SHAPE_MALLOC, (const void *)fake_malloc, 0, 0, 0);
	shim_host_arm(&w->host);
	for (uint32_t i = 0; i < PLACES; i++)
		w->rule[i] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 16 };
}

static void end(struct world *w)
{
	shim_host_close(&w->host);
	free(w->told);
}

static void test_named_once(void **state)
{
	uint64_t area[BELOW + ABOVE];
	struct world w;
	uint64_t name;

	(void)state;
	begin(&w, area);
	w.rule[2].kind = RULES_END;
	publish(&w);
	w.top[0] = PLACE(0);	/* its frame: a word, and the next return address */
	w.top[2] = PLACE(1);
	w.top[4] = PLACE(2);
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.paths, 1);
	name = w.seen.name;
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.paths, 0);
	assert_int_equal(w.seen.name, name);
	w.top[0] = PLACE(3);	/* another innermost frame */
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.paths, 1);
	w.top[0] = PLACE(0);
	w.top[4] = PLACE(4);	/* another outermost one, which the inner ones don't show */
	w.top[6] = PLACE(2);
	assert_true(check(&w, w.top, 0, 0));
	assert_int_not_equal(w.seen.name, name);
	w.top[6] = 0;
	assert_true(check(&w, w.top, 0, 0));
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.paths, 0);
	end(&w);
}

/* Two chains lie there; which one it is only rbp tells, and rbp only a word of the inner frame. */
static void test_saved_rbp_decides(void **state)
{
	uint64_t area[BELOW + ABOVE];
	struct world w;
	uint64_t name;

	(void)state;
	begin(&w, area);
	w.rule[0] = (struct rules_rule){ .kind = RULES_STEP, .flags = RULES_SAVES_RBP, .cfa = 16,
					 .rbp = -16 };
	w.rule[1] = (struct rules_rule){ .kind = RULES_STEP, .base = RULES_BASE_RBP, .cfa = 16 };
	w.rule[2].kind = w.rule[3].kind = RULES_END;
	publish(&w);
	w.top[0] = PLACE(0);
	w.top[1] = (uint64_t)&w.top[8];
	w.top[2] = PLACE(1);
	w.top[9] = PLACE(2);
	w.top[21] = PLACE(3);
	assert_true(check(&w, w.top, 0, 0));
	name = w.seen.name;
	w.top[1] = (uint64_t)&w.top[20];
	assert_true(check(&w, w.top, 0, 0));
	assert_int_not_equal(w.seen.name, name);
	w.top[1] = (uint64_t)&w.top[8];
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.name, name);
	/* an inner frame that takes it from elsewhere, and whose word then changes */
	w.rule[4] = (struct rules_rule){ .kind = RULES_STEP, .flags = RULES_SAVES_RBP, .cfa = 16,
					 .rbp = 0 };
	publish(&w);
	w.top[0] = PLACE(4);
	w.top[3] = (uint64_t)&w.top[8];
	assert_true(check(&w, w.top, 0, 0));
	w.top[3] = (uint64_t)&w.top[20];
	assert_true(check(&w, w.top, 0, 0));
	end(&w);
}

static void test_rules_must_hold(void **state)
{
	uint64_t area[BELOW + ABOVE];
	struct world w;

	(void)state;
	begin(&w, area);
	w.rule[0].kind = RULES_END;
	w.rule[1].kind = RULES_CUT;
	w.rule[2].kind = RULES_COPY;
	w.top[0] = PLACE(0);
	assert_false(check(&w, w.top, 0, 0));		/* none are published */
	publish(&w);
	assert_true(check(&w, w.top, 0, 0));
	w.host.control->module_generation++;
	assert_false(check(&w, w.top, 0, 0));		/* not for these modules */
	w.rule[0] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 8 };
	w.top[1] = PLACE(1);
	publish(&w);
	assert_true(check(&w, w.top, 0, 0));		/* the frame means something else */
	w.top[1] = PLACE(2);
	assert_false(check(&w, w.top, 0, 0));
	w.top[1] = 0x123456;
	assert_false(check(&w, w.top, 0, 0));		/* nobody's */
	w.top[1] = PLACE(1);
	w.host.control->recognise = 0;
	assert_false(check(&w, w.top, 0, 0));
	w.host.control->recognise = 1;
	w.host.control->verify = 2;
	assert_true(check(&w, w.top, 0, 0));
	assert_true(w.seen.flags == RING_F_PATH || (w.seen.flags & RING_F_STACK));
	w.host.control->verify = 1;
	assert_true(check(&w, w.top, 0, 0));
	assert_true(w.seen.flags & RING_F_STACK);
	w.host.control->verify = 0;
	w.host.control->path_epoch++;
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.paths, 1);		/* told again, by another name */
	end(&w);
}

static uint64_t random_state;
static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static uint64_t hints_sum(const struct world *w)
{
	const uint64_t *hint = (const uint64_t *)((const uint8_t *)w->host.control +
						  w->host.control->rules_offset + RULES_HINTS_AT);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < RULES_HINT_LINES * RULES_HINT_WAYS; i++)
		sum += hint[i] * (i + 1);
	return sum;
}

/* Of more code than a line of hints has room for. */
static void walk_wide(struct world *w)
{
	for (uint32_t i = 0; i < 12000; i++) {
		for (uint32_t frame = 0; frame < 12; frame++)
			w->top[frame] = MADE_WIDE_PLACE(random_below(MADE_WIDE_PLACES));
		assert_true(check(w, w->top, 0, 0));
		w->told_count = 0;
		w->host.control->path_epoch++;
	}
}

static void test_hints(void **state)
{
	uint64_t area[BELOW + ABOVE], sum;
	struct world w;

	(void)state;
	begin(&w, area);
	random_state = 3;
	w.top[12] = w.top[13] = (uint64_t)w.end - 8;
	sum = hints_sum(&w);
	publish(&w);
	walk_wide(&w);
	assert_true(hints_sum(&w) != sum);
	w.made.generation = 100;	/* whose rules no hint has bits for */
	publish(&w);
	walk_wide(&w);
	w.made.generation = RULES_HINT_GENERATIONS - 1;		/* none are left */
	publish(&w);
	sum = hints_sum(&w);
	walk_wide(&w);
	assert_true(hints_sum(&w) == sum);
	end(&w);
}

/*
 * The return addresses of the one stack all still lie where they lay, while the other one is
 * what is there: who compares no more than those takes the one for the other.
 */
static void test_stale_return_addresses(void **state)
{
	uint64_t area[BELOW + ABOVE], accepted = 0, misled = 0;
	const uint64_t *slot[3];
	struct told known;
	struct world w;

	(void)state;
	begin(&w, area);
	w.rule[0] = (struct rules_rule){ .kind = RULES_STEP, .base = RULES_BASE_RBP, .cfa = 16 };
	w.rule[1].kind = w.rule[2].kind = RULES_END;
	publish(&w);
	w.top[0] = PLACE(0);
	w.top[21] = PLACE(1);
	w.top[41] = PLACE(2);
	slot[0] = &w.top[-1];
	slot[1] = &w.top[0];
	slot[2] = &w.top[21];
	assert_true(walk(&w, w.top, (uint64_t)&w.top[20], 0, &known));
	assert_int_equal(known.count, 3);
	for (uint32_t i = 0; i < 100; i++) {
		const struct told *told;
		bool same = true;

		assert_true(check(&w, w.top, (uint64_t)&w.top[i & 1 ? 40 : 20], 0));
		for (uint32_t k = 0; k < known.count; k++)
			same &= *slot[k] == known.ra[k];
		told = told_find(&w, w.seen.name);
		accepted += same;
		misled += same && told->ra[2] != known.ra[2];
	}
	assert_int_equal(accepted, 100);
	assert_int_equal(misled, 50);
	end(&w);
}

/* Code that is left by its frame pointer, and only if that lies where one can. */
static void test_guesses(void **state)
{
	uint64_t area[BELOW + ABOVE];
	struct world w;
	uint64_t name;

	(void)state;
	begin(&w, area);
	w.rule[0].kind = RULES_END;
	w.rule[1] = (struct rules_rule){ .kind = RULES_STEP, .base = RULES_BASE_RBX, .cfa = 0 };
	publish(&w);
	w.top[0] = JIT + 8;
	w.top[5] = PLACE(0);
	w.top[9] = PLACE(2);
	w.top[11] = PLACE(0);
	assert_true(check(&w, w.top, (uint64_t)&w.top[4], 0));
	name = w.seen.name;
	assert_true(check(&w, w.top, (uint64_t)&w.top[8], 0));
	assert_int_not_equal(w.seen.name, name);
	assert_true(check(&w, w.top, (uint64_t)&w.top[4], 7));	/* rbx is nobody's */
	assert_int_equal(w.seen.name, name);
	assert_true(check(&w, w.top, (uint64_t)&w.top[4] + 4, 0));	/* cut */
	assert_true(check(&w, w.top, (uint64_t)&w.top[-1], 0));
	assert_true(check(&w, w.top, (uint64_t)w.end + RULES_GUESS_REACH, 0));
	w.top[5] = PLACE(1);	/* what needs rbx can't be left any more */
	assert_false(check(&w, w.top, (uint64_t)&w.top[4], (uint64_t)&w.top[10]));
	end(&w);
}

/* More frames than a path has: the inner ones, whichever those are. */
static void test_deep(void **state)
{
	static const uint32_t depth[] = { 1100, 1101, 1099, 1023, 1022, 1024, 1025, 1400, 900 };
	uint64_t area[BELOW + DEEP] = { 0 };
	struct world w;

	(void)state;
	begin(&w, area + DEEP - ABOVE);
	for (uint32_t i = 0; i < PLACES; i++)
		w.rule[i] = (struct rules_rule){ .kind = RULES_STEP, .cfa = 8 };
	publish(&w);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t *top = area + BELOW + DEEP - depth[i % 9] - 1;
		uint64_t *further = &top[depth[i % 9] < 1023 ? 0 : 1023];

		for (uint64_t *at = top; at < area + BELOW + DEEP - 1; at++)
			*at = PLACE((uint32_t)(area + BELOW + DEEP - at) % 7);
		if (i % 5 == 0)
			top[8 * i * i % 896] = PLACE(40);
		assert_true(check(&w, top, 0, 0));
		*further = i % 4 ? *further : 0;	/* where the walk would go on */
		assert_true(check(&w, top, 0, 0));
	}
	end(&w);
}

/* A frame beyond the end of the stack, a ring without room, a shadow that is at work. */
static void test_copied_when_uncertain(void **state)
{
	uint64_t area[BELOW + ABOVE];
	struct world w;
	uint64_t *shadow;

	(void)state;
	begin(&w, area);
	w.rule[0] = (struct rules_rule){ .kind = RULES_STEP, .base = RULES_BASE_RBX, .cfa = 0 };
	w.rule[1].kind = RULES_END;
	publish(&w);
	w.top[0] = PLACE(0);
	assert_false(check(&w, w.top, 0, w.host.control->main_stack_high + 8));
	assert_false(check(&w, w.top, 0, 0));
	assert_false(check(&w, w.top, 0, (uint64_t)&w.top[0] - 64));	/* inwards */
	assert_false(check(&w, w.top, 0, (uint64_t)&w.top[4] + 1));
	w.top[4] = PLACE(1);
	assert_true(check(&w, w.top, 0, (uint64_t)&w.top[5]));
	shadow = (uint64_t *)((uint8_t *)w.host.control + w.host.control->shadows_offset);
	for (uint64_t i = 0; i < w.host.control->shadow_slots; i++)
		shadow[i * RING_SHADOW_BYTES / 8] |= 1;
	assert_false(check(&w, w.top, 0, (uint64_t)&w.top[5]));
	end(&w);
}

/* Often enough for the shim to remember it as a whole. */
static void check_often(struct world *w)
{
	for (unsigned int i = 0; i < 6; i++)
		assert_true(check(w, w->top, 0, 0));
	assert_int_equal(w->seen.paths, 0);
}

/* A walk that came again and again, and then all but does. */
static void test_recalled(void **state)
{
	uint64_t area[BELOW + ABOVE], high;
	struct world w;

	(void)state;
	begin(&w, area);
	w.rule[4].kind = RULES_END;
	publish(&w);
	high = w.host.control->main_stack_high;
	w.top[0] = PLACE(0);
	w.top[2] = PLACE(1);
	w.top[4] = 0;
	check_often(&w);
	w.top[4] = PLACE(2);			/* it goes on further out */
	assert_true(check(&w, w.top, 0, 0));
	w.top[4] = 0;
	check_often(&w);
	w.host.control->main_stack_high = (uint64_t)&w.top[4];	/* the end can't be read */
	assert_false(check(&w, w.top, 0, 0));
	w.host.control->main_stack_high = high;
	check_often(&w);
	w.host.control->main_stack_high = high;
	w.top[2] = PLACE(4);			/* which ends it */
	check_often(&w);
	w.host.control->main_stack_high = (uint64_t)&w.top[2];	/* nor can that be read */
	assert_false(check(&w, w.top, 0, 0));
	w.host.control->main_stack_high = high;
	w.top[2] = PLACE(1);
	check_often(&w);
	w.rule[1].cfa = 24;			/* the same words, other rules */
	w.top[5] = PLACE(3);
	w.top[7] = 0;
	publish(&w);
	check_often(&w);
	w.host.control->path_epoch++;
	assert_true(check(&w, w.top, 0, 0));
	assert_int_equal(w.seen.paths, 1);
	end(&w);
}

static struct rules_rule random_rule(void)
{
	static const uint8_t base[8] = { 0, 0, 0, 0, 0, RULES_BASE_RBP, RULES_BASE_RBP,
					 RULES_BASE_RBX };
	struct rules_rule rule = { .kind = RULES_STEP, .base = base[random_below(8)] };

	if (random_below(10) == 0)
		rule.kind = (uint8_t)random_below(4);
	if (random_below(20) == 0)
		rule.kind = RULES_CUT;
	rule.cfa = 8 * (int32_t)random_below(6) + 8;
	if (random_below(3) == 0)
		rule.flags |= RULES_SAVES_RBP;
	if (random_below(4) == 0)
		rule.flags |= RULES_SAVES_RBX;
	if (random_below(12) == 0)
		rule.flags |= RULES_DEREF;
	if (random_below(8) == 0)
		rule.flags |= RULES_RBP_BY_RBP;
	if (random_below(8) == 0)
		rule.flags |= RULES_RBX_BY_RBP;
	rule.rbp = 8 * (int32_t)random_below(8) - 40;
	rule.rbx = 8 * (int32_t)random_below(8) - 40;
	return rule;
}

/* Return addresses for the most part; else places further out on the stack; rarely 0. */
static uint64_t random_word(const struct world *w, uint32_t at)
{
	uint32_t kind = random_below(20);

	if (kind == 0)
		return 0;
	if (kind == 1)
		return JIT + 8 + random_below(8);
	if (kind < 14)
		return PLACE(random_below(PLACES));
	return (uint64_t)&w->top[at + random_below(ABOVE - at < 40 ? ABOVE - at : 40)];
}

/* A few frames deep, on and on, with a few words changed between: joins and near misses. */
static void random_round(struct world *w, uint64_t *named)
{
	uint64_t rbp = random_word(w, 0), rbx = random_word(w, 0);

	for (uint32_t i = 0; i < ABOVE; i++)
		w->top[i] = random_word(w, i);
	for (uint32_t i = 0; i < PLACES; i++)
		w->rule[i] = random_rule();
	w->host.control->path_epoch++;
	publish(w);
	for (uint32_t i = 0; i < 120; i++) {
		uint32_t at = random_below(3) ? random_below(24) : random_below(ABOVE);

		if (random_below(3))
			w->top[at] = random_word(w, at);
		if (random_below(4) == 0)
			rbp = random_below(3) ? random_word(w, random_below(60)) : 0;
		if (random_below(4) == 0)
			rbx = random_word(w, random_below(60));
		*named += check(w, w->top + random_below(6), rbp, rbx);
	}
	w->told_count = 0;
}

static void test_random(void **state)
{
	uint64_t area[BELOW + ABOVE], named = 0;
	struct world w;

	(void)state;
	begin(&w, area);
	random_state = 1;
	for (uint32_t round = 0; round < 1500; round++)
		random_round(&w, &named);
	assert_true(named > 20000);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_once),
		cmocka_unit_test(test_saved_rbp_decides),
		cmocka_unit_test(test_rules_must_hold),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_stale_return_addresses),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_copied_when_uncertain),
		cmocka_unit_test(test_recalled), cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
