/* SPDX-License-Identifier: MIT */
/*
 * groups.c - see groups.h. What a lost block alone leads to is counted as its indirect part, as
 * memcheck does. Keys are texts ("3 site 17", "1 type node", "1 size 64"): groups are few.
 *
 * Behind the key of an older block stands the shape of the memory that still names it. Such
 * traces survive by luck: groups are made apart by them only where freed blocks of two shapes
 * or more name a good part each, which are then different owners; else they are put together
 * again, and the most frequent trace is told.
 */
#include "src/leak/analysis/groups.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "src/debuginfo/types.h"
#include "src/leak/analysis/likely.h"
#include "src/leak/candidates/stale.h"
#include "src/leak/holders/contents.h"
#include "src/leak/holders/holder_texts.h"
#include "src/leak/mark/mark.h"

enum { MAX_HOLDERS = HOLDER_TEXTS_MAX, HOLDER_SECONDS = 10 };
#define SPLIT_SHARE	10u		/* a shape that names a tenth of the blocks is an owner */
#define STALE_MIN	(32u << 20)	/* bytes that may always be read for traces, */
#define STALE_PART	8u		/* and this part of what marking has read */

struct entry {
	UT_hash_handle hh;
	struct leak_group group;
	size_t base;		/* length of the key without the trace */
	bool owner;		/* the trace is a freed block of known size */
	char key[160 + STALE_TEXT_BYTES];
};
struct groups {
	const struct groups_input *input;
	struct types *types;
	struct stale *stale;
	struct entry *table;
};

/* ret->key, and what goes with it. place NULL: nothing names the block. */
static void make_key(const struct leak_group *like, const struct stale_place *place,
		     struct entry *ret)
{
	char text[STALE_TEXT_BYTES];
	int length;

	if (like->site)
		length = snprintf(ret->key, sizeof(ret->key), "%d site %u", (int)like->verdict,
				  like->site);
	else if (like->type)
		length = snprintf(ret->key, sizeof(ret->key), "%d type %.120s", (int)like->verdict,
				  like->type);
	else
		length = snprintf(ret->key, sizeof(ret->key), "%d size %llu", (int)like->verdict,
				  (unsigned long long)like->size_class);
	ret->base = (size_t)length;
	ret->owner = place && place->kind == STALE_FREED && !like->site;
	if (place)
		(void)snprintf(ret->key + length, sizeof(ret->key) - (size_t)length, "\n%s",
			       stale_text(place, text));
}

static struct frame frame_of(const struct modules *modules, uint64_t code)
{
	const struct module *module = modules_find(modules, code);

	return module ? (struct frame){ .module = module->id, .flags = FRAME_RETURN,
					.offset = code - module->bias } :
			(struct frame){ .module = 0 };
}

/* The group of blocks like this one, made if new. NULL: no memory. Takes like->type. */
static struct leak_group *group_for(struct groups *g, struct leak_group *like,
				    const struct stale_place *place)
{
	struct entry made = { .owner = false }, *entry;

	make_key(like, place, &made);
	HASH_FIND_STR(g->table, made.key, entry);
	if (entry) {
		free(like->type);
		return &entry->group;
	}
	entry = malloc(sizeof(*entry));
	if (place)
		like->last_held_by = strdup(made.key + made.base + 1);
	if (!entry || (place && !like->last_held_by)) {
		leak_group_done(like);
		free(entry);
		return NULL;
	}
	*entry = made;
	entry->group = *like;
	if (place && place->code)
		entry->group.last_frame = frame_of(g->input->modules, place->code);
	HASH_ADD_STR(g->table, key, entry);
	return &entry->group;
}

static void book(struct leak_group *group, const struct block *block, double age)
{
	group->count++;
	group->bytes += block->bytes;
	if (group->size != block->bytes)
		group->size = 0;
	if (group->address_count < LEAK_MAX_ADDRESSES)
		group->address[group->address_count++] = block->address;
	if (!isnan(age) && !(group->oldest >= age))
		group->oldest = age;
}

