/* SPDX-License-Identifier: MIT */
/*
 * test_shim_ring.c - the ring writer: when the ring wraps, when it is full, when
 * the time is up, when somebody sleeps, and when many write at once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/base/sanitized.h"
#include "tests/unit/shim_host.h"

static void *original_malloc(size_t size)
{
	return malloc(size);
}
static void *original_realloc(void *old, size_t size)
{
	return realloc(old, size);
}
static void original_free(void *block)
{
	free(block);
}
static void original_dl_state(void)
{
}

struct fixture {
	struct shim_host host;
	struct {
		void *(*malloc)(size_t);
		void *(*realloc)(void *, size_t);
		void (*free)(void *);
		void (*dl_state)(void);
	} hook;
	struct shim_host_log log;
};

static void begin(struct fixture *f, const struct shim_host_options *options)
{
	shim_host_open(&f->host, options);
#define HOOK(member, shape) \
	(*(void **)&f->hook.member = shim_host_hook(&f->host, shape, \
						    (const void *)original_##member, 0, 0, 0))
	HOOK(malloc, RING_SHAPE_MALLOC);
	HOOK(realloc, RING_SHAPE_REALLOC);
	HOOK(free, RING_SHAPE_FREE);
	HOOK(dl_state, RING_SHAPE_DL_STATE);
#undef HOOK
	shim_host_arm(&f->host);
}

/* Drains; exactly count records must have come. */
static void expect_count(struct fixture *f, unsigned int count)
{
	shim_host_log(&f->host, &f->log);
	assert_int_equal(f->log.count, count);
}

struct tally {
	uint64_t count, lines, last_address, bytes;
};
static void tally_add(void *context, const struct ring_record *record,
		      const struct ring_stack *stack, const uint8_t *bytes)
{
	struct tally *tally = context;

	(void)stack;
	(void)bytes;
	tally->count++;
	tally->bytes += record->size;
	tally->lines += ring_commit_lines(record->commit);
	tally->last_address = record->address;
}

/* A record length that does not divide the ring: it wraps often, never in mid-record. */
static void fill_the_end_of_the_ring(void **state)
{
	struct tally tally = { 0 };
	unsigned int pads = 0;
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 1000 });
	for (unsigned int i = 0; i < 20000; i++) {
		void *p = f.hook.malloc(i);

		f.hook.free(p);
		shim_host_drain(&f.host, 0, tally_add, &tally, &pads);
		assert_int_equal(tally.count, 2 * (i + 1));
		assert_ptr_equal((void *)tally.last_address, p);
	}
	assert_true(pads > 20000 * 19 / 1024 / 2);
	assert_int_equal(f.host.control->ring[0].head, f.host.control->ring[0].tail);
	shim_host_close(&f.host);
}

/* What found no room in the rings, and what was lost at once. */
static struct ring_head losses(const struct fixture *f)
{
	struct ring_head sum = f->host.control->ring[0];

	for (uint32_t i = 1; i < f->host.control->ring_count; i++) {
		sum.lost_alloc += f->host.control->ring[i].lost_alloc;
		sum.lost_free += f->host.control->ring[i].lost_free;
		sum.lost_alloc_bytes += f->host.control->ring[i].lost_alloc_bytes;
	}
	for (uint32_t i = 0; i < RING_LANES; i++) {
		sum.lost_alloc += f->host.control->lane[i].lost_alloc;
		sum.lost_free += f->host.control->lane[i].lost_free;
		sum.lost_alloc_bytes += f->host.control->lane[i].lost_alloc_bytes;
	}
	return sum;
}

static void drop_and_count_when_full(void **state)
{
	const unsigned int calls = 2000;
	struct tally tally = { 0 };
	struct fixture f;
	struct ring_head *head;
	uint64_t frees;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
	head = &f.host.control->ring[0];
	for (unsigned int i = 0; i < calls; i++)
		free(f.hook.malloc(8));
	assert_true(losses(&f).lost_alloc > 0 && head->lost_stack > 0);
	assert_int_equal(losses(&f).lost_alloc_bytes, 8 * losses(&f).lost_alloc);
	/* The eighth that is kept takes frees. */
	for (frees = 0; losses(&f).lost_free == 0; frees++)
		f.hook.free(malloc(8));
	assert_true(frees - 1 >= 1024 / 8 - 2);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, calls - losses(&f).lost_alloc + frees - 1);
	shim_host_close(&f.host);
}

