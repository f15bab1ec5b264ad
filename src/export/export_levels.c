/* SPDX-License-Identifier: MIT */
/* export_levels.c - see export_levels.h. */
#include "src/export/export_levels.h"

#include <errno.h>
#include <string.h>

/* A recording without the tables of snapshots has one moment: its end. */
static int at_least_one(struct export_levels *levels)
{
	const struct snapshot *snapshot = levels->input->content->snapshot;

	if (levels->moments.count)
		return 0;
	levels->moments.moment = calloc(1, sizeof(*levels->moments.moment));
	if (!levels->moments.moment)
		return -ENOMEM;
	levels->moments.count = 1;
	levels->moments.moment[0] = (struct recording_levels_at){
		.time = snapshot->session.duration > 0 ? snapshot->session.duration : 0,
		.live_bytes = snapshot->totals.live_bytes,
		.overhead_bytes = snapshot->totals.overhead_bytes,
	};
	return 0;
}

/* The first moment that knows of the peak: SIZE_MAX: none. */
static size_t find_peak(const struct export_levels *levels)
{
	const struct snapshot *snapshot = levels->input->content->snapshot;

	if (!snapshot->site_peaks || !snapshot->totals.peak_live_bytes)
		return SIZE_MAX;
	for (size_t i = 0; i < levels->moments.count; i++) {
		if (levels->moments.moment[i].peak_live_bytes >= snapshot->totals.peak_live_bytes)
			return i;
	}
	return SIZE_MAX;
}

/* A moment without changes of its own, in front of the one that knows of the peak. */
static int insert_peak(struct export_levels *levels)
{
	struct recording_levels *moments = &levels->moments;
	size_t at = levels->peak = find_peak(levels);
	struct recording_levels_at *moment;
	double before;

	if (at == SIZE_MAX)
		return 0;
	moment = reallocarray(moments->moment, moments->count + 1, sizeof(*moment));
	if (!moment)
		return -ENOMEM;
	moments->moment = moment;
	memmove(&moment[at + 1], &moment[at], (moments->count++ - at) * sizeof(*moment));
	before = at ? moment[at - 1].time : 0;
	moment[at].time = before + (moment[at].time - before) / 2;
	moment[at].change_count = 0;
	return 0;
}

int export_levels_init(struct export_levels *levels, const struct export_input *input)
{
	const struct snapshot *snapshot = input->content->snapshot;
	int err;

	*levels = (struct export_levels){ .input = input };
	err = recording_levels_read(input->content, &levels->moments);
	levels->of_site = calloc(snapshot->site_count + 1, sizeof(*levels->of_site));
	levels->level = calloc(input->sites->count + 1, sizeof(*levels->level));
	if (err == 0)
		err = levels->of_site && levels->level ? at_least_one(levels) : -ENOMEM;
	if (err == 0)
		err = insert_peak(levels);
	for (size_t i = 0; err == 0 && i < input->sites->count; i++)
		levels->of_site[input->sites->site[i].figures - snapshot->site] = (uint32_t)i + 1;
	return err;
}

void export_levels_done(struct export_levels *levels)
{
	recording_levels_done(&levels->moments);
	free(levels->of_site);
	free(levels->level);
	*levels = (struct export_levels){ 0 };
}

struct step {
	struct export_levels *levels;
	int (*each)(void *context, uint32_t index, const struct export_level *to);
	void *context;
};

static int set_level(const struct step *step, uint32_t index, const struct export_level *to)
{
	struct export_levels *levels = step->levels;
	struct export_level *level = &levels->level[index];
	int err = 0;

	if (memcmp(level, to, sizeof(*to)) == 0)
		return 0;
	if (step->each)
		err = step->each(step->context, index, to);
	levels->sum = levels->sum - level->live_bytes + to->live_bytes;
	*level = *to;
	return err;
}

static struct export_level level_of(const struct recording_change *change)
{
	return (struct export_level){
		.live_bytes = change->live_bytes, .alloc_count = change->alloc_count,
		.alloc_bytes = change->alloc_bytes, .free_count = change->free_count,
	};
}

static int apply_changes(const struct step *step, const struct recording_levels_at *moment)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < moment->change_count; i++) {
		const struct recording_change *change =
			&step->levels->moments.change[moment->first_change + i];
		const struct export_level to = level_of(change);
		uint32_t at = step->levels->of_site[change->site];

		if (at)
			err = set_level(step, at - 1, &to);
	}
	return err;
}

static struct export_level level_at_end(const struct snapshot_site *s)
{
	return (struct export_level){ .live_bytes = s->live_bytes, .alloc_count = s->alloc_count,
				      .alloc_bytes = s->alloc_bytes,
				      .free_count = s->free_count };
}

static int apply_snapshot(const struct step *step)
{
	const struct view_sites *sites = step->levels->input->sites;
	int err = 0;

	for (size_t i = 0; err == 0 && i < sites->count; i++) {
		const struct export_level to = level_at_end(sites->site[i].figures);

		err = set_level(step, (uint32_t)i, &to);
	}
	return err;
}

