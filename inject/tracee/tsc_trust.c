/* SPDX-License-Identifier: MIT */
/*
 * tsc_trust.c - see tsc_trust.h.
 *
 * Rejected: asking the kernel alone. Guests whose clock is kvm-clock or Hyper-V's often have no
 * clock source "tsc", though theirs is computed from the same counter, which is invariant and
 * equal on all processors; hosts that found theirs to warp don't have it either.
 */
#include "inject/tracee/tsc_trust.h"

#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "src/base/cleanup.h"

#define TURNS_NS 4000000ull
#define LIMIT_NS 1000000000ull	/* where they don't run at the same time, others being at work */
#define GATHER_NS 200000000ull	/* for all to be there; who is not then is late */
enum { MAX_PROCESSORS = 512, HANDOVERS = 64, LEAF_FEATURES = 0x80000001, LEAF_POWER = 0x80000007 };
enum { RDTSCP_BIT = 27, INVARIANT_BIT = 8 };

struct turns {
	tsc_clock *clock;
	atomic_flag lock;
	uint64_t last, worst;	/* under the lock */
	const struct taker *holder;	/* the last one; under the lock */
	atomic_uint here, expected;
	atomic_uint satisfied;	/* those that took over from others often enough */
	atomic_ullong end_ns;	/* 0: not begun */
};

struct taker {
	struct turns *turns;
	pthread_t thread;
	int processor;
	unsigned int handovers;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void take_turn(struct turns *turns, struct taker *taker)
{
	uint64_t now;

	while (atomic_flag_test_and_set_explicit(&turns->lock, memory_order_acquire))
		_mm_pause();
	now = turns->clock();
	if (now < turns->last && turns->last - now > turns->worst)
		turns->worst = turns->last - now;
	turns->last = now;
	if (turns->holder != taker && ++taker->handovers == HANDOVERS)
		atomic_fetch_add(&turns->satisfied, 1);
	turns->holder = taker;
	atomic_flag_clear_explicit(&turns->lock, memory_order_release);
}

/* The last one to come begins; so does who has waited long. */
static void gather(struct turns *turns, uint64_t since_ns)
{
	unsigned long long none = 0;

	while (!atomic_load(&turns->end_ns)) {
		uint64_t now = now_ns();

		if (atomic_load(&turns->here) == atomic_load(&turns->expected) ||
		    now - since_ns > GATHER_NS)
			(void)atomic_compare_exchange_strong(&turns->end_ns, &none,
							     now + TURNS_NS);
		else
			(void)sched_yield();
	}
}

/* A processor that is alone has nobody to take over from. */
static bool is_over(struct turns *turns)
{
	uint64_t end = atomic_load(&turns->end_ns), now = now_ns();
	unsigned int here = atomic_load(&turns->here);

	if (now < end)
		return false;
	return here < 2 || atomic_load(&turns->satisfied) >= here || now > end + LIMIT_NS;
}

static void *take_turns(void *self)
{
	struct taker *taker = self;
	struct turns *turns = taker->turns;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned int)taker->processor, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0) {
		atomic_fetch_sub(&turns->expected, 1);
		return NULL;
	}
	atomic_fetch_add(&turns->here, 1);
	gather(turns, now_ns());
	while (!is_over(turns))
		for (int i = 0; i < 16; i++)
			take_turn(turns, taker);
	return NULL;
}

uint64_t tsc_worst_warp(tsc_clock *clock)
{
	static struct taker taker[MAX_PROCESSORS];
	struct turns turns = { .clock = clock, .lock = ATOMIC_FLAG_INIT };
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	int count = 0;

	if (processors > MAX_PROCESSORS)
		processors = MAX_PROCESSORS;
	atomic_store(&turns.expected, (unsigned int)processors);
	for (int i = 0; i < processors; i++) {
		taker[count] = (struct taker){ .turns = &turns, .processor = i };
		if (pthread_create(&taker[count].thread, NULL, take_turns, &taker[count]) == 0)
			count++;
		else
			atomic_fetch_sub(&turns.expected, 1);
	}
	for (int i = 0; i < count; i++)
		(void)pthread_join(taker[i].thread, NULL);
	return turns.worst;
}

/* Not before what came before, and before what comes after. */
static uint64_t read_tsc(void)
{
	uint64_t now;

	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

static bool has_bit(unsigned int leaf, unsigned int bit)
{
	unsigned int a, b, c, d;

	return __get_cpuid(leaf, &a, &b, &c, &d) && (d >> bit & 1);
}

bool tsc_has_rdtscp(void)
{
	return has_bit(LEAF_FEATURES, RDTSCP_BIT);
}

static bool is_clocksource(void)
{
	_cleanup_file_ FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/"
				       "available_clocksource", "re");
	char line[256];

	return f && fgets(line, sizeof(line), f) && strstr(line, "tsc");
}

const char *tsc_judge(const struct tsc_facts *facts)
{
	if (!facts->clocksource && !facts->invariant)
		return "neither the kernel nor the processor says that this machine's time stamp "
		       "counter runs at one rate";
	return NULL;
}

const char *tsc_problem(void)
{
	struct tsc_facts facts = { .invariant = has_bit(LEAF_POWER, INVARIANT_BIT),
				   .clocksource = is_clocksource() };
	const char *problem = tsc_judge(&facts);

	if (problem || facts.clocksource)
		return problem;
	return tsc_worst_warp(read_tsc) ? "this machine's time stamp counters differ from "
					  "processor to processor" : NULL;
}
