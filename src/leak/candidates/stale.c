/* SPDX-License-Identifier: MIT */
/*
 * stale.c - see stale.h.
 *
 * Only words that equal the begin of a lost block count: free memory is full of numbers, and
 * pointers into the middle of a block would hit by chance. Sizes of freed blocks are believed
 * where glibc's size words, followed through the whole free piece, end exactly at the live
 * block behind it; other heaps' pieces are told as free memory. A freed block may have been cut
 * from, or joined with, others since, and its words be those of an owner before the last: why
 * what is found is called a hint.
 * Everything that is private, writable and nobody's (no root, no heap) is taken for a stack:
 * what lies below stack pointers, and stacks of ended threads.
 * Rejected: to look in live blocks. What stands there holds a block, and it would not be lost.
 */
#include "src/leak/candidates/stale.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/hashmap.h"
#include "src/symbolize/call_site.h"
#include "src/leak/blocks/graph_filter.h"
#include "src/leak/mark/mark_work.h"

#define MAX_FOUND	(1u << 18)
#define MAX_GAP		(4u << 20)	/* of one free piece */
#define MAX_DEAD	(256u << 10)	/* of one piece of a stack, its upper end */
#define WINDOW_BYTES	(64u << 10)
#define PAGE		4096ull
#define MAX_FRAME	1024u		/* how far above a word its call is looked for */
#define RED_ZONE	128u
#define MIN_CHUNK	32u		/* glibc's */
#define CHUNK_ALIGNMENT	16u
#define SIZE_BITS	7ull

struct stale {
	struct hashmap index;	/* a block's address -> position in place */
	struct stale_place *place;
	size_t count, room;
};
struct search {
	const struct stale_input *input;
	struct graph_filter *filter;
	struct stale *stale;
	uint64_t left;		/* of the budget */
	uint64_t low, high;	/* what the window holds */
	uint8_t *window;	/* WINDOW_BYTES */
	struct ranges live;	/* roots, heaps, allocators' own */
	int error;
};
/* The free piece, or stack, that is being read, and what of it the present words are. */
struct piece {
	struct stale_place like;	/* kind, tid; block and bytes of the chunk at hand */
	uint64_t end;			/* of the chunk */
	size_t first;			/* places from here on were found in this piece */
};

/* --- which blocks -------------------------------------------------------------- */

static uint64_t leaders_of(const struct line *line)
{
	return line_lost(line) & ~line->hit;
}

static uint64_t last_granule(const struct segment *segment)
{
	return segment->first + ((segment->high - 1 - segment->base) >> segment->shift);
}

static void add_leaders(struct search *s, const struct segment *segment)
{
	const struct blocks *map = s->input->blocks;
	uint64_t last = last_granule(segment) / LINE_GRANULES, line;

	for (line = map_line_from(map, segment->first / LINE_GRANULES, last); line != BLOCK_NONE;
	     line = line < last ? map_line_from(map, line + 1, last) : BLOCK_NONE)
		for (uint64_t left = leaders_of(&map->line[line]); left; left &= left - 1)
			filter_add(s->filter, map_address(segment, line * LINE_GRANULES +
							  bit_lowest(left)), 1);
}

static bool is_lost(const struct blocks *map, uint64_t word)
{
	const struct segment *segment = map_segment(map, word);
	uint64_t place = segment ? map_place(segment, word) : 1;

	return !(place & 15) && leaders_of(map_line(map, place >> 4)) & map_bit(place >> 4);
}

/* --- what was found -------------------------------------------------------------- */

