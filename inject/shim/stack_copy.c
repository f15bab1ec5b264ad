/* SPDX-License-Identifier: MIT */
/*
 * stack_copy.c - how much of the stack may be read, and reading it.
 *
 * A load beyond the end of the stack would be a SIGSEGV in somebody else's
 * process, so an end counts only when it is proven:
 * - rsp in [stack], at or above the lowest address that /proc/PID/maps showed:
 *   that mapping only grows downwards, all of it is there up to its end;
 * - rsp on the thread's own stack, as a pthread's control block (TCB) says where it
 *   begins, which lies on top of it. The end is fs_base. memattach has looked at
 *   that block and published the range; and the block says the same still.
 *   Unmaps clear the ranges first (mapping.c).
 * Otherwise the kernel reads for us (process_vm_readv on itself stops where
 * memory stops), where seccomp allows that; else only the caller is known.
 *
 * rsp below the floor of [stack] is not taken for main stack that has grown
 * since: a coroutine's stack mapped at a fixed address could lie there. The
 * kernel reads until the reader has published a lower floor.
 *
 * rsp < fs_base in one mapping proves nothing: the kernel joins neighbours. A pool of
 * fibers' stacks may lie right below a TCB, and have guards between them that are not
 * there yet (mprotect, as each is made) or that no maps show (MADV_GUARD_INSTALL). What
 * a thread stands on between its stack's begin and its TCB is in use up to there.
 *
 * Rejected: pthread_getattr_np (allocates and locks), sigaltstack tricks, a
 * SIGSEGV handler.
 */
#include "inject/shim/confine.h"
#include "inject/shim/custom.h"

#include <asm/unistd.h>

#define PROBE_PAGES	16u

struct vector {		/* struct iovec */
	uint64_t base, length;
};

/* Bytes read of [from, from + length), 0 if none. */
static uint64_t read_through_kernel(struct ring_control *control, const struct vector *to,
				    const struct vector *from, uint64_t from_count)
{
	uint64_t argument[6] = { control->pid, (uint64_t)to, 1, (uint64_t)from, from_count, 0 };
	long got = shim_syscall(control, __NR_process_vm_readv, argument);

	return got > 0 ? (uint64_t)got : 0;
}

/*
 * How many bytes from sp on can be read: one byte of each page, in one call. It
 * comes back short at the first page that is not there.
 */
static __attribute__((noinline)) uint64_t probe(struct ring_control *control, uint64_t sp,
						uint32_t limit)
{
	uint8_t bytes[PROBE_PAGES];
	struct vector page[PROBE_PAGES], to = { (uint64_t)bytes, 0 };
	uint64_t first = sp & ~(SHIM_PAGE - 1);
	uint64_t readable;

	for (uint64_t at = sp; to.length < PROBE_PAGES && at < sp + limit; to.length++) {
		page[to.length] = (struct vector){ at, 1 };
		at = (at & ~(SHIM_PAGE - 1)) + SHIM_PAGE;
	}
	readable = read_through_kernel(control, &to, page, to.length);
	return readable ? first + readable * SHIM_PAGE - sp : 0;
}

void shim_stack_read(struct ring_control *control, void *to, const void *from,
		     uint64_t bytes)
{
	const struct vector local = { (uint64_t)to, bytes }, remote = { (uint64_t)from, bytes };

	(void)read_through_kernel(control, &local, &remote, 1);
}

/* Binds a cached range to its owner and to the state of stack[], so that no mixture passes. */
static uint64_t range_check(uint64_t low, uint64_t thread, uint64_t generation)
{
	return ((low * SHIM_GOLDEN ^ thread) * SHIM_GOLDEN ^ generation) * SHIM_GOLDEN | 1;
}