/* Once an allocation found no room they are counted alone, until the reader says otherwise. */
static void count_alone_while_pressed(void **state)
{
	struct tally tally = { 0 };
	struct fixture f;
	struct ring_control *c;
	uint64_t lost;
	void *p, *older;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512,
					       .table_slots = 1024 });
	c = f.host.control;
	older = f.hook.malloc(8);
	assert_int_equal(c->pressed, 0);
	while (losses(&f).lost_alloc == 0)
		free(f.hook.malloc(8));
	assert_int_equal(c->pressed, RING_PRESSED | RING_WAS_PRESSED);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	tally.count = 0;
	lost = losses(&f).lost_alloc;
	p = f.hook.malloc(24);
	assert_int_equal(losses(&f).lost_alloc, lost + 1);
	assert_int_equal(losses(&f).lost_alloc_bytes, 8 * lost + 24);
	f.hook.free(older);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, 1);	/* the free, which is not to be lost */
	assert_ptr_equal((void *)tally.last_address, older);
	f.hook.free(p);				/* nobody would know of what */
	assert_int_equal(losses(&f).lost_free, 1);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, 1);
	c->pressed = RING_WAS_PRESSED;
	f.hook.free(f.hook.malloc(24));
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, 3);
	assert_int_equal(losses(&f).lost_alloc, lost + 1);
	assert_int_equal(losses(&f).lost_free, 1);
	shim_host_close(&f.host);
}

/* A block that was lost is freed where nobody sees it: what is recorded there then has its free. */
static void know_recorded_from_lost(void **state)
{
	struct tally tally = { 0 };
	struct fixture f;
	struct ring_control *c;
	void *p, *q;

	(void)state;
	if (MEMATTACH_SANITIZED)	/* its malloc gives no address twice so soon */
		skip();
	begin(&f, &(struct shim_host_options){ .stack_limit = 64, .table_slots = 256 });
	c = f.host.control;
	c->pressed = RING_PRESSED | RING_WAS_PRESSED;
	p = f.hook.malloc(24);
	free(p);
	c->pressed = RING_WAS_PRESSED;
	q = f.hook.malloc(24);
	assert_ptr_equal(p, q);
	f.hook.free(q);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, 2);
	/* realloc: it may fail, its free is recorded. */
	c->pressed = RING_PRESSED | RING_WAS_PRESSED;
	p = f.hook.malloc(24);
	c->pressed = RING_WAS_PRESSED;
	tally.count = 0;
	p = f.hook.realloc(p, 30000);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, 2);
	f.hook.free(p);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	assert_int_equal(tally.count, 3);
	shim_host_close(&f.host);
}

#define SLOTS 3000u
struct slot {
	void *block;
	bool lost;
};

/* Frees what is in slot; true: that was lost, too. */
static bool slot_free(struct fixture *f, const struct slot *slot)
{
	uint64_t before = losses(f).lost_free;

	f->hook.free(slot->block);
	if (!slot->lost)
		assert_int_equal(losses(f).lost_free, before);
	return losses(f).lost_free != before;
}

static void slot_fill(struct fixture *f, struct slot *slot, size_t size)
{
	uint64_t before = losses(f).lost_alloc;

	slot->block = f->hook.malloc(size);
	slot->lost = losses(f).lost_alloc != before;
}

/*
 * Blocks come and go at random, now under pressure and now not: of what was recorded each free is,
 * too, of what was lost nearly none, or fewer where the table is so small that memory shares words.
 */
