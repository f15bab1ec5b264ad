/* SPDX-License-Identifier: MIT */
/*
 * several_leaks.c - see several_private.h.
 *
 * Groups are matched as sites are; those from before the attach, which have none, by their type,
 * else by their size. Blocks that can still be reached count as one whatever is suspected of them:
 * the strongest suspicion is that of all.
 */
#include "src/several/several_private.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "src/report/diff_key.h"
#include "src/view/view_metric.h"

struct slot {
	struct several_group group;
	uint32_t part_room;
	size_t order;
	void *key;
	UT_hash_handle hh;
};
/* Ids of a recording's sites, to find them by. */
struct known_site {
	uint32_t id;
	size_t index;
};
struct adding {
	struct several *several;
	struct site_frames frames;
	struct slot *slots;		/* a uthash */
	struct known_site *known;	/* of one process, by id */
	size_t known_count;
};

static void slot_free(struct slot *slot)
{
	free(slot->group.part);
	free(slot->key);
	free(slot);
}

static struct slot *slot_for(struct adding *a, void *key, size_t key_bytes)
{
	struct slot *slot;

	HASH_FIND(hh, a->slots, key, key_bytes, slot);
	if (slot) {
		free(key);
		return slot;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot) {
		free(key);
		return NULL;
	}
	slot->key = key;
	slot->order = HASH_COUNT(a->slots);
	HASH_ADD_KEYPTR(hh, a->slots, slot->key, key_bytes, slot);
	if (slot->hh.tbl)
		return slot;
	slot_free(slot);
	return NULL;
}

static struct several_leak_part *part_for(struct slot *slot, uint32_t process)
{
	struct several_group *group = &slot->group;
	uint32_t room = slot->part_room ? slot->part_room * 2 : 2;

	if (group->part_count && group->part[group->part_count - 1].process == process)
		return &group->part[group->part_count - 1];
	if (group->part_count == slot->part_room) {
		void *grown = reallocarray(group->part, room, sizeof(*group->part));

		if (!grown)
			return NULL;
		group->part = grown;
		slot->part_room = room;
	}
	group->part[group->part_count] = (struct several_leak_part){ .process = process };
	return &group->part[group->part_count++];
}

static int by_id(const void *left, const void *right)
{
	const struct known_site *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int know_sites(struct adding *a, const struct snapshot *snapshot)
{
	free(a->known);
	a->known_count = snapshot->site_count;
	a->known = calloc(snapshot->site_count + 1, sizeof(*a->known));
	if (!a->known)
		return -ENOMEM;
	for (size_t i = 0; i < snapshot->site_count; i++)
		a->known[i] = (struct known_site){ snapshot->site[i].id, i };
	qsort(a->known, a->known_count, sizeof(*a->known), by_id);
	return 0;
}

/* NULL: none, from before the attach. */
static const struct known_site *site_of(const struct adding *a, uint32_t id)
{
	const struct known_site wanted = { .id = id };

	return id ? bsearch(&wanted, a->known, a->known_count, sizeof(wanted), by_id) : NULL;
}

static void add_amount(struct slot *slot, struct several_leak_part *part,
		       const struct leak_group *group)
{
	struct several_group *to = &slot->group;

	to->count = view_sum(to->count, group->count);
	to->bytes = view_sum(to->bytes, group->bytes);
	to->indirect_count = view_sum(to->indirect_count, group->indirect_count);
	to->indirect_bytes = view_sum(to->indirect_bytes, group->indirect_bytes);
	part->count = view_sum(part->count, group->count);
	part->bytes = view_sum(part->bytes, group->bytes);
	part->indirect_count = view_sum(part->indirect_count, group->indirect_count);
	part->indirect_bytes = view_sum(part->indirect_bytes, group->indirect_bytes);
}

static int book(struct adding *a, uint32_t process, const struct leak_group *group,
		const struct known_site *site, struct slot *slot)
{
	struct several_leak_part *part = part_for(slot, process);

	if (!part)
		return -ENOMEM;
	if (!slot->group.like || group->verdict < slot->group.like->verdict)
		slot->group.like = group;
	if (site)
		slot->group.site = a->several->tables->site_id[process][site->index];
	add_amount(slot, part, group);
	return 0;
}

static int add_group(struct adding *a, uint32_t process, const struct leak_group *group)
{
	const struct recording_content *content = a->several->process[process].content;
	const struct known_site *site = site_of(a, group->site);
	struct diff_entry like = {
		.type = several_match_keep(a->several, group->type),
		.size = group->size ? group->size : group->size_class,
	};
	size_t key_bytes = 0;
	struct slot *slot;
	void *key;
	int err = site ? site_frames_take(&a->frames, content,
					  &content->snapshot->site[site->index]) : 0;

	if (err < 0)
		return err;
	if (site) {
		like.frame = a->frames.frame;
		like.frame_count = a->frames.frame_count;
	}
	key = diff_key_make(&like, diff_key_verdict(leak_verdict_name(group->verdict)),
			    &key_bytes);
	slot = key ? slot_for(a, key, key_bytes) : NULL;
	if (!slot || a->several->tables->no_memory)
		return -ENOMEM;
	return book(a, process, group, site, slot);
}

static int add_process(struct adding *a, uint32_t process)
{
	const struct recording_content *content = a->several->process[process].content;
	const struct leak_report *leaks = content->leaks;
	int err = leaks ? know_sites(a, content->snapshot) : 0;

	a->several->judged |= leaks != NULL;
	a->several->searched += leaks && !leaks->unsearched;
	a->several->unwalked |= leaks && !leaks->unsearched && !leak_report_walked_all(leaks);
	for (size_t i = 0; err == 0 && leaks && i < leaks->group_count; i++)
		err = add_group(a, process, &leaks->group[i]);
	return err;
}

static int by_verdict(struct slot *a, struct slot *b)
{
	const struct several_group *x = &a->group, *y = &b->group;
	uint64_t left = view_sum(x->bytes, x->indirect_bytes);
	uint64_t right = view_sum(y->bytes, y->indirect_bytes);

	if (x->like->verdict != y->like->verdict)
		return x->like->verdict < y->like->verdict ? -1 : 1;
	if (left != right)
		return left < right ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

static int move_groups(struct adding *a)
{
	struct several *several = a->several;
	struct slot *slot, *next;

	several->group = calloc(HASH_COUNT(a->slots) + 1u, sizeof(*several->group));
	if (!several->group)
		return -ENOMEM;
	HASH_SORT(a->slots, by_verdict);
	HASH_ITER(hh, a->slots, slot, next) {
		several->group[several->group_count++] = slot->group;
		slot->group.part = NULL;
	}
	return 0;
}

int several_leaks_add(struct several *several)
{
	struct adding a = { .several = several, .frames = several_match_frames(several) };
	struct slot *slot, *next;
	int err = 0;

	for (size_t p = 0; err == 0 && p < several->watched; p++)
		err = add_process(&a, (uint32_t)p);
	if (err == 0)
		err = move_groups(&a);
	HASH_ITER(hh, a.slots, slot, next) {
		HASH_DEL(a.slots, slot);
		slot_free(slot);
	}
	free(a.known);
	site_frames_done(&a.frames);
	return err;
}

void several_leaks_done(struct several *several)
{
	for (size_t i = 0; i < several->group_count; i++)
		free(several->group[i].part);
	free(several->group);
}