static uint64_t between(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t beyond(uint64_t value, uint64_t low)
{
	return value > low ? value - low : 0;
}

/* Between two moments, or until the peak and after it. */
struct course {
	uint64_t allocs, alloc_bytes, frees, free_bytes;
};

static struct course course_of(const struct export_level *from, const struct export_level *to)
{
	struct course course = {
		.allocs = beyond(to->alloc_count, from->alloc_count),
		.alloc_bytes = beyond(to->alloc_bytes, from->alloc_bytes),
		.frees = beyond(to->free_count, from->free_count),
	};

	course.free_bytes = beyond(view_sum(from->live_bytes, course.alloc_bytes), to->live_bytes);
	return course;
}

/* Did a block come for one that went? Else some of the bytes have no block to be in. */
static bool must_swap(const struct course *part, uint64_t live, uint64_t at_peak)
{
	if (part->allocs == 0)
		return at_peak > live || (part->frees == 0 && at_peak < live);
	return part->frees == 0 && at_peak < live;
}

/* The bytes of what came until the peak: those that make up the difference, and of a swap more. */
static uint64_t bytes_until(const struct course *all, const struct course *part, uint64_t live,
			    uint64_t live_count, uint64_t at_peak)
{
	uint64_t freed = part->frees == all->frees ? all->free_bytes :
			 part->frees ? live / (live_count ? live_count : 1) : 0;
	uint64_t least = beyond(at_peak, live);
	uint64_t bytes = beyond(view_sum(at_peak, freed), live);

	if (part->allocs == 0)
		return 0;
	if (part->frees == 0)
		return least;
	if (part->allocs == all->allocs)
		return all->alloc_bytes;
	return between(bytes, least, all->alloc_bytes > least ? all->alloc_bytes : least);
}

/*
 * How a site stood at the peak: what lived is known; of what came and went since the moment before,
 * as little as there must have been, and no more than until the next moment. A temporary block
 * that lived before may have been another than the one that lived then.
 */
static struct export_level level_at_peak(const struct export_level *from,
					 const struct export_level *next,
					 const struct snapshot_site *s)
{
	const struct course all = course_of(from, next);
	uint64_t live = beyond(from->alloc_count, from->free_count);
	struct course part = { .allocs = least_of(beyond(s->at_peak_count, live), all.allocs),
			       .frees = least_of(beyond(live, s->at_peak_count), all.frees) };
	bool may = part.allocs < all.allocs && part.frees < all.frees;

	if (may && (must_swap(&part, from->live_bytes, s->at_peak_bytes) ||
		    (s->temporary_count && live && s->at_peak_count))) {
		part.allocs++;
		part.frees++;
	}
	return (struct export_level){
		.live_bytes = s->at_peak_bytes,
		.alloc_count = from->alloc_count + part.allocs,
		.alloc_bytes = from->alloc_bytes + bytes_until(&all, &part, from->live_bytes, live,
							       s->at_peak_bytes),
		.free_count = from->free_count + part.frees,
	};
}

/* How sites will stand at the moment behind the next. To be freed; NULL: out of memory. */
static struct export_level *levels_behind(const struct export_levels *levels)
{
	const struct view_sites *sites = levels->input->sites;
	const struct recording_levels_at *moment = &levels->moments.moment[levels->next];
	struct export_level *next = calloc(sites->count + 1, sizeof(*next));
	bool known = levels->next + 1 < levels->moments.count && moment->change_count;

	for (size_t i = 0; next && i < sites->count; i++)
		next[i] = known ? levels->level[i] : level_at_end(sites->site[i].figures);
	for (size_t i = 0; next && known && i < moment->change_count; i++) {
		const struct recording_change *c =
			&levels->moments.change[moment->first_change + i];
		uint32_t at = levels->of_site[c->site];

		if (at)
			next[at - 1] = level_of(c);
	}
	return next;
}

static int apply_peak(const struct step *step)
{
	const struct view_sites *sites = step->levels->input->sites;
	_cleanup_free_ struct export_level *next = levels_behind(step->levels);
	int err = next ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < sites->count; i++) {
		const struct snapshot_site *s = sites->site[i].figures;
		const struct export_level to = level_at_peak(&step->levels->level[i], &next[i], s);

		if (s->kind != SITE_MMAP)	/* their peak is another one */
			err = set_level(step, (uint32_t)i, &to);
	}
	return err;
}

int export_levels_step(struct export_levels *levels,
		       int (*each)(void *context, uint32_t index, const struct export_level *to),
		       void *context)
{
	const struct step step = { levels, each, context };
	const struct recording_levels_at *moment = &levels->moments.moment[levels->next++];

	if (levels->next == levels->moments.count)
		return apply_snapshot(&step);
	return levels->next - 1 == levels->peak ? apply_peak(&step) : apply_changes(&step, moment);
}

void export_levels_rewind(struct export_levels *levels)
{
	memset(levels->level, 0, levels->input->sites->count * sizeof(*levels->level));
	levels->sum = 0;
	levels->next = 0;
}

uint64_t export_levels_sum(const struct export_levels *levels)
{
	return levels->sum > UINT64_MAX ? UINT64_MAX : (uint64_t)levels->sum;
}

bool export_levels_cover_heap(const struct export_levels *levels)
{
	const struct snapshot *snapshot = levels->input->content->snapshot;

	for (size_t i = 0; i < snapshot->site_count; i++) {
		if (snapshot->site[i].kind != SITE_MMAP && !levels->of_site[i])
			return false;
	}
	return true;
}
