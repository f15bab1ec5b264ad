/* SPDX-License-Identifier: MIT */
/*
 * test_shim_counts.c - what the shim counts is what was called, whoever called, and the reader's
 * sums are that: by shape, by threads with and without counters of their own, on top of
 * signal handlers, and where tables are full.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/base/sanitized.h"
#include "src/counts/counts_sum.h"
#include "tests/unit/shim_host.h"

static void *original_malloc(size_t size) { return malloc(size); }
static void *original_calloc(size_t count, size_t size) { return calloc(count, size); }
static void *original_realloc(void *old, size_t size) { return realloc(old, size); }
static void original_free(void *block) { free(block); }
static int original_posix_memalign(void **block, size_t align, size_t size)
{
	return align % sizeof(void *) ? EINVAL : posix_memalign(block, align, size);
}
static void *fail_realloc(void *old, size_t size)
{
	(void)old;
	(void)size;
	return NULL;
}
static void *fail_malloc(size_t size)
{
	(void)size;
	return NULL;
}
/* A block that is always the same: for callers that no malloc would stand. */
static struct {
	uint64_t before, header;
	char block[64];
} chunk __attribute__((aligned(16))) = { .header = 0x50 | 1 };
#define FAKE_USABLE 72u
static void *fake_malloc(size_t size)
{
	(void)size;
	return chunk.block;
}
static void no_free(void *block) { (void)block; }

struct fixture {
	struct shim_host host;
	struct counts *counts;
	void *(*malloc)(size_t), *(*fail_malloc)(size_t), *(*fake_malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t), *(*fail_realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void (*free)(void *), (*no_free)(void *);
};

static void begin(struct fixture *f, enum counts_kind kind, uint64_t slots)
{
	const struct shim_host_options options = {
		.mode = RING_MODE_COUNT, .counts = kind, .counts_slots = slots,
	};

	shim_host_open(&f->host, &options);
#define HOOK(member, shape, function) \
	(*(void **)&f->member = shim_host_hook(&f->host, shape, (const void *)(function), 0, 0, 0))
	HOOK(malloc, RING_SHAPE_MALLOC, original_malloc);
	HOOK(fail_malloc, RING_SHAPE_MALLOC, fail_malloc);
	HOOK(fake_malloc, RING_SHAPE_MALLOC, fake_malloc);
	HOOK(calloc, RING_SHAPE_CALLOC, original_calloc);
	HOOK(realloc, RING_SHAPE_REALLOC, original_realloc);
	HOOK(fail_realloc, RING_SHAPE_REALLOC, fail_realloc);
	HOOK(posix_memalign, RING_SHAPE_POSIX_MEMALIGN, original_posix_memalign);
	HOOK(free, RING_SHAPE_FREE, original_free);
	HOOK(no_free, RING_SHAPE_FREE, no_free);
#undef HOOK
	shim_host_arm(&f->host);
	assert_int_equal(counts_new(f->host.control, f->host.bytes, &f->counts), 0);
	assert_int_equal(counts_kind(f->counts), kind);
}

static void end(struct fixture *f)
{
	struct shim_host_log log;

	shim_host_log(&f->host, &log);
	assert_int_equal(log.count, 0);	/* nothing was recorded */
	counts_free(f->counts);
	shim_host_close(&f->host);
}

static const struct counts_totals *read_totals(struct fixture *f)
{
	assert_int_equal(counts_read(f->counts, UINT64_MAX), 0);
	return &counts_sums(f->counts)->totals;
}

/* How often size was asked for, by the reader's histogram. */
struct wanted {
	uint64_t size, count, bars, sum;
};
static void look(void *context, uint64_t size, uint64_t count)
{
	struct wanted *wanted = context;

	wanted->bars++;
	wanted->sum += count;
	if (size == wanted->size)
		wanted->count = count;
}
static struct wanted asked(struct fixture *f, uint64_t size)
{
	struct wanted wanted = { .size = size };

