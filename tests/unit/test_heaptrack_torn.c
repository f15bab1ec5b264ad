/* SPDX-License-Identifier: MIT */
/*
 * test_heaptrack_torn.c - temporary blocks that live at moments: of programs with one thread, made
 * at random, each is found again from how the sites stood.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "src/export/heaptrack_torn.h"

#include <stdlib.h>
#include <string.h>

#define SITES		5u
#define INTERVALS	40u
#define EVENTS		12u	/* in an interval, at the most */
#define BLOCKS		4096u
#define PROGRAMS	1000u

struct program {
	uint64_t random;
	struct torn_site site[SITES];
	struct torn_row row[SITES][INTERVALS];
	struct { uint32_t site; uint64_t size, serial; } live[BLOCKS];
	size_t count;
	uint64_t serial;
	unsigned int lasting;	/* of 100 allocations, so many are not temporary */
};

static uint64_t draw(struct program *p, uint64_t below)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random % below;
}

static void end_block(struct program *p, uint32_t at, size_t i)
{
	struct torn_row *row = &p->row[p->live[i].site][at];

	row->free.count++;
	row->free.bytes += p->live[i].size;
	p->site[p->live[i].site].temporary += p->live[i].serial == p->serial;
	memmove(&p->live[i], &p->live[i + 1], (p->count - i - 1) * sizeof(p->live[0]));
	p->count--;
}

static void make_block(struct program *p, uint32_t at)
{
	uint32_t site = (uint32_t)(draw(p, SITES) * draw(p, SITES) / SITES);
	uint64_t size = site == 0 ? 100 : 1 + draw(p, 3000);

	p->row[site][at].alloc.count++;
	p->row[site][at].alloc.bytes += size;
	p->live[p->count].site = site;
	p->live[p->count].size = size;
	p->live[p->count++].serial = ++p->serial;
}

/* An interval begins with the end of the block that was allocated last, or with an allocation. */
static void make_interval(struct program *p, uint32_t at)
{
	uint64_t events = 1 + draw(p, EVENTS);
	bool newest = p->count && p->live[p->count - 1].serial == p->serial;

	if (newest && draw(p, 100) >= p->lasting)
		end_block(p, at, p->count - 1);
	for (uint64_t i = 0; i < events; i++) {
		make_block(p, at);
		if (i + 1 == events && draw(p, 2))
			break;
		if (draw(p, 100) >= p->lasting)
			end_block(p, at, p->count - 1);
		else if (p->count > 3 && draw(p, 2))
			end_block(p, at, draw(p, p->count - 1));
	}
}

/* Rows without changes are none; what pairs alone can't explain is missing. */
static size_t list_sites(struct program *p, struct torn_site *to)
{
	size_t count = 0;

	for (uint32_t s = 0; s < SITES; s++) {
		struct torn_site site = { .site = s, .temporary = p->site[s].temporary };
		uint64_t left = site.temporary;

		site.row = p->row[s];
		for (uint32_t at = 0; at < INTERVALS; at++) {
			struct torn_row row = p->row[s][at];

			if (!row.alloc.count && !row.free.count)
				continue;
			row.interval = at;
			left -= torn_pairs(&row.alloc, &row.free, left).count;
			site.row[site.row_count++] = row;
		}
		site.missing = left;
		if (left)
			to[count++] = site;
	}
	return count;
}

