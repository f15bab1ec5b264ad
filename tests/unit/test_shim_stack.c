/* SPDX-License-Identifier: MIT */
/*
 * test_shim_stack.c - the shim copies stacks to their proven end and never
 * beyond: main thread, small threads, alternate and coroutine stacks with
 * nothing or others' mapped next to them, ranges that are unmapped. And unwinders pass
 * through its frames.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "inject/attach/ring_publish.h"
#include "tests/unit/shim_host.h"

#define PAGE 4096u

/* The stack bytes of the last record, checked against memory when it was taken. */
struct last {
	struct ring_record record;
	struct ring_stack stack;
	unsigned int count;
	bool same;		/* the innermost 64 bytes were our caller's, still in place */
};

struct fixture {
	struct shim_host host;
	void *(*malloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	struct last last;
};

static char block[64];
static void *fake_malloc(size_t size)
{
	(void)size;
	return block;
}

static void begin(struct fixture *f, uint32_t stack_limit)
{
	const struct shim_host_options options = { .stack_limit = stack_limit,
						   .ring_bytes = 1u << 20 };

	memset(f, 0, sizeof(*f));
	shim_host_open(&f->host, &options);
#define HOOK(member, shape, function) \
	(*(void **)&f->member = shim_host_hook(&f->host, shape, (const void *)(function), 0, 0, 0))
	HOOK(malloc, RING_SHAPE_MALLOC, fake_malloc);
	HOOK(mmap, RING_SHAPE_MMAP, mmap);
	HOOK(munmap, RING_SHAPE_MUNMAP, munmap);
	HOOK(mremap, RING_SHAPE_MREMAP, mremap);
#undef HOOK
	shim_host_arm(&f->host);
}

static void last_take(void *context, const struct ring_record *record,
		      const struct ring_stack *stack, const uint8_t *bytes)
{
	struct last *last = context;
	uint64_t caller;

	last->record = *record;
	last->stack = *stack;
	last->count++;
	if (record->stack_bytes == 0)
		return;
	memcpy(&caller, bytes, 8);
	last->same = caller == record->caller;
}

/* One allocation on the current stack, drained. Bytes copied. */
static __attribute__((noinline)) uint64_t allocate(struct fixture *f)
{
	memset(&f->last, 0, sizeof(f->last));
	assert_ptr_equal(f->malloc(8), block);
	shim_host_drain(&f->host, 0, last_take, &f->last, NULL);
	assert_int_equal(f->last.count, 1);
	assert_true(f->last.record.flags & RING_F_STACK);
	if (f->last.record.stack_bytes)
		assert_true(f->last.same);
	return f->last.record.stack_bytes * 8u;
}

/* true: only the caller is known, and that was said. */
static bool caller_only(const struct fixture *f)
{
	return (f->last.record.flags & RING_F_CALLER_ONLY) != 0;
}

static void copy_main_stack(void **state)
{
	struct fixture f;
	uint64_t high, bytes;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	high = f.host.control->main_stack_high;
	bytes = allocate(&f);
	assert_false(caller_only(&f));
	if (f.last.record.flags & RING_F_TRUNCATED)
		assert_int_equal(bytes, RING_MAX_STACK_BYTES);
	else
		assert_int_equal(bytes, high - f.last.stack.rsp);
	/* A limit, and a limit of a quarter of the ring. */
	f.host.control->stack_limit = 520;
	assert_int_equal(allocate(&f), 520);
	assert_true(f.last.record.flags & RING_F_TRUNCATED);
	f.host.control->stack_limit = 0;
	assert_int_equal(allocate(&f), 0);
	assert_true(caller_only(&f));
	shim_host_close(&f.host);
}

/* Below the lowest address ever seen in maps: the kernel reads, or nobody. */
static void distrust_below_the_floor(void **state)
{
	struct fixture f;
	char here;

	(void)state;
	begin(&f, 2048);
	f.host.control->main_stack_low = (uint64_t)&here + PAGE;
	assert_int_equal(allocate(&f), 0);
	assert_true(caller_only(&f));
	f.host.control->may_readv = 1;
	assert_int_equal(allocate(&f), 2048);
	assert_true(f.last.record.flags & RING_F_TRUNCATED);
	shim_host_close(&f.host);
}

static void run_in_thread(void *(*fn)(void *), struct fixture *f, size_t stack_bytes)
{
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, stack_bytes), 0);
	assert_int_equal(pthread_create(&thread, &attr, fn, f), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
}

