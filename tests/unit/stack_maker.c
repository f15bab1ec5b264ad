/* SPDX-License-Identifier: MIT */
/* stack_maker.c - stacks through the code of real modules, made up. */
#include "tests/unit/stack_maker.h"

#include "src/base/array.h"
#include "src/unwind/cfi_search.h"

#define PLACE		0x7ffd00000000ull
#define MAX_FRAME	(1 << 10)	/* bytes: larger ones are left out */

/* xorshift */
static uint64_t pick(struct stack_maker *maker, uint64_t below)
{
	maker->random ^= maker->random << 13;
	maker->random ^= maker->random >> 7;
	maker->random ^= maker->random << 17;
	return maker->random % below;
}

/* ---- functions ---- */

static bool is_plain(const struct rules_rule *rule)
{
	if (rule->kind != RULES_STEP || (rule->flags & (RULES_DEREF | RULES_RBP_BY_RBP)))
		return false;
	return (rule->base == RULES_BASE_RSP && rule->cfa <= MAX_FRAME) ||
	       rule->base == RULES_BASE_RBP;
}

/* A row of a module's search table. */
struct function {
	uint32_t module, row;
};

/* Somewhere in the function. */
static bool add_call(struct stack_maker *maker, const struct follower *follower,
		     const struct function *function, const struct cfi_search *search)
{
	const struct module *module = modules_get(follower->modules, function->module);
	uint64_t start = cfi_search_start(search, function->row);
	uint64_t end = cfi_search_start(search, function->row + 1);
	uint64_t address = start + pick(maker, end > start ? end - start : 1);
	uint32_t rule = cfi_table_find(&follower->table[function->module - 1], address);
	struct stack_maker_call *grown;

	if (!is_plain(&follower->set.rule[rule]))
		return true;
	grown = array_room(maker->call, sizeof(*grown), maker->count, &maker->room);
	if (!grown)
		return false;
	maker->call = grown;
	maker->call[maker->count++] = (struct stack_maker_call){
		.address = address + 1 + module->bias, .rule = follower->set.rule[rule],
	};
	return true;
}

/* All that end where the next one begins. *ret_count of them, to be freed. */
static struct function *list_functions(const struct follower *follower, size_t *ret_count)
{
	struct function *function = NULL, *grown;
	size_t room = 0;

	*ret_count = 0;
	for (uint32_t id = 1; id <= follower->count; id++) {
		struct cfi_search search = cfi_search_open(modules_get(follower->modules, id));

		if (!search.header || !follower->table[id - 1].row)
			continue;
		for (uint32_t row = 0; row + 1 < search.count; row++) {
			grown = array_room(function, sizeof(*grown), *ret_count, &room);
			if (!grown)
				return function;
			function = grown;
			function[(*ret_count)++] = (struct function){ id, row };
		}
	}
	return function;
}

static void shuffle(struct stack_maker *maker, struct function *function, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = pick(maker, i);
		struct function one = function[other];

		function[other] = function[i - 1];
		function[i - 1] = one;
	}
}

bool stack_maker_init(struct stack_maker *maker, const struct follower *follower,
		      unsigned int places)
{
	struct function *function;
	bool good = true;
	size_t count;

	maker->call = NULL;
	maker->count = maker->room = maker->used = 0;
	maker->random |= 1;
	function = list_functions(follower, &count);
	shuffle(maker, function, count);
	for (size_t i = 0; good && i < count; i++) {
		struct cfi_search search = cfi_search_open(
			modules_get(follower->modules, function[i].module));

		for (unsigned int place = 0; good && place < places; place++)
			good = add_call(maker, follower, &function[i], &search);
	}
	free(function);
	return good && maker->count > 0;
}

void stack_maker_done(struct stack_maker *maker)
{
	free(maker->call);
}

/* ---- stacks ---- */

static void put(struct stack_maker *maker, uint64_t address, uint64_t word)
{
	uint64_t at = (address - PLACE) / sizeof(word);

	if (address >= PLACE && at < STACK_MAKER_WORDS)
		maker->word[at] = word;
}

static void put_noise(struct stack_maker *maker)
{
	for (size_t i = 0; i < STACK_MAKER_WORDS; i++) {
		maker->word[i] = pick(maker, UINT64_MAX);
		if (i % 4 == 0)
			maker->word[i] = PLACE + maker->word[i] % sizeof(maker->word);
	}
}

/* Where the caller's frame begins; rbp: where the value of this frame's comes from, 0 registers. */
static uint64_t frame_end(struct stack_maker *maker, const struct rules_rule *rule, uint64_t sp,
			  uint64_t rbp, struct unwind_input *input)
{
	uint64_t cfa = sp + (uint64_t)(int64_t)rule->cfa;

	if (rule->base == RULES_BASE_RSP)
		return cfa;
	cfa = sp + 64 + 8 * pick(maker, 24);
	if (rbp)
		put(maker, rbp, cfa - (uint64_t)(int64_t)rule->cfa);
	else
		input->registers.rbp = cfa - (uint64_t)(int64_t)rule->cfa;
	return cfa;
}

/* From the innermost frame on, through calls from first on, or any of the first among. */
static void lay_out(struct stack_maker *maker, size_t first, size_t among, uint32_t frames,
		    struct unwind_input *input)
{
	uint64_t sp = input->registers.rsp, rbp = 0, slot = 0;

	for (uint32_t i = 0; i < frames; i++) {
		size_t at = among ? pick(maker, among) : first + i;
		const struct stack_maker_call *call = &maker->call[at];

		if (slot)
			put(maker, slot, call->address);
		else
			input->registers.rip = call->address;
		sp = frame_end(maker, &call->rule, sp, rbp, input);
		if (call->rule.flags & RULES_SAVES_RBP)
			rbp = sp + (uint64_t)(int64_t)call->rule.rbp;
		slot = sp - sizeof(uint64_t);
	}
	put(maker, slot, 0);
}

static void make(struct stack_maker *maker, size_t first, size_t among, uint32_t frames,
		 struct unwind_input *ret)
{
	put_noise(maker);
	*ret = (struct unwind_input){
		.registers.rsp = PLACE + 8 * pick(maker, 64), .registers.rbx = pick(maker, 1000),
		.stack = (const uint8_t *)maker->word, .stack_address = PLACE,
		.stack_bytes = sizeof(maker->word), .first_is_return = true,
	};
	lay_out(maker, first, among, frames, ret);
}

bool stack_maker_fresh(struct stack_maker *maker, uint32_t frames, struct unwind_input *ret)
{
	if (maker->count - maker->used < frames)
		return false;
	make(maker, maker->used, 0, frames, ret);
	maker->used += frames;
	return true;
}

void stack_maker_known(struct stack_maker *maker, size_t among, uint32_t frames,
		       struct unwind_input *ret)
{
	make(maker, 0, among, frames, ret);
}
