/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_torn.c - see heaptrack_torn.h.
 *
 * A block that lives at the end of an interval is an allocation there, and a free in the next, that
 * have no other half. With x = 1 where there is one, an interval has room for
 * min(allocations - x at its end, frees - x at its beginning) pairs. One site's x with the most
 * temporary blocks in all are found by going through its intervals once, with the best way to
 * arrive with and without such a block. They come in runs (a loop's block lives at moment after
 * moment); of these the shortest are taken until nothing is missing.
 *
 * Sites then compete for moments: those that can spare fewest runs choose first.
 */
#include "src/export/heaptrack_torn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEVER (-(1ll << 60))
#define EARLIER 1000	/* than those that miss less */
#define TRIES 64		/* runs that fit by numbers and not by bytes are looked for anew */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What count of the blocks have together: all, or as many as their mean says. */
static uint64_t share(uint64_t count, const struct blocks *blocks)
{
	return count == blocks->count ? blocks->bytes : blocks->bytes / blocks->count * count;
}

/* Can count of each be pairs? Bytes that are left have a block; if so, the bytes of the pairs. */
static bool fits(const struct blocks *alloc, const struct blocks *freed, uint64_t count,
		 uint64_t *ret_bytes)
{
	uint64_t bytes = least(share(count, alloc), share(count, freed));

	if (count == freed->count)
		bytes = freed->bytes;
	else if (count == alloc->count)
		bytes = alloc->bytes;
	*ret_bytes = bytes;
	return bytes <= alloc->bytes && bytes <= freed->bytes &&
	       (count < alloc->count || bytes == alloc->bytes);
}

struct blocks torn_pairs(const struct blocks *alloc, const struct blocks *freed, uint64_t most)
{
	struct blocks pairs = { .count = least(most, least(alloc->count, freed->count)) };

	/* With one less, both have a block left. */
	if (pairs.count && !fits(alloc, freed, pairs.count, &pairs.bytes))
		pairs.count--;
	if (!pairs.count || !fits(alloc, freed, pairs.count, &pairs.bytes))
		return (struct blocks){ 0 };
	return pairs;
}

/* ---- which moments ---- */

/* Blocks that live one after the other, up to the row in which the last is freed. */
struct run {
	size_t first, end;	/* rows */
	long long gain;
};

struct search {
	bool *taken;		/* by interval: another site's block lives at its end */
	bool (*came)[2];	/* by row: the best way to x at its end had x before it */
	uint8_t *banned;	/* by row, a bit for each of the four ways through it */
	struct run *run;	/* scratch */
	struct range *range;
};

static bool follows(const struct torn_site *site, size_t row)
{
	return row > 0 && site->row[row].interval == site->row[row - 1].interval + 1;
}

/*
 * How many more temporary blocks there are than with neither; NEVER: there are no such blocks. With
 * one of them bytes fit, since it takes what they differ by.
 */
static long long gain(const struct torn_row *row, bool in, bool out)
{
	uint64_t a = row->alloc.count, f = row->free.count;

	if (a < out || f < in)
		return NEVER;
	if (!in && !out)
		return 0;
	return (long long)(least(a - out, f - in) -
			   torn_pairs(&row->alloc, &row->free, UINT64_MAX).count) + out;
}

/* Sets out of all rows to the best. Each block costs a little: none is there for nothing. */
static void choose(const struct search *s, struct torn_site *site)
{
	const long long unit = (long long)site->row_count + 1;
	long long best[2] = { 0, NEVER };
	bool out = false;

	for (size_t i = 0; i < site->row_count; i++) {
		const struct torn_row *row = &site->row[i];
		bool may = i + 1 < site->row_count && follows(site, i + 1) &&
			   !s->taken[row->interval];
		long long next[2] = { NEVER, NEVER };

		for (int way = 0; way < 4; way++) {
			bool in = way & 1, leave = way & 2;
			long long value = gain(row, in, leave);

			if (best[in] <= NEVER || value <= NEVER || (leave && !may) ||
			    (s->banned[i] & 1u << way))
				continue;
			value = best[in] + value * unit - leave;
			if (value > next[leave]) {
				next[leave] = value;
				s->came[i][leave] = in;
			}
		}
		memcpy(best, next, sizeof(best));
	}
	for (size_t i = site->row_count; i-- > 0;) {
		site->row[i].out = out;
		out = s->came[i][out];
	}
}

static struct run run_at(const struct torn_site *site, size_t first)
{
	struct run run = { .first = first, .end = first };

	while (site->row[run.end].out)
		run.end++;
	for (size_t i = first; i <= run.end; i++)
		run.gain += gain(&site->row[i], i > first, i < run.end);
	return run;
}

static void drop_run(struct torn_site *site, size_t first)
{
	while (site->row[first].out)
		site->row[first++].out = false;
}

/* s->run[0 .. returned), and what all of them gain. */
static size_t find_runs(const struct search *s, const struct torn_site *site, long long *ret_gain)
{
	size_t count = 0;

	*ret_gain = 0;
	for (size_t i = 0; i < site->row_count; i++) {
		if (!site->row[i].out)
			continue;
		s->run[count] = run_at(site, i);
		*ret_gain += s->run[count].gain;
		i = s->run[count++].end - 1;
	}
	return count;
}

