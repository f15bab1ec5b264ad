/* SPDX-License-Identifier: MIT */
/*
 * locals.c - which function and local variable a word of a stack, or a register, belongs to.
 *
 * Optimised code keeps its variables in registers that calls preserve, and what a callee
 * has pushed of these is on the stack, in *its* frame. Therefore each frame
 * remembers where its registers are now: still in the thread's, or in a slot below;
 * a slot is then named by the variable of the outer function that it keeps.
 * Frames are left by libdw's rules (cfi_rule.c) alone: src/unwind/unwind.c gives return
 * addresses and no registers. Where no rule is, frames end, and words beyond have no name.
 */
#include "src/leak/holders/locals.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "src/unwind/cfi_rule.h"
#include "src/leak/holders/frame_variables.h"

#define MAX_FRAMES	256u
#define NOWHERE		UINT64_MAX

struct walked {
	uint64_t pc;		/* in the code of the frame: of a caller, in its call */
	bool is_caller;
	uint64_t cfa;		/* 0: unknown, the outermost */
	uint64_t value[CFI_REGISTERS];
	uint64_t from[CFI_REGISTERS];	/* the slot it was saved in, 0: still in the register */
	bool searched;
	Dwarf_Die function;	/* addr NULL: unknown */
};
struct stack_of {
	int32_t tid;
	uint32_t count;
	struct walked *frame;
	struct stack_of *next;
};
struct locals {
	const struct picture *picture;
	const struct modules *modules;
	struct fields *fields;
	struct cfi_rules *rules;
	struct stack_of *stacks;
};

/* ---- frames ---- */

int locals_new(const struct picture *picture, const struct modules *modules,
	       struct fields *fields, struct locals **ret)
{
	struct locals *locals = calloc(1, sizeof(*locals));

	if (!locals || cfi_rules_new(&locals->rules) < 0) {
		free(locals);
		return -ENOMEM;
	}
	locals->picture = picture;
	locals->modules = modules;
	locals->fields = fields;
	*ret = locals;
	return 0;
}

void locals_free(struct locals *locals)
{
	struct stack_of *next;

	if (!locals)
		return;
	for (struct stack_of *stack = locals->stacks; stack; stack = next) {
		next = stack->next;
		free(stack->frame);
		free(stack);
	}
	cfi_rules_free(locals->rules);
	free(locals);
}

static void first_frame(const struct user_regs_struct *registers, struct walked *ret)
{
	const uint64_t value[CFI_REGISTERS] = {
		[CFI_RIP] = registers->rip, [CFI_RSP] = registers->rsp,
		[CFI_RBP] = registers->rbp, [CFI_RBX] = registers->rbx,
		[CFI_R12] = registers->r12, [CFI_R13] = registers->r13,
		[CFI_R14] = registers->r14, [CFI_R15] = registers->r15,
	};

	*ret = (struct walked){ .pc = registers->rip };
	memcpy(ret->value, value, sizeof(value));
}

static uint64_t cfa_of(const struct locals *locals, const struct walked *frame,
		       const struct cfi_rule *rule)
{
	uint64_t cfa = frame->value[rule->cfa_base] + (uint64_t)rule->cfa_offset;

	return rule->cfa_deref ? picture_word(locals->picture, cfa) + (uint64_t)rule->cfa_add :
				 cfa;
}

/* One register of the caller. */
static void restore(const struct locals *locals, const struct walked *frame,
		    const struct cfi_place *place, enum cfi_register which, struct walked *caller)
{
	switch (place->where) {
	case CFI_AT_CFA:
		caller->from[which] = frame->cfa + (uint64_t)place->offset;
		break;
	case CFI_AT_REGISTER:
		caller->from[which] = frame->value[place->base] + (uint64_t)place->offset;
		break;
	case CFI_IS_CFA:
		caller->from[which] = NOWHERE;
		caller->value[which] = frame->cfa + (uint64_t)place->offset;
		return;
	case CFI_SAME:
	case CFI_UNDEFINED:
		return;
	}
	caller->value[which] = picture_word(locals->picture, caller->from[which]);
}

