/* SPDX-License-Identifier: MIT */
/*
 * view_sites.c - see view_sites.h.
 *
 * A machine frame is named once, a stack is put together once, however many sites have it: a
 * recording of 50,000 sites is ready in a tenth of a second. The recording may be hostile, so a
 * machine frame has at most SYMBOLIZER_MAX_FRAMES source-level ones, and a stack VIEW_MAX_FRAMES:
 * memory stays within a constant times the file. Sites are never left out for lack of a stack;
 * they get a frame that says so, and sums stay whole.
 */
#include "src/view/view_sites.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/base/hashmap.h"
#include "src/report/caller.h"
#include "src/view/text_store.h"
#include "src/view/threads_filter.h"

/* The source-level frames of a machine frame: a row of store->frame. */
struct named_frame {
	struct frame machine;
	uint32_t first, count;
	UT_hash_handle hh;
};

/* A stack's source-level frames. */
struct named_stack {
	const struct view_frame **frame;	/* NULL: not put together yet */
	uint32_t count;
	bool cut;
};

struct view_store {
	const struct report_input *input;
	const struct view_filter *filter;
	struct text_store texts;
	struct named_frame *named;		/* a uthash */
	struct view_frame **frame;
	uint32_t frame_count, frame_capacity;
	struct hashmap stack_index;		/* id -> index */
	struct named_stack *stack;
	uint32_t stack_count, stack_capacity;
	const struct view_frame *unknown;	/* for sites without a stack */
	const struct view_frame *other;		/* for what was put together of many */
	struct threads_choice threads;		/* with filter->thread */
	struct snapshot_site *part;		/* what they have of each site */
};

const char *view_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* To be freed; NULL: out of memory. */
static char *make_title(const struct symbol_frame *symbol, const struct frame *machine)
{
	char *title = NULL;
	int length;

	if (symbol->function)
		length = asprintf(&title, "%s", symbol->function);
	else if (symbol->module[0])
		length = asprintf(&title, "%s+0x%llx", view_base_name(symbol->module),
				  (unsigned long long)symbol->offset);
	else if (machine->module)
		length = asprintf(&title, "module %u+0x%llx", machine->module,
				  (unsigned long long)machine->offset);
	else
		length = asprintf(&title, "0x%llx", (unsigned long long)machine->offset);
	return length < 0 ? NULL : title;
}

static int keep_frame(struct view_store *store, const struct view_frame *frame)
{
	struct view_frame *copy = malloc(sizeof(*copy));
	uint32_t capacity = store->frame_capacity ? store->frame_capacity * 2u : 256u;

	if (copy && store->frame_count == store->frame_capacity) {
		void *grown = reallocarray(store->frame, capacity, sizeof(struct view_frame *));

		if (!grown) {
			free(copy);
			return -ENOMEM;
		}
		store->frame = grown;
		store->frame_capacity = capacity;
	}
	if (!copy)
		return -ENOMEM;
	*copy = *frame;
	copy->index = store->frame_count;
	store->frame[store->frame_count++] = copy;
	return 0;
}

static int keep_symbol(struct view_store *store, const struct symbol_frame *symbol,
		       const struct frame *machine)
{
	struct view_frame frame = {
		.line = symbol->line, .column = symbol->column, .inlined = symbol->inlined,
		.function = text_store_keep(&store->texts, symbol->function),
		.file = text_store_keep(&store->texts, symbol->file),
		.module = text_store_keep(&store->texts, symbol->module),
		.build_id = text_store_keep(&store->texts, symbol->build_id),
		.offset = symbol->offset, .function_offset = symbol->function_offset,
	};
	_cleanup_free_ char *title = make_title(symbol, machine);

	frame.title = text_store_keep(&store->texts, title);
	if (!frame.title || !frame.module || !frame.build_id ||
	    (symbol->function && !frame.function) || (symbol->file && !frame.file))
		return -ENOMEM;
	return keep_frame(store, &frame);
}

/* symbol[0 .. count) of machine; of too many the outermost. */
static int keep_symbols(struct view_store *store, struct named_frame *named,
			const struct symbol_frame *symbol, size_t count)
{
	size_t first = count > SYMBOLIZER_MAX_FRAMES ? count - SYMBOLIZER_MAX_FRAMES : 0;
	int err = 0;

	named->first = store->frame_count;
	for (size_t i = first; err == 0 && i < count; i++)
		err = keep_symbol(store, &symbol[i], &named->machine);
	named->count = store->frame_count - named->first;
	return err;
}

/* NULL: out of memory. */
static const struct named_frame *name_frame(struct view_store *store, const struct frame *machine)
{
	struct frame key = { .module = machine->module, .flags = machine->flags,
			     .offset = machine->offset };
	const struct report_names *names = &store->input->names;
	const struct symbol_frame *symbol;
	struct named_frame *named;
	size_t count = 0;

	HASH_FIND(hh, store->named, &key, sizeof(key), named);
	if (named)
		return named;
	named = calloc(1, sizeof(*named));
	if (!named)
		return NULL;
	named->machine = key;
	symbol = names->frame(names->context, machine, &count);
	if (keep_symbols(store, named, symbol, count) < 0) {
		free(named);
		return NULL;
	}
	HASH_ADD(hh, store->named, machine, sizeof(key), named);
	if (!named->hh.tbl) {
		free(named);
		return NULL;
	}
	return named;
}