static int add_block(void *context, const struct block *block)
{
	struct groups *g = context;
	enum block_kind kind = mark_kind(g->input->blocks, block->address);
	struct leak_group like = { .size = block->bytes, .growth = NAN, .oldest = NAN }, *group;
	struct analysis_known known = { .site = 0, .age = NAN };
	struct stale_place place;
	const char *type;
	struct clique clique;
	bool named;

	if (kind != BLOCK_DEFINITELY_LOST && kind != BLOCK_POSSIBLY_LOST)
		return 0;
	named = stale_of(g->stale, block->address, &place);
	like.verdict = kind == BLOCK_DEFINITELY_LOST ? LEAK_DEFINITELY_LOST : LEAK_POSSIBLY_LOST;
	if (g->input->known && g->input->known(g->input->context, block->address, &known))
		like.site = known.site;
	type = types_of(g->types, block->address, block->bytes);
	like.type = type ? strdup(type) : NULL;
	like.size_class = like.site || type ? 0 : types_size_class(block->bytes);
	group = group_for(g, &like, named ? &place : NULL);
	if (!group)
		return -ENOMEM;
	book(group, block, known.site ? known.age : NAN);
	group->last_held_count += named;
	clique = mark_of_leader(g->input->blocks, block->address);
	group->indirect_count += clique.count;
	group->indirect_bytes += clique.bytes;
	return 0;
}

/* Chains from a root go through blocks that are not lost. */
static bool may_hold(void *context, const struct block *block)
{
	return mark_kind(context, block->address) <= BLOCK_POSSIBLY_LOST;
}

/* What leads to the example of each possibly lost group, found for all of them at once. */
static int name_holders(const struct groups *g, struct leak_report *report)
{
	struct holders_input input = { .picture = g->input->picture,
				       .modules = g->input->modules,
				       .blocks = g->input->blocks, .roots = g->input->roots,
				       .types = g->types, .usable = may_hold,
				       .context = g->input->blocks,
				       .seconds = HOLDER_SECONDS };
	uint64_t address[MAX_HOLDERS];
	struct leak_group *group[MAX_HOLDERS];
	struct holder_texts texts;
	size_t count = 0;
	int error;

	for (size_t i = 0; i < report->group_count && count < MAX_HOLDERS; i++)
		if (report->group[i].verdict == LEAK_POSSIBLY_LOST) {
			address[count] = report->group[i].address[0];
			group[count++] = &report->group[i];
		}
	if (!count)
		return 0;
	error = holder_texts_find(&input, address, count, &texts);
	for (size_t i = 0; !error && i < texts.count && i < count; i++) {
		group[i]->held_by = texts.text[i];
		texts.text[i] = NULL;
	}
	holder_texts_done(&texts);
	return error;
}

/* --- groups that belong together after all --------------------------------------- */

/* Both ascend; the lowest are kept. */
static void merge_addresses(struct leak_group *to, const struct leak_group *from)
{
	uint64_t all[LEAK_MAX_ADDRESSES];
	uint32_t count = 0, a = 0, b = 0;

	while (count < LEAK_MAX_ADDRESSES && (a < to->address_count || b < from->address_count)) {
		bool second = a == to->address_count ||
			      (b < from->address_count && from->address[b] < to->address[a]);

		all[count++] = second ? from->address[b++] : to->address[a++];
	}
	memcpy(to->address, all, count * sizeof(*all));
	to->address_count = count;
}

/* from is emptied. Of two traces the more frequent stays. */
static void merge(struct leak_group *to, struct leak_group *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
	to->indirect_count += from->indirect_count;
	to->indirect_bytes += from->indirect_bytes;
	if (to->size != from->size)
		to->size = 0;
	if (!isnan(from->oldest) && !(to->oldest >= from->oldest))
		to->oldest = from->oldest;
	merge_addresses(to, from);
	if (from->last_held_count > to->last_held_count) {
		char *text = to->last_held_by;

		to->last_held_by = from->last_held_by;
		to->last_held_count = from->last_held_count;
		to->last_frame = from->last_frame;
		from->last_held_by = text;
	}
	leak_group_done(from);
	*from = (struct leak_group){ .count = 0 };
}

static bool is_owner(const struct entry *entry, uint64_t total)
{
	return entry->owner && entry->group.count > 1 &&
	       entry->group.count >= (total + SPLIT_SHARE - 1) / SPLIT_SHARE;
}

