/* SPDX-License-Identifier: MIT */
/*
 * test_shim_ring.c - the ring writer: when the ring wraps, when who writes waits for room, when
 * the time is up, when somebody sleeps, and when many write at once.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/shim_user.h"

/* A record length that does not divide the ring: it wraps often, never in mid-record. */
static void fill_the_end_of_the_ring(void **state)
{
	struct shim_tally tally = { 0 };
	unsigned int pads = 0;
	struct shim_user f;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 1000 });
	for (unsigned int i = 0; i < 20000; i++) {
		void *p = f.hook.malloc(i);

		f.hook.free(p);
		shim_host_drain(&f.host, 0, shim_tally_add, &tally, &pads);
		assert_int_equal(tally.count, 2 * (i + 1));
		assert_ptr_equal((void *)tally.last_address, p);
	}
	assert_true(pads > 20000 * 19 / 1024 / 2);
	assert_int_equal(f.host.control->ring[0].head, f.host.control->ring[0].tail);
	shim_host_close(&f.host);
}

/* The longest records, the longest filler: head never gets a ring ahead of tail. */
static void never_overrun_what_is_unread(void **state)
{
	volatile char deep[20000];	/* so that there is stack to copy */
	struct shim_tally tally = { 0 };
	struct shim_user f;

	(void)state;
	deep[0] = deep[sizeof(deep) - 1] = 0;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536 });
	for (unsigned int start = 0; start < 400; start++) {
		f.host.control->stack_limit = 64 * (start % 16);
		f.hook.free(f.hook.malloc(8));
		shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
		f.host.control->stack_limit = 65536;
		for (unsigned int i = 0; i < 5; i++)
			free(f.hook.malloc(8));
		shim_host_drain(&f.host, 0, shim_tally_add, &tally, NULL);
		assert_int_equal(f.host.control->ring[0].head, f.host.control->ring[0].tail);
	}
	assert_true(f.host.control->ring[0].lost_stack > 100);
	shim_host_close(&f.host);
}

/* On one CPU from here on, until go_anywhere(): its records go to one ring. Returns which CPU. */
static uint32_t stay_here(cpu_set_t *ret_before)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	assert_true(cpu >= 0);
	CPU_ZERO(&here);
	CPU_SET((size_t)cpu, &here);
	assert_int_equal(sched_getaffinity(0, sizeof(*ret_before), ret_before), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
	return (uint32_t)cpu;
}

static void go_anywhere(const cpu_set_t *before)
{
	assert_int_equal(sched_setaffinity(0, sizeof(*before), before), 0);
}

/* A record that was begun and that nobody goes on with. */
struct unfinished {
	uint32_t ring;
	uint64_t position;
	struct ring_record *record;
};

/* The next record of ring, reserved; busy: it says so, else even that is to come. */
static struct unfinished leave_unfinished(struct shim_user *f, uint32_t ring, bool busy)
{
	struct ring_control *c = f->host.control;
	uint64_t position = c->ring[ring].head++;
	struct ring_record *record =
		(struct ring_record *)((uint8_t *)c + c->rings_offset + ring * c->ring_bytes) +
		(position & (c->ring_lines - 1));

	*record = (struct ring_record){
		.commit = busy ? ring_commit_word(position, 1, RING_BUSY) : 0,
		.kind = RING_FREE, .time = 1, .caller = 1, .thread = 1,
	};
	return (struct unfinished){ ring, position, record };
}

/* A reader that looks, time after time, and says what it finds, while others come and go. */
struct looks {
	struct ring_head *head;
	bool over, alone;		/* alone: no more others */
	struct shim_user *f;
	uint32_t ring;			/* where the others write */
	size_t others;
	struct unfinished passing[8];
};

/* Each is done, and in the middle of the next one. */
static void others_pass(struct looks *looks)
{
	for (size_t i = 0; i < looks->others; i++) {
		struct unfinished *u = &looks->passing[i];

		if (u->record)
			u->record->commit = ring_commit_word(u->position, 1, RING_DONE);
		*u = leave_unfinished(looks->f, looks->ring, true);
	}
}