static unsigned int lose_at_random(uint64_t table_slots)
{
	static struct slot slot[SLOTS];
	unsigned int lost = 0, dropped = 0;
	struct tally tally = { 0 };
	struct fixture f;

	memset(slot, 0, sizeof(slot));
	begin(&f, &(struct shim_host_options){ .stack_limit = 8, .table_slots = table_slots });
	for (unsigned int i = 0; i < 100000; i++) {
		struct slot *s = &slot[(unsigned int)rand() % SLOTS];

		if (s->block) {
			lost += s->lost;
			dropped += slot_free(&f, s);
		}
		slot_fill(&f, s, (size_t)rand() % 1000);
		if (i % 40 == 0)
			f.host.control->pressed = RING_WAS_PRESSED |
						  (rand() % 2 ? RING_PRESSED : 0);
		if (i % 100 == 0)
			shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		free(slot[i].block);
	assert_true(lost > 10000);
	assert_int_equal(losses(&f).lost_free, dropped);
	shim_host_close(&f.host);
	return dropped * 100 / lost;
}

static void lose_pairs(void **state)
{
	(void)state;
	if (MEMATTACH_SANITIZED)	/* and its blocks lie far apart */
		skip();
	/* all, unless the heap lies on both sides of a multiple of 64 MiB */
	assert_in_range(lose_at_random(1u << 17), 60, 100);
	assert_in_range(lose_at_random(256), 1, 59);
	assert_int_equal(lose_at_random(64), 0);	/* too small */
}

/* After the deadline nothing is lost: nothing is recorded. It is noticed under pressure, too. */
static void lapse_while_pressed(void **state)
{
	void *block[4000];
	struct fixture f;
	uint64_t lost;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
	f.host.control->pressed = RING_PRESSED | RING_WAS_PRESSED;
	f.host.control->deadline = 1;
	for (unsigned int i = 0; i < 2000; i++)
		block[i] = f.hook.malloc(8);
	lost = losses(&f).lost_alloc;
	assert_int_equal(f.host.control->lapsed, 1);
	assert_true(lost < 2000);
	for (unsigned int i = 2000; i < 4000; i++)
		block[i] = f.hook.malloc(8);
	assert_int_equal(losses(&f).lost_alloc, lost);
	for (unsigned int i = 0; i < 4000; i++)
		free(block[i]);
	shim_host_close(&f.host);
}

/* The longest records, the longest filler: head never gets a ring ahead of tail. */
static void never_overrun_what_is_unread(void **state)
{
	volatile char deep[20000];	/* so that there is stack to copy */
	struct tally tally = { 0 };
	struct fixture f;

	(void)state;
	deep[0] = deep[sizeof(deep) - 1] = 0;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536 });
	for (unsigned int start = 0; start < 400; start++) {
		f.host.control->stack_limit = 64 * (start % 16);
		f.hook.free(f.hook.malloc(8));
		shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
		f.host.control->stack_limit = 65536;
		for (unsigned int i = 0; i < 5; i++)
			free(f.hook.malloc(8));
		shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
		assert_int_equal(f.host.control->ring[0].head, f.host.control->ring[0].tail);
	}
	assert_true(f.host.control->ring[0].lost_stack > 100);
	shim_host_close(&f.host);
}

/* As if a signal handler had come between a record's reservation and its end: commit says when. */
static void unfinished_is_not_waited_for(uint64_t commit)
{
	struct tally tally = { 0 };
	struct fixture f;
	struct ring_head *head;
	struct ring_record *record;
	uint64_t position, cycles;

	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 256 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	head = &f.host.control->ring[0];
	position = head->head++;
	record = (struct ring_record *)((uint8_t *)f.host.control + f.host.control->rings_offset) +
		 (position & (f.host.control->ring_lines - 1));
	*record = (struct ring_record){
		.commit = commit, .kind = RING_FREE, .time = 1, .caller = 1, .thread = 1,
	};
	while (head->lost_alloc == 0)
		free(f.hook.malloc(8));
	assert_int_equal(head->given_up, position + 1);
	cycles = head->blocked_cycles;
	assert_true(cycles >= 1ull << 33);
	for (unsigned int i = 0; i < 50; i++)	/* once is enough */
		free(f.hook.malloc(8));
	assert_true(head->lost_alloc >= 50);
	assert_true(head->blocked_cycles - cycles < 1ull << 33);
	record->commit = ring_commit_word(position, 1, RING_DONE);
	shim_host_drain(&f.host, 0, tally_add, &tally, NULL);
	free(f.hook.malloc(8));
	assert_int_not_equal(head->head, head->tail);
	shim_host_close(&f.host);
}

static void what_nobody_can_finish_is_not_waited_for(void **state)
{
	(void)state;
	unfinished_is_not_waited_for(ring_commit_word(0, 1, RING_BUSY));
	unfinished_is_not_waited_for(0);	/* just reserved */
}