/* Index of the first range with high >= address, or count. */
static uint32_t range_search(const struct ring_control *control, uint32_t count, uint64_t address)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (shim_load(&control->stack[middle].high) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Where the published range begins that ends at thread; 0: there is none. Both loads
 * of the generation agree only if nothing was republished in between
 * (ring_publish_stacks() takes the count away before it changes anything).
 */
static uint64_t range_find(const struct ring_control *control, uint64_t thread,
			   uint64_t *ret_generation)
{
	uint64_t generation = shim_load_acquire(&control->stack_generation);
	uint32_t count = shim_load_acquire(&control->stack_count);
	uint64_t low, high;
	uint32_t i;

	if (count == 0 || count > RING_MAX_STACKS)
		return 0;
	i = range_search(control, count, thread);
	if (i == count)
		return 0;
	low = shim_load(&control->stack[i].low);
	high = shim_load(&control->stack[i].high);
	shim_fence_acquire();
	if (shim_load(&control->stack_generation) != generation)
		return 0;
	*ret_generation = generation;
	return high == thread && low < high ? low : 0;
}

/*
 * Does thread's control block say that its stack begins at low? A stack that a program has given
 * may be given again, in another size: no unmap tells. pre: a range ends at thread, so it has such
 * a block, and we run on it.
 */
static bool begins_at(const struct ring_control *control, uint64_t thread, uint64_t low)
{
	return shim_load((const uint64_t *)(thread + shim_load(&control->stack_word))) == low;
}

/* sp < thread: is it on the thread's own stack? */
static bool is_thread_stack(struct ring_control *control, uint64_t sp, uint64_t thread)
{
	struct ring_thread *slot = shim_thread_find(control, thread);
	uint64_t low, check, generation = 0;

	if (slot) {
		low = shim_load(&slot->stack_low);
		check = shim_load(&slot->stack_check);
		generation = shim_load_acquire(&control->stack_generation);
		if (check == range_check(low, thread, generation) &&
		    begins_at(control, thread, low))
			return sp >= low;
	}
	low = range_find(control, thread, &generation);
	if (low == 0 || !begins_at(control, thread, low))
		return false;
	if (slot) {
		shim_store(&slot->stack_low, low);
		shim_store(&slot->stack_check, range_check(low, thread, generation));
	}
	return sp >= low;
}

/* Bytes from sp to the proven end of its stack; 0: none is proven. */
static uint64_t proven_bytes(struct ring_control *control, uint64_t sp, uint64_t thread)
{
	uint64_t high = shim_load(&control->main_stack_high);

	if (sp >= shim_load(&control->main_stack_low) && sp < high)
		return high - sp;
	if (sp < thread && is_thread_stack(control, sp, thread))
		return thread - sp;
	return 0;
}

uint64_t shim_stack_proven(struct ring_control *control, const struct shim_call *call)
{
	return proven_bytes(control, (uint64_t)&call->caller, call->thread);
}

static uint32_t stack_limit(const struct ring_control *control)
{
	uint64_t limit = shim_load(&control->stack_limit);

	if (limit > RING_MAX_STACK_BYTES)
		limit = RING_MAX_STACK_BYTES;
	if (limit > control->ring_bytes / 4)
		limit = control->ring_bytes / 4;
	return (uint32_t)(limit & ~7ull);
}

struct shim_stack_plan shim_stack_plan(struct ring_control *control, const struct shim_call *call)
{
	struct shim_stack_plan plan = { .flags = RING_F_STACK };
	uint64_t sp = (uint64_t)&call->caller;
	uint32_t limit = stack_limit(control);
	uint64_t bytes = 0;

	if (limit != 0 && sp % 8 == 0)
		bytes = proven_bytes(control, sp, call->thread);
	if (bytes == 0 && limit != 0 && sp % 8 == 0 && control->may_readv &&
	    shim_load(&control->confined) == 0) {
		plan.through_kernel = true;
		bytes = probe(control, sp, limit);
	}
	if (bytes > limit) {
		plan.flags |= RING_F_TRUNCATED;
		bytes = limit;
	}
	plan.bytes = (uint32_t)(bytes & ~7ull);
	if (plan.bytes == 0)
		plan.flags |= RING_F_CALLER_ONLY;
	return plan;
}

void shim_stack_copy(struct ring_control *control, const struct shim_call *call,
		     struct shim_stack_plan *plan, uint8_t *to)
{
	struct vector local = { (uint64_t)to, plan->bytes };
	struct vector remote = { (uint64_t)&call->caller, plan->bytes };

	if (plan->bytes == 0)
		return;
	if (!plan->through_kernel) {
		arch_copy_words(to, &call->caller, plan->bytes / 8);
		return;
	}
	/* Memory may have gone since the probe: then it is shorter. */
	plan->bytes = (uint32_t)(read_through_kernel(control, &local, &remote, 1) & ~7ull);
	if (plan->bytes == 0)
		plan->flags |= RING_F_CALLER_ONLY;
}