static void *look(void *context)
{
	struct looks *looks = context;
	uint64_t begun = shim_host_clock();

	for (unsigned int i = 0; !__atomic_load_n(&looks->over, __ATOMIC_RELAXED); i++) {
		usleep(1000);
		(void)__atomic_add_fetch(&looks->head->held_up, 1, __ATOMIC_RELAXED);
		if (shim_host_clock() - begun > 5ull << 32)
			__atomic_store_n(&looks->alone, true, __ATOMIC_RELAXED);
		else if (i % 100 == 0)
			others_pass(looks);
	}
	return NULL;
}

/* Until one is lost: the wait for it has an end, and it has one once. */
static void is_given_up(struct shim_user *f, uint32_t ring, const struct unfinished *unfinished,
			size_t others)
{
	struct ring_head *head = &f->host.control->ring[ring];
	struct looks looks = { .head = head, .f = f, .ring = 1 - ring, .others = others };
	uint64_t tail = head->tail, cycles;
	pthread_t thread;

	others_pass(&looks);

	assert_int_equal(pthread_create(&thread, NULL, look, &looks), 0);
	while (head->lost_alloc == 0)
		free(f->hook.malloc(8));
	assert_true(others == 0 || !__atomic_load_n(&looks.alone, __ATOMIC_RELAXED));
	assert_int_equal(head->given_up, tail + 1);
	assert_int_equal(head->given_up_for,
			 ring_unfinished_pack(unfinished->ring, unfinished->position));
	cycles = head->blocked_cycles;
	assert_true(cycles >= 1ull << 33);
	for (unsigned int i = 0; i < 50; i++)	/* once is enough */
		free(f->hook.malloc(8));
	assert_true(head->lost_alloc >= 50);
	assert_true(head->blocked_cycles - cycles < 1ull << 33);
	__atomic_store_n(&looks.over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void *drain_later(void *context)
{
	struct shim_host *host = context;
	struct shim_tally tally = { 0 };

	usleep(20000);
	shim_host_drain(host, 0, shim_tally_add, &tally, NULL);
	shim_host_drain(host, 1, shim_tally_add, &tally, NULL);
	__atomic_add_fetch(&host->control->wake, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* It goes on after all: from then on there is something to wait for again. */
static void is_waited_for_again(struct shim_user *f, struct ring_head *head,
				const struct unfinished *unfinished)
{
	uint64_t lost = head->lost_alloc + head->lost_free, blocked = head->blocked;
	pthread_t thread;

	unfinished->record->commit = ring_commit_word(unfinished->position, 1, RING_DONE);
	assert_int_equal(pthread_create(&thread, NULL, drain_later, &f->host), 0);
	while (head->blocked == blocked)
		free(f->hook.malloc(8));
	pthread_join(thread, NULL);
	assert_int_equal(head->lost_alloc + head->lost_free, lost);
	free(f->hook.malloc(8));
	assert_int_not_equal(head->head, head->tail);
}

/*
 * As if a signal handler had come between a record's reservation and its end, in the ring of this
 * CPU or in another one, at its tail or behind another record. The reader hands nothing over that
 * may depend on it.
 */
static void unfinished_is_not_waited_for(bool busy, bool elsewhere, bool behind)
{
	struct unfinished unfinished;
	struct shim_user f;
	cpu_set_t before;
	uint32_t here;

	user_begin(&f, &(struct shim_host_options){ .ring_count = 2, .ring_bytes = 65536,
						    .stack_limit = 256 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	here = stay_here(&before) % 2;
	if (behind)
		free(f.hook.malloc(8));
	unfinished = leave_unfinished(&f, elsewhere ? 1 - here : here, busy);
	is_given_up(&f, here, &unfinished, 0);
	is_waited_for_again(&f, &f.host.control->ring[here], &unfinished);
	shim_host_close(&f.host);
	go_anywhere(&before);
}

static void what_nobody_can_finish_is_not_waited_for(void **state)
{
	(void)state;
	unfinished_is_not_waited_for(true, false, false);
	unfinished_is_not_waited_for(false, false, false);	/* just reserved */
	unfinished_is_not_waited_for(false, true, false);
	unfinished_is_not_waited_for(false, false, true);
}

/* Others come and go in the ring before its own, as many as are noted. */
static void what_nobody_can_finish_is_found_among_others(void **state)
{
	struct unfinished unfinished;
	struct shim_user f;
	cpu_set_t before, odd;
	int cpu = 1;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (cpu < CPU_SETSIZE && !CPU_ISSET((size_t)cpu, &before))
		cpu += 2;
	if (cpu >= CPU_SETSIZE)
		skip();
	CPU_ZERO(&odd);
	CPU_SET((size_t)cpu, &odd);
	assert_int_equal(sched_setaffinity(0, sizeof(odd), &odd), 0);
	user_begin(&f, &(struct shim_host_options){ .ring_count = 2, .ring_bytes = 65536,
						    .stack_limit = 256 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	unfinished = leave_unfinished(&f, 1, true);
	is_given_up(&f, 1, &unfinished, 8);
	shim_host_close(&f.host);
	go_anywhere(&before);
}

struct slow {
	struct shim_user *f;
	uint32_t full;		/* the ring that is full */
	bool looks;		/* the reader looks, and many are slow at a record; else one is */
};

/* After all that has been finished: it is there, and so is the reader. */
static void catch_up(const struct slow *slow, const struct unfinished *unfinished)
{
	struct ring_control *c = slow->f->host.control;
	struct shim_tally tally = { 0 };

	unfinished->record->commit = ring_commit_word(unfinished->position, 1, RING_DONE);
	shim_host_drain(&slow->f->host, slow->full, shim_tally_add, &tally, NULL);
	__atomic_add_fetch(&c->wake, 1, __ATOMIC_SEQ_CST);
}

/*
 * Somebody is slow at a record, time after time, while the reader goes no further; or at one
 * record, while the reader is in the middle of a drain.
 */
static void *finish_slowly(void *context)
{
	const struct slow *slow = context;
	struct unfinished unfinished = leave_unfinished(slow->f, 1 - slow->full, true);
	uint64_t *held_up = &slow->f->host.control->ring[slow->full].held_up;
	uint64_t begun = shim_host_clock();

	while (shim_host_clock() - begun < 3ull << 32) {
		usleep(100000);
		if (!slow->looks) {	/* the end of a drain, and the beginning of another one */
			*held_up = shim_host_clock() - begun > 3ull << 31;
			continue;
		}
		++*held_up;
		unfinished.record->commit = ring_commit_word(unfinished.position, 1, RING_DONE);
		unfinished = leave_unfinished(slow->f, 1 - slow->full, true);
	}
	catch_up(slow, &unfinished);
	return NULL;
}

static void is_waited_for(bool looks)
{
	const struct ring_head *head;
	struct shim_user f;
	struct slow slow = { .f = &f, .looks = looks };
	cpu_set_t before;
	pthread_t thread;

	user_begin(&f, &(struct shim_host_options){ .ring_count = 2, .ring_bytes = 65536,
						    .stack_limit = 256 });
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	slow.full = stay_here(&before) % 2;
	head = &f.host.control->ring[slow.full];
	assert_int_equal(pthread_create(&thread, NULL, finish_slowly, &slow), 0);
	while (head->blocked == 0)
		free(f.hook.malloc(8));
	pthread_join(thread, NULL);
	assert_true(head->blocked_cycles > 1ull << 33);
	assert_int_equal(head->lost_alloc, 0);
	assert_int_equal(head->lost_stack, 0);
	assert_int_equal(head->given_up, 0);
	shim_host_close(&f.host);
	go_anywhere(&before);
}

static void what_is_finished_late_is_waited_for(void **state)
{
	(void)state;
	is_waited_for(true);
}

static void a_slow_reader_is_waited_for(void **state)
{
	(void)state;
	is_waited_for(false);
}

struct consumer {
	struct shim_user *f;
	struct shim_tally tally;
	uint64_t expected;
};
static void *consume(void *context)
{
	struct consumer *consumer = context;
	struct shim_host *host = &consumer->f->host;

	while (consumer->tally.count < consumer->expected) {
		usleep(300);
		shim_host_drain(host, 0, shim_tally_add, &consumer->tally, NULL);
		__atomic_add_fetch(&host->control->wake, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void wait_for_room(void **state)
{
	struct consumer consumer = { .expected = 40000 };
	struct shim_user f;
	pthread_t thread;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 256 });
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
	struct shim_user f;
	uint64_t begun = shim_host_clock(), deadline;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
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
	struct shim_user f;
	pthread_t thread;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536 });
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
	struct shim_user f;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	free(f.hook.malloc(1));
	user_expect(&f, 1);
	f.host.control->deadline = shim_host_clock() - 1;
	free(f.hook.malloc(1));
	user_expect(&f, 0);
	assert_int_equal(f.host.control->lapsed, 1);
	/* A keeper that was only late does not resume by itself. */
	f.host.control->deadline = shim_host_clock() + (1ull << 50);
	free(f.hook.malloc(1));
	user_expect(&f, 0);
	f.host.control->epoch = 2;
	free(f.hook.malloc(1));
	user_expect(&f, 1);
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
static unsigned int notify_ten(struct shim_user *f)
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
	struct shim_user f;
	pthread_t thread;
	uint64_t begun;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .stack_limit = 64 });
	f.hook.dl_state();
	user_expect(&f, 1);
	assert_int_equal(f.log.record[0].kind, RING_MODULE);
	assert_int_equal(f.log.record[0].address, 1);
	f.host.control->overflow = RING_OVERFLOW_BLOCK;
	assert_int_equal(pthread_create(&thread, NULL, acknowledge, f.host.control), 0);
	assert_in_range(notify_ten(&f), 1, 10);
	f.host.control->mode = RING_MODE_OFF;
	pthread_join(thread, NULL);
	f.host.control->mode = RING_MODE_ALL;
	user_expect(&f, 10);
	/* Nobody answers: about 50 ms. */
	begun = shim_host_clock();
	f.hook.dl_state();
	assert_in_range(shim_host_clock() - begun, 1ull << 27, 1ull << 34);
	user_expect(&f, 1);
	shim_host_close(&f.host);
}

static void wake_a_sleeping_reader(void **state)
{
	struct shim_user f;

	(void)state;
	user_begin(&f, &(struct shim_host_options){ .ring_bytes = 65536, .stack_limit = 512 });
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
	struct shim_user *f = context;

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
static uint64_t read_hammers(struct shim_user *f, struct shim_tally *tally)
{
	struct ring_control *c = f->host.control;
	bool running = true;

	while (running) {
		running = __atomic_load_n(&f->log.count, __ATOMIC_SEQ_CST) < HAMMERS;
		for (uint32_t ring = 0; ring < c->ring_count; ring++)
			shim_host_drain(&f->host, ring, shim_tally_add, tally, NULL);
		__atomic_add_fetch(&c->wake, 1, __ATOMIC_SEQ_CST);
	}
	for (uint32_t ring = 0; ring < c->ring_count; ring++)
		assert_int_equal(c->ring[ring].head, c->ring[ring].tail);
	return user_losses(f).lost_alloc + user_losses(f).lost_free;
}

static void hammer_rings(enum ring_overflow overflow, struct shim_tally *tally, uint64_t *ret_lost)
{
	const struct shim_host_options options = {
		.ring_bytes = 65536, .stack_limit = 512,
	};
	struct shim_user f = { .log = { 0 } };
	pthread_t thread[HAMMERS];

	user_begin(&f, &options);
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
	struct shim_tally dropping = { 0 }, blocking = { 0 };
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
		cmocka_unit_test(never_overrun_what_is_unread),
		cmocka_unit_test(what_nobody_can_finish_is_not_waited_for),
		cmocka_unit_test(what_nobody_can_finish_is_found_among_others),
		cmocka_unit_test(what_is_finished_late_is_waited_for),
		cmocka_unit_test(a_slow_reader_is_waited_for),
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