static void *small_thread(void *context)
{
	struct fixture *f = context;
	struct ring_thread *slot = (struct ring_thread *)((uint8_t *)f->host.control +
							  f->host.control->threads_offset);
	unsigned int remembered = 0;

	assert_int_equal(allocate(f), 0);	/* not published */
	assert_true(caller_only(f));
	assert_int_equal(shim_host_publish_stacks(&f->host), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(allocate(f), (uint64_t)pthread_self() - f->last.stack.rsp);
		assert_int_equal(f->last.record.flags, RING_F_STACK);
		assert_int_equal(f->last.record.thread, (uint64_t)pthread_self());
	}
	for (unsigned int i = 0; i < f->host.control->thread_slots; i++)
		remembered += slot[i].owner == (uint64_t)pthread_self() && slot[i].stack_check;
	assert_int_equal(remembered, 1);
	/* Remembered, but the generation says that something changed: looked up again. */
	f->host.control->stack_count = 0;
	assert_true(allocate(f) != 0);
	f->host.control->stack_generation++;
	assert_int_equal(allocate(f), 0);
	return NULL;
}

static void copy_small_thread_stack(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	run_in_thread(small_thread, &f, 64u * 1024u);
	shim_host_close(&f.host);
}

/* 16 KiB, the least that pthreads allow: our frames must fit next to the program's. */
static void *tiny_thread(void *context)
{
	struct fixture *f = context;

	for (unsigned int i = 0; i < 10; i++)
		f->malloc(8);
	return NULL;
}

static void run_on_the_smallest_stack(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	assert_int_equal(shim_host_publish_stacks(&f.host), 0);
	run_in_thread(tiny_thread, &f, 16u * 1024u);
	f.host.control->may_readv = 1;
	run_in_thread(tiny_thread, &f, 16u * 1024u);
	assert_int_equal(shim_host_drain(&f.host, 0, last_take, &f.last, NULL), 20);
	shim_host_close(&f.host);
}

/* pages in the middle of nothing: PROT_NONE on both sides. */
static char *island_stack(size_t pages)
{
	char *all = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(all != MAP_FAILED);
	assert_int_equal(mprotect(all + PAGE, pages * PAGE, PROT_READ | PROT_WRITE), 0);
	return all + PAGE;
}

#define ISLAND_PAGES 16u
static struct fixture *current;
static char *island;
static ucontext_t back, coroutine;

/* Runs on a stack that nothing but the kernel can vouch for. */
static void check_foreign_stack(void)
{
	struct fixture *f = current;
	uint64_t end = (uint64_t)island + ISLAND_PAGES * PAGE;

	assert_true((char *)&f > island && (uint64_t)&f < end);
	f->host.control->may_readv = 0;
	assert_int_equal(allocate(f), 0);
	assert_true(caller_only(f));
	f->host.control->may_readv = 1;
	assert_int_equal(allocate(f), end - f->last.stack.rsp);
	assert_int_equal(f->last.record.flags, RING_F_STACK);
}

static void run_coroutine(struct fixture *f, uint64_t pages, void (*fn)(void))
{
	current = f;
	assert_int_equal(getcontext(&coroutine), 0);
	coroutine.uc_stack.ss_sp = island;
	coroutine.uc_stack.ss_size = pages * PAGE;
	coroutine.uc_link = &back;
	makecontext(&coroutine, fn, 0);
	assert_int_equal(swapcontext(&back, &coroutine), 0);
}

static void *coroutine_thread(void *context)
{
	run_coroutine(context, ISLAND_PAGES, check_foreign_stack);
	return NULL;
}

static void bound_coroutine_stacks(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	island = island_stack(ISLAND_PAGES);
	assert_int_equal(shim_host_publish_stacks(&f.host), 0);
	run_coroutine(&f, ISLAND_PAGES, check_foreign_stack);
	run_in_thread(coroutine_thread, &f, 256u * 1024u);
	munmap(island - PAGE, (ISLAND_PAGES + 2) * PAGE);
	shim_host_close(&f.host);
}

#define BURST		1000u
#define DEEP_PAGES	16u	/* above those that record, which have as many again */
struct with_stack {
	unsigned int records, stacks;
};