static long long missing_of(const struct torn_site *site)
{
	return (long long)least(site->missing, 1ull << 40);
}

/* ---- how large ---- */

/* Sizes that a block can have; none: low > high. Signed: so are differences. */
struct range {
	__int128 low, high;
};

static __int128 lower(__int128 a, __int128 b)
{
	return a < b ? a : b;
}

static struct range both(struct range a, struct range b)
{
	return (struct range){ a.low > b.low ? a.low : b.low, lower(a.high, b.high) };
}

/*
 * What ties the block that a row leaves behind to the one that it was left: out - in is at least,
 * or at most, or both, the difference of the row's bytes. Where all allocations (or frees) are in
 * pairs, so are all their bytes.
 */
struct tie {
	bool at_least, at_most;
	__int128 difference;
};

static struct tie tie_of(const struct torn_row *row, bool in, bool out)
{
	uint64_t allocs = row->alloc.count - out, frees = row->free.count - in;
	uint64_t pairs = least(allocs, frees);

	return (struct tie){
		.at_least = pairs && pairs == allocs, .at_most = pairs && pairs == frees,
		.difference = (__int128)row->alloc.bytes - row->free.bytes,
	};
}

/* All that it can be, whatever came before: it has its bytes, alone all of them. */
static struct range of_blocks(const struct blocks *blocks)
{
	return (struct range){ blocks->count == 1 ? blocks->bytes : 0, blocks->bytes };
}

/* What the block that is left to row can be, where the one that row leaves is in out. */
static struct range range_before(const struct torn_row *row, struct range out)
{
	struct range all = of_blocks(&row->free), range = all;
	struct tie tie = tie_of(row, true, row->out);

	if (tie.at_least)
		range.high = lower(range.high, out.high - tie.difference);
	if (tie.at_most && out.low - tie.difference > range.low)
		range.low = out.low - tie.difference;
	return range.low > range.high ? all : range;	/* a pair less, then */
}

/* What the block that row leaves can be, where the one that is left to it has in_bytes. */
static struct range range_behind(const struct torn_row *row, bool in, uint64_t in_bytes)
{
	struct range all = of_blocks(&row->alloc), range = all;
	struct tie tie = tie_of(row, in, true);
	__int128 tied = in_bytes + tie.difference;

	if (tie.at_least && tied > range.low)
		range.low = tied;
	if (tie.at_most)
		range.high = lower(range.high, tied);
	return range.low > range.high ? all : range;
}

/* From the last row of the run at row[0 .. end] back: what can follow is known. */
static void find_ranges(const struct torn_row *row, size_t end, struct range *ret)
{
	struct range out = { 0, 0 };

	for (size_t i = end; i > 0; i--) {
		ret[i - 1] = both(range_before(&row[i], out), of_blocks(&row[i - 1].alloc));
		out = ret[i - 1];
	}
}

static uint64_t nearest(struct range range, uint64_t wanted)
{
	return wanted < range.low ? (uint64_t)range.low :
	       wanted > range.high ? (uint64_t)range.high : wanted;
}

/* Where no block can be so; end: nowhere. */
static size_t set_run(struct torn_row *row, size_t end, struct range *scratch)
{
	find_ranges(row, end, scratch);
	for (size_t i = 0; i < end; i++)
		if (scratch[i].low > scratch[i].high)
			return i;
	for (size_t i = 0; i < end; i++) {
		struct range range = both(scratch[i], range_behind(&row[i], i > 0,
							i ? row[i - 1].out_bytes : 0));

		/* Its bytes come first, then those of pairs. */
		if (range.low > range.high)
			range = scratch[i];
		row[i].out_bytes = nearest(range, row[i].alloc.bytes / row[i].alloc.count);
	}
	return end;
}

/* ---- which of them ---- */

/* How many more pairs and torn blocks row makes with its sizes than without them. */
static long long real_gain(const struct torn_row *row, bool in)
{
	struct blocks alloc = row->alloc, freed = row->free;
	uint64_t before = torn_pairs(&alloc, &freed, UINT64_MAX).count;

	alloc.count -= row->out;
	alloc.bytes -= row->out ? row->out_bytes : 0;
	freed.count -= in;
	freed.bytes -= in ? row[-1].out_bytes : 0;
	return (long long)(torn_pairs(&alloc, &freed, UINT64_MAX).count - before) + row->out;
}

/* Sizes of a run's blocks. False: they gain nothing. What was hoped for and can't be is banned. */
static bool fit_run(const struct search *s, struct torn_site *site, struct run *run,
		    size_t *banned)
{
	struct torn_row *row = &site->row[run->first];
	size_t end = run->end - run->first, wrong = set_run(row, end, s->range);

	run->gain = 0;
	for (size_t i = 0; i <= end; i++) {
		long long is = wrong == end ? real_gain(&row[i], i > 0) : 0;

		if (wrong == end ? is < gain(&row[i], i > 0, row[i].out) : i == wrong) {
			s->banned[run->first + i] |= 1u << ((i > 0) + 2 * row[i].out);
			++*banned;
		}
		run->gain += is;
	}
	return run->gain > 0;
}

