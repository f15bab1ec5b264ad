/* SPDX-License-Identifier: MIT */
/*
 * mark_heuristics.c - interior pointers that are as good as start pointers.
 *
 * Judging one needs memory of the block pointed into, so it is put off: the place is a bit, and
 * bits are judged chunk by chunk when nothing else is to be done, for blocks that have
 * not become reachable by themselves, which is most of them. A place that is not 8-aligned fits
 * no idiom but redis's strings, and gets no bit elsewhere. The other four tests are those of
 * memcheck, but for sizes: where it is not known how many bytes a program asked for, it may have
 * asked for up to slack bytes less than are usable. An empty array is LeakSanitizer's idiom.
 */
#include "src/leak/mark/mark_work.h"

#include <string.h>

#define PAGE		4096u
#define READ_AHEAD	(64u << 10)
#define MANY		16u	/* hits in a chunk that make reading ahead worthwhile */
#define VTABLE_WORDS	21u	/* looked at for two functions */
#define STRING_HEAD	24u	/* length, capacity, reference count */
#define BIG_BYTES	(128u << 10)	/* from here on sizes may be rounded to pages */

void mark_hit(struct worker *worker, uint64_t place)
{
	struct marker *marker = worker->marker;
	struct line *line = map_line(marker->map, place >> 4);
	uint8_t *hits = &mark_chunk(marker, place >> 4)->hits;

	if (!bits_set(place & 8 ? &line->hit : &line->loose, map_bit(place >> 4)))
		return;
	if (!__atomic_exchange_n(hits, 1, __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&marker->hits, 1, __ATOMIC_SEQ_CST);
}

/* What is being judged: pointer leads into block, whose first three words are head. */
struct suspect {
	struct worker *worker;
	bool many;
	uint64_t start;		/* index of block */
	bool aligned;		/* see blocks_set_aligned */
	struct block block;
	uint64_t asked;		/* usable bytes where it is not known */
	uint64_t exact, coarse;	/* slack: it may have been so many bytes less; 1: it is known */
	uint64_t head[3];	/* zeros beyond the block's end */
};

/* Bytes that a program may have asked for less than are usable. */
static uint64_t slack_exact(uint64_t usable)
{
	return usable < BIG_BYTES ? 16 : PAGE;
}
/* As that for allocators with coarse size classes; for tests that hardly hold by chance. */
static uint64_t slack_coarse(uint64_t usable)
{
	return usable / 4 > 24 ? usable / 4 : 24;
}

static bool is_asked(const struct suspect *s, uint64_t bytes, uint64_t slack)
{
	return bytes <= s->asked && s->asked - bytes < slack;
}

static bool is_string(const struct suspect *s, uint64_t pointer)
{
	uint64_t length = s->head[0], capacity = s->head[1];

	return pointer == s->block.address + STRING_HEAD && length <= capacity &&
	       capacity < s->asked && is_asked(s, STRING_HEAD + capacity + 1, s->coarse);
}

static bool is_length64(const struct suspect *s, uint64_t pointer)
{
	uint64_t length = s->head[0];

	return pointer == s->block.address + 8 && length && length < s->asked &&
	       is_asked(s, length + 8, s->coarse);
}

/* Elements of any size fill what was asked for after the first word; or there are none. */
static bool is_new_array(const struct suspect *s, uint64_t pointer)
{
	uint64_t elements = s->head[0], rest = s->asked - 8;

	if (pointer != s->block.address + 8 || s->asked < 8)
		return false;
	if (elements == 0)
		return is_asked(s, 8, s->coarse);
	return elements <= rest && rest % elements < s->exact;
}

static bool is_function(const struct picture *picture, uint64_t address)
{
	const struct procmap *map = procmaps_find(&picture->maps, address);

	return map && map->inode && (map->prot & PROCMAP_X);
}

/* Two functions and nothing else but null pointers before them, in a mapped file. */
static bool read_vtable(const struct picture *picture, uint64_t address)
{
	const struct procmap *map = procmaps_find(&picture->maps, address);
	uint64_t word[VTABLE_WORDS];
	unsigned int functions = 0;
	size_t words;

	if (!map || !map->inode || !(map->prot & PROCMAP_R))
		return false;
	words = (map->end - address) / sizeof(*word);
	if (words > VTABLE_WORDS)
		words = VTABLE_WORDS;
	words = picture_read_some(picture, address, word, words * sizeof(*word)) / sizeof(*word);
	for (size_t i = 0; i < words && functions < 2; i++) {
		if (!word[i])
			continue;
		if (!is_function(picture, word[i]))
			return false;
		functions++;
	}
	return functions == 2;
}

static bool is_vtable(struct worker *worker, uint64_t address)
{
	struct vtable_verdict *verdict = &worker->vtable[address / 8 % VTABLE_SLOTS];

	if (address % 8 || address < PAGE)
		return false;
	if (verdict->address != address)
		*verdict = (struct vtable_verdict){
			address, read_vtable(worker->marker->input->picture, address)
		};
	return verdict->is;
}

static uint64_t word_at(const struct suspect *s, uint64_t address)
{
	struct worker *worker = s->worker;
	uint64_t word, left = s->block.address + s->block.bytes - address;

	if (left < sizeof(word))
		return 0;
	if (address < worker->buffer_low || address + sizeof(word) > worker->buffer_high) {
		size_t bytes = s->many ? READ_AHEAD : sizeof(word);

		/* Beyond the block there may be nothing: zeros then. */
		mark_read(worker->marker->input->picture, address, worker->buffer, bytes);
		worker->buffer_low = address;
		worker->buffer_high = address + bytes;
	}
	memcpy(&word, worker->buffer + (address - worker->buffer_low), sizeof(word));
	return word;
}

static bool is_inheritance(const struct suspect *s, uint64_t pointer)
{
	return is_vtable(s->worker, s->head[0]) && is_vtable(s->worker, word_at(s, pointer));
}

/* The text begins behind a header of so many bytes, whose last one names its kind. */
static bool is_sds_with(const struct suspect *s, unsigned int header, uint64_t length,
			uint64_t room)
{
	const uint8_t *head = (const uint8_t *)s->head;

	return (head[header - 1] & 7u) == header / 2 && length <= room && room < s->asked &&
	       is_asked(s, header + room + 1, s->coarse) &&
	       (word_at(s, s->block.address + header + length) & 0xff) == 0;
}

/* Redis's strings (sds.h, 3.2): length and room in a byte or two each, or 5 bits, then kind. */
static bool is_sds(const struct suspect *s)
{
	const uint8_t *head = (const uint8_t *)s->head;
	uint16_t two[2];

	memcpy(two, head, sizeof(two));
	return is_sds_with(s, 3, head[0], head[1]) || is_sds_with(s, 5, two[0], two[1]) ||
	       is_sds_with(s, 1, head[0] >> 3, head[0] >> 3);
}

/* The first multiple in the block of some power of two: no idiom, memalign's own pointer. */
static bool is_aligned_start(const struct suspect *s, uint64_t pointer)
{
	return pointer - s->block.address < (pointer & -pointer);
}

static bool is_idiom(const struct suspect *s, uint64_t pointer)
{
	unsigned int enabled = s->worker->marker->input->heuristics;

	return (s->aligned && is_aligned_start(s, pointer)) ||
	       ((enabled & MARK_STDSTRING) && is_string(s, pointer)) ||
	       ((enabled & MARK_LENGTH64) && is_length64(s, pointer)) ||
	       ((enabled & MARK_SDS) && pointer == s->block.address + 8 && is_sds(s)) ||
	       ((enabled & MARK_NEWARRAY) && is_new_array(s, pointer)) ||
	       ((enabled & MARK_MULTIPLE_INHERITANCE) && is_inheritance(s, pointer));
}

/* How many bytes were asked for, as far as it is known. */
static void look_at_size(struct suspect *s)
{
	const struct mark_input *input = s->worker->marker->input;
	uint64_t usable = s->block.bytes, asked = 0;

	if (input->asked)
		asked = input->asked(input->context, s->block.address);
	s->asked = usable;
	s->exact = slack_exact(usable);
	s->coarse = slack_coarse(usable);
	if (asked && asked <= usable) {
		s->asked = asked;
		s->exact = s->coarse = 1;
	}
}

static void look_at_block(struct suspect *s, const struct segment *segment, uint64_t start)
{
	struct worker *worker = s->worker;
	size_t bytes;

	if (s->start == start)
		return;
	s->start = start;
	s->aligned = segment->aligned;
	s->block = map_block(worker->marker->map, segment, start);
	look_at_size(s);
	bytes = s->block.bytes < sizeof(s->head) ? s->block.bytes : sizeof(s->head);
	memset(s->head, 0, sizeof(s->head));
	if (s->block.address >= worker->buffer_low &&
	    s->block.address + bytes <= worker->buffer_high)
		memcpy(s->head, worker->buffer + (s->block.address - worker->buffer_low), bytes);
	else
		mark_read(worker->marker->input->picture, s->block.address, s->head, bytes);
}

static void judge(struct suspect *s, uint64_t index, unsigned int byte)
{
	const struct blocks *map = s->worker->marker->map;
	const struct segment *segment = map_segment_of(map, index);
	uint64_t start = map_start(map, index);

	if (start == BLOCK_NONE || (bits_load(&map_line(map, start)->reach) & map_bit(start)))
		return;
	look_at_block(s, segment, start);
	if (is_idiom(s, map_address(segment, index) + byte))
		mark_reach(s->worker, start);
}

static void judge_line(struct suspect *s, uint64_t number)
{
	struct line *line = &s->worker->marker->map->line[number];
	uint64_t loose = bits_load(&line->loose) & ~line->start, hit = bits_load(&line->hit);

	if (loose)
		loose &= __atomic_fetch_and(&line->loose, ~loose, __ATOMIC_SEQ_CST);
	if (hit)
		hit = __atomic_exchange_n(&line->hit, 0, __ATOMIC_SEQ_CST);
	s->many = (unsigned int)__builtin_popcountll(loose | hit) >= MANY / 4;
	for (uint64_t both = loose | hit; both; both &= both - 1) {
		unsigned int bit = bit_lowest(both);

		if (loose >> bit & 1)
			judge(s, number * LINE_GRANULES + bit, 0);
		if (hit >> bit & 1)
			judge(s, number * LINE_GRANULES + bit, 8);
	}
}

bool mark_judge_job(struct worker *worker)
{
	struct marker *marker = worker->marker;
	struct suspect suspect = { .worker = worker, .start = BLOCK_NONE };
	uint64_t chunk = worker->judged, end;

	if (!__atomic_load_n(&marker->hits, __ATOMIC_SEQ_CST))
		return false;
	for (uint64_t i = 0; i < marker->chunk_count; i++, chunk++) {
		chunk = chunk < marker->chunk_count ? chunk : 0;
		if (__atomic_load_n(&marker->chunk[chunk].hits, __ATOMIC_RELAXED) &&
		    __atomic_exchange_n(&marker->chunk[chunk].hits, 0, __ATOMIC_SEQ_CST))
			break;
		if (i + 1 == marker->chunk_count)
			return false;
	}
	__atomic_fetch_sub(&marker->hits, 1, __ATOMIC_SEQ_CST);
	worker->judged = chunk;
	worker->buffer_low = worker->buffer_high = 0;
	end = (chunk + 1) * CHUNK_LINES;
	for (uint64_t i = chunk * CHUNK_LINES; i < end && i < marker->map->line_count; i++)
		judge_line(&suspect, i);
	mark_flow(worker);
	return true;
}