static void count_stacks(void *context, const struct ring_record *record,
			 const struct ring_stack *stack, const uint8_t *bytes)
{
	struct with_stack *count = context;

	(void)stack;
	(void)bytes;
	count->records++;
	count->stacks += record->stack_bytes > 0;
}

/* Each copy could be of 60 KiB, of which the ring has room for 17; of 1 KiB for some 600. */
static void burst_far_below_the_end(void)
{
	char *above = alloca(DEEP_PAGES * PAGE);
	struct with_stack count = { 0 };
	struct fixture *f = current;

	memset(above, 0, DEEP_PAGES * PAGE);
	__asm__ volatile("" : : "r"(above) : "memory");
	f->host.control->may_readv = 1;
	for (unsigned int i = 0; i < BURST; i++)
		assert_ptr_equal(f->malloc(8), block);
	shim_host_drain(&f->host, 0, count_stacks, &count, NULL);
	assert_int_equal(count.records, BURST);
	assert_true(count.stacks >= BURST / 4);
	print_message("%u of %u with their stacks\n", count.stacks, BURST);
	__asm__ volatile("" : : "r"(above) : "memory");
}

static void keep_room_for_a_burst_of_coroutines(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	island = island_stack(2 * DEEP_PAGES);
	assert_int_equal(shim_host_publish_stacks(&f.host), 0);
	run_coroutine(&f, 2 * DEEP_PAGES, burst_far_below_the_end);
	munmap(island - PAGE, (2 * DEEP_PAGES + 2) * PAGE);
	shim_host_close(&f.host);
}

/* A thread's stack in one mapping with a coroutine's, right above it. */
#define GIVEN_PAGES 64u

static void check_neighbour(void)
{
	assert_int_equal(allocate(current), 0);
	assert_true(caller_only(current));
}

static void *given_thread(void *context)
{
	struct fixture *f = context;
	uint64_t word = 0, *begin;

	(void)allocate(f);	/* from now on this thread is known */
	assert_int_equal(shim_host_publish_stacks(&f->host), 0);
	begin = (uint64_t *)((uint64_t)pthread_self() + f->host.control->stack_word);
	assert_int_equal(allocate(f), (uint64_t)pthread_self() - f->last.stack.rsp);
	current = f;
	assert_int_equal(getcontext(&coroutine), 0);
	coroutine.uc_stack.ss_sp = island;
	coroutine.uc_stack.ss_size = ISLAND_PAGES * PAGE;
	coroutine.uc_link = &back;
	makecontext(&coroutine, check_neighbour, 0);
	assert_int_equal(swapcontext(&back, &coroutine), 0);
	/* Its control block has become one of a stack that begins elsewhere. */
	word = *begin;
	assert_int_equal(word, (uint64_t)island + ISLAND_PAGES * PAGE);
	*begin = word + PAGE;
	assert_int_equal(allocate(f), 0);
	*begin = word;
	assert_true(allocate(f) != 0);
	return NULL;
}

static void know_own_stack_from_its_neighbours(void **state)
{
	struct fixture f;
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	island = island_stack(ISLAND_PAGES + GIVEN_PAGES);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstack(&attr, island + ISLAND_PAGES * PAGE,
					       GIVEN_PAGES * PAGE), 0);
	assert_int_equal(pthread_create(&thread, &attr, given_thread, &f), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
	munmap(island - PAGE, (ISLAND_PAGES + GIVEN_PAGES + 2) * PAGE);
	shim_host_close(&f.host);
}

static void on_signal(int signal)
{
	(void)signal;
	check_foreign_stack();
}

static void bound_alternate_stacks(void **state)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct fixture f;
	stack_t stack, before;

	(void)state;
	begin(&f, RING_MAX_STACK_BYTES);
	island = island_stack(ISLAND_PAGES);
	current = &f;
	stack = (stack_t){ .ss_sp = island, .ss_size = ISLAND_PAGES * PAGE };
	assert_int_equal(sigaltstack(&stack, &before), 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(shim_host_publish_stacks(&f.host), 0);
	raise(SIGUSR1);
	assert_int_equal(sigaltstack(&before, NULL), 0);
	munmap(island - PAGE, (ISLAND_PAGES + 2) * PAGE);
	shim_host_close(&f.host);
}

/* A wrong pid, or a kernel that says no: less is known, nothing breaks. */
static void survive_a_refused_readv(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 4096);
	f.host.control->main_stack_high = 0;
	f.host.control->may_readv = 1;
	f.host.control->pid = 1u << 30;
	assert_int_equal(allocate(&f), 0);
	assert_true(caller_only(&f));
	f.host.control->pid = (uint64_t)getpid();
	assert_int_equal(allocate(&f), 4096);
	shim_host_close(&f.host);
}