	assert_int_equal(counts_sizes(f->counts, NULL, NULL),
			 counts_sizes(f->counts, look, &wanted));
	return wanted;
}

/* A sanitizer's blocks are not glibc's, and have no size in front of them. */
static void need_glibc_blocks(void)
{
	if (MEMATTACH_SANITIZED)
		skip();
}

static void count_every_shape(void **state)
{
	const struct counts_totals *t;
	uint64_t usable = 0, freed = 0;
	struct fixture f;
	void *p[4] = { NULL }, *q;

	(void)state;
	need_glibc_blocks();
	begin(&f, COUNTS_HISTOGRAM, 0);
	p[0] = f.malloc(100);
	p[1] = f.calloc(3, 50);
	assert_int_equal(f.posix_memalign(&p[2], 128, 5000), 0);
	p[3] = f.realloc(NULL, 300000);		/* a mapping of its own */
	for (int i = 0; i < 4; i++)
		usable += malloc_usable_size(p[i]);
	freed = malloc_usable_size(p[0]);
	q = f.realloc(p[0], 70000);
	usable += malloc_usable_size(q);
	/* what takes no effect */
	assert_null(f.fail_malloc(8));
	assert_null(f.fail_realloc(q, 9));
	assert_int_equal(f.posix_memalign(&p[0], 3, 10), EINVAL);
	f.free(NULL);
	t = read_totals(&f);
	assert_int_equal(t->alloc_count, 5);
	assert_int_equal(t->alloc_bytes, 100 + 150 + 5000 + 300000 + 70000);
	assert_int_equal(t->alloc_usable, usable);
	assert_int_equal(t->alloc_unsized + t->free_unsized, 0);
	assert_int_equal(t->free_count, 1);
	assert_int_equal(t->free_usable, freed);
	assert_int_equal(asked(&f, 150).count, 1);
	assert_int_equal(asked(&f, 5000).count, 1);
	assert_int_equal(asked(&f, 300000).bars, 5);
	f.free(q);
	f.free(p[1]);
	f.free(p[2]);
	f.free(p[3]);
	t = read_totals(&f);
	assert_int_equal(t->free_count, 5);
	assert_int_equal(t->free_usable, t->alloc_usable);
	end(&f);
}

static void leave_unknown_sizes_open(void **state)
{
	const struct counts_totals *t;
	struct fixture f;

	(void)state;
	begin(&f, COUNTS_TOTALS, 0);
	f.no_free(chunk.block + 1);	/* no block of glibc's: not looked at */
	t = read_totals(&f);
	assert_int_equal(t->free_count, 1);
	assert_int_equal(t->free_unsized, 1);
	f.fake_malloc(10);
	t = read_totals(&f);
	assert_int_equal(t->alloc_usable, FAKE_USABLE);
	((struct counts_head *)((uint8_t *)f.host.control + f.host.control->counts_offset))
		->usable[0].kind = COUNTS_USABLE_NONE;
	f.fake_malloc(10);
	t = read_totals(&f);
	assert_int_equal(t->alloc_count, 2);
	assert_int_equal(t->alloc_unsized, 1);
	end(&f);
}

static uint64_t eleven(uint64_t address)
{
	return address == (uint64_t)chunk.block ? 11 : 0;
}

static void ask_the_allocator(void **state)
{
	struct fixture f;
	const struct counts_totals *t;

	(void)state;
	begin(&f, COUNTS_TOTALS, 0);
	((struct counts_head *)((uint8_t *)f.host.control + f.host.control->counts_offset))
		->usable[0] = (struct counts_usable){ COUNTS_USABLE_CALL, (uint64_t)eleven };
	f.fake_malloc(5);
	f.fake_malloc(5);
	f.no_free(chunk.block);
	t = read_totals(&f);
	assert_int_equal(t->alloc_usable, 22);
	assert_int_equal(t->free_usable, 11);
	end(&f);
}

static void sum_rows(struct fixture *f, uint64_t *ret_count, uint64_t *ret_bytes)
{
	*ret_count = *ret_bytes = 0;
	for (size_t i = 0; i < counts_rows(f->counts); i++) {
		*ret_count += counts_row(f->counts, i)->count;
		*ret_bytes += counts_row(f->counts, i)->bytes;
	}
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 20000, SIZES = 3000 };

struct worker {
	struct fixture *f;
	pthread_t thread;
	pthread_barrier_t *start;
	uint64_t bytes, usable, frees;
	uint64_t size[SIZES];
	unsigned int random;
};

static void *work(void *context)
{
	struct worker *w = context;

	pthread_barrier_wait(w->start);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t size;
		void *p;

		w->random = w->random * 1103515245u + 12345u;
		size = (w->random >> 8) % SIZES;
		p = w->f->malloc(size);
		w->bytes += size;
		w->size[size]++;
		w->usable += malloc_usable_size(p);
		w->f->free(p);
		w->frees++;
	}
	pthread_barrier_wait(w->start);	/* thread pointers are not used again */
	return NULL;
}

