/* SPDX-License-Identifier: MIT */
/*
 * diff.c - tables of what both sides have (found by diff_key.h), and what changed.
 *
 * Sites are estimates: one whose intervals overlap has not changed. One that a side does not have
 * is new or gone all the same, but marked where that side may only have drawn no sample of it.
 * Refused: a rate per hour between two processes.
 */
#include "src/report/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1	/* without memory nothing is added, and hh.tbl is NULL */
#include <uthash.h>

#include "src/leak/findings/leak_report.h"
#include "src/live/estimate.h"
#include "src/live/snapshot.h"
#include "src/report/diff_key.h"

#define START_TOLERANCE 2.0	/* seconds; the kernel's boot time moves with the clock */

struct pooled {
	UT_hash_handle hh;
	char text[];
};
struct slot {
	UT_hash_handle hh;
	struct diff_entry entry;
	size_t order;	/* of appearance */
	void *key;
};
struct diff_tables {
	struct pooled *pool;
	struct slot *slots[DIFF_PARTS];
	bool no_memory;
};

const char *diff_change_name(enum diff_change change)
{
	static const char *const name[] = { "new", "grew", "shrank", "gone", "", "same" };

	return name[change];
}

const char *diff_sum_name(size_t index)
{
	static const char *const name[DIFF_SUMS] = { "live", "definitely_lost", "indirectly_lost",
						     "possibly_lost", "still_reachable" };

	return name[index];
}

int diff_new(struct diff **ret)
{
	struct diff *diff = calloc(1, sizeof(*diff));

	if (diff)
		diff->tables = calloc(1, sizeof(*diff->tables));
	if (!diff || !diff->tables) {
		free(diff);
		return -ENOMEM;
	}
	*ret = diff;
	return 0;
}

static void free_slot(struct slot *slot)
{
	free(slot->entry.frame);
	free(slot->key);
	free(slot);
}

void diff_free(struct diff *diff)
{
	struct pooled *pooled, *next;
	struct slot *slot, *after;

	if (!diff)
		return;
	for (size_t i = 0; i < DIFF_PARTS; i++) {
		HASH_ITER(hh, diff->tables->slots[i], slot, after) {
			HASH_DEL(diff->tables->slots[i], slot);
			free_slot(slot);
		}
		free(diff->part[i].entry);
	}
	HASH_ITER(hh, diff->tables->pool, pooled, next) {
		HASH_DEL(diff->tables->pool, pooled);
		free(pooled);
	}
	free(diff->tables);
	free(diff);
}

const char *diff_text(struct diff *diff, const char *text)
{
	struct diff_tables *tables = diff->tables;
	struct pooled *pooled;
	size_t bytes;

	if (!text)
		return NULL;
	HASH_FIND_STR(tables->pool, text, pooled);
	if (pooled)
		return pooled->text;
	bytes = strlen(text) + 1;
	pooled = malloc(sizeof(*pooled) + bytes);
	if (!pooled) {
		tables->no_memory = true;
		return NULL;
	}
	memcpy(pooled->text, text, bytes);
	HASH_ADD_STR(tables->pool, text, pooled);
	if (!pooled->hh.tbl) {
		free(pooled);
		tables->no_memory = true;
		return NULL;
	}
	return pooled->text;
}

/* What entries are found by. To be freed; NULL: out of memory. */
static void *make_key(struct diff *diff, const struct diff_entry *like, size_t *ret_bytes)
{
	return diff_key_make(like, diff_text(diff, diff_key_verdict(like->verdict)), ret_bytes);
}

/* key is taken. */
static struct slot *make_slot(void *key)
{
	struct slot *slot = calloc(1, sizeof(*slot));

	if (slot)
		slot->key = key;
	else
		free(key);
	return slot;
}

/* Takes over what like says, its stack if it has as many names as the one that is there. */
static int describe(struct diff_entry *entry, const struct diff_entry *like)
{
	bool better = !entry->frame || diff_key_named_frames(like) >=
					diff_key_named_frames(entry);
	uint32_t count = better ? like->frame_count : entry->frame_count;
	struct diff_amount amount[DIFF_SIDES];
	struct diff_frame *frame = entry->frame;

	if (better) {
		frame = reallocarray(frame, count + 1ull, sizeof(*frame));
		if (!frame)
			return -ENOMEM;
		if (count)
			memcpy(frame, like->frame, count * sizeof(*frame));
	}
	memcpy(amount, entry->amount, sizeof(amount));
	*entry = *like;
	memcpy(entry->amount, amount, sizeof(amount));
	entry->frame = frame;
	entry->frame_count = count;
	return 0;
}

