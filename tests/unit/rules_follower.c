/* SPDX-License-Identifier: MIT */
/* rules_follower.c - walks a stack by the compiled rules of its modules. */
#include "tests/unit/rules_follower.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/unwind/unwind_memo.h"

/* A register's value, or where it is: read only when it is needed, as the walker does. */
struct place {
	bool in_memory;
	uint64_t value;
};
struct state {
	const struct unwind_input *input;
	uint64_t ip, sp;
	struct place rbp, rbx;
};
enum step { STEP_ON, STEP_END, STEP_CUT, STEP_LOST, STEP_COPY };

bool follower_init(struct follower *follower, const struct modules *modules)
{
	uint32_t count = modules_count(modules);

	*follower = (struct follower){ .modules = modules, .count = count };
	follower->table = calloc(count + 1, sizeof(*follower->table));
	if (!follower->table || rule_set_init(&follower->set) < 0)
		return false;
	for (uint32_t id = 1; id <= count; id++) {
		if (cfi_table_build(modules_get(modules, id), &follower->set,
				    &follower->table[id - 1]) == -ENOMEM)
			return false;
	}
	return true;
}

void follower_done(struct follower *follower)
{
	for (uint32_t i = 0; i < follower->count; i++)
		cfi_table_done(&follower->table[i]);
	free(follower->table);
	rule_set_done(&follower->set);
}

static bool read_place(const struct state *state, const struct place *place, uint64_t *ret)
{
	*ret = place->value;
	return !place->in_memory || unwind_input_word(state->input, place->value, ret);
}

static bool find_base(const struct state *state, const struct rules_rule *rule, uint64_t *ret)
{
	*ret = state->sp;
	if (rule->base == RULES_BASE_RSP)
		return true;
	return read_place(state, rule->base == RULES_BASE_RBP ? &state->rbp : &state->rbx, ret);
}

/* False: it is relative to an rbp that can't be had. */
static bool find_place(const struct state *state, bool by_rbp, uint64_t cfa, int32_t offset,
		       struct place *ret)
{
	uint64_t base = cfa;

	if (by_rbp && !read_place(state, &state->rbp, &base))
		return false;
	*ret = (struct place){ true, base + (uint64_t)(int64_t)offset };
	return true;
}

static enum step step_by(struct state *state, const struct rules_rule *rule)
{
	struct state next = *state;
	uint64_t cfa;

	if (!find_base(state, rule, &cfa))
		return STEP_LOST;
	cfa += (uint64_t)(int64_t)rule->cfa;
	if ((rule->flags & RULES_DEREF) && !unwind_input_word(state->input, cfa, &cfa))
		return STEP_LOST;
	if (((rule->flags & RULES_SAVES_RBP) &&
	     !find_place(state, rule->flags & RULES_RBP_BY_RBP, cfa, rule->rbp, &next.rbp)) ||
	    ((rule->flags & RULES_SAVES_RBX) &&
	     !find_place(state, rule->flags & RULES_RBX_BY_RBP, cfa, rule->rbx, &next.rbx)))
		return STEP_COPY;
	if (!unwind_input_word(state->input, cfa - sizeof(uint64_t), &next.ip))
		return STEP_LOST;
	next.sp = cfa;
	if (next.ip == 0)
		return STEP_END;
	if (cfa <= state->sp || cfa - state->sp >= 1ull << 40)
		return STEP_CUT;
	*state = next;
	return STEP_ON;
}

static enum step step(const struct follower *follower, struct state *state,
		      const struct module *module)
{
	const struct cfi_table *table = &follower->table[module->id - 1];
	const struct rules_rule *rule;
	uint64_t rbp;

	if (!table->row)
		return STEP_COPY;
	rule = &follower->set.rule[cfi_table_find(table, state->ip - 1 - module->bias)];
	switch ((enum rules_kind)rule->kind) {
	case RULES_STEP:
		return step_by(state, rule);
	case RULES_END:
		return STEP_END;
	case RULES_CUT:
		return read_place(state, &state->rbp, &rbp) && rbp == 0 ? STEP_END : STEP_CUT;
	case RULES_COPY:
	case RULES_GUESS:	/* no module's */
		break;
	}
	return STEP_COPY;
}

enum follower_end follower_walk(struct follower *follower, const struct unwind_input *input,
				struct frame *frame, uint32_t *ret_count)
{
	struct state state = {
		input, input->registers.rip, input->registers.rsp,
		{ false, input->registers.rbp }, { false, input->registers.rbx },
	};
	enum step went = STEP_ON;

	for (*ret_count = 0; went == STEP_ON; ) {
		const struct module *module = modules_find(follower->modules, state.ip - 1);

		if (*ret_count == STACKS_MAX_FRAMES || (!module && *ret_count > 0))
			return FOLLOWER_TRUNCATED;
		frame[(*ret_count)++] = (struct frame){
			.module = module ? module->id : 0, .flags = FRAME_RETURN,
			.offset = state.ip - (module ? module->bias : 0),
		};
		went = module ? step(follower, &state, module) : STEP_COPY;
		follower->steps += went == STEP_ON;
	}
	follower->copies += went == STEP_COPY;
	return went == STEP_COPY ? FOLLOWER_COPY
	       : went == STEP_LOST ? FOLLOWER_UNREADABLE
	       : went == STEP_END ? FOLLOWER_COMPLETE : FOLLOWER_TRUNCATED;
}

static void print(const struct modules *modules, const char *who, const struct frame *frame,
		  uint32_t count, const char *end)
{
	fprintf(stderr, "%s:\n", who);
	for (uint32_t i = 0; i < count; i++) {
		const struct module *module = modules_get(modules, frame[i].module);

		fprintf(stderr, "\t%s+%#" PRIx64 " flags %u\n", module ? module->path : "?",
			frame[i].offset, frame[i].flags);
	}
	fprintf(stderr, "\t%s\n", end);
}

bool follower_agrees(struct follower *follower, struct unwinder *unwinder,
		     const struct unwind_input *input)
{
	static const char *const name[] = { "complete", "truncated", "unreadable", "copy" };
	static struct frame ours[STACKS_MAX_FRAMES], theirs[STACKS_MAX_FRAMES];
	enum follower_end our_end;
	enum unwind_end their_end;
	uint32_t our_count, their_count;
	bool equal;

	our_end = follower_walk(follower, input, ours, &our_count);
	if (unwinder_walk(unwinder, input, theirs, &their_count, &their_end) < 0)
		return false;
	if (our_end == FOLLOWER_COPY) {
		/* A trampoline of signals has other flags. */
		equal = our_count <= their_count &&
			ours[our_count - 1].offset == theirs[our_count - 1].offset;
		equal &= memcmp(ours, theirs, (our_count - 1) * sizeof(*ours)) == 0;
	} else {
		equal = our_count == their_count &&
			memcmp(ours, theirs, our_count * sizeof(*ours)) == 0 &&
			(our_end == FOLLOWER_UNREADABLE ||
			 (our_end == FOLLOWER_COMPLETE) == (their_end == UNWIND_COMPLETE));
	}
	if (!equal) {
		print(follower->modules, "by the rules", ours, our_count, name[our_end]);
		print(follower->modules, "by the unwinder", theirs, their_count, name[their_end]);
	}
	return equal;
}