/* slots: fewer than threads makes some share theirs; the sums are the same. */
static void threads_with(uint64_t slots, enum counts_kind kind)
{
	static struct worker worker[THREADS];
	pthread_barrier_t start;
	uint64_t bytes = 0, usable = 0;
	const struct counts_sums *sums;
	struct fixture f;

	memset(worker, 0, sizeof(worker));
	begin(&f, kind, slots);
	pthread_barrier_init(&start, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++) {
		worker[i].f = &f;
		worker[i].start = &start;
		worker[i].random = i + 1;
		assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		bytes += worker[i].bytes;
		usable += worker[i].usable;
	}
	assert_int_equal(counts_read(f.counts, UINT64_MAX), 0);
	sums = counts_sums(f.counts);
	assert_int_equal(sums->totals.alloc_count, THREADS * ROUNDS);
	assert_int_equal(sums->totals.free_count, THREADS * ROUNDS);
	assert_int_equal(sums->totals.alloc_bytes, bytes);
	assert_int_equal(sums->totals.alloc_usable, usable);
	assert_int_equal(sums->totals.free_usable, usable);
	assert_int_equal(sums->sizes_left.count, 0);
	assert_int_equal(sums->shared_count > 0, slots < THREADS);
	for (uint64_t size = 0; kind >= COUNTS_HISTOGRAM && size < SIZES; size += 13) {
		uint64_t count = 0;

		for (unsigned int i = 0; i < THREADS; i++)
			count += worker[i].size[size];
		assert_int_equal(asked(&f, size).count, count);
	}
	if (kind >= COUNTS_HISTOGRAM)
		assert_int_equal(asked(&f, 0).sum, THREADS * ROUNDS);
	pthread_barrier_destroy(&start);
	end(&f);
}

static void add_up_threads(void **state)
{
	(void)state;
	need_glibc_blocks();
	threads_with(64, COUNTS_TOTALS);
	threads_with(64, COUNTS_HISTOGRAM);
	threads_with(64, COUNTS_SITES);
}

static void add_up_threads_that_share(void **state)
{
	(void)state;
	need_glibc_blocks();
	threads_with(2, COUNTS_TOTALS);
	threads_with(2, COUNTS_HISTOGRAM);
	threads_with(1, COUNTS_SITES);
}

/* The same counters, at the same time, as often as can be. */
static void *hammer(void *context)
{
	struct worker *w = context;

	pthread_barrier_wait(w->start);
	for (int i = 0; i < 100 * ROUNDS; i++)
		w->f->fake_malloc(2000);
	return NULL;
}