static bool is_published(const struct ring_control *control, const void *address)
{
	for (uint32_t i = 0; i < control->stack_count; i++)
		if (control->stack[i].low <= (uint64_t)address &&
		    (uint64_t)address < control->stack[i].high)
			return true;
	return false;
}

/* Four pages at p, and one that holds other. */
static void publish_two(struct fixture *f, const char *p, const char *other)
{
	uint64_t page = (uint64_t)other & ~(uint64_t)(PAGE - 1), ticket;
	struct ring_range range[2] = { { page, page + PAGE },
				       { (uint64_t)p, (uint64_t)p + 4 * PAGE } };
	struct ring_stacks stacks = { range, 2, 0 };

	assert_true(range[0].high < range[1].high);
	assert_int_equal(ring_publish_stacks_begin(f->host.control, &ticket), 0);
	assert_int_equal(ring_publish_stacks(f->host.control, &stacks, ticket), 0);
}

static void clear_ranges_before_they_go(void **state)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, writable = PROT_READ | PROT_WRITE;
	struct fixture f;
	uint64_t generation;
	char *p;

	(void)state;
	begin(&f, 512);
	for (unsigned int how = 0; how < 4; how++) {
		p = island_stack(4);
		publish_two(&f, p, block);
		assert_true(is_published(f.host.control, p));
		generation = f.host.control->stack_generation;
		if (how == 0)
			assert_int_equal(f.munmap(p + PAGE, 1), 0);
		if (how == 1)
			assert_true(f.mmap(p + PAGE, PAGE, writable, anonymous | MAP_FIXED, -1,
					   0) == p + PAGE);
		if (how == 2)
			assert_true(f.mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
		if (how == 3) {	/* not fixed, or next door: nothing to clear */
			assert_true(f.mmap(p, PAGE, writable, anonymous, -1, 0) != MAP_FAILED);
			assert_int_equal(f.munmap(p + 4 * PAGE, PAGE), 0);
		}
		assert_int_equal(is_published(f.host.control, p), how == 3);
		assert_int_equal(f.host.control->stack_generation, generation + (how != 3));
		assert_true(is_published(f.host.control, block));	/* others stay */
	}
	shim_host_drain(&f.host, 0, last_take, &f.last, NULL);
	shim_host_close(&f.host);
}

static void publish_nothing_that_may_be_stale(void **state)
{
	const struct ring_range range = { 0x1000, 0x2000 };
	struct ring_stacks stacks = { &range, 1, 0 };
	struct fixture f;
	uint64_t ticket;

	(void)state;
	begin(&f, 512);
	assert_int_equal(ring_publish_stacks_begin(f.host.control, &ticket), 0);
	assert_int_equal(f.munmap(island_stack(1), PAGE), 0);
	assert_int_equal(ring_publish_stacks(f.host.control, &stacks, ticket), -EAGAIN);
	assert_int_equal(f.host.control->stack_count, 0);
	f.host.control->unmaps_begun++;		/* one is under way */
	assert_int_equal(ring_publish_stacks_begin(f.host.control, &ticket), -EAGAIN);
	f.host.control->unmaps_ended++;
	assert_int_equal(ring_publish_stacks_begin(f.host.control, &ticket), 0);
	assert_int_equal(ring_publish_stacks(f.host.control, &stacks, ticket), 0);
	assert_int_equal(f.host.control->stack_count, 1);
	stacks.count = RING_MAX_STACKS + 1;
	assert_int_equal(ring_publish_stacks(f.host.control, &stacks, ticket), -E2BIG);
	shim_host_close(&f.host);
}