struct consumer {
	struct fixture *f;
	struct tally tally;
	uint64_t expected;
};
static void *consume(void *context)
{
	struct consumer *consumer = context;
	struct shim_host *host = &consumer->f->host;

	while (consumer->tally.count < consumer->expected) {
		usleep(300);
		shim_host_drain(host, 0, tally_add, &consumer->tally, NULL);
		__atomic_add_fetch(&host->control->wake, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void wait_for_room(void **state)
{
	struct consumer consumer = { .expected = 40000 };
	struct fixture f;
	pthread_t thread;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 256 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	consumer.f = &f;
	assert_int_equal(pthread_create(&thread, NULL, consume, &consumer), 0);
	for (unsigned int i = 0; i < 20000; i++)
		f.hook.free(f.hook.malloc(1));
	pthread_join(thread, NULL);
	assert_int_equal(f.host.control->ring[0].lost_alloc, 0);
	assert_int_equal(f.host.control->ring[0].lost_free, 0);
	assert_int_equal(consumer.tally.bytes, 20000);
	assert_true(f.host.control->ring[0].blocked > 0);
	assert_true(f.host.control->ring[0].blocked_cycles > f.host.control->ring[0].blocked);
	shim_host_close(&f.host);
}

/* Nobody reads: the wait ends at the deadline, and nothing is recorded after it. */
static void stop_waiting_at_the_deadline(void **state)
{
	struct fixture f;
	uint64_t begun = shim_host_clock(), deadline;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	deadline = begun + (1ull << 28);
	f.host.control->deadline = deadline;
	for (unsigned int i = 0; i < 3000; i++)
		free(f.hook.malloc(1));
	assert_true(shim_host_clock() > deadline);
	assert_true(shim_host_clock() < deadline + (1ull << 33));
	assert_int_equal(f.host.control->lapsed, 1);
	assert_int_equal(f.host.control->ring[0].blocked, 1);
	shim_host_close(&f.host);
}

/* Is the first thread in a futex call? As a writer that waits for room is. */
static bool first_thread_waits(void)
{
	char path[64];
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;	/* "running" */
	fclose(file);
	return number == SYS_futex;
}

static void *end_recording(void *control)
{
	struct ring_control *c = control;

	for (int i = 0; i < 20000 && !first_thread_waits(); i++)
		usleep(500);
	__atomic_store_n(&c->mode, RING_MODE_OFF, __ATOMIC_RELEASE);
	return NULL;
}

/* Nobody reads: the wait ends with the recording; what waited came after it, and is not lost. */
static void stop_waiting_at_the_end(void **state)
{
	struct fixture f;
	pthread_t thread;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	assert_int_equal(pthread_create(&thread, NULL, end_recording, f.host.control), 0);
	for (unsigned int i = 0; i < 3000; i++)
		free(f.hook.malloc(1));
	pthread_join(thread, NULL);
	assert_int_equal(f.host.control->ring[0].blocked, 1);
	assert_int_equal(f.host.control->ring[0].lost_alloc, 0);
	shim_host_close(&f.host);
}

static void lapse_until_the_next_epoch(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	free(f.hook.malloc(1));
	expect_count(&f, 1);
	f.host.control->deadline = shim_host_clock() - 1;
	free(f.hook.malloc(1));
	expect_count(&f, 0);
	assert_int_equal(f.host.control->lapsed, 1);
	/* A keeper that was only late does not resume by itself. */
	f.host.control->deadline = shim_host_clock() + (1ull << 50);
	free(f.hook.malloc(1));
	expect_count(&f, 0);
	f.host.control->epoch = 2;
	free(f.hook.malloc(1));
	expect_count(&f, 1);
	assert_int_equal(f.host.control->ring[0].lost_alloc, 0);
	shim_host_close(&f.host);
}

/* A reader that reads the maps for 3 ms, then says so; until the mode is off. */
static void *acknowledge(void *context)
{
	struct ring_control *control = context;

	while (__atomic_load_n(&control->mode, __ATOMIC_ACQUIRE) != RING_MODE_OFF) {
		uint64_t seen = __atomic_load_n(&control->module_generation, __ATOMIC_ACQUIRE);

		usleep(3000);
		__atomic_store_n(&control->module_ack, seen, __ATOMIC_RELEASE);
		__atomic_add_fetch(&control->wake, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Of ten notifications (the reader may be late on a busy machine): how many were waited for? */
static unsigned int notify_ten(struct fixture *f)
{
	const struct ring_control *control = f->host.control;
	unsigned int waited = 0;

	for (unsigned int i = 0; i < 10; i++) {
		f->hook.dl_state();
		waited += __atomic_load_n(&control->module_ack, __ATOMIC_ACQUIRE) ==
			  control->module_generation;
	}
	return waited;
}

static void notify_of_modules(void **state)
{
	struct fixture f;
	pthread_t thread;
	uint64_t begun;

	(void)state;
	begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	f.hook.dl_state();
	expect_count(&f, 1);
	assert_int_equal(f.log.record[0].kind, RING_MODULE);
	assert_int_equal(f.log.record[0].address, 1);
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	assert_int_equal(pthread_create(&thread, NULL, acknowledge, f.host.control), 0);
	assert_in_range(notify_ten(&f), 1, 10);
	f.host.control->mode = RING_MODE_OFF;
	pthread_join(thread, NULL);
	f.host.control->mode = RING_MODE_ALL;
	expect_count(&f, 10);
	/* Nobody answers: about 50 ms. */
	begun = shim_host_clock();
	f.hook.dl_state();
	assert_in_range(shim_host_clock() - begun, 1ull << 27, 1ull << 34);
	expect_count(&f, 1);
	shim_host_close(&f.host);
}

static void wake_a_sleeping_reader(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
	f.host.control->reader_asleep = 1;
	free(f.hook.malloc(1));
	assert_int_equal(f.host.control->reader_asleep, 1);	/* nearly empty: let it sleep */
	for (unsigned int i = 0; i < 60; i++)
		free(f.hook.malloc(1));
	assert_int_equal(f.host.control->reader_asleep, 0);
	shim_host_close(&f.host);
}

/* Eight threads on one ring, a reader that checks every commit word, and the sums at the end. */
#define HAMMERS 8
#define BLOWS 20000
static void *hammer(void *context)
{
	struct fixture *f = context;

	for (unsigned int i = 0; i < BLOWS; i++) {
		void *p = f->hook.malloc(i % 100 + 1);

		if (i % 7 == 0)
			p = f->hook.realloc(p, 200);
		f->hook.free(p);
	}
	__atomic_add_fetch(&f->log.count, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Reads until all hammers are done; the sum of what was lost. */
static uint64_t read_hammers(struct fixture *f, struct tally *tally)
{
	struct ring_control *c = f->host.control;
	bool running = true;

	while (running) {
		running = __atomic_load_n(&f->log.count, __ATOMIC_SEQ_CST) < HAMMERS;
		for (uint32_t ring = 0; ring < c->ring_count; ring++)
			shim_host_drain(&f->host, ring, tally_add, tally, NULL);
		__atomic_add_fetch(&c->wake, 1, __ATOMIC_SEQ_CST);
	}
	for (uint32_t ring = 0; ring < c->ring_count; ring++)
		assert_int_equal(c->ring[ring].head, c->ring[ring].tail);
	return losses(f).lost_alloc + losses(f).lost_free;
}

static void hammer_rings(enum ring_overflow overflow, struct tally *tally, uint64_t *ret_lost)
{
	const struct shim_host_options options = {
		.ring_bytes = 65536, .stack_limit = 512,
	};
	struct fixture f = { .log = { 0 } };
	pthread_t thread[HAMMERS];

	begin(&f, &options);
	f.host.control->overflow = overflow;
	for (unsigned int i = 0; i < HAMMERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, hammer, &f), 0);
	*ret_lost = read_hammers(&f, tally);
	for (unsigned int i = 0; i < HAMMERS; i++)
		pthread_join(thread[i], NULL);
	shim_host_close(&f.host);
}

static void commit_under_contention(void **state)
{
	const uint64_t reallocs = (BLOWS + 6) / 7, all = HAMMERS * (2 * BLOWS + 2 * reallocs);
	struct tally dropping = { 0 }, blocking = { 0 };
	uint64_t lost;

	(void)state;
	hammer_rings(RING_OVERFLOW_DROP, &dropping, &lost);
	assert_int_equal(dropping.count + lost, all);
	hammer_rings(RING_OVERFLOW_BLOCK, &blocking, &lost);
	assert_int_equal(lost, 0);
	assert_int_equal(blocking.count, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill_the_end_of_the_ring),
		cmocka_unit_test(drop_and_count_when_full),
		cmocka_unit_test(count_alone_while_pressed),
		cmocka_unit_test(know_recorded_from_lost),
		cmocka_unit_test(lose_pairs),
		cmocka_unit_test(lapse_while_pressed),
		cmocka_unit_test(never_overrun_what_is_unread),
		cmocka_unit_test(what_nobody_can_finish_is_not_waited_for),
		cmocka_unit_test(wait_for_room),
		cmocka_unit_test(stop_waiting_at_the_deadline),
		cmocka_unit_test(stop_waiting_at_the_end),
		cmocka_unit_test(lapse_until_the_next_epoch),
		cmocka_unit_test(notify_of_modules),
		cmocka_unit_test(wake_a_sleeping_reader),
		cmocka_unit_test(commit_under_contention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