static void share_to_the_last_call(void **state)
{
	static struct worker worker[2];
	const uint64_t calls = 100ull * ROUNDS;
	pthread_barrier_t start;
	uint64_t count, bytes;
	struct fixture f;

	(void)state;
	begin(&f, COUNTS_SITES, 1);
	f.fake_malloc(1);		/* the only counters of a thread's own */
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		worker[i] = (struct worker){ .f = &f, .start = &start };
		assert_int_equal(pthread_create(&worker[i].thread, NULL, hammer, &worker[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(worker[i].thread, NULL);
	assert_int_equal(read_totals(&f)->alloc_count, 2 * calls + 1);
	assert_int_equal(counts_sums(f.counts)->shared_count, 2 * calls);
	assert_int_equal(asked(&f, 2000).count, 2 * calls);
	sum_rows(&f, &count, &bytes);
	assert_int_equal(count, 2 * calls + 1);
	assert_int_equal(bytes, 2 * calls * 2000 + 1);
	pthread_barrier_destroy(&start);
	end(&f);
}

/* ---- signal handlers ---- */

static struct fixture *interrupted;
static volatile uint64_t handled;

static void handler(int number)
{
	(void)number;
	for (int i = 0; i < 3; i++)
		interrupted->fake_malloc(2000);
	interrupted->no_free(chunk.block);
	handled++;
}

/* An addition in two instructions would lose what a handler adds in between. */
static void lose_nothing_to_handlers(void **state)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = handler }, before;
	const struct counts_totals *t;
	struct fixture f;
	uint64_t calls = 0;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	interrupted = &f;
	handled = 0;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (handled < 3000) {
		f.fake_malloc(2000);
		calls++;
	}
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	t = read_totals(&f);
	assert_int_equal(t->alloc_count, calls + 3 * handled);
	assert_int_equal(t->alloc_bytes, 2000 * (calls + 3 * handled));
	assert_int_equal(t->alloc_usable, FAKE_USABLE * (calls + 3 * handled));
	assert_int_equal(t->free_count, handled);
	assert_int_equal(asked(&f, 2000).count, calls + 3 * handled);
	end(&f);
}

static void count_nothing_in_fork_children(void **state)
{
	struct fixture f;
	int status;
	pid_t child;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	f.fake_malloc(1);
	child = fork();
	if (child == 0) {
		f.fake_malloc(1);
		f.no_free(chunk.block);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read_totals(&f)->alloc_count, 1);
	assert_int_equal(read_totals(&f)->free_count, 0);
	end(&f);
}

/* ---- paths ---- */

/* No rules, no paths: the caller is known, and steps of sizes. */
static void know_callers(void **state)
{
	static const size_t size[] = { 40, 40, 40, 43, 43, 1000 };
	const struct counts_row *row;
	uint64_t count, bytes;
	struct fixture f;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	for (volatile int i = 0; i < 6; i++)
		f.fake_malloc(size[i]);
	assert_int_equal(counts_read(f.counts, UINT64_MAX), 0);
	assert_int_equal(counts_rows(f.counts), 2);
	sum_rows(&f, &count, &bytes);
	assert_int_equal(count, 6);
	assert_int_equal(bytes, 3 * 40 + 2 * 43 + 1000);
	row = counts_row(f.counts, 0);
	assert_true(row->by_caller);
	assert_in_range(row->path, (uint64_t)know_callers, (uint64_t)know_callers + 4096);
	for (int i = 0; i < 2; i++) {
		row = counts_row(f.counts, (size_t)i);
		assert_true(row->step == counts_step(40) || row->step == counts_step(1000));
	}
	end(&f);
}

/* A stack that no rule describes goes as a copy where that is allowed; it is counted once. */
static void copy_what_has_no_name(void **state)
{
	uint64_t count, bytes, calls = 0;
	struct shim_host_log log;
	struct fixture f;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	f.host.control->copy_unknown = 1;
	f.host.control->stack_limit = 256;
	f.fake_malloc(40);
	shim_host_log(&f.host, &log);
	assert_int_equal(log.count, 1);
	assert_int_equal(log.record[0].kind, RING_ALLOC);
	assert_int_equal(log.record[0].address, 0);
	assert_int_equal(log.record[0].size, 40);
	assert_true(log.record[0].flags & RING_F_STACK);
	assert_int_equal(read_totals(&f)->alloc_count, 1);
	assert_int_equal(asked(&f, 40).count, 1);
	assert_int_equal(counts_rows(f.counts), 0);
	/* what finds no room is counted by its caller, and is no loss */
	for (; counts_rows(f.counts) == 0 && calls < 100000; calls++) {
		f.fake_malloc(40);
		assert_int_equal(counts_read(f.counts, UINT64_MAX), 0);
	}
	sum_rows(&f, &count, &bytes);
	assert_int_equal(count, 1);
	assert_int_equal(read_totals(&f)->alloc_count, calls + 1);
	assert_int_equal(f.host.control->ring[0].lost_alloc, 0);
	counts_free(f.counts);
	shim_host_close(&f.host);
}

/* The reader's own rows stay what they are, whatever is read. */
static void keep_what_is_added(void **state)
{
	uint64_t count, bytes;
	struct fixture f;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	f.fake_malloc(10);
	assert_int_equal(counts_add(f.counts, 7, 100), 0);
	assert_int_equal(counts_add(f.counts, 7, 101), 0);
	assert_int_equal(counts_add(f.counts, 8, 5000), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts_read(f.counts, UINT64_MAX), 0);
	sum_rows(&f, &count, &bytes);
	assert_int_equal(count, 4);
	assert_int_equal(bytes, 10 + 100 + 101 + 5000);
	assert_int_equal(counts_row(f.counts, 0)->mark, 7);
	assert_int_equal(counts_row(f.counts, 0)->count, 2);
	end(&f);
}

/* The target has written over its counters, as by a memory error: no sum can't be. */
static void bound_what_is_written_over(void **state)
{
	static const int bytes_of[] = { 0xff, 'A', 0x7f, 1 };
	const uint64_t most = 1000000;
	uint64_t count, bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bytes_of); i++) {
		struct fixture f;
		uint64_t at;

		begin(&f, COUNTS_SITES, 0);
		f.fake_malloc(10);
		assert_int_equal(counts_read(f.counts, most), 0);
		assert_false(counts_are_corrupt(f.counts));
		at = f.host.control->counts_offset;
		memset((uint8_t *)f.host.control + at, bytes_of[i], f.host.bytes - at);
		assert_int_equal(counts_read(f.counts, most), 0);
		assert_true(counts_are_corrupt(f.counts));
		sum_rows(&f, &count, &bytes);
		assert_true(count <= most && bytes <= 1ull << 53);
		assert_true(asked(&f, 0).sum <= most);
		assert_true(counts_sums(f.counts)->totals.alloc_count <= most);
		assert_true(counts_sums(f.counts)->totals.free_usable <= 1ull << 53);
		assert_true(counts_sums(f.counts)->paths_left.count <= most);
		end(&f);
	}
}