static int add_place(struct stale *stale, uint64_t block, const struct stale_place *place)
{
	size_t room = stale->room ? stale->room * 2 : 256;
	struct stale_place *grown;

	if (stale->count == MAX_FOUND)
		return 0;
	if (stale->count == stale->room) {
		grown = reallocarray(stale->place, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		stale->place = grown;
		stale->room = room;
	}
	stale->place[stale->count] = *place;
	return hashmap_put(&stale->index, block, stale->count++);
}

/*
 * Calls leave their return address above their frame: the first one above place tells which
 * function called the one that kept the word; 0: none is near.
 */
static uint64_t code_above(const struct search *s, uint64_t place)
{
	for (uint64_t at = place + 8; at < place + MAX_FRAME && at + 8 <= s->high; at += 8) {
		uint64_t word = *(const uint64_t *)(const void *)(s->window + (at - s->low));
		const struct module *module = word ? modules_find(s->input->modules, word) : NULL;

		if (module && module->kind != MODULE_SHIM &&	/* not memattach's own */
		    call_site_may_end_at(module, word - module->bias))
			return word;
	}
	return 0;
}

/* A word that may name a lost block. Of several places the one that says most is kept. */
static void take_word(struct search *s, const struct piece *piece, uint64_t place, uint64_t word)
{
	struct stale_place like = piece->like;
	uint64_t at;

	if (!is_lost(s->input->blocks, word))
		return;
	like.place = place;
	if (like.kind == STALE_STACK || like.kind == STALE_ENDED)
		like.code = code_above(s, place);
	if (!hashmap_get(&s->stale->index, word, &at))
		s->error = add_place(s->stale, word, &like);
	else if (like.kind < s->stale->place[at].kind)
		s->error = add_place(s->stale, word, &like);	/* and forget the other */
}

/* --- memory ------------------------------------------------------------------- */

/* The words from at on, *count of them at least one. A page at least is read at once. */
static const uint64_t *words_at(struct search *s, uint64_t at, uint64_t high, uint64_t *count)
{
	if (at < s->low || at + 8 > s->high) {
		uint64_t end = (high + PAGE - 1) & ~(PAGE - 1);

		s->low = at;
		s->high = end - at < WINDOW_BYTES ? end : at + WINDOW_BYTES;
		mark_read(s->input->picture, s->low, s->window, s->high - s->low);
		s->left -= s->high - s->low < s->left ? s->high - s->low : s->left;
	}
	*count = ((s->high < high ? s->high : high) - at) / 8;
	return (const uint64_t *)(const void *)(s->window + (at - s->low));
}

static void scan_words(struct search *s, const struct piece *piece, uint64_t low, uint64_t high)
{
	while ((low = picture_skip_hole(s->input->picture, low)) < high && s->left && !s->error) {
		uint64_t count;
		const uint64_t *word = words_at(s, low, high, &count);

		for (uint64_t i = 0; i < count && !s->error; i++)
			if (filter_may_hold(s->filter, word[i]))
				take_word(s, piece, low + i * 8, word[i]);
		low += count * 8;
	}
}

/* --- free pieces of a heap ------------------------------------------------------- */

/* The size words do not lead to the next live block: what was made of them is void. */
static void distrust(struct search *s, struct piece *piece)
{
	for (size_t i = piece->first; i < s->stale->count; i++)
		s->stale->place[i].kind = STALE_HEAP;
	piece->like = (struct stale_place){ .kind = STALE_HEAP };
	piece->end = UINT64_MAX;
}

/* The chunk whose memory begins at user, in a piece that ends at high; at_end: of the segment. */
static void begin_chunk(struct search *s, struct piece *piece, uint64_t user, uint64_t high,
			bool at_end)
{
	uint64_t count, size = words_at(s, user - 8, high, &count)[0] & ~SIZE_BITS;

	if (size < MIN_CHUNK || size % CHUNK_ALIGNMENT || (size > high - user && !at_end)) {
		distrust(s, piece);
	} else if (size > high - user) {	/* the top: no block */
		piece->like = (struct stale_place){ .kind = STALE_HEAP };
		piece->end = UINT64_MAX;
	} else {
		piece->like = (struct stale_place){ .kind = STALE_FREED, .block = user,
						    .bytes = size - 8 };
		piece->end = user + size;
	}
}

/* ranges_outside's callback: what of a free piece is not the allocator's own. */
static int scan_free(void *context, uint64_t low, uint64_t high)
{
	struct search *s = context;
	const struct piece piece = { .like = { .kind = STALE_HEAP } };

	low = (low + 7) & ~7ull;
	if (low < (high & ~7ull))
		scan_words(s, &piece, low, high & ~7ull);
	return s->error;
}

/* A piece that no live block is in. glibc's size word stands before it. */
static void scan_gap(struct search *s, const struct segment *segment, uint64_t low, uint64_t high)
{
	struct piece piece = { .first = s->stale->count };
	const struct range *own;
	bool at_end = high >= segment->high;
	uint64_t limit;

	if (low == segment->base)
		low += CHUNK_ALIGNMENT;
	if (high < low + MIN_CHUNK || segment->shift != 4)
		return;	/* granules of 8: other blocks may live there that nobody knows */
	limit = high - low < MAX_GAP ? high : low + MAX_GAP;
	own = ranges_at_or_above(s->input->excluded, low);
	if (own && own->low < limit) {
		(void)ranges_outside(s->input->excluded, low, limit, scan_free, s);
		return;
	}
	for (uint64_t at = low; at < limit && s->left && !s->error; at = piece.end) {
		begin_chunk(s, &piece, at, high, at_end);
		scan_words(s, &piece, at, piece.end < limit ? piece.end : limit);
		if (piece.end >= limit)
			break;
	}
}

/* Free pieces of a segment: the bits where a block ended and none begins. */
static void scan_segment(struct search *s, const struct segment *segment)
{
	const struct blocks *map = s->input->blocks;
	uint64_t last = last_granule(segment), last_line = last / LINE_GRANULES;
	uint64_t at = segment->first, line = at / LINE_GRANULES;

	if (map_line(map, at)->start & map_bit(at))
		at = BLOCK_NONE;	/* else the first piece begins where the segment does */
	while (line != BLOCK_NONE && s->left && !s->error) {
		const struct line *l = &map->line[line];
		uint64_t gaps = (l->end << 1) & ~l->start;

		for (; at != BLOCK_NONE || gaps; at = BLOCK_NONE) {
			uint64_t next;

			if (at == BLOCK_NONE) {
				at = line * LINE_GRANULES + bit_lowest(gaps);
				gaps &= gaps - 1;
			}
			next = map_next_start(map, at, last);
			scan_gap(s, segment, map_address(segment, at),
				 next == BLOCK_NONE ? segment->high : map_address(segment, next));
		}
		/* One that begins with the next line, which may be empty. */
		at = line * LINE_GRANULES + LINE_GRANULES;
		if (!(l->end >> 63) || at > last || map_line(map, at)->start & map_bit(at))
			at = BLOCK_NONE;
		if (at != BLOCK_NONE)
			line++;
		else
			line = line < last_line ? map_line_from(map, line + 1, last_line) :
						  BLOCK_NONE;
	}
}

/* --- stacks -------------------------------------------------------------------- */

/* The thread that stands just above the piece; 0: none. */
static int32_t thread_above(const struct picture *picture, uint64_t high)
{
	for (size_t i = 0; i < picture->thread_count; i++)
		if (((picture->thread[i].registers.rsp - RED_ZONE) & ~7ull) == high)
			return picture->thread[i].tid;
	return 0;
}

/* ranges_outside's callback: memory that is nobody's. Calls leave their traces at its end. */
static int scan_dead(void *context, uint64_t low, uint64_t high)
{
	struct search *s = context;
	struct piece piece = { .like = { .kind = STALE_ENDED } };

	low = (low + 7) & ~7ull;
	high &= ~7ull;
	if (low < high && high - low > MAX_DEAD)
		low = high - MAX_DEAD;
	if (picture_skip_hole(s->input->picture, low) >= high)
		return 0;	/* roots leave many holes behind */
	piece.like.tid = thread_above(s->input->picture, high);
	if (piece.like.tid)
		piece.like.kind = STALE_STACK;
	scan_words(s, &piece, low, high);
	return s->error;
}

static int collect_live(struct search *s)
{
	const struct stale_input *input = s->input;
	int error = 0;

	for (size_t i = 0; !error && i < input->roots->count; i++)
		error = ranges_add(&s->live, input->roots->root[i].low,
				   input->roots->root[i].high);
	for (size_t i = 0; !error && i < input->blocks->segment_count; i++)
		error = ranges_add(&s->live, input->blocks->segment[i].low,
				   input->blocks->segment[i].high);
	for (size_t i = 0; !error && i < input->excluded->count; i++)
		error = ranges_add(&s->live, input->excluded->range[i].low,
				   input->excluded->range[i].high);
	ranges_normalize(&s->live);
	return error;
}

static bool may_be_stack(const struct procmap *map)
{
	uint32_t wanted = PROCMAP_R | PROCMAP_W;

	return (map->prot & (wanted | PROCMAP_SHARED)) == wanted && map->inode == 0 &&
	       (map->path[0] != '[' || map->path[1] == 's' || map->path[1] == 'a');
}

static int scan_stacks(struct search *s)
{
	const struct procmaps *maps = &s->input->picture->maps;
	int error = collect_live(s);

	for (size_t i = 0; !error && i < maps->count && s->left; i++)
		if (may_be_stack(&maps->map[i]))
			error = ranges_outside(&s->live, maps->map[i].start, maps->map[i].end,
					       scan_dead, s);
	return error;
}

/* --- the whole ------------------------------------------------------------------ */

static int search(struct search *s)
{
	const struct blocks *map = s->input->blocks;

	filter_clear(s->filter);
	for (size_t i = 0; i < map->segment_count; i++)
		add_leaders(s, &map->segment[i]);
	if (!s->filter->high)
		return 0;
	if (s->input->roots)
		s->error = scan_stacks(s);
	for (size_t i = 0; i < map->segment_count && !s->error; i++)
		scan_segment(s, &map->segment[map->sorted[i]]);
	return s->error;
}

int stale_find(const struct stale_input *input, struct stale **ret)
{
	struct search s = { .input = input, .left = input->budget };
	int error = -ENOMEM;

	s.filter = malloc(sizeof(*s.filter));
	s.window = malloc(WINDOW_BYTES);
	s.stale = calloc(1, sizeof(*s.stale));
	if (s.filter && s.window && s.stale)
		error = search(&s);
	free(s.filter);
	free(s.window);
	ranges_done(&s.live);
	if (error)
		stale_free(s.stale);
	else
		*ret = s.stale;
	return error;
}

void stale_free(struct stale *stale)
{
	if (!stale)
		return;
	hashmap_done(&stale->index);
	free(stale->place);
	free(stale);
}

bool stale_of(const struct stale *stale, uint64_t address, struct stale_place *ret)
{
	uint64_t at;

	if (!stale || !hashmap_get(&stale->index, address, &at))
		return false;
	*ret = stale->place[at];
	return true;
}

const char *stale_text(const struct stale_place *place, char text[STALE_TEXT_BYTES])
{
	static const char *const words[] = {
		[STALE_ENDED] = "memory that no thread uses, perhaps an ended one's stack",
		[STALE_HEAP] = "free memory of the heap",
	};

	if (place->kind == STALE_FREED)
		(void)snprintf(text, STALE_TEXT_BYTES, "a freed block of %llu bytes, at +%llu",
			       (unsigned long long)place->bytes,
			       (unsigned long long)(place->place - place->block));
	else if (place->kind == STALE_STACK)
		(void)snprintf(text, STALE_TEXT_BYTES,
			       "what calls left below the stack of thread %d", place->tid);
	else
		(void)snprintf(text, STALE_TEXT_BYTES, "%s", words[place->kind]);
	return text;
}
