/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - copies the live tables into a value that nothing changes any more.
 *
 * A deep copy, not a reference with a lock or a version: a snapshot is compared,
 * recorded and printed at leisure while events go on. Estimates become whole
 * numbers here and nowhere before, so that rounding happens once.
 *
 * It refuses to call a site growing because it is young: it takes at least three
 * blocks that came in the window, a twentieth of what lives, and an interval
 * that excludes zero. Nor does it call one steady, or freed, of which too little was seen to tell.
 */
#include "src/live/snapshot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define GROWING_BLOCKS	3u
#define GROWING_SHARE	20u

const char *snapshot_mode_name(enum snapshot_mode mode)
{
	static const char *const name[] = { "adaptive", "sampled", "exact", "counts" };

	return name[mode];
}

const char *snapshot_loader_name(enum snapshot_loader loader)
{
	return loader == SNAPSHOT_LOADER_MAP ? "map" : "dlopen";
}

const char *snapshot_detached_name(enum snapshot_detached detached)
{
	static const char *const name[] = { NULL, "pristine", "dormant", "target-ended" };

	return name[detached];
}

const char *snapshot_kind_name(enum site_kind kind)
{
	static const char *const name[] = { "malloc", "mmap", "custom" };

	return name[kind];
}

const char *snapshot_verdict_name(enum snapshot_verdict verdict)
{
	static const char *const name[] = { "too-few-samples", "growing", "steady", "temporary",
					    "freed", NULL };

	return name[verdict];
}

bool snapshot_is_partial(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->target.allocator_count; i++)
		if (snapshot->target.allocator[i].unhooked_count > 0)
			return true;
	return false;
}

const char *snapshot_verdict_words(enum snapshot_verdict verdict)
{
	return verdict == SNAPSHOT_TOO_FEW ? "too few samples" : snapshot_verdict_name(verdict);
}

int snapshot_new(struct snapshot **ret)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return -ENOMEM;
	*ret = snapshot;
	return 0;
}

static void names_done(char **name, size_t count)
{
	for (size_t i = 0; name && i < count; i++)
		free(name[i]);
	free(name);
}

static void allocator_done(struct snapshot_allocator *allocator)
{
	names_done(allocator->hooked, allocator->hooked_count);
	names_done(allocator->unhooked, allocator->unhooked_count);
	free(allocator->name);
	free(allocator->version);
	free(allocator->module);
}

void snapshot_free(struct snapshot *snapshot)
{
	struct snapshot_target *target = snapshot ? &snapshot->target : NULL;

	if (!snapshot)
		return;
	for (size_t i = 0; target->allocator && i < target->allocator_count; i++)
		allocator_done(&target->allocator[i]);
	free(target->allocator);
	free(target->exe);
	free(target->cmdline);
	free(snapshot->session.version);
	free(snapshot->timeline);
	free(snapshot->histogram);
	free(snapshot->site);
	free(snapshot->leak);
	free(snapshot->step);
	free(snapshot->wrong_free);
	free(snapshot);
}

static void snapshot_cleanup(struct snapshot **snapshot)
{
	snapshot_free(*snapshot);
}

/* NULL becomes "". */
static int copy_string(const char *string, char **ret)
{
	*ret = strdup(string ? string : "");
	return *ret ? 0 : -ENOMEM;
}

