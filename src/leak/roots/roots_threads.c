/* SPDX-License-Identifier: MIT */
/*
 * roots_threads.c - see roots_threads.h.
 *
 * A thread is on its own stack (libc's bounds, or [stack] for the one that has none), or off
 * it: in a signal handler on an alternate stack (the signal frame tells both), on a
 * coroutine's stack in a heap block (the block map tells its end), or anywhere else: then to
 * the end of the mapping. Off its own stack, that counts as a whole, unless the signal frame
 * says where it was left or another thread is on it (a clone that shares the control block).
 *
 * Nothing below a stack pointer and its red zone counts. Where no libc can be recognised
 * (Go, hand-made threads) the memory below may be anything and stays with the globals.
 */
#include "src/leak/roots/roots_threads.h"

#include <errno.h>
#include <string.h>

#include "src/leak/roots/signal_stack.h"
#include "src/leak/roots/thread_data.h"

#define RED_ZONE	128u
#define GLIBC_LIST	0x2c0u
#define GUESS_BYTES	(256u << 10)	/* of a stack in a heap whose blocks are not known */

/* A live thread: what libc says, and the stack that is its own. */
struct runner {
	const struct picture_thread *thread;
	struct thread_data data;	/* libc 0: not known */
	uint64_t rsp, low, high;	/* own stack; both 0: not known */
};
struct crowd {
	const struct roots_input *input;
	struct runner *runner;
	uint64_t *rsp;			/* ascending */
	uint64_t *tcb;			/* ascending */
	size_t count;
	struct claims *claims;
};

