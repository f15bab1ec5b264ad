/* SPDX-License-Identifier: MIT */
/*
 * ring_setup.c - see ring_setup.h and docs/RING.md.
 *
 * One ring per CPU, all in one file, each a power of two: what is left of the
 * total after control block, thread table and address table (exact mode: the bits of
 * live blocks) is shared out.
 */
#include "inject/attach/ring_setup.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "inject/abi/marks_abi.h"
#include "inject/attach/counts_setup.h"
#include "inject/tracee/tsc_trust.h"

enum {
	HWCAP2_FSGSBASE = 2,	/* asm/hwcap2.h: rdfsbase may be used in user mode */
	MIN_RING = 64 * 1024,
	THREAD_SLOTS = 2048,
	/* Sampled: rare records go round a small ring, whose pages are there, and in the caches. */
	SMALL_RING = 512 * 1024,	/* and not more, */
	SMALL_SHARE = 16,	/* or this part of the total */
	TABLE_SHARE = 4,	/* one quarter of the total for the address table */
	BITS_SHARE = 8,		/* exact: for bits of live and of lost blocks (live_bits.c) */
};

static uint64_t power_of_two_below(uint64_t v)
{
	uint64_t p = 1;

	while (p <= v / 2)
		p *= 2;
	return p;
}

struct ring_geometry ring_setup_geometry(uint64_t total_bytes, unsigned int cpus, bool sampled)
{
	struct ring_geometry g = { .ring_count = cpus ? cpus : 1, .thread_slots = THREAD_SLOTS };
	uint64_t fixed, left, most = total_bytes / SMALL_SHARE;

	if (g.ring_count > RING_MAX_RINGS)
		g.ring_count = RING_MAX_RINGS;
	g.table_slots = power_of_two_below(total_bytes / (sampled ? TABLE_SHARE : BITS_SHARE) /
					   sizeof(uint64_t));
	fixed = RING_CONTROL_BYTES + MARKS_BYTES + g.thread_slots * RING_THREAD_SLOT_BYTES +
		g.table_slots * sizeof(uint64_t);
	left = total_bytes > fixed ? total_bytes - fixed : 0;
	left /= g.ring_count;
	most = most < SMALL_RING ? SMALL_RING : most;
	g.ring_bytes = power_of_two_below(sampled && left > most ? most : left);
	if (g.ring_bytes < MIN_RING)
		g.ring_bytes = MIN_RING;
	g.total_bytes = fixed + g.ring_count * g.ring_bytes;
	return g;
}

void ring_setup_recognition(struct ring_geometry *g)
{
	g->rules_bytes = RING_RULES_BYTES;
	g->seen_slots = RING_SEEN_SLOTS;
	g->shadow_slots = RING_SHADOW_SLOTS;
	g->total_bytes += RING_RECOGNITION_BYTES;
}

static void set_recognition(struct ring_control *c, const struct ring_geometry *g)
{
	c->rules_offset = c->rings_offset + g->ring_count * g->ring_bytes;
	c->rules_bytes = g->rules_bytes;
	c->seen_offset = c->rules_offset + g->rules_bytes;
	c->seen_slots = g->seen_slots;
	c->shadows_offset = c->seen_offset + g->seen_slots * sizeof(uint64_t);
	c->shadow_slots = g->shadow_slots;
}

static void set_counts(struct ring_control *c, const struct ring_geometry *g)
{
	c->counts_slots = g->counts_slots;
	c->counts_block = counts_block_bytes(g->counts_kind);
	c->counts_offset = g->total_bytes - counts_setup_bytes(g->counts_kind, g->counts_slots);
}

void ring_setup_control(struct ring_control *c, const struct ring_geometry *g)
{
	c->version = RING_VERSION;
	c->control_bytes = RING_CONTROL_BYTES;
	c->total_bytes = g->total_bytes;
	c->threads_offset = RING_CONTROL_BYTES + MARKS_BYTES;
	c->thread_slots = g->thread_slots;
	c->table_offset = c->threads_offset + g->thread_slots * RING_THREAD_SLOT_BYTES;
	c->table_slots = g->table_slots;
	c->thread_mask = ring_line_mask(g->thread_slots);
	c->table_mask = ring_line_mask(g->table_slots / 8);
	ring_place_lost(c);
	c->rings_offset = c->table_offset + g->table_slots * sizeof(uint64_t);
	c->ring_bytes = g->ring_bytes;
	c->ring_lines = g->ring_bytes / RING_LINE;
	c->ring_count = g->ring_count;
	if (g->shadow_slots)
		set_recognition(c, g);
	if (g->counts_slots)
		set_counts(c, g);
	c->epoch = 1;
	c->stack_limit = RING_MAX_STACK_BYTES;
	c->thread_pointer = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE ? RING_THREAD_POINTER_FSBASE :
								     RING_THREAD_POINTER_SELF;
	c->clock = tsc_has_rdtscp() ? RING_CLOCK_RDTSCP : RING_CLOCK_SEGMENT;
	c->mode = RING_MODE_OFF;
	c->magic = RING_MAGIC;
}

uint64_t ring_setup_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

uint64_t ring_setup_tsc_hz(void)
{
	static uint64_t hz;
	struct timespec pause = { 0, 10000000 };
	uint64_t tsc, ns;

	if (hz)
		return hz;
	ns = monotonic_ns();
	tsc = ring_setup_tsc();
	(void)nanosleep(&pause, NULL);
	tsc = ring_setup_tsc() - tsc;
	ns = monotonic_ns() - ns;
	hz = (uint64_t)((double)tsc * 1e9 / (double)ns);
	return hz;
}