static int copy_names(char *const *from, size_t count, char ***to, size_t *to_count)
{
	*to = calloc(count + 1, sizeof(**to));
	if (!*to)
		return -ENOMEM;
	for (; *to_count < count; (*to_count)++) {
		if (copy_string(from[*to_count], &(*to)[*to_count]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int copy_allocator(const struct snapshot_allocator *from, struct snapshot_allocator *to)
{
	if (copy_string(from->name, &to->name) < 0 ||
	    copy_string(from->version, &to->version) < 0 ||
	    copy_string(from->module, &to->module) < 0)
		return -ENOMEM;
	if (copy_names(from->hooked, from->hooked_count, &to->hooked, &to->hooked_count) < 0)
		return -ENOMEM;
	return copy_names(from->unhooked, from->unhooked_count, &to->unhooked, &to->unhooked_count);
}

static int copy_target(const struct snapshot_target *from, struct snapshot_target *to)
{
	*to = *from;
	to->exe = to->cmdline = NULL;
	to->allocator_count = 0;
	to->allocator = calloc(from->allocator_count + 1, sizeof(*to->allocator));
	if (!to->allocator || copy_string(from->exe, &to->exe) < 0 ||
	    copy_string(from->cmdline, &to->cmdline) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < from->allocator_count; i++) {
		to->allocator_count++;
		if (copy_allocator(&from->allocator[i], &to->allocator[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int copy_session(const struct snapshot_input *input, struct snapshot_session *to)
{
	struct live_events events = live_events(input->live);

	*to = *input->session;
	to->version = NULL;
	to->events.alloc = events.alloc;
	to->events.free = events.free;
	to->events.map = events.map;
	to->events.unmap = events.unmap;
	return copy_string(input->session->version, &to->version);
}

static int copy_timeline(const struct timeline *from, struct snapshot *to)
{
	if (!from || from->count == 0)
		return 0;
	to->timeline = calloc(from->count, sizeof(*to->timeline));
	if (!to->timeline)
		return -ENOMEM;
	memcpy(to->timeline, from->point, from->count * sizeof(*to->timeline));
	to->timeline_count = from->count;
	return 0;
}

static void add_bar(void *context, uint64_t size, double count)
{
	struct snapshot *snapshot = context;

	snapshot->histogram[snapshot->histogram_count++] =
		(struct snapshot_bar){ size, (uint64_t)llround(count) };
}

static int copy_histogram(const struct sites *sites, struct snapshot *to)
{
	size_t bars = sites_histogram(sites, NULL, NULL);

	to->histogram = calloc(bars + 1, sizeof(*to->histogram));
	if (!to->histogram)
		return -ENOMEM;
	sites_histogram(sites, add_bar, to);
	return 0;
}

/* Bytes of the kind that no sample stands for, whether they live or not. */
static struct estimate_unseen unseen_of(const struct snapshot_input *input, enum site_kind kind)
{
	return kind == SITE_MMAP ? (struct estimate_unseen){ 0 } :
				   doubt_live_unseen(&input->doubt);
}

static struct snapshot_bounds bounds_of(const struct figure *figure)
{
	return (struct snapshot_bounds){ figure->low, figure->high };
}

static struct snapshot_intervals intervals_of(const struct doubt_figures *figures,
					      const struct figure *temporary)
{
	return (struct snapshot_intervals){
		.alloc_count = bounds_of(&figures->alloc_count),
		.alloc_bytes = bounds_of(&figures->alloc_bytes),
		.free_count = bounds_of(&figures->free_count),
		.free_bytes = bounds_of(&figures->free_bytes),
		.live_count = bounds_of(&figures->live_count),
		.peak_live_bytes = bounds_of(&figures->peak_bytes),
		.temporary_count = bounds_of(temporary),
	};
}

static void take_totals(const struct snapshot_input *input, struct snapshot_totals *to)
{
	const struct site_totals *from = sites_totals(input->sites, SITE_MALLOC);
	const struct site_oddities *oddities = sites_oddities_peek(input->sites);
	const struct doubt_sums sums = {
		.alloc = &from->alloc, .live = &from->live, .untracked = &from->untracked,
		.peak_level = from->peak_level, .peak = &from->peak,
	};
	struct doubt_figures figures = doubt_figures(&input->doubt, &sums);
	struct figure temporary = doubt_counted(&input->doubt, from->temporary_count);

	*to = (struct snapshot_totals){
		.alloc_count = figures.alloc_count.value,
		.alloc_bytes = figures.alloc_bytes.value,
		.free_count = figures.free_count.value,
		.free_bytes = figures.free_bytes.value,
		.double_free_count = oddities->double_free,
		.illegal_free_count = oddities->illegal_free,
		.free_unknown_count = oddities->free_unknown,
		.temporary_count = live_every_alloc(input->live) ? from->temporary_count : 0,
		.overhead_bytes = estimate_level_bytes(from->overhead_level),
		.live_count = figures.live_count.value,
		.live_bytes = figures.live_bytes.value,
		.live_bytes_low = figures.live_bytes.low,
		.live_bytes_high = figures.live_bytes.high,
		.peak_live_bytes = figures.peak_bytes.value,
		.in = intervals_of(&figures, &temporary),
		.missed_free_count = oddities->missed_free,
		.untracked_count = oddities->untracked,
		.samples = from->alloc.count + from->alloc.samples,
	};
}

static void take_map_totals(const struct sites *sites, struct snapshot_map_totals *to)
{
	const struct site_totals *from = sites_totals(sites, SITE_MMAP);
	struct estimate freed = sites_totals_freed(from);

	*to = (struct snapshot_map_totals){
		.map_count = estimate_count(&from->alloc),
		.map_bytes = estimate_bytes(&from->alloc),
		.unmap_count = estimate_count(&freed),
		.unmap_bytes = estimate_bytes(&freed),
		.live_count = estimate_count(&from->live),
		.live_bytes = estimate_bytes(&from->live),
		.peak_live_bytes = estimate_level_bytes(from->peak_level),
		.allocator_live_bytes = estimate_bytes(&sites_allocator_maps(sites)->live),
		.unmap_unknown_bytes = sites_oddities_peek(sites)->unmap_unknown_bytes,
	};
}

static bool lives_nothing(const struct snapshot_site *to, const struct site *from)
{
	return to->live_bytes == 0 && to->live_count == 0 && from->untracked.count == 0 &&
	       from->untracked.samples == 0;
}

static bool is_growing(const struct snapshot_site *to, const struct site_growth *growth)
{
	return growth->bytes.low > 0 && growth->samples >= GROWING_BLOCKS &&
	       growth->bytes.value * GROWING_SHARE >= (double)to->live_bytes;
}

/*
 * If half of all that was allocated here had stayed, would that be seen? Not where nothing, or
 * little, was drawn since the interval became coarse; however much was recorded before.
 */
static bool hides_growth(const struct snapshot_site *to, const struct site_growth *growth)
{
	return growth->bytes.high > growth->bytes.value &&
	       growth->bytes.high * 2 > (double)to->alloc_bytes;
}

/* More allocations were lost than recorded: what is known of a site says little of it. */
static bool is_mostly_lost(const struct snapshot_input *input)
{
	const struct estimate *alloc = &sites_totals(input->sites, SITE_MALLOC)->alloc;

	return input->doubt.hidden > 0 && input->doubt.hidden >= estimate_count(alloc);
}

static enum snapshot_verdict site_verdict(const struct snapshot_input *input,
					  const struct snapshot_site *to, const struct site *from,
					  const struct site_growth *growth)
{
	if (from->alloc.samples > 0 && to->samples < SNAPSHOT_FEWEST_SAMPLES)
		return SNAPSHOT_TOO_FEW;
	if (to->temporary_count * 2 > to->alloc_count)
		return SNAPSHOT_TEMPORARY;
	if (!lives_nothing(to, from) && is_growing(to, growth))
		return SNAPSHOT_GROWING;
	if (hides_growth(to, growth) || (from->kind != SITE_MMAP && is_mostly_lost(input)))
		return SNAPSHOT_TOO_FEW;
	return lives_nothing(to, from) ? SNAPSHOT_FREED : SNAPSHOT_STEADY;
}

/* Growth and verdict. */
static void take_growth(const struct snapshot_input *input, const struct site *from,
			struct snapshot_site *to)
{
	struct site_growth growth = sites_growth(input->sites, from, unseen_of(input, from->kind),
						 input->ticks->tsc0, input->now);
	double seconds = ticks_span(input->ticks, growth.ticks);

	if (seconds > 0) {
		to->growth = growth.bytes.value / seconds;
		to->growth_low = growth.bytes.low / seconds;
		to->growth_high = growth.bytes.high / seconds;
	}
	to->verdict = site_verdict(input, to, from, &growth);
}

static void take_lifetimes(const struct ticks *ticks, const struct lifetimes *from,
			   struct snapshot_site *to)
{
	to->lifetime_p50 = lifetimes_quantile(from, 0.5) / ticks->hz;
	to->lifetime_p90 = lifetimes_quantile(from, 0.9) / ticks->hz;
	to->lifetime_max = ticks_span(ticks, from->max);
}

static void take_resizes(const struct site_resizes *from, struct site_resizes *to)
{
	if (!from)
		return;
	for (int i = 0; i < SITE_RESIZES; i++)
		to->count[i] = estimate_level_count(from->count[i]);
	for (int i = 0; i < SITE_RESIZES_KNOWN; i++)
		to->known[i] = estimate_level_count(from->known[i]);
	to->copied_bytes = estimate_level_bytes(from->copied_bytes);
}

/* The sizes of its blocks are those that it asked for so far; mappings are all seen, or lost. */
static struct doubt site_doubt(const struct snapshot_input *input, const struct site *site)
{
	struct doubt doubt = input->doubt;

	if (site->kind == SITE_MMAP)
		return (struct doubt){ 0 };
	doubt.smallest = site->size_low;
	return doubt;
}

static void take_site(const struct snapshot_input *input, const struct site *from,
		      struct snapshot_site *to)
{
	const struct doubt_sums sums = {
		.alloc = &from->alloc, .live = &from->live, .untracked = &from->untracked,
		.peak_level = from->peak_level, .peak = &from->peak,
	};
	const struct doubt doubt = site_doubt(input, from);
	struct doubt_figures figures = doubt_figures(&doubt, &sums);
	struct figure temporary = doubt_counted(&doubt, from->temporary_count);
	struct site_level at_peak = sites_at_peak(input->sites, from);

	*to = (struct snapshot_site){
		.id = from->id, .stack = from->stack, .kind = from->kind,
		.skip_frames = from->skip_frames,
		.live_count = figures.live_count.value,
		.live_bytes = figures.live_bytes.value,
		.live_bytes_low = figures.live_bytes.low,
		.live_bytes_high = figures.live_bytes.high,
		.in = intervals_of(&figures, &temporary),
		.alloc_count = figures.alloc_count.value,
		.alloc_bytes = figures.alloc_bytes.value,
		.free_count = figures.free_count.value,
		.peak_live_bytes = figures.peak_bytes.value,
		.temporary_count = live_every_alloc(input->live) ? from->temporary_count : 0,
		.samples = from->alloc.count + from->alloc.samples,
		.threads = from->thread_count,
		.first_time = ticks_seconds(input->ticks, from->first_time),
		.last_time = ticks_seconds(input->ticks, from->last_time),
		.at_peak_bytes = at_peak.bytes, .at_peak_count = at_peak.count,
		.size_low = from->size_low, .size_high = from->size_high,
		.sizes = from->sizes,
	};
	take_resizes(sites_resizes(input->sites, from), &to->resizes);
	take_lifetimes(input->ticks, sites_lifetimes(input->sites, from), to);
	take_growth(input, from, to);
}

static int by_live_bytes(const void *a, const void *b)
{
	const struct snapshot_site *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static int by_alloc_bytes(const void *a, const void *b)
{
	const struct snapshot_site *x = a, *y = b;

	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

void snapshot_order_sites(struct snapshot *snapshot)
{
	bool counted = snapshot->session.mode == SNAPSHOT_COUNTS;

	if (snapshot->site_count)	/* else it may be NULL */
		qsort(snapshot->site, snapshot->site_count, sizeof(*snapshot->site),
		      counted ? by_alloc_bytes : by_live_bytes);
}

size_t snapshot_steps_of(const struct snapshot *snapshot, uint32_t site)
{
	size_t low = 0, high = snapshot->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (snapshot->step[middle].site < site)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool snapshot_knows_live(const struct snapshot *snapshot, const struct snapshot_site *site)
{
	return snapshot->session.mode != SNAPSHOT_COUNTS || (site && site->kind == SITE_MMAP);
}

static bool has_allocated(const struct site *site)
{
	return site->alloc.count + site->alloc.samples > 0;
}

static void take_tried(const struct snapshot_input *input, struct snapshot *to)
{
	for (uint32_t i = 0; i < sites_places(input->sites); i++) {
		const struct site *from = sites_at(input->sites, i);

		if (from->resized && !has_allocated(from))
			take_site(input, from, &to->site[to->site_count + to->tried_count++]);
	}
}

/* All sites that something was allocated at, but the allocators' own mappings. */
static int take_sites(const struct snapshot_input *input, struct snapshot *to)
{
	uint32_t count = sites_places(input->sites);

	to->site = calloc((size_t)count + 1, sizeof(*to->site));
	if (!to->site)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct site *from = sites_at(input->sites, i);

		if (!from->allocator && has_allocated(from))
			take_site(input, from, &to->site[to->site_count++]);
	}
	snapshot_order_sites(to);
	take_tried(input, to);
	return 0;
}

/* A leak being filled: its addresses with their times, oldest first. */
struct suspect {
	uint32_t count;
	uint64_t address[SNAPSHOT_MAX_ADDRESSES], time[SNAPSHOT_MAX_ADDRESSES];
};
struct suspects {
	const struct sites *sites;
	struct suspect *by_site;	/* by place */
};

static void suspect_add(void *context, const struct live_block *block)
{
	struct suspects *suspects = context;
	struct suspect *suspect = &suspects->by_site[sites_place(suspects->sites, block->site)];
	uint32_t at = suspect->count;

	if (at == SNAPSHOT_MAX_ADDRESSES && block->time >= suspect->time[--at])
		return;
	for (; at > 0 && suspect->time[at - 1] > block->time; at--) {
		suspect->time[at] = suspect->time[at - 1];
		suspect->address[at] = suspect->address[at - 1];
	}
	suspect->time[at] = block->time;
	suspect->address[at] = block->address;
	suspect->count += suspect->count < SNAPSHOT_MAX_ADDRESSES;
}

/* Sites are sorted by live bytes already, so leaks are too. */
static int take_leaks(const struct snapshot_input *input, struct snapshot *to)
{
	struct suspects suspects = { .sites = input->sites };
	_cleanup_free_ struct suspect *by_site = calloc((size_t)sites_places(input->sites) + 1,
							sizeof(*by_site));

	to->leak = calloc(to->site_count + 1, sizeof(*to->leak));
	if (!to->leak || !by_site)
		return -ENOMEM;
	suspects.by_site = by_site;
	live_each(input->live, suspect_add, &suspects);
	for (size_t i = 0; i < to->site_count; i++) {
		const struct snapshot_site *site = &to->site[i];
		const struct suspect *suspect = &by_site[sites_place(input->sites, site->id)];
		struct snapshot_leak *leak = &to->leak[to->leak_count];

		if (site->kind == SITE_MMAP || site->live_count == 0)
			continue;
		*leak = (struct snapshot_leak){ .site = site->id, .count = site->live_count,
						.bytes = site->live_bytes,
						.address_count = suspect->count };
		memcpy(leak->address, suspect->address, sizeof(leak->address));
		if (suspect->count)
			leak->oldest = ticks_seconds(input->ticks, suspect->time[0]);
		to->leak_count++;
	}
	to->has_leaks = true;
	return 0;
}

static struct snapshot_call call_of(const struct snapshot_input *input,
				    const struct freed_event *from)
{
	return (struct snapshot_call){
		.stack = from->stack, .thread = from->thread,
		.skip_frames = sites_skip_frames(input->sites, from->stack),
		.time = ticks_seconds(input->ticks, from->time),
	};
}

static void take_wrong_free(const struct snapshot_input *input, const struct wrong_free *from,
			    struct snapshot_wrong_free *to)
{
	const struct freed_block *block = &from->block;
	const struct site *site = sites_peek(input->sites, block->site);

	*to = (struct snapshot_wrong_free){
		.reason = from->reason, .entry = from->entry, .realloc = from->realloc,
		.count = from->count, .address = from->address,
		.block_address = block->address, .block_size = block->size,
		.freed = call_of(input, &from->by),
	};
	if (site)
		to->allocated = call_of(input, &(struct freed_event){
			.time = block->born, .stack = site->stack, .thread = block->thread });
	if (block->freed.time)
		to->freed_first = call_of(input, &block->freed);
}

static int take_wrong_frees(const struct snapshot_input *input, struct snapshot *to)
{
	const struct wrong_frees *wrong = live_wrong_frees(input->live);
	size_t count;
	const struct wrong_free *found = wrong_frees_all(wrong, &count);

	to->wrong_free = calloc(count + 1, sizeof(*to->wrong_free));
	if (!to->wrong_free)
		return -ENOMEM;
	for (; to->wrong_free_count < count; to->wrong_free_count++)
		take_wrong_free(input, &found[to->wrong_free_count],
				&to->wrong_free[to->wrong_free_count]);
	to->wrong_free_left_out = wrong_frees_left_out(wrong);
	return 0;
}

int snapshot_take(const struct snapshot_input *given, struct snapshot **ret)
{
	_cleanup_(snapshot_cleanup) struct snapshot *snapshot = NULL;
	struct snapshot_input with_books = *given;
	const struct snapshot_input *input = &with_books;

	with_books.doubt = snapshot_doubt(given);
	if (snapshot_new(&snapshot) < 0 || copy_target(input->target, &snapshot->target) < 0 ||
	    copy_session(input, &snapshot->session) < 0 ||
	    copy_timeline(input->timeline, snapshot) < 0 ||
	    copy_histogram(input->sites, snapshot) < 0 || take_sites(input, snapshot) < 0 ||
	    take_wrong_frees(input, snapshot) < 0)
		return -ENOMEM;
	snapshot->exact = live_exact(input->live);
	snapshot->every_alloc = live_every_alloc(input->live);
	snapshot->site_peaks = snapshot->resizes = true;
	snapshot->intervals = snapshot->site_intervals = true;
	snapshot->complete = live_complete(input->live);
	take_totals(input, &snapshot->totals);
	take_map_totals(input->sites, &snapshot->map_totals);
	if (input->leaks && take_leaks(input, snapshot) < 0)
		return -ENOMEM;
	*ret = snapshot;
	snapshot = NULL;
	return 0;
}

void snapshot_session_losses(struct snapshot_session *session, const struct reader_losses *losses,
			     const struct ticks *ticks)
{
	session->lost.alloc = losses->alloc;
	session->lost.free = losses->free;
	session->lost.map = losses->map;
	session->lost.stack = losses->stack;
	session->lost.alloc_bytes = losses->alloc_bytes;
	session->lost.hidden = losses->hidden;
	session->lost.hidden_bytes = losses->hidden_bytes;
	session->blocked_seconds = ticks_span(ticks, losses->blocked_ticks);
	session->corrupt = losses->corrupt + losses->abandoned;
}