/* How many temporary blocks would be written of a site; all bytes must have blocks. */
static uint64_t written(const struct torn_site *site)
{
	uint64_t left = site->temporary, count = 0, in_bytes = 0;
	bool in = false;

	for (size_t i = 0; i < site->row_count; i++)
		count += site->row[i].out;
	assert_true(count <= left);
	left -= count;
	for (size_t i = 0; i < site->row_count; i++) {
		const struct torn_row *row = &site->row[i];
		struct blocks alloc = row->alloc, freed = row->free, pairs;

		if (in)
			assert_int_equal(row->interval, row[-1].interval + 1);
		assert_true(freed.count >= in && freed.bytes >= in_bytes);
		freed.count -= in;
		freed.bytes -= in_bytes;
		in = row->out;
		in_bytes = in ? row->out_bytes : 0;
		assert_true(alloc.count >= in && alloc.bytes >= in_bytes);
		alloc.count -= in;
		alloc.bytes -= in_bytes;
		pairs = torn_pairs(&alloc, &freed, left);
		left -= pairs.count;
		count += pairs.count;
		assert_true(alloc.count > pairs.count || alloc.bytes == pairs.bytes);
		assert_true(freed.count > pairs.count || freed.bytes == pairs.bytes);
	}
	assert_false(in);
	return count;
}

/* Blocks that are missing in what would be written. */
static uint64_t missing_of(uint64_t seed, unsigned int lasting)
{
	static struct program p;
	struct torn_site site[SITES];
	bool taken[INTERVALS] = { false };
	uint64_t missing = 0;
	size_t count;

	memset(&p, 0, sizeof(p));
	p.random = seed * 0x9e3779b97f4a7c15ull + 1;
	p.lasting = lasting;
	for (uint32_t at = 0; at < INTERVALS; at++)
		make_interval(&p, at);
	count = list_sites(&p, site);
	assert_int_equal(torn_find(site, count, INTERVALS), 0);
	for (size_t i = 0; i < count; i++) {
		missing += site[i].temporary - written(&site[i]);
		for (size_t k = 0; k < site[i].row_count; k++) {
			if (!site[i].row[k].out)
				continue;
			assert_false(taken[site[i].row[k].interval]);
			taken[site[i].row[k].interval] = true;
		}
	}
	return missing;
}

/* Loops whose blocks are temporary all: how the sites stood leaves no doubt. */
static void loops_are_exact(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
		assert_int_equal(missing_of(seed, 0), 0);
}

/* With others among them there may be two stories. Of some 200 blocks in each program: */
static void others_are_nearly_exact(void **state)
{
	static const unsigned int lasting[] = { 1, 5, 20, 50, 80 };
	uint64_t missing = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
			missing += missing_of(seed, lasting[i]);
	print_message("%lu blocks missing in %u programs\n", (unsigned long)missing,
		      5 * PROGRAMS);
	assert_true(missing <= PROGRAMS / 50);
}

static void check_forged(const struct torn_site *forged)
{
	struct torn_site site = *forged;
	uint64_t count = 0;

	assert_int_equal(torn_find(&site, 1, 3), 0);
	for (size_t i = 0; i < site.row_count; i++) {
		count += site.row[i].out;
		assert_false(i + 1 == site.row_count && site.row[i].out);
		assert_true(!site.row[i].out || site.row[i].out_bytes <= site.row[i].alloc.bytes);
	}
	assert_true(count <= site.temporary);
}

/* Figures that no program has. */
static void forged_figures(void **state)
{
	const uint64_t big = UINT64_MAX;
	struct torn_row row[][3] = {
		{ { .interval = 0, .alloc = { 1, big } }, { .interval = 1, .free = { 1, 3 } },
		  { .interval = 2 } },
		{ { .interval = 0, .alloc = { big, big } },
		  { .interval = 1, .alloc = { big, 0 }, .free = { big, big } },
		  { .interval = 2, .free = { big, 1 } } },
		{ { .interval = 0, .alloc = { 2, 0 } }, { .interval = 2, .free = { 1, 0 } },
		  { .interval = 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		check_forged(&(struct torn_site){ .temporary = big, .missing = big,
						  .row_count = 3, .row = row[i] });
		check_forged(&(struct torn_site){ .temporary = 1, .missing = big, .row_count = 3,
						  .row = row[i] });
	}
	assert_int_equal(torn_find(NULL, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_exact),
		cmocka_unit_test(others_are_nearly_exact),
		cmocka_unit_test(forged_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