static int by_length(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	size_t m = x->end - x->first, n = y->end - y->first;

	return m != n ? (m < n ? 1 : -1) : (x->first > y->first) - (x->first < y->first);
}

/* The longest runs first, as long as nothing is missing without them. */
static void drop_needless(struct torn_site *site, struct run *run, size_t count, long long sum)
{
	uint64_t blocks = 0;

	if (count)
		qsort(run, count, sizeof(*run), by_length);
	for (size_t i = 0; i < count; i++) {
		blocks += run[i].end - run[i].first;
		if (sum - run[i].gain < missing_of(site) && blocks <= site->temporary)
			continue;
		sum -= run[i].gain;
		blocks -= run[i].end - run[i].first;
		drop_run(site, run[i].first);
	}
}

/* The best that is left for this site; false: of its runs some were banned, try again. */
static bool try_runs(const struct search *s, struct torn_site *site)
{
	size_t count, kept = 0, banned = 0;
	long long sum = 0;

	choose(s, site);
	count = find_runs(s, site, &sum);
	sum = 0;
	for (size_t i = 0; i < count; i++) {
		struct run run = s->run[i];

		if (!fit_run(s, site, &run, &banned)) {
			drop_run(site, run.first);
			continue;
		}
		sum += run.gain;
		s->run[kept++] = run;
	}
	drop_needless(site, s->run, kept, sum);
	return sum >= missing_of(site) || banned == 0;
}

/* ---- all sites ---- */

struct order {
	size_t index;
	long long spare;	/* temporary blocks that it could have more than it misses */
};

static int by_spare(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	return (x->spare > y->spare) - (x->spare < y->spare) ?:
	       (x->index > y->index) - (x->index < y->index);
}

static long long spare_of(const struct search *s, struct torn_site *site)
{
	long long sum;

	memset(s->banned, 0, site->row_count * sizeof(*s->banned));
	choose(s, site);
	(void)find_runs(s, site, &sum);
	return sum - missing_of(site);
}

/* What is missing of the site after all. */
static long long settle(const struct search *s, struct torn_site *site)
{
	long long missing = missing_of(site);

	memset(s->banned, 0, site->row_count * sizeof(*s->banned));
	for (int i = 0; i < TRIES && !try_runs(s, site); i++)
		;
	for (size_t i = 0; i < site->row_count; i++) {
		s->taken[site->row[i].interval] |= site->row[i].out;
		missing -= site->row[i].out || (i > 0 && site->row[i - 1].out) ?
				   real_gain(&site->row[i], i > 0 && site->row[i - 1].out) : 0;
	}
	return missing > 0 ? missing : 0;
}

/* All of them, in that order; those that then miss something are to choose earlier. */
static long long settle_all(const struct search *s, struct torn_site *site, struct order *order,
			    size_t count, uint32_t intervals)
{
	long long sum = 0;

	memset(s->taken, 0, intervals * sizeof(*s->taken));
	for (size_t i = 0; i < count; i++) {
		long long missing = settle(s, &site[order[i].index]);

		order[i].spare -= missing * EARLIER;
		sum += missing;
	}
	return sum;
}

/* The order in which least is missing, of some. */
static void settle_best(const struct search *s, struct torn_site *site, struct order *order,
			size_t count, uint32_t intervals)
{
	struct order *best = order + count;
	long long missing, least_missing = INT64_MAX;

	for (int i = 0; i < TRIES && least_missing > 0; i++) {
		qsort(order, count, sizeof(*order), by_spare);
		memcpy(best + count, order, count * sizeof(*order));
		missing = settle_all(s, site, order, count, intervals);
		if (missing >= least_missing)
			continue;
		least_missing = missing;
		memcpy(best, best + count, count * sizeof(*order));
	}
	if (least_missing > 0)
		(void)settle_all(s, site, best, count, intervals);
}

static bool search_init(struct search *s, uint32_t intervals)
{
	size_t room = (size_t)intervals + 1;

	*s = (struct search){
		.taken = calloc(room, sizeof(*s->taken)), .came = calloc(room, sizeof(*s->came)),
		.banned = calloc(room, sizeof(*s->banned)), .run = calloc(room, sizeof(*s->run)),
		.range = calloc(room, sizeof(*s->range)),
	};
	return s->taken && s->came && s->banned && s->run && s->range;
}

static void search_done(struct search *s)
{
	free(s->taken);
	free(s->came);
	free(s->banned);
	free(s->run);
	free(s->range);
}

int torn_find(struct torn_site *site, size_t count, uint32_t intervals)
{
	_cleanup_(search_done) struct search s;
	struct order *order = calloc(3 * count + 1, sizeof(*order));
	bool room = search_init(&s, intervals);

	if (!order || !room) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (struct order){ i, spare_of(&s, &site[i]) };
	if (count)
		settle_best(&s, site, order, count, intervals);
	free(order);
	return 0;
}
