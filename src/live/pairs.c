/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - see pairs.h.
 *
 * A block keeps the index of its pair, which says its site, so that its end finds it at once. Its
 * beginning finds it by a small table of those found last, each in a place that follows from site
 * and thread, without a look into the whole map: threads take turns at a site. Sums are levels, in
 * fixed point: they need no interval of their own, and a pair is one cache line.
 */
#include "src/live/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/hashmap.h"

#define FIRST_CAPACITY	64u
#define RECENT		16384u	/* a power of two: sites that take turns are many */
#define RECENT_HANDOVERS 1024u

/* Of a thread that has no pair of its own at site: that of PAIRS_OTHERS. */
struct recent {
	uint32_t site, thread, index;	/* site 0: none */
};

struct pairs {
	struct pair *pair;
	uint32_t count, capacity;
	struct recent recent[RECENT];	/* any that is not the one is no harm */
	struct hashmap index;		/* site << 32 | thread -> index */
	struct hashmap at_site;		/* pairs of each site, by id */
	struct handover *handover;
	uint32_t handover_count, handover_capacity;
	uint32_t recent_handover[RECENT_HANDOVERS];
	struct hashmap handover_index;	/* owner << 32 | freer -> index */
	struct handover rest;
};

int pairs_new(struct pairs **ret)
{
	struct pairs *pairs = calloc(1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	pairs->rest.owner = pairs->rest.freer = PAIRS_OTHERS;
	*ret = pairs;
	return 0;
}

void pairs_free(struct pairs *pairs)
{
	if (!pairs)
		return;
	hashmap_done(&pairs->index);
	hashmap_done(&pairs->handover_index);
	free(pairs->pair);
	hashmap_done(&pairs->at_site);
	free(pairs->handover);
	free(pairs);
}

/* Room for one more in an array that doubles. 0 or -ENOMEM. */
static int reserve(void **array, size_t size, uint32_t count, uint32_t *capacity)
{
	uint32_t wanted = *capacity ? *capacity * 2u : FIRST_CAPACITY;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = wanted > *capacity ? reallocarray(*array, wanted, size) : NULL;
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

static int pairs_add(struct pairs *pairs, uint32_t site, uint32_t thread, uint32_t *ret)
{
	uint64_t key = (uint64_t)site << 32 | thread;
	void *array = pairs->pair;
	int err = reserve(&array, sizeof(*pairs->pair), pairs->count, &pairs->capacity);

	pairs->pair = array;
	if (err < 0 || hashmap_put(&pairs->index, key, pairs->count) < 0)
		return -ENOMEM;
	pairs->pair[pairs->count] = (struct pair){ .site = site, .thread = thread };
	*ret = pairs->count++;
	return 0;
}

/* Is there no more room for threads of their own at site? One more: it is counted. */
static int is_full(struct pairs *pairs, uint32_t site)
{
	uint64_t count = 0;

	(void)hashmap_get(&pairs->at_site, site, &count);
	if (pairs->count >= PAIRS_MAX || count >= PAIRS_MAX_SITE)
		return 1;
	return hashmap_put(&pairs->at_site, site, count + 1u);
}

static int find_slowly(struct pairs *pairs, uint32_t site, uint32_t thread, uint32_t *ret)
{
	uint64_t at;
	int full;

	if (hashmap_get(&pairs->index, (uint64_t)site << 32 | thread, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	full = thread == PAIRS_OTHERS ? 0 : is_full(pairs, site);
	if (full < 0)
		return full;
	return full ? find_slowly(pairs, site, PAIRS_OTHERS, ret) :
		      pairs_add(pairs, site, thread, ret);
}

int pairs_find(struct pairs *pairs, uint32_t site, uint32_t thread, uint32_t *ret)
{
	struct recent *recent = &pairs->recent[(site + thread * 1031u) % RECENT];
	int err;

	if (recent->site == site && recent->thread == thread && site) {
		*ret = recent->index;
		return 0;
	}
	err = find_slowly(pairs, site, thread, ret);
	if (err == 0)
		*recent = (struct recent){ site, thread, *ret };
	return err;
}

struct pair *pairs_at(const struct pairs *pairs, uint32_t index)
{
	return &pairs->pair[index];
}

const struct pair *pairs_all(const struct pairs *pairs, size_t *ret_count)
{
	*ret_count = pairs->count;
	return pairs->pair;
}

/* NULL: there is no place for it. */
static struct handover *find_handover(struct pairs *pairs, uint32_t owner, uint32_t freer)
{
	uint64_t key = (uint64_t)owner << 32 | freer, at;
	void *array = pairs->handover;
	int err;

	if (hashmap_get(&pairs->handover_index, key, &at))
		return &pairs->handover[at];
	if (pairs->handover_count >= HANDOVERS_MAX)
		return NULL;
	err = reserve(&array, sizeof(*pairs->handover), pairs->handover_count,
		      &pairs->handover_capacity);
	pairs->handover = array;
	if (err < 0 || hashmap_put(&pairs->handover_index, key, pairs->handover_count) < 0)
		return NULL;
	pairs->handover[pairs->handover_count] = (struct handover){ .owner = owner,
								    .freer = freer };
	return &pairs->handover[pairs->handover_count++];
}

void pairs_hand_over(struct pairs *pairs, uint32_t owner, uint32_t freer,
		     const struct estimate_term *term)
{
	uint32_t *recent = &pairs->recent_handover[(owner * 32u + freer) % RECENT_HANDOVERS];
	struct handover *h = *recent < pairs->handover_count ? &pairs->handover[*recent] : NULL;

	if (!h || h->owner != owner || h->freer != freer) {
		h = find_handover(pairs, owner, freer);
		if (h)
			*recent = (uint32_t)(h - pairs->handover);
		else
			h = &pairs->rest;
	}
	h->count += estimate_term_count(term);
	h->bytes += estimate_term_bytes(term);
}

const struct handover *pairs_handovers(const struct pairs *pairs, size_t *ret_count,
				       struct handover *ret_rest)
{
	*ret_count = pairs->handover_count;
	*ret_rest = pairs->rest;
	return pairs->handover;
}

static void join_pair(struct pair *to, const struct pair *from)
{
	to->alloc_count += from->alloc_count;
	to->alloc_bytes += from->alloc_bytes;
	to->free_count += from->free_count;
	to->free_bytes += from->free_bytes;
	to->lost_count += from->lost_count;
	to->lost_bytes += from->lost_bytes;
	to->temporary_count += from->temporary_count;
}

void pairs_rename_sites(struct pairs *pairs,
			uint32_t (*heir)(const void *context, uint32_t site),
			const void *context, uint32_t *remap)
{
	uint32_t count = pairs->count;

	/* What the tables hold now can't fail to be put into them again. */
	hashmap_clear(&pairs->index);
	hashmap_clear(&pairs->at_site);
	memset(pairs->recent, 0, sizeof(pairs->recent));
	pairs->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct pair pair = pairs->pair[i];

		pair.site = heir(context, pair.site);
		if (find_slowly(pairs, pair.site, pair.thread, &remap[i]) < 0)
			remap[i] = 0;
		join_pair(&pairs->pair[remap[i]], &pair);
	}
}

size_t pairs_bytes(const struct pairs *pairs)
{
	return sizeof(*pairs) + pairs->count * sizeof(*pairs->pair) +
	       pairs->handover_count * sizeof(*pairs->handover) + hashmap_bytes(&pairs->index) +
	       hashmap_bytes(&pairs->at_site) + hashmap_bytes(&pairs->handover_index);
}