/* Counts, then copies: stacks are kept at their size. */
static int name_stack(struct view_store *store, struct stack stack, struct named_stack *to)
{
	const struct named_frame *named[STACKS_MAX_FRAMES];
	uint32_t at = 0, count = 0, frames = stack.frame_count;

	if (frames > STACKS_MAX_FRAMES)
		frames = STACKS_MAX_FRAMES;
	for (uint32_t i = 0; i < frames; i++) {
		named[i] = name_frame(store, &stack.frame[i]);
		if (!named[i])
			return -ENOMEM;
		count += named[i]->count;
	}
	to->cut = count > VIEW_MAX_FRAMES;
	to->count = to->cut ? VIEW_MAX_FRAMES : count;
	to->frame = calloc((size_t)to->count + 1, sizeof(*to->frame));
	if (!to->frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames && at < to->count; i++)
		for (uint32_t inner = 0; inner < named[i]->count && at < to->count; inner++)
			to->frame[at++] = store->frame[named[i]->first + inner];
	return 0;
}

/* How many source-level frames the skip innermost machine frames have. */
static uint32_t skipped(struct view_store *store, struct stack stack, uint32_t skip)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < skip && i < stack.frame_count; i++) {
		const struct named_frame *named = name_frame(store, &stack.frame[i]);

		count += named ? named->count : 0;
	}
	return count;
}

/* A place for the stack of this id. NULL: out of memory. Valid until the next. */
static struct named_stack *place_of(struct view_store *store, uint32_t id)
{
	uint32_t capacity = store->stack_capacity ? store->stack_capacity * 2u : 256u;
	struct named_stack *grown = store->stack;
	uint64_t at;