/* Sets frame's CFA, and its caller; false: it was the last one, or nothing is known. */
static bool leave_frame(struct locals *locals, struct walked *frame, struct walked *caller)
{
	const struct module *module = modules_find(locals->modules, frame->pc);
	struct cfi_rule rule;

	if (!module || cfi_rules_find(locals->rules, module, frame->pc - module->bias, &rule) < 0)
		return false;
	frame->cfa = cfa_of(locals, frame, &rule);
	if (rule.place[CFI_RIP].where == CFI_UNDEFINED ||
	    (!rule.signal && frame->cfa <= frame->value[CFI_RSP]))
		return false;
	*caller = *frame;
	caller->cfa = 0;
	for (enum cfi_register i = CFI_RIP; i < CFI_REGISTERS; i++)
		if (i != CFI_RSP)
			restore(locals, frame, &rule.place[i], i, caller);
	caller->value[CFI_RSP] = frame->cfa;
	caller->from[CFI_RSP] = NOWHERE;
	caller->pc = caller->value[CFI_RIP] - (rule.signal ? 0 : 1);
	caller->is_caller = !rule.signal;
	return caller->value[CFI_RIP] != 0;
}

static const struct picture_thread *find_thread(const struct locals *locals, int32_t tid)
{
	for (size_t i = 0; i < locals->picture->thread_count; i++)
		if (locals->picture->thread[i].tid == tid)
			return &locals->picture->thread[i];
	return NULL;
}

static struct stack_of *walk_thread(struct locals *locals, const struct picture_thread *thread)
{
	struct walked *frame = calloc(MAX_FRAMES, sizeof(*frame)), *fitting;
	struct stack_of *stack = calloc(1, sizeof(*stack));

	if (!stack || !frame) {
		free(stack);
		free(frame);
		return NULL;
	}
	first_frame(&thread->registers, &frame[0]);
	stack->count = 1;
	while (stack->count < MAX_FRAMES &&
	       leave_frame(locals, &frame[stack->count - 1], &frame[stack->count]))
		stack->count++;
	fitting = reallocarray(frame, stack->count, sizeof(*frame));
	stack->frame = fitting ? fitting : frame;
	stack->tid = thread->tid;
	stack->next = locals->stacks;
	locals->stacks = stack;
	return stack;
}

static struct stack_of *get_stack(struct locals *locals, int32_t tid)
{
	struct stack_of *stack = locals->stacks;
	const struct picture_thread *thread;

	while (stack && stack->tid != tid)
		stack = stack->next;
	if (stack)
		return stack;
	thread = find_thread(locals, tid);
	return thread ? walk_thread(locals, thread) : NULL;
}

/* ---- variables ---- */

/* The frame's function, for its variables and its name. */
static struct debug_index *search_function(struct locals *locals, struct walked *frame,
					   const struct module **ret_module)
{
	const struct module *module = modules_find(locals->modules, frame->pc);
	struct debug_index *index = module ? fields_index(locals->fields, module) : NULL;
	struct debug_function function;

	if (!index)
		return NULL;
	if (!frame->searched &&
	    debug_index_function(index, frame->pc - module->bias, &function) == 0)
		frame->function = function.die;
	frame->searched = true;
	*ret_module = module;
	return index;
}

/*
 * Looks at the call, and then behind it: clang's lists say to the end of a call that an argument
 * is in the register in which it was passed, which the call has lost.
 */
static bool search_variable(struct walked *frame, const struct module *module,
			    struct debug_index *index, struct frame_variable *wanted)
{
	struct frame_state state = {
		.value = frame->value, .cfa = frame->cfa, .function = &frame->function,
		.pc = frame->pc - module->bias + debug_index_bias(index),
		.bias = module->bias - debug_index_bias(index),
	};

	if (!frame->function.addr)
		return false;
	if (frame_variable_find(&state, wanted))
		return true;
	state.pc++;
	return frame->is_caller && frame_variable_find(&state, wanted);
}