static void add_up(struct diff_amount *to, const struct diff_amount *more)
{
	to->count += more->count;
	to->bytes += more->bytes;
	to->indirect_count += more->indirect_count;
	to->indirect_bytes += more->indirect_bytes;
	to->bytes_low += more->bytes_low;
	to->bytes_high += more->bytes_high;
	to->too_few |= more->too_few;
}

/* The slot with this key (taken), made if new. NULL: out of memory. */
static struct slot *slot_for(struct diff *diff, enum diff_part part, void *key, size_t key_bytes)
{
	struct slot **slots = &diff->tables->slots[part], *slot;

	HASH_FIND(hh, *slots, key, key_bytes, slot);
	if (slot) {
		free(key);
		return slot;
	}
	slot = make_slot(key);
	if (!slot)
		return NULL;
	slot->order = HASH_COUNT(*slots);
	HASH_ADD_KEYPTR(hh, *slots, slot->key, key_bytes, slot);
	if (slot->hh.tbl)
		return slot;
	free_slot(slot);
	return NULL;
}

static bool is_there(const struct diff_amount *amount)
{
	return amount->count || amount->bytes || amount->indirect_bytes;
}

int diff_add(struct diff *diff, enum diff_part part, enum diff_side side,
	     const struct diff_entry *like, const struct diff_amount *amount)
{
	size_t key_bytes = 0;
	void *key = make_key(diff, like, &key_bytes);
	struct slot *slot = key ? slot_for(diff, part, key, key_bytes) : NULL;

	if (!slot || diff->tables->no_memory)
		return -ENOMEM;
	/* The newer document's names, the first of those that are added up. */
	if (!is_there(&slot->entry.amount[side]) && describe(&slot->entry, like) < 0)
		return -ENOMEM;
	add_up(&slot->entry.amount[side], amount);
	slot->entry.estimate |= part == DIFF_SITES;
	return 0;
}

static int64_t difference(uint64_t new, uint64_t old)
{
	uint64_t apart = new > old ? new - old : old - new;
	int64_t limited = apart > INT64_MAX ? INT64_MAX : (int64_t)apart;

	return new > old ? limited : -limited;
}

static bool overlap(const struct diff_amount *a, const struct diff_amount *b)
{
	return a->bytes_low <= b->bytes_high && b->bytes_low <= a->bytes_high;
}

/* A side that lists nothing of a site had no sample of it. Mappings are never drawn. */
static struct diff_amount with_unseen(const struct diff *diff, const struct diff_entry *entry,
				      enum diff_side side)
{
	struct diff_amount amount = entry->amount[side];
	bool drawn = !entry->verdict ||
		     strcmp(entry->verdict, snapshot_kind_name(SITE_MMAP)) != 0;

	if (drawn && !is_there(&amount) && amount.bytes_high < diff->document[side].unseen)
		amount.bytes_high = diff->document[side].unseen;
	return amount;
}

static bool is_within(const struct diff *diff, const struct diff_entry *entry)
{
	struct diff_amount old = with_unseen(diff, entry, DIFF_OLD);
	struct diff_amount new = with_unseen(diff, entry, DIFF_NEW);

	return entry->estimate && entry->growth != 0 && overlap(&old, &new);
}

static enum diff_change change_of(const struct diff_entry *entry)
{
	const struct diff_amount *old = &entry->amount[DIFF_OLD], *new = &entry->amount[DIFF_NEW];

	if (!is_there(old))
		return is_there(new) ? DIFF_ADDED : DIFF_SAME;
	if (!is_there(new))
		return DIFF_GONE;
	if (entry->growth == 0 || entry->within)
		return DIFF_SAME;
	return entry->growth > 0 ? DIFF_GREW : DIFF_SHRANK;
}

static void judge(const struct diff *diff, struct diff_entry *entry)
{
	const struct diff_amount *old = &entry->amount[DIFF_OLD], *new = &entry->amount[DIFF_NEW];

	entry->growth = difference(new->bytes + new->indirect_bytes,
				   old->bytes + old->indirect_bytes);
	entry->within = is_within(diff, entry);
	entry->change = change_of(entry);
	entry->too_few = entry->change == DIFF_GONE ? old->too_few : new->too_few;
	entry->too_few |= entry->estimate && old->too_few;
}