enum { CALLERS = 90000, STUB = 16 };

/* So many places in code that each call what is in rsi, and return. */
static uint8_t *make_callers(void)
{
	static const uint8_t code[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8,
					0xc3 };
	uint8_t *stubs = mmap(NULL, (size_t)CALLERS * STUB, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(stubs != MAP_FAILED);
	for (size_t i = 0; i < CALLERS; i++)
		memcpy(stubs + i * STUB, code, sizeof(code));
	assert_int_equal(mprotect(stubs, (size_t)CALLERS * STUB, PROT_READ | PROT_EXEC), 0);
	return stubs;
}

/* More of them than all tables have places: what does not fit is counted as that. */
static void count_what_finds_no_room(void **state)
{
	uint8_t *stubs = make_callers();
	uint64_t count, bytes;
	struct fixture f;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	for (uint64_t round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < CALLERS; i++) {
			void *(*stub)(uint64_t, void *(*)(size_t));
			uint8_t *at = stubs + i * STUB;

			memcpy(&stub, &at, sizeof(stub));
			assert_non_null(stub(5000 + i, f.fake_malloc));
		}
		assert_int_equal(counts_read(f.counts, UINT64_MAX), 0);
		sum_rows(&f, &count, &bytes);
		assert_true(counts_rows(f.counts) > COUNTS_SHARED_PATHS);
		assert_true(counts_sums(f.counts)->paths_left.count > 0);
		assert_int_equal(count + counts_sums(f.counts)->paths_left.count,
				 (round + 1) * CALLERS);
		assert_int_equal(bytes + counts_sums(f.counts)->paths_left.bytes,
				 counts_sums(f.counts)->totals.alloc_bytes);
		assert_int_equal(asked(&f, 0).sum + counts_sums(f.counts)->sizes_left.count,
				 (round + 1) * CALLERS);
		assert_true(counts_sums(f.counts)->sizes_left.count > 0);
	}
	assert_int_equal(munmap(stubs, (size_t)CALLERS * STUB), 0);
	end(&f);
}

static void step_through_sizes(void **state)
{
	(void)state;
	for (uint32_t step = 0; step + 1 < COUNTS_STEPS; step++) {
		uint64_t low = counts_step_low(step), next = counts_step_low(step + 1);

		assert_true(low < next);
		assert_int_equal(counts_step(low), step);
		assert_int_equal(counts_step(next - 1), step);
	}
	assert_int_equal(counts_step(UINT64_MAX), COUNTS_STEPS - 1);
	for (uint64_t path = 1; path; path <<= 1) {
		uint64_t detail = counts_detail(path, path & 0x555);

		assert_int_equal(counts_path_of(counts_path_key(path, detail), detail), path);
		assert_int_equal(counts_detail_step(detail), counts_step(path));
	}
}

static void refuse_what_does_not_fit(void **state)
{
	struct counts *counts;
	struct fixture f;
	struct ring_control *c;

	(void)state;
	begin(&f, COUNTS_SITES, 0);
	c = f.host.control;
	assert_int_equal(counts_new(c, f.host.bytes - 1, &counts), -EBADMSG);
	c->counts_slots *= 2;
	assert_int_equal(counts_new(c, f.host.bytes, &counts), -EBADMSG);
	c->counts_slots = 63;
	assert_int_equal(counts_new(c, f.host.bytes, &counts), -EBADMSG);
	c->counts_slots = 1ull << 62;
	assert_int_equal(counts_new(c, f.host.bytes, &counts), -EBADMSG);
	c->counts_slots = 64;
	c->counts_offset = UINT64_MAX - 63;
	assert_int_equal(counts_new(c, f.host.bytes, &counts), -EBADMSG);
	counts_free(f.counts);
	shim_host_close(&f.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count_every_shape),
		cmocka_unit_test(leave_unknown_sizes_open),
		cmocka_unit_test(ask_the_allocator),
		cmocka_unit_test(add_up_threads),
		cmocka_unit_test(add_up_threads_that_share),
		cmocka_unit_test(share_to_the_last_call),
		cmocka_unit_test(lose_nothing_to_handlers),
		cmocka_unit_test(count_nothing_in_fork_children),
		cmocka_unit_test(know_callers),
		cmocka_unit_test(copy_what_has_no_name),
		cmocka_unit_test(keep_what_is_added),
		cmocka_unit_test(bound_what_is_written_over),
		cmocka_unit_test(count_what_finds_no_room),
		cmocka_unit_test(step_through_sizes),
		cmocka_unit_test(refuse_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
