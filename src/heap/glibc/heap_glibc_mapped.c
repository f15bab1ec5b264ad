/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_mapped.c - blocks that no arena knows: those with a mapping of their own.
 *
 * Nothing leads to them; but each begins with a header at the start of a page, and mp_ knows how
 * many there are and how large they are together. First the starts of mappings are tried and
 * what directly follows a find, which nearly always is all; then every page, until as many are
 * found as there are. Memory of user programs that happens to look like a header breaks the
 * totals: then all places that look like one are gathered, and heap_glibc_choose.c tells which
 * blocks add up. memalign moves the header up and leaves the first one behind, which
 * soon is wrong: realloc only changes the other.
 * A main arena in pieces is found in the same search: its pieces begin at pages, too.
 * mp_ counts a block later than it is made, and no longer before it is given back: while a thread
 * is at that, one more than counted is looked for, which tells.
 */
#include "src/heap/glibc/heap_glibc.h"

#include <errno.h>

#define MAX_PAGES	(16u << 20)	/* that are not empty, tried one by one: 64 GiB */
#define LARGEST_ALIGN	47u		/* log2 */
#define MAX_PLACES	8192u		/* that look like a block, of which some are */

struct search {
	struct glibc *glibc;
	uint64_t mapped_bytes;		/* found so far */
	uint64_t main_bytes;		/* of the main arena, known so far */
	uint64_t gap_bytes;		/* between its stretches in the brk area */
	uint64_t until;			/* the last find's end */
	uint64_t pages;			/* that may still be tried */
	uint64_t wanted;		/* how many blocks are looked for */
	bool every_page;
	bool gather;			/* all that look like a block, within another one, too */
};

/* 2.43 keeps room for one more header behind the block and marks huge pages in bit 0. */
static bool old_form(const struct glibc *glibc)
{
	return glibc->state->versions.first < 43;
}

static bool new_form(const struct glibc *glibc)
{
	return glibc->state->versions.last >= 42;
}

/*
 * Is the header {previous size, size} that of a chunk offset bytes into its mapping? Then true
 * and the mapping's end and the usable bytes.
 */
static bool mapped_header(const struct glibc *glibc, uint64_t base, uint64_t offset,
			  const uint64_t header[2], struct glibc_mapped *ret)
{
	uint64_t size = header[1] & ~(uint64_t)GLIBC_SIZE_BITS, chunk = base + offset;

	if ((header[1] & GLIBC_SIZE_BITS) != GLIBC_IS_MMAPPED || size < GLIBC_MINSIZE ||
	    size % 16 != 0 || size > 1ull << 47)
		return false;
	if (old_form(glibc) && header[0] == offset && (offset + size) % GLIBC_PAGE == 0)
		*ret = (struct glibc_mapped){ base, chunk, chunk + size, size - 16 };
	else if (new_form(glibc) && (header[0] & ~1ull) == offset &&
		 (offset + size + 16) % GLIBC_PAGE == 0)
		*ret = (struct glibc_mapped){ base, chunk, chunk + size + 16, size - 8 };
	else
		return false;
	return true;
}

/* Does the chunk stand there? memalign moved it up and left the first header behind. */
static bool moved_to(struct search *s, uint64_t base, uint64_t chunk, struct glibc_mapped *ret)
{
	struct glibc_mapped moved;
	uint64_t header[2];

	if (!heap_pages_read(&s->glibc->pages, chunk, header, sizeof(header)) ||
	    !mapped_header(s->glibc, base, chunk - base, header, &moved))
		return false;
	*ret = moved;
	return true;
}

/* At the places where alignment puts it. */
static void look_aligned(struct search *s, struct glibc_mapped *mapped)
{
	const uint64_t base = mapped->base, end = mapped->end;
	uint64_t last = base;

	for (unsigned int i = 5; i < LARGEST_ALIGN; i++) {
		uint64_t align = 1ull << i;
		uint64_t chunk = ((base + 16 + align - 1) & ~(align - 1)) - 16;

		if (chunk >= end)
			return;
		if (chunk != last && moved_to(s, base, chunk, mapped))
			return;
		last = chunk;
	}
}

/* At the ends of all pages: mremap may have moved what was aligned once. */
static void look_everywhere(struct search *s, struct glibc_mapped *mapped)
{
	const uint64_t base = mapped->base, end = mapped->end;

	for (uint64_t at = base + GLIBC_PAGE; at < end && s->pages > 0; at += GLIBC_PAGE) {
		/* nothing stands at the end of an empty page */
		at = picture_skip_hole(s->glibc->picture, at - GLIBC_PAGE) + GLIBC_PAGE;
		if (at >= end)
			return;
		s->pages--;
		if (moved_to(s, base, at - 16, mapped))
			return;
	}
}

