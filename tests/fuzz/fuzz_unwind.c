/* SPDX-License-Identifier: MIT */
/*
 * fuzz_unwind.c - hostile stacks over hostile modules through the unwinder.
 *
 * Whatever comes, walks end, and the memo gives what a walk gives.
 */
#include <string.h>

#include "src/symbolize/symbolize.h"
#include "src/unwind/unwind.h"
#include "tests/fuzz/fuzz_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(struct unwinder *unwinder, struct stacks *stacks,
		    const struct unwind_input *walk)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	enum unwind_end end;
	struct stack stack;
	uint32_t count, id;

	if (unwinder_walk(unwinder, walk, frame, &count, &end) < 0 ||
	    unwinder_stack(unwinder, stacks, walk, &id) < 0)
		abort();
	stack = stacks_get(stacks, id);
	if (count < 1 || count != stack.frame_count ||
	    memcmp(frame, stack.frame, count * sizeof(*frame)) != 0 ||
	    (stack.flags != 0) != (end != UNWIND_COMPLETE))
		abort();
}

/* As it is, known to the memo, elsewhere, and cut. */
static void walk_all(struct unwinder *unwinder, struct stacks *stacks, struct unwind_input *walk)
{
	struct unwind_stats stats;

	compare(unwinder, stacks, walk);
	compare(unwinder, stacks, walk);
	walk->registers.rsp += 4096;
	walk->stack_address += 4096;
	compare(unwinder, stacks, walk);
	walk->stack_bytes /= 2;
	compare(unwinder, stacks, walk);
	unwinder_stats(unwinder, &stats);
	if (stats.memo_conflicts > 0)
		abort();
}

static void symbolize_all(struct modules *modules, const struct stacks *stacks)
{
	struct symbolizer *symbolizer;
	struct stack stack = stacks_get(stacks, 1);
	size_t count;

	if (symbolizer_new(modules, &symbolizer) < 0)
		abort();
	for (uint32_t i = 0; i < stack.frame_count && i < 8; i++) {
		if (!symbolizer_frame(symbolizer, &stack.frame[i], &count) || count < 1)
			abort();
	}
	symbolizer_free(symbolizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_file file;
	static uint64_t stack[FUZZ_STACK_WORDS];
	struct fuzz_input input = { data, size };
	struct unwind_input walk = { 0 };
	struct unwinder *unwinder;
	struct modules *modules;
	struct stacks *stacks;

	fuzz_module_make(&file, &input);
	fuzz_module_stack(&walk, stack, &input);
	modules = fuzz_module_load(&file);
	if (unwinder_new(modules, &unwinder) < 0 || stacks_new(&stacks) < 0)
		abort();
	walk_all(unwinder, stacks, &walk);
	symbolize_all(modules, stacks);
	unwinder_free(unwinder);
	stacks_free(stacks);
	modules_free(modules);
	return 0;
}
