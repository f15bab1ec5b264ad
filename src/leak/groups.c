/* SPDX-License-Identifier: MIT */
/*
 * groups.c - see groups.h. What a lost block alone leads to is counted as its indirect part, as
 * memcheck does. Keys are texts ("3 site 17", "1 type node", "1 size 64"): groups are few.
 */
#include "src/leak/groups.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "src/leak/holders.h"
#include "src/leak/mark.h"
#include "src/leak/types.h"

enum { MAX_HOLDERS = 64, HOLDER_SECONDS = 10 };

struct entry {
	UT_hash_handle hh;
	struct leak_group group;
	char key[160];
};
struct groups {
	const struct groups_input *input;
	struct types *types;
	struct entry *table;
	struct leak_group indirect;	/* of the leader at hand */
};

static int make_key(const struct leak_group *like, char *key, size_t room)
{
	if (like->site)
		return snprintf(key, room, "%d site %u", (int)like->verdict, like->site);
	if (like->type)
		return snprintf(key, room, "%d type %.120s", (int)like->verdict, like->type);
	return snprintf(key, room, "%d size %llu", (int)like->verdict,
			(unsigned long long)like->size);
}

/* The group of blocks like this one, made if new. NULL: no memory. Takes like->type. */
static struct leak_group *group_for(struct groups *g, struct leak_group *like)
{
	char key[sizeof(g->table->key)];
	struct entry *entry;

	(void)make_key(like, key, sizeof(key));
	HASH_FIND_STR(g->table, key, entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry) {
			free(like->type);
			return NULL;
		}
		entry->group = *like;
		memcpy(entry->key, key, sizeof(key));
		HASH_ADD_STR(g->table, key, entry);
	} else {
		free(like->type);
	}
	return &entry->group;
}

static int count_indirect(void *context, const struct block *block)
{
	struct groups *g = context;

	g->indirect.indirect_count++;
	g->indirect.indirect_bytes += block->bytes;
	return 0;
}

static int add_indirect(struct groups *g, const struct block *block)
{
	struct mark_input marked = { .picture = g->input->picture, .blocks = g->input->blocks,
				     .roots = g->input->roots,
				     .heuristics = g->input->heuristics, .workers = 1 };

	memset(&g->indirect, 0, sizeof(g->indirect));
	return mark_each_of_leader(&marked, block->address, count_indirect, g);
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
	const char *type;
	int error = 0;

	if (kind != BLOCK_DEFINITELY_LOST && kind != BLOCK_POSSIBLY_LOST)
		return 0;
	like.verdict = kind == BLOCK_DEFINITELY_LOST ? LEAK_DEFINITELY_LOST : LEAK_POSSIBLY_LOST;
	if (g->input->known && g->input->known(g->input->context, block->address, &known))
		like.site = known.site;
	type = types_of(g->types, block->address, block->bytes);
	like.type = type ? strdup(type) : NULL;
	group = group_for(g, &like);
	if (!group)
		return -ENOMEM;
	book(group, block, known.site ? known.age : NAN);
	if (kind != BLOCK_DEFINITELY_LOST)
		return 0;
	error = add_indirect(g, block);
	/* the leader itself comes first */
	if (!error && g->indirect.indirect_count) {
		group->indirect_count += g->indirect.indirect_count - 1;
		group->indirect_bytes += g->indirect.indirect_bytes - block->bytes;
	}
	return error;
}

/* What leads to the example of each possibly lost group, found for all of them at once. */
static int name_holders(const struct groups *g, struct leak_report *report)
{
	struct holders_input input = { .picture = g->input->picture,
				       .modules = g->input->modules,
				       .blocks = g->input->blocks, .roots = g->input->roots,
				       .types = g->types, .seconds = HOLDER_SECONDS };
	uint64_t address[MAX_HOLDERS];
	struct leak_group *group[MAX_HOLDERS];
	struct holder_chains chains = { .count = 0 };
	struct holders *holders = NULL;
	size_t count = 0;
	int error;

	for (size_t i = 0; i < report->group_count && count < MAX_HOLDERS; i++)
		if (report->group[i].verdict == LEAK_POSSIBLY_LOST) {
			address[count] = report->group[i].address[0];
			group[count++] = &report->group[i];
		}
	if (!count)
		return 0;
	error = holders_new(&input, &holders);
	if (!error)
		error = holders_find(holders, address, count, &chains);
	for (size_t i = 0; !error && i < chains.count && i < count; i++)
		if (chains.chain[i].count)
			group[i]->held_by = strdup(chains.chain[i].text);
	holder_chains_done(&chains);
	holders_free(holders);
	return error;
}

int groups_make(const struct groups_input *input, struct leak_report *report)
{
	struct groups g = { .input = input };
	struct entry *entry, *next;
	int error = types_new(input->picture, input->modules, &g.types);

	if (!error)
		error = blocks_each(input->blocks, add_block, &g);
	HASH_ITER(hh, g.table, entry, next) {
		HASH_DEL(g.table, entry);
		if (!error)
			error = leak_report_add(report, &entry->group);
		else
			free(entry->group.type);
		free(entry);
	}
	if (!error)
		error = name_holders(&g, report);
	types_free(g.types);
	return error;
}