	if (hashmap_get(&store->stack_index, id, &at))
		return &store->stack[at];
	if (store->stack_count == store->stack_capacity) {
		grown = reallocarray(grown, capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		store->stack = grown;
		store->stack_capacity = capacity;
	}
	if (hashmap_put(&store->stack_index, id, store->stack_count) < 0)
		return NULL;
	store->stack[store->stack_count] = (struct named_stack){ .frame = NULL };
	return &store->stack[store->stack_count++];
}

static uint32_t find_caller(const struct view_site *site)
{
	struct caller_search search = { 0 };

	for (uint32_t i = 0; i < site->frame_count && !search.ended; i++) {
		const struct view_frame *frame = site->frame[i];
		const struct caller_function f = { .function = frame->function,
						   .module = frame->module, .file = frame->file,
						   .line = frame->line };

		(void)caller_search_next(&search, &f);
	}
	return caller_search_found(&search);
}

static int set_stack(struct view_store *store, struct view_site *site)
{
	struct stack stack = stacks_get(store->input->stacks, site->figures->stack);
	struct named_stack *named = place_of(store, stack.frame_count ? site->figures->stack : 0);
	uint32_t skip, depth = store->filter->depth;

	if (!named || (stack.frame_count && !named->frame && name_stack(store, stack, named) < 0))
		return -ENOMEM;
	skip = skipped(store, stack, site->figures->skip_frames);
	site->stack_flags = stack.flags;
	site->cut = named->cut;
	if (skip < named->count) {
		site->frame = named->frame + skip;
		site->frame_count = named->count - skip;
	} else {	/* nothing is known */
		site->frame = stack.flags & STACK_OTHER ? &store->other : &store->unknown;
		site->frame_count = 1;
	}
	site->caller = find_caller(site);
	if (depth && site->frame_count - site->caller > depth) {
		site->frame_count = site->caller + depth;
		site->cut = true;
	}
	return 0;
}

static bool has_module(const struct view_frame *frame, const char *wanted)
{
	const char *base = view_base_name(frame->module);
	size_t length = strlen(wanted);

	if (strcmp(frame->module, wanted) == 0)
		return true;
	return strncmp(base, wanted, length) == 0 &&
	       (base[length] == '\0' || strncmp(base + length, ".so", 3) == 0 ||
		(base[length] == '.' && strstr(wanted, ".so")));
}

static bool is_in_module(const struct view_site *site, const char *wanted)
{
	for (uint32_t i = 0; i < site->frame_count; i++)
		if (has_module(site->frame[i], wanted))
			return true;
	return false;
}

static bool has_sizes(const struct snapshot *snapshot, const struct snapshot_site *site,
		      const struct view_filter *filter)
{
	uint64_t mean = site->alloc_count ? site->alloc_bytes / site->alloc_count : 0;
	uint64_t low = snapshot->site_peaks ? site->size_low : mean;
	uint64_t high = snapshot->site_peaks ? site->size_high : mean;

	if (!site->alloc_count || high < filter->size_low || low > filter->size_high)
		return false;
	if (!snapshot->site_peaks || size_set_is_empty(&site->sizes))
		return true;
	low = low > filter->size_low ? low : filter->size_low;
	high = high < filter->size_high ? high : filter->size_high;
	return size_set_may_have(&site->sizes, low, high);
}

/* What can be told before the stack is named. */
static bool is_wanted(const struct snapshot *snapshot, const struct snapshot_site *site,
		      const struct view_filter *filter)
{
	if (filter->site && site->id != filter->site)
		return false;
	if (filter->kind && (site->kind == SITE_MMAP) != (filter->kind == VIEW_KIND_MMAP))
		return false;
	if (!filter->size_low && !filter->size_high)
		return true;
	return has_sizes(snapshot, site, filter);
}

/* NULL: not one of the filter's threads allocated there. */
static const struct snapshot_site *figures_of(const struct view_store *store, size_t i)
{
	const struct snapshot_site *site = &store->input->snapshot->site[i];

	if (!store->filter->thread)
		return site;
	return threads_part(&store->threads, site, &store->part[i]) ? &store->part[i] : NULL;
}

static int choose_threads(struct view_store *store)
{
	static const struct thread_table nobody = { 0 };
	const struct report_input *input = store->input;

	if (!store->filter->thread)
		return 0;
	store->part = calloc(input->snapshot->site_count + 1, sizeof(*store->part));
	if (!store->part)
		return -ENOMEM;
	return threads_choose(input->threads ? input->threads : &nobody, store->filter->thread,
			      &store->threads);
}

static int add_sites(struct view_store *store, struct view_sites *sites)
{
	const struct snapshot *snapshot = store->input->snapshot;

	for (size_t i = 0; i < snapshot->site_count; i++) {
		struct view_site *site = &sites->site[sites->count];

		if (!is_wanted(snapshot, &snapshot->site[i], store->filter))
			continue;
		site->figures = figures_of(store, i);
		if (!site->figures)
			continue;
		if (set_stack(store, site) < 0)
			return -ENOMEM;
		if (store->filter->module && !is_in_module(site, store->filter->module))
			continue;
		sites->count++;
		for (int m = 0; m < VIEW_METRIC_COUNT; m++)
			sites->sum[m] = view_sum(sites->sum[m], view_metric_value(
				site->figures, (enum view_metric)m));
	}
	return 0;
}

/* A frame that there is not. */
static int keep_title(struct view_store *store, const char *title, const struct view_frame **ret)
{
	static const struct symbol_frame nothing = { .module = "", .build_id = "" };
	static const struct frame nowhere = { 0 };
	int err = keep_symbol(store, &nothing, &nowhere);
	struct view_frame *frame;

	if (err < 0)
		return err;
	frame = store->frame[store->frame_count - 1];
	frame->title = text_store_keep(&store->texts, title);
	*ret = frame;
	return frame->title ? 0 : -ENOMEM;
}

/* Only where there is a site of that kind, as exports list all frames. */
static bool has_other(const struct report_input *input)
{
	for (size_t i = 0; i < input->snapshot->site_count; i++)
		if (stacks_get(input->stacks, input->snapshot->site[i].stack).flags & STACK_OTHER)
			return true;
	return false;
}

static int store_init(struct view_store *store)
{
	int err = keep_title(store, "unknown", &store->unknown);

	if (err == 0 && has_other(store->input))
		err = keep_title(store, "other", &store->other);
	return err;
}

int view_sites_new(const struct report_input *input, const struct view_filter *filter,
		   struct view_sites **ret)
{
	static const struct view_filter everything = { 0 };
	struct view_sites *sites = calloc(1, sizeof(*sites));
	struct view_store *store = calloc(1, sizeof(*store));
	int err = -ENOMEM;

	if (sites) {
		sites->store = store;
		sites->site = calloc(input->snapshot->site_count + 1, sizeof(*sites->site));
	} else {
		free(store);
	}
	if (sites && store && sites->site) {
		store->input = input;
		store->filter = filter ? filter : &everything;
		err = store_init(store);
		if (err == 0)
			err = choose_threads(store);
		if (err == 0)
			err = add_sites(store, sites);
		sites->frame = store->frame;
		sites->frame_count = store->frame_count;
		store->input = NULL;
		store->filter = NULL;
	}
	if (err < 0) {
		view_sites_free(sites);
		return err;
	}
	*ret = sites;
	return 0;
}

static void store_free(struct view_store *store)
{
	struct named_frame *named, *next;

	HASH_ITER(hh, store->named, named, next) {
		HASH_DEL(store->named, named);
		free(named);
	}
	for (uint32_t i = 0; i < store->frame_count; i++)
		free(store->frame[i]);
	hashmap_done(&store->stack_index);
	for (uint32_t i = 0; i < store->stack_count; i++)
		free(store->stack[i].frame);
	free(store->frame);
	free(store->stack);
	free(store->part);
	threads_choice_done(&store->threads);
	text_store_done(&store->texts);
	free(store);
}

void view_sites_free(struct view_sites *sites)
{
	if (!sites)
		return;
	if (sites->store)
		store_free(sites->store);
	free(sites->site);
	free(sites);
}