/* Names the frame's function, and the variable that wanted finds in it if there is one. */
static bool find_variable(struct locals *locals, struct walked *frame,
			  struct frame_variable *wanted, struct local *ret)
{
	const struct module *module;
	struct debug_index *index = search_function(locals, frame, &module);
	Dwarf_Die *function = frame->function.addr ? &frame->function : NULL;
	bool found;

	ret->function[0] = '\0';
	if (!index)
		return false;
	found = search_variable(frame, module, index, wanted);
	(void)debug_index_function_name(index, frame->pc - module->bias,
					found ? &wanted->function : function, ret->function);
	if (!found)
		return false;
	snprintf(ret->variable, sizeof(ret->variable), "%s", wanted->name);
	ret->address = wanted->address;
	(void)fields_type_of(&wanted->die, &ret->type);
	return true;
}

static bool in_memory(struct locals *locals, struct walked *frame, uint64_t address,
		      struct local *ret)
{
	struct frame_variable wanted = { .wanted_address = address,
					 .wanted_register = FRAME_NO_REGISTER };

	return find_variable(locals, frame, &wanted, ret);
}

static bool in_register(struct locals *locals, struct walked *frame, unsigned int dwarf_number,
			struct local *ret)
{
	struct frame_variable wanted = { .wanted_register = dwarf_number };

	return find_variable(locals, frame, &wanted, ret);
}

/* The slot at address, in which frame i has saved a register: whose variable that is. */
static bool in_slot(struct locals *locals, struct stack_of *stack, uint32_t i, uint64_t address,
		    struct local *ret)
{
	for (enum cfi_register which = CFI_RBP; which < CFI_REGISTERS; which++)
		for (uint32_t k = i + 1; k < stack->count &&
		     stack->frame[k].from[which] == address; k++)
			if (in_register(locals, &stack->frame[k],
					cfi_dwarf_number(which), ret))
				return true;
	return false;
}

bool locals_at(struct locals *locals, int32_t tid, uint64_t address, struct local *ret)
{
	struct stack_of *stack = get_stack(locals, tid);
	struct local outer;
	uint32_t i = 0;

	memset(ret, 0, sizeof(*ret));
	while (stack && i < stack->count && (address < stack->frame[i].value[CFI_RSP] ||
					     address >= stack->frame[i].cfa))
		i++;
	if (!stack || i == stack->count)
		return false;
	if (in_memory(locals, &stack->frame[i], address, ret))
		return true;
	memset(&outer, 0, sizeof(outer));
	/* An argument on the stack lies in the caller's frame. */
	if (in_slot(locals, stack, i, address, &outer) ||
	    (i > 0 && in_memory(locals, &stack->frame[i - 1], address, &outer)))
		*ret = outer;
	return true;
}

/* DWARF's number of a register by its index in struct user_regs_struct; or FRAME_NO_REGISTER. */
static unsigned int number_of(uint32_t index)
{
	static const uint8_t in_order[] = {	/* from rax = 0 to r15 = 15 */
		10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(in_order); i++)
		if (in_order[i] == index)
			return i;
	return FRAME_NO_REGISTER;
}

bool locals_register(struct locals *locals, int32_t tid, uint32_t number, struct local *ret)
{
	struct stack_of *stack = get_stack(locals, tid);
	unsigned int dwarf_number = number_of(number);
	enum cfi_register which = CFI_RBP;

	memset(ret, 0, sizeof(*ret));
	if (!stack || dwarf_number == FRAME_NO_REGISTER)
		return false;
	if (in_register(locals, &stack->frame[0], dwarf_number, ret))
		return true;
	while (which < CFI_REGISTERS && cfi_dwarf_number(which) != dwarf_number)
		which++;
	for (uint32_t k = 1; which < CFI_REGISTERS && k < stack->count &&
	     stack->frame[k].from[which] == 0; k++)
		if (in_register(locals, &stack->frame[k], dwarf_number, ret))
			return true;
	return false;
}