static int add_claim(struct claims *claims, const struct claim *claim)
{
	size_t room = claims->room ? claims->room * 2 : 64;
	struct claim *grown;

	if (claim->low >= claim->high)
		return 0;
	if (claims->count == claims->room) {
		grown = reallocarray(claims->claim, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		claims->claim = grown;
		claims->room = room;
	}
	claims->claim[claims->count++] = *claim;
	return 0;
}

static int add_word(struct claims *claims, const struct root_word *word)
{
	size_t room = claims->word_room ? claims->word_room * 2 : 64;
	struct root_word *grown;

	if (claims->word_count == claims->word_room) {
		grown = reallocarray(claims->word, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		claims->word = grown;
		claims->word_room = room;
	}
	claims->word[claims->word_count++] = *word;
	return 0;
}

static uint64_t below(uint64_t rsp)
{
	return rsp > RED_ZONE ? (rsp - RED_ZONE) & ~7ull : 0;
}

/* Does any thread stand in [low, high]? One that just starts stands at high. */
static bool is_stood_on(const struct crowd *crowd, uint64_t low, uint64_t high)
{
	size_t first = 0, end = crowd->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (crowd->rsp[middle] < low)
			first = middle + 1;
		else
			end = middle;
	}
	return first < crowd->count && crowd->rsp[first] <= high;
}

/* --- live threads ----------------------------------------------------------- */

/* The dtv: a heap block is reached by its start, anything else is scanned where it lies. */
static int claim_dtv(const struct crowd *crowd, const struct thread_data *data, int32_t tid)
{
	struct claim claim = { data->dtv_low, data->dtv_high, CLAIM_DATA, tid };
	struct root_word word = { .value = data->dtv_low, .class = ROOT_TLS, .tid = tid };

	if (!data->dtv_low)
		return 0;
	if (crowd->input->heap && ranges_contain(crowd->input->heap, data->dtv_low))
		return add_word(crowd->claims, &word);
	return add_claim(crowd->claims, &claim);
}

/*
 * Thread data in a heap block: musl's first thread has them there when they are many, and
 * knows but their middle. What lies behind the block is not the thread's.
 */
static int claim_data_block(const struct crowd *crowd, struct claim *claim, uint64_t tcb)
{
	struct root_word word = { .class = ROOT_TLS, .tid = claim->tid };
	struct block block;

	if (!crowd->input->blocks || !blocks_find(crowd->input->blocks, tcb, &block))
		return 0;
	if (claim->low < block.address)
		claim->low = block.address;
	if (claim->high > block.address + block.bytes)
		claim->high = block.address + block.bytes;
	word.value = block.address;
	return add_word(crowd->claims, &word);
}

static int claim_data(const struct crowd *crowd, const struct runner *runner)
{
	struct claim claim = { runner->data.data_low, runner->data.data_high, CLAIM_DATA,
			       runner->thread->tid };
	/* Not a mapping of its own everywhere: glibc 2.42 makes guards by madvise. */
	struct claim guard = { runner->data.stack_low, runner->data.stack_first, CLAIM_DEAD, 0 };

	return claim_data_block(crowd, &claim, runner->data.tcb) ?:
	       add_claim(crowd->claims, &claim) ?: add_claim(crowd->claims, &guard) ?:
	       claim_dtv(crowd, &runner->data, runner->thread->tid);
}

/* From rsp upwards, and what lies below it in the same stack. */
static int claim_part(const struct crowd *crowd, const struct runner *runner, uint64_t from)
{
	struct claim live = { from, runner->high, CLAIM_STACK, runner->thread->tid };
	struct claim dead = { runner->low, from, CLAIM_DEAD, 0 };

	if (from < runner->low)
		live.low = dead.high = runner->low;
	return add_claim(crowd->claims, &live) ?: add_claim(crowd->claims, &dead);
}

/* The end of the mapping that holds address, 0: none. */
static uint64_t mapping_end(const struct crowd *crowd, uint64_t address)
{
	const struct procmap *map = procmaps_find(&crowd->input->picture->maps, address);

	return map ? map->end : 0;
}

/* On a stack that is not its own and no signal handler's. */
static int claim_other(const struct crowd *crowd, const struct runner *runner)
{
	struct claim claim = { below(runner->rsp), mapping_end(crowd, runner->rsp), CLAIM_GUESS,
			       runner->thread->tid };
	struct root_word word = { .class = ROOT_STACKS, .tid = runner->thread->tid };
	struct block block;

	if (!crowd->input->blocks || !blocks_find(crowd->input->blocks, runner->rsp, &block)) {
		if (crowd->input->heap && ranges_contain(crowd->input->heap, runner->rsp) &&
		    claim.high - claim.low > GUESS_BYTES)
			claim.high = claim.low + GUESS_BYTES;
		return add_claim(crowd->claims, &claim);
	}
	claim.kind = CLAIM_STACK;
	claim.high = block.address + block.bytes;
	if (claim.low < block.address)
		claim.low = block.address;
	word.value = block.address;
	return add_claim(crowd->claims, &claim) ?: add_word(crowd->claims, &word);
}

/* In a signal handler on an alternate stack; *ret_left: where it left its own, 0 elsewhere. */
static int claim_signal_stack(const struct crowd *crowd, const struct runner *runner,
			      const struct signal_stack *stack, uint64_t *ret_left)
{
	struct claim live = { below(runner->rsp), stack->high, CLAIM_STACK, runner->thread->tid };
	struct claim dead = { stack->low, live.low, CLAIM_DEAD, 0 };

	if (live.low < stack->low)
		live.low = stack->low;
	if (stack->interrupted >= runner->low && stack->interrupted <= runner->high)
		*ret_left = stack->interrupted;
	return add_claim(crowd->claims, &live) ?: add_claim(crowd->claims, &dead);
}

static int claim_stacks(const struct crowd *crowd, const struct runner *runner)
{
	struct signal_stack stack;
	uint64_t left = 0;
	int error;

	if (runner->high && runner->rsp >= runner->low && runner->rsp <= runner->high)
		return claim_part(crowd, runner, below(runner->rsp));
	if (signal_stack_find(crowd->input->picture, runner->rsp, &stack) == 0)
		error = claim_signal_stack(crowd, runner, &stack, &left);
	else
		error = claim_other(crowd, runner);
	if (error || !runner->high)
		return error;
	if (left)
		return claim_part(crowd, runner, below(left));
	if (is_stood_on(crowd, runner->low, runner->high))
		return 0;
	return claim_part(crowd, runner, runner->low);
}

/* --- who is on which stack --------------------------------------------------- */

static const struct procmap *main_stack(const struct picture *picture)
{
	for (size_t i = picture->maps.count; i > 0; i--) {
		if (strcmp(picture->maps.map[i - 1].path, "[stack]") == 0)
			return &picture->maps.map[i - 1];
	}
	return NULL;
}

/* A thread that libc gave no stack is the main thread; so is one that stands on [stack]. */
static void set_own_stack(struct runner *runner, const struct procmap *stack)
{
	if (runner->data.stack_high) {
		runner->low = runner->data.stack_first;
		runner->high = runner->data.stack_high;
		if (runner->data.data_low > runner->low && runner->data.data_low < runner->high)
			runner->high = runner->data.data_low;
	} else if (stack && (runner->data.libc ||
			     (runner->rsp >= stack->start && runner->rsp <= stack->end))) {
		runner->low = stack->start;
		runner->high = stack->end;
	}
}

/* [stack] when no thread of ours is known to own it: dead if all others are known. */
static int claim_main_stack(const struct crowd *crowd, const struct procmap *stack)
{
	struct claim claim = { stack->start, stack->end, CLAIM_DEAD, 0 };

	for (size_t i = 0; i < crowd->count; i++) {
		if (crowd->runner[i].low == stack->start)
			return 0;
		if (!crowd->runner[i].high)
			claim.kind = CLAIM_STACK;
	}
	return add_claim(crowd->claims, &claim);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void meet(struct crowd *crowd, const struct procmap *stack)
{
	const struct picture *picture = crowd->input->picture;

	for (size_t i = 0; i < crowd->count; i++) {
		struct runner *runner = &crowd->runner[i];

		runner->thread = &picture->thread[i];
		runner->rsp = runner->thread->registers.rsp;
		if (thread_data_read(picture, runner->thread->registers.fs_base, &runner->data))
			runner->data = (struct thread_data){ 0 };
		set_own_stack(runner, stack);
		crowd->rsp[i] = runner->rsp;
		crowd->tcb[i] = runner->thread->registers.fs_base;
	}
	qsort(crowd->rsp, crowd->count, sizeof(*crowd->rsp), by_value);
	qsort(crowd->tcb, crowd->count, sizeof(*crowd->tcb), by_value);
}

/* A bare clone may share another's control block: the first thread that has it is its owner. */
static bool owns_data(const struct crowd *crowd, size_t index)
{
	uint64_t tcb = crowd->runner[index].thread->registers.fs_base;
	const uint64_t *found = bsearch(&tcb, crowd->tcb, crowd->count, sizeof(*crowd->tcb),
					by_value);
	bool shared = found && ((found > crowd->tcb && found[-1] == tcb) ||
				(found + 1 < crowd->tcb + crowd->count && found[1] == tcb));

	for (size_t i = 0; shared && i < index; i++)
		if (crowd->runner[i].thread->registers.fs_base == tcb)
			return false;
	return true;
}

static int claim_live(const struct crowd *crowd)
{
	int error = 0;

	for (size_t i = 0; !error && i < crowd->count; i++) {
		const struct runner *runner = &crowd->runner[i];

		if (runner->data.libc && owns_data(crowd, i))
			error = claim_data(crowd, runner);
		if (!error)
			error = claim_stacks(crowd, runner);
	}
	return error;
}

/* --- ended threads ----------------------------------------------------------- */

/*
 * The stack is dead, and so is its TLS; the dtv is kept for the stack's next thread, and the
 * control block for who waits for the thread.
 */
static int claim_one_ended(const struct crowd *crowd, const struct thread_ended *ended)
{
	const struct thread_data *data = &ended->data;
	struct claim block = { data->tcb + GLIBC_LIST, data->data_high, CLAIM_DATA, 0 };
	struct claim dead = { data->stack_low, data->stack_high, CLAIM_DEAD, 0 };
	int error;

	/* whoever stands on it is alive, whatever the list says */
	if (is_stood_on(crowd, data->stack_low, data->stack_high - 1))
		return 0;
	error = ended->waited_for ? add_claim(crowd->claims, &block) : 0;

	return error ?: add_claim(crowd->claims, &dead) ?: claim_dtv(crowd, data, 0);
}

static int claim_ended(const struct crowd *crowd)
{
	_cleanup_free_ struct thread_ended *ended = NULL;
	size_t count = 0;
	int error = thread_data_ended(crowd->input->picture, crowd->tcb, crowd->count, &ended,
				      &count);

	for (size_t i = 0; !error && i < count; i++)
		error = claim_one_ended(crowd, &ended[i]);
	crowd->claims->ended_threads = count;
	return error;
}

static int by_kind_and_low(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

int claims_collect(const struct roots_input *input, struct claims *ret)
{
	size_t count = input->picture->thread_count;
	_cleanup_free_ struct runner *runner = calloc(count + 1, sizeof(*runner));
	_cleanup_free_ uint64_t *rsp = calloc(count + 1, sizeof(*rsp));
	_cleanup_free_ uint64_t *tcb = calloc(count + 1, sizeof(*tcb));
	struct crowd crowd = { input, runner, rsp, tcb, count, ret };
	const struct procmap *stack = main_stack(input->picture);
	int error;

	*ret = (struct claims){ 0 };
	if (!runner || !rsp || !tcb)
		return -ENOMEM;
	meet(&crowd, stack);
	error = claim_live(&crowd) ?: claim_ended(&crowd);
	if (!error && stack)
		error = claim_main_stack(&crowd, stack);
	if (ret->count)
		qsort(ret->claim, ret->count, sizeof(*ret->claim), by_kind_and_low);
	return error;
}

void claims_done(struct claims *claims)
{
	free(claims->claim);
	free(claims->word);
	*claims = (struct claims){ 0 };
}