/* The entries of one key from first to end, which differ by their traces. */
static void join_run(struct entry *first, const struct entry *end)
{
	struct entry *rest = NULL, *entry;
	uint64_t total = 0;
	unsigned int owners = 0;

	for (entry = first; entry != end; entry = entry->hh.next)
		total += entry->group.count;
	for (entry = first; entry != end; entry = entry->hh.next)
		owners += is_owner(entry, total);
	for (entry = first; entry != end; entry = entry->hh.next) {
		if (owners > 1 && is_owner(entry, total))
			continue;
		if (rest)
			merge(&rest->group, &entry->group);
		else
			rest = entry;
	}
}

static int by_key(const struct entry *a, const struct entry *b)
{
	return strcmp(a->key, b->key);
}

static void join_entries(struct groups *g)
{
	struct entry *first, *end;

	HASH_SORT(g->table, by_key);
	for (first = g->table; first; first = end) {
		for (end = first->hh.next; end && end->base == first->base &&
		     memcmp(end->key, first->key, first->base) == 0; end = end->hh.next)
			;
		join_run(first, end);
	}
}

/* --- the whole --------------------------------------------------------------------- */

static int show_contents(const struct groups *g, struct leak_group *group)
{
	int error = 0;

	group->content = calloc(group->address_count + 1, sizeof(*group->content));
	if (!group->content)
		return -ENOMEM;
	for (uint32_t i = 0; !error && i < group->address_count; i++) {
		struct block block;

		if (!blocks_find(g->input->blocks, group->address[i], &block))
			continue;
		error = contents_read(g->input->picture, &block, g->input->show_bytes,
				      &group->content[group->content_count]);
		group->content_count += !error;
	}
	return error;
}

/* Of a block that is used after all it must be known what it counts for (src/access/access.h). */
static void describe_examples(struct groups *g, struct leak_group *group)
{
	for (uint32_t i = 0; i < group->address_count; i++) {
		struct leak_example *example = &group->example[i];
		struct clique clique = mark_of_leader(g->input->blocks, group->address[i]);
		struct block block;

		if (!blocks_find(g->input->blocks, group->address[i], &block))
			continue;
		example->bytes = block.bytes;
		example->indirect_count = clique.count;
		example->indirect_bytes = clique.bytes;
	}
}

static int find_stale(struct groups *g, const struct leak_report *report)
{
	const struct groups_input *input = g->input;
	struct stale_input stale = {
		.picture = input->picture, .blocks = input->blocks, .excluded = input->excluded,
		.modules = input->modules,
		/* what was switched off is not stale */
		.roots = input->classes == ROOT_ALL ? input->roots : NULL,
		.budget = STALE_MIN + report->scanned_bytes / STALE_PART,
	};

	return report->kind[BLOCK_DEFINITELY_LOST].count ? stale_find(&stale, &g->stale) : 0;
}

/* Moves the groups into the report. */
static int add_groups(struct groups *g, struct leak_report *report, int error)
{
	struct entry *entry, *next;

	HASH_ITER(hh, g->table, entry, next) {
		HASH_DEL(g->table, entry);
		if (error)
			leak_group_done(&entry->group);
		else if (entry->group.count)
			error = leak_report_add(report, &entry->group);
		free(entry);
	}
	return error;
}

int groups_make(const struct groups_input *input, struct leak_report *report)
{
	struct groups g = { .input = input };
	int error = types_new(input->picture, input->modules, &g.types);

	if (!error)
		error = find_stale(&g, report);
	if (!error)
		error = mark_each_unreached(input->blocks, add_block, &g);
	if (!error)
		join_entries(&g);
	error = add_groups(&g, report, error);
	for (size_t i = 0; !error && i < report->group_count; i++)
		describe_examples(&g, &report->group[i]);
	for (size_t i = 0; !error && input->show_bytes && i < report->group_count; i++)
		error = show_contents(&g, &report->group[i]);
	if (!error)
		error = likely_find(input, g.types, report);
	if (!error)
		error = name_holders(&g, report);
	stale_free(g.stale);
	types_free(g.types);
	return error;
}