/* What is equal stays in the documents' order. */
static int by_growth(const void *a, const void *b)
{
	const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;

	if (x->entry.growth != y->entry.growth)
		return x->entry.growth > y->entry.growth ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int fill_list(struct diff *diff, enum diff_part part)
{
	struct slot *slots = diff->tables->slots[part];
	struct diff_list *ret = &diff->part[part];
	_cleanup_free_ struct slot **sorted = calloc(HASH_COUNT(slots) + 1u, sizeof(*sorted));
	struct slot *slot, *next;
	size_t count = 0;

	free(ret->entry);
	ret->count = 0;
	ret->entry = calloc(HASH_COUNT(slots) + 1u, sizeof(struct diff_entry *));
	if (!sorted || !ret->entry)
		return -ENOMEM;
	HASH_ITER(hh, slots, slot, next) {
		judge(diff, &slot->entry);
		if (slot->entry.change != DIFF_SAME)
			sorted[count++] = slot;
		else
			diff->sites_within += slot->entry.within;
	}
	qsort(sorted, count, sizeof(*sorted), by_growth);
	for (; ret->count < count; ret->count++)
		ret->entry[ret->count] = &sorted[ret->count]->entry;
	return 0;
}

static bool is_same_process(const struct diff *diff)
{
	const struct diff_document *old = &diff->document[DIFF_OLD];
	const struct diff_document *new = &diff->document[DIFF_NEW];

	return old->pid == new->pid && old->exe == new->exe &&
	       fabs(old->start_time - new->start_time) <= START_TOLERANCE;
}

static bool is_definite(const struct diff_entry *entry)
{
	return entry->verdict &&
	       strcmp(entry->verdict, leak_verdict_name(LEAK_DEFINITELY_LOST)) == 0;
}

/*
 * Lost blocks whose allocation an earlier session saw are blocks from before the attach to the
 * next one: what groups with a stack lost, those without may gain with nothing new lost.
 */
static bool lost_more(const struct diff *diff)
{
	const struct diff_list *list = &diff->part[DIFF_LEAKS];
	uint64_t older = 0, moved = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct diff_entry *entry = list->entry[i];

		if (!is_definite(entry))
			continue;
		if (entry->growth > 0 && entry->frame_count)
			return true;
		if (entry->growth > 0)
			older += (uint64_t)entry->growth;
		else if (entry->frame_count)
			moved += (uint64_t)-entry->growth;
	}
	return older > (diff->same_process ? moved : 0);
}

int diff_compare(struct diff *diff)
{
	const struct diff_document *document = diff->document;
	int error = diff->tables->no_memory ? -ENOMEM : 0;

	diff->sites_within = 0;
	for (int part = 0; !error && part < DIFF_PARTS; part++)
		error = fill_list(diff, (enum diff_part)part);
	if (error)
		return error;
	diff->same_process = is_same_process(diff);
	diff->leaks_compared = document[DIFF_OLD].searched && document[DIFF_NEW].searched;
	diff->hours = (document[DIFF_NEW].time - document[DIFF_OLD].time) / 3600;
	if (!diff->same_process || !(diff->hours > 0))
		diff->hours = NAN;
	if (!diff->leaks_compared)
		diff->part[DIFF_LEAKS].count = 0;
	diff->lost_grew = lost_more(diff);
	return 0;
}

void diff_set_unseen(struct diff_document *document, uint64_t interval)
{
	double unseen = ESTIMATE_NONE_SEEN * (double)interval, most = (double)document->sum[0].high;

	document->unseen = (uint64_t)(unseen < most ? unseen : most);
}

bool diff_sum_within(const struct diff *diff, size_t index)
{
	const struct diff_sum *old = &diff->document[DIFF_OLD].sum[index];
	const struct diff_sum *new = &diff->document[DIFF_NEW].sum[index];

	return old->bytes != new->bytes && old->low <= new->high && new->low <= old->high;
}

bool diff_is_too_few(const char *verdict)
{
	return verdict && strcmp(verdict, snapshot_verdict_name(SNAPSHOT_TOO_FEW)) == 0;
}

double diff_rate(const struct diff *diff, int64_t growth)
{
	return (double)growth / diff->hours;
}