/* The block of the mapping at base, if there is one. */
static bool mapped_at(struct search *s, uint64_t base, struct glibc_mapped *ret)
{
	uint64_t header[2];

	if (!heap_pages_read(&s->glibc->pages, base, header, sizeof(header)) ||
	    !mapped_header(s->glibc, base, 0, header, ret))
		return false;
	look_aligned(s, ret);
	/* Where the total is not exact, it would not tell that a header was left behind. */
	if ((s->every_page || s->glibc->par->drifts) && ret->chunk == base)
		look_everywhere(s, ret);
	return glibc_mapped_until(s->glibc, base, ret->end) >= ret->end;
}

static int push(struct glibc *glibc, const struct glibc_mapped *mapped)
{
	if (glibc->mapped_count == glibc->mapped_room) {
		size_t room = glibc->mapped_room ? glibc->mapped_room * 2 : 64;
		struct glibc_mapped *grown;

		if (room > GLIBC_MAX_MAPPED)
			return glibc_fail(glibc, -ENOTSUP, "more mapped blocks than are believed");
		grown = reallocarray(glibc->mapped, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		glibc->mapped = grown;
		glibc->mapped_room = room;
	}
	glibc->mapped[glibc->mapped_count++] = *mapped;
	return 0;
}

static bool mapped_missing(const struct search *s)
{
	return s->gather ? s->glibc->mapped_count < MAX_PLACES :
			   s->glibc->mapped_count < s->wanted;
}

static bool main_missing(const struct search *s)
{
	return s->glibc->arena[0].pieces && s->main_bytes < s->glibc->arena[0].system_mem;
}

/* A block at base: sets *ret_end to its end. */
static int try_mapped(struct search *s, uint64_t base, uint64_t *ret_end)
{
	struct glibc_mapped mapped;

	if (!mapped_missing(s) || !mapped_at(s, base, &mapped))
		return 0;
	s->mapped_bytes += mapped.end - base;
	*ret_end = mapped.end;
	return push(s->glibc, &mapped);
}

/* A piece of the main arena at base. */
static int try_main(struct search *s, uint64_t base, uint64_t high, uint64_t *ret_end)
{
	struct glibc_region region;
	uint64_t header[2];

	if (!main_missing(s) ||
	    !heap_pages_read(&s->glibc->pages, base, header, sizeof(header)) ||
	    (header[1] & 15) != GLIBC_PREV_INUSE || header[1] < GLIBC_MINSIZE ||
	    !glibc_probe_region(s->glibc, base, high, &region) || region.high % GLIBC_PAGE != 0)
		return 0;
	s->main_bytes += region.high - region.low;
	*ret_end = region.high;
	return glibc_add_region(s->glibc, &region);
}

/* [low, high) is claimed by nothing so far. Returns 1 when nothing is missing any more. */
static int search_piece(void *context, uint64_t low, uint64_t high)
{
	struct search *s = context;

	/* A block may reach into the next mapping: somebody changed the protection of its end. */
	low = low > s->until ? low : s->until;
	low = (low + GLIBC_PAGE - 1) & ~(uint64_t)(GLIBC_PAGE - 1);
	while (low < high) {
		uint64_t end;
		int r;

		if (!mapped_missing(s) && (s->gather || !main_missing(s)))
			return 1;
		low = s->every_page ? picture_skip_hole(s->glibc->picture, low) : low;
		if (low >= high)
			return 0;
		end = low;
		if (s->gather && s->pages == 0)
			return 1;
		if (s->every_page && s->pages-- == 0)
			return glibc_fail(s->glibc, -ENOTSUP, "too much memory to search");
		r = try_mapped(s, low, &end);
		if (r == 0 && end == low && !s->gather)
			r = try_main(s, low, high, &end);
		if (r < 0)
			return r;
		if (end == low && !s->every_page)
			return 0;
		low = end == low || s->gather ? low + GLIBC_PAGE : end;
		s->until = low;
	}
	return 0;
}

/* Arenas are not looked at again. */
static int claim(struct glibc *glibc)
{
	int r = 0;

	for (size_t i = 0; i < glibc->region_count && r == 0; i++) {
		const struct glibc_region *region = &glibc->region[i];

		if (region->arena == 0)
			r = ranges_add(&glibc->claimed, region->low, region->high);
	}
	ranges_normalize(&glibc->claimed);
	return r;
}

static int search_maps(struct search *s)
{
	const struct procmaps *maps = &s->glibc->picture->maps;
	int r = claim(s->glibc);

	s->until = 0;
	for (size_t i = 0; i < maps->count && r == 0; i++) {
		const struct procmap *map = &maps->map[i];

		if (glibc_is_memory(map))
			r = ranges_outside(&s->glibc->claimed, map->start, map->end, search_piece,
					   s);
	}
	return r < 0 ? r : 0;
}

/*
 * Foreign memory between stretches in the brk area counts for the arena as long as it is not in
 * pieces, so that its total may hold all, some or nothing of it.
 */
static void count_main(struct search *s)
{
	const struct glibc *glibc = s->glibc;
	uint64_t brk = glibc->sbrk_base;

	for (size_t i = 0; i < glibc->region_count; i++) {
		const struct glibc_region *r = &glibc->region[i];

		if (r->arena != 0)
			continue;
		s->main_bytes += r->high - (i == 0 ? glibc->sbrk_base : r->low);
		if (i > 0 && r->high <= glibc->brk_limit && r->low > brk)
			s->gap_bytes += r->low - brk;
		if (i == 0 || r->high <= glibc->brk_limit)
			brk = r->high;
	}
}

static int by_base(const void *a, const void *b)
{
	const struct glibc_mapped *x = a, *y = b;

	return (x->base > y->base) - (x->base < y->base);
}

static int check_totals(struct search *s)
{
	struct glibc *glibc = s->glibc;

	if (glibc->mapped_count > 1)
		qsort(glibc->mapped, glibc->mapped_count, sizeof(*glibc->mapped), by_base);
	if (glibc->mapped_count != glibc->n_mmaps)
		return glibc_fail(glibc, -EAGAIN, "%zu blocks with mappings of their own, not %llu",
				  glibc->mapped_count, (unsigned long long)glibc->n_mmaps);
	if (s->mapped_bytes > glibc->mmapped_mem ||
	    (s->mapped_bytes < glibc->mmapped_mem && !glibc->par->drifts))
		return glibc_fail(glibc, -EAGAIN,
				  "blocks with mappings of their own: %llu bytes, not %llu",
				  (unsigned long long)s->mapped_bytes,
				  (unsigned long long)glibc->mmapped_mem);
	if (glibc->arena[0].damaged)
		return 0;
	if (s->main_bytes > glibc->arena[0].system_mem ||
	    s->main_bytes + s->gap_bytes < glibc->arena[0].system_mem)
		return glibc_fail(glibc, -EAGAIN, "the main heap's pieces do not add up");
	return 0;
}

static int search_again(struct search *s, bool gather)
{
	s->every_page = true;
	s->gather = gather;
	s->pages = MAX_PAGES;
	s->wanted = s->glibc->n_mmaps;
	s->mapped_bytes = 0;
	s->glibc->mapped_count = 0;
	return search_maps(s);
}

static int gather_and_choose(struct search *s)
{
	struct glibc *glibc = s->glibc;
	int r = search_again(s, true);

	if (r == 0)
		r = glibc_choose_mapped(glibc);
	s->mapped_bytes = 0;
	for (size_t i = 0; i < glibc->mapped_count; i++)
		s->mapped_bytes += glibc->mapped[i].end - glibc->mapped[i].base;
	return r;
}

/* Some blocks are damaged: the others count if there is nothing among them that is too much. */
static int bear_missing(struct search *s, int error)
{
	struct glibc *glibc = s->glibc;
	uint64_t count = glibc->mapped_count;

	if (!glibc_bear(glibc, error))
		return error;
	if (count > glibc->n_mmaps || s->mapped_bytes > glibc->mmapped_mem ||
	    glibc->mmapped_mem - s->mapped_bytes < GLIBC_PAGE * (glibc->n_mmaps - count))
		glibc->mapped_count = 0;
	return 0;
}

int glibc_search_mapped(struct glibc *glibc)
{
	struct search s = { .glibc = glibc, .pages = MAX_PAGES,
			    .wanted = glibc->n_mmaps + glibc_may_map(glibc) };
	int r;

	count_main(&s);
	r = mapped_missing(&s) || main_missing(&s) ? search_maps(&s) : 0;
	if (r == 0 && glibc->mapped_count > glibc->n_mmaps)
		r = glibc_fail(glibc, -EAGAIN, "a block with a mapping of its own is not counted");
	if (r < 0 || (check_totals(&s) == 0 && (!main_missing(&s) || glibc->arena[0].damaged)))
		return r;
	/* Blocks that were found may have been misread: they are looked for once more. */
	r = search_again(&s, false);
	if (r == 0 && (r = check_totals(&s)) == -EAGAIN && !main_missing(&s)) {
		r = gather_and_choose(&s);
		r = r ? r : check_totals(&s);
	}
	return bear_missing(&s, r);
}