static void merge_callers(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 512);
	f.host.control->entry_count = 6;
	for (unsigned int i = 0; i < 6; i++) {
		static const struct ring_entry entry[6] = {
			{ .low = 300, .high = 400, .shape = RING_SHAPE_MALLOC },
			{ .low = 100, .high = 200, .shape = RING_SHAPE_FREE },
			{ .low = 200, .high = 250, .shape = RING_SHAPE_CALLOC },
			{ .low = 350, .high = 360, .shape = RING_SHAPE_REALLOC },
			{ .low = 500, .high = 600, .shape = RING_SHAPE_MMAP },
			{ .low = 0, .high = 900, .shape = RING_SHAPE_DL_STATE },
		};

		f.host.control->entry[i] = entry[i];
	}
	ring_publish_callers(f.host.control);
	assert_int_equal(f.host.control->caller_count[RING_CLASS_HEAP], 2);
	assert_int_equal(f.host.control->caller[RING_CLASS_HEAP][0].low, 100);
	assert_int_equal(f.host.control->caller[RING_CLASS_HEAP][0].high, 250);
	assert_int_equal(f.host.control->caller[RING_CLASS_HEAP][1].high, 400);
	assert_int_equal(f.host.control->caller_count[RING_CLASS_MAPPING], 1);
	assert_int_equal(f.host.control->callers[RING_CLASS_HEAP].low, 100);
	assert_int_equal(f.host.control->callers[RING_CLASS_HEAP].high, 400);
	shim_host_close(&f.host);
}

/* What an unwinder sees from inside an original that a hook called. */
struct walk {
	unsigned int frames;
	bool saw_shim, saw_caller;
	const struct shim_root *root;
	uint64_t caller_low;
};
static struct walk walk;
static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *unused)
{
	uint64_t ip = _Unwind_GetIP(context);

	(void)unused;
	walk.frames++;
	walk.saw_shim |= ip >= walk.root->shim_low && ip < walk.root->shim_high;
	walk.saw_caller |= ip > walk.caller_low && ip < walk.caller_low + 512;
	return _URC_NO_REASON;
}
static void *walking_malloc(size_t size)
{
	(void)size;
	_Unwind_Backtrace(walk_frame, NULL);
	return block;
}

static __attribute__((noinline)) void call_walking(void *(*hook)(size_t))
{
	assert_ptr_equal(hook(1), block);
}

static void let_unwinders_pass(void **state)
{
	void *(*hook)(size_t);
	struct fixture f;

	(void)state;
	begin(&f, 512);
	*(void **)&hook = shim_host_hook(&f.host, RING_SHAPE_MALLOC, (const void *)walking_malloc,
					 0, 0, 0);
	walk = (struct walk){ .root = f.host.root, .caller_low = (uint64_t)call_walking };
	call_walking(hook);
	assert_true(walk.saw_shim && walk.saw_caller && walk.frames > 4);
	/* Not recorded: no frame of ours. */
	f.host.control->mode = RING_MODE_OFF;
	walk.saw_shim = walk.saw_caller = false;
	call_walking(hook);
	assert_true(!walk.saw_shim && walk.saw_caller);
	shim_host_close(&f.host);
}

/* An exception (here: the one that pthread_exit throws) goes through the hook's frame. */
static void *leaving_malloc(size_t size)
{
	(void)size;
	pthread_exit((void *)7);
}
static int cleaned;
static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}
static void *leaving_thread(void *hook)
{
	void *(*leave)(size_t);

	*(void **)&leave = hook;
	pthread_cleanup_push(clean, NULL);
	leave(1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void let_exceptions_pass(void **state)
{
	struct fixture f;
	pthread_t thread;
	void *hook, *result;

	(void)state;
	begin(&f, 512);
	hook = shim_host_hook(&f.host, RING_SHAPE_MALLOC, (const void *)leaving_malloc, 0, 0, 0);
	cleaned = 0;
	assert_int_equal(pthread_create(&thread, NULL, leaving_thread, hook), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, (void *)7);
	assert_int_equal(cleaned, 1);
	assert_int_equal(f.host.control->ring[0].head, 0);
	shim_host_close(&f.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_main_stack),
		cmocka_unit_test(distrust_below_the_floor),
		cmocka_unit_test(copy_small_thread_stack),
		cmocka_unit_test(run_on_the_smallest_stack),
		cmocka_unit_test(bound_coroutine_stacks),
		cmocka_unit_test(keep_room_for_a_burst_of_coroutines),
		cmocka_unit_test(know_own_stack_from_its_neighbours),
		cmocka_unit_test(bound_alternate_stacks),
		cmocka_unit_test(survive_a_refused_readv),
		cmocka_unit_test(clear_ranges_before_they_go),
		cmocka_unit_test(publish_nothing_that_may_be_stale),
		cmocka_unit_test(merge_callers),
		cmocka_unit_test(let_unwinders_pass),
		cmocka_unit_test(let_exceptions_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
