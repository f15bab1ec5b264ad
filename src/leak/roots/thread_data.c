/* SPDX-License-Identifier: MIT */
/*
 * thread_data.c - see thread_data.h.
 *
 * A control block begins with its own address. glibc: struct pthread = tcbhead_t (tcb@0,
 * dtv@8, self@16; 0x2c0 bytes), list_t list@0x2c0, tid@0x2d0, ..., joinid, ..., stackblock,
 * stackblock_size, guardsize. The offset of stackblock differs between versions: it is the
 * first pair of words (p, n) whose area [p, p+n) is mapped and holds the control
 * block itself; nothing before it can look so (the values of pthread_setspecific are followed
 * by small sequence numbers). musl: self, dtv, prev, next, ..., map_base, map_size, stack,
 * stack_size: found in the same way. Rejected: the _thread_db_ symbols (2.35 and later only, and
 * they do not tell stackblock), and the bounds of mappings: neighbouring stacks merge into one
 * mapping where guard pages are not mappings (glibc 2.42) or there are none.
 *
 * Static TLS lies below the control block; its beginning is the lowest block that the dtv
 * lists. What a library opened later puts below that, into the surplus, counts as stack.
 */
#include "src/leak/roots/thread_data.h"

#include <errno.h>
#include <string.h>

#define TCB_BYTES	2560u	/* struct pthread is 2368 bytes in glibc 2.36, stackblock at 1680 */
#define MAIN_BYTES	2368u	/* taken where no stack tells its end; 2.36's */
#define GLIBC_BODY	0x2c0u	/* of list; also where the search for stackblock starts */
#define MUSL_BODY	0x30u
#define MUSL_TCB	512u	/* struct pthread is about 200 bytes */
#define MUSL_SPECIFIC	1024u	/* 128 keys */
#define MUSL_BESIDE	65536u	/* TLS that would not fit there is elsewhere */
#define DTV_MAX		65536u
#define DTV_CHUNK	256u
#define ADDRESS_MAX	(1ull << 56)

/* The first words of a control block, 0 beyond what could be read. */
struct tcb_words {
	uint64_t word[TCB_BYTES / 8];
};

static void read_words(const struct picture *picture, uint64_t tcb, struct tcb_words *ret)
{
	size_t got = picture_read_some(picture, tcb, ret->word, sizeof(ret->word));

	memset((char *)ret->word + got, 0, sizeof(ret->word) - got);
}

/* True if [low, high) is mapped without a gap, guards included. */
static bool mapped(const struct picture *picture, uint64_t low, uint64_t high)
{
	const struct procmap *map = procmaps_find(&picture->maps, low);
	const struct procmap *end = picture->maps.map + picture->maps.count;

	if (!map)
		return false;
	while (map->end < high) {
		if (map + 1 == end || map[1].start != map->end)
			return false;
		map++;
	}
	return true;
}

static enum thread_libc libc_of(uint64_t tcb, const uint64_t *word)
{
	if (word[0] != tcb)
		return 0;
	/* glibc has two small int (multiple_threads) where musl has the next thread of its ring. */
	if (word[2] == tcb && (uint32_t)word[3] < 0x100 && word[3] >> 32 < 0x100)
		return THREAD_GLIBC;
	if (word[2] >= 0x10000 && word[3] >= 0x10000)
		return THREAD_MUSL;
	return 0;
}

enum thread_libc thread_data_libc(const struct picture *picture, uint64_t tcb)
{
	uint64_t word[4];

	return picture_read(picture, tcb, word, sizeof(word)) < 0 ? 0 : libc_of(tcb, word);
}

/* Where glibc gives a stack, its bounds and the size of its guard. */
/* Three words that would do as block, size and guard; whole pages: as libc itself makes them. */
static bool is_stack(const struct picture *picture, const struct tcb_words *words, uint64_t tcb,
		     size_t i, bool whole_pages)
{
	uint64_t low = words->word[i], bytes = words->word[i + 1], guard = words->word[i + 2];

	if (whole_pages && ((low | bytes | guard) % 4096 || guard >= bytes))
		return false;
	return low && low <= tcb && bytes <= ADDRESS_MAX && bytes >= 4096 &&
	       low + bytes > tcb + i * 8 + 16 && mapped(picture, low, low + bytes);
}

/* A program may give a thread a stack that begins anywhere: looked for after all others. */
static void find_glibc_stack(const struct picture *picture, const struct tcb_words *words,
			     struct thread_data *data)
{
	size_t end = ARRAY_SIZE(words->word) - 2, at = GLIBC_BODY / 8;

	while (at < end && !is_stack(picture, words, data->tcb, at, true))
		at++;
	if (at == end)
		for (at = GLIBC_BODY / 8; at < end; at++)
			if (is_stack(picture, words, data->tcb, at, false))
				break;
	if (at == end)
		return;
	data->stack_low = data->stack_first = words->word[at];
	data->stack_high = data->data_high = words->word[at] + words->word[at + 1];
	if (words->word[at + 2] < data->tcb - data->stack_low)
		data->stack_first += words->word[at + 2];
}

/*
 * musl: map_base and map_size (0 if the application gave the stack and the control block fits on
 * it), then the stack's upper end and its size. TLS and control block are above it or elsewhere.
 */
static void find_musl_stack(const struct picture *picture, const struct tcb_words *words,
			    struct thread_data *data)
{
	for (size_t i = MUSL_BODY / 8; i < MUSL_BODY / 8 + 8; i++) {
		uint64_t map = words->word[i], map_bytes = words->word[i + 1];
		uint64_t high = words->word[i + 2], bytes = words->word[i + 3];

		if (high < 0x10000 || high > ADDRESS_MAX || bytes < 1024 || bytes >= high ||
		    map > ADDRESS_MAX || map_bytes > ADDRESS_MAX || !map != !map_bytes ||
		    (map && !mapped(picture, map, map + map_bytes)) ||
		    !mapped(picture, high - bytes, high))
			continue;
		data->stack_low = data->stack_first = high - bytes;
		data->stack_high = high;
		if (high <= data->tcb && data->tcb - high < MUSL_BESIDE)
			data->data_low = high;
		return;
	}
}

/* musl's values of pthread_setspecific follow the control block, which points to them. */
static void find_musl_end(const struct tcb_words *words, struct thread_data *data)
{
	data->data_high = data->tcb + MUSL_TCB;
	for (size_t i = MUSL_BODY / 8; i < MUSL_TCB / 8; i++) {
		uint64_t word = words->word[i];

		if (word > data->tcb && word - data->tcb <= MUSL_TCB && word % 8 == 0)
			data->data_high = word + MUSL_SPECIFIC;
	}
}

/* The vector's own extent: glibc counts in dtv[-1], musl in dtv[0]. */
static void set_dtv(const struct picture *picture, uint64_t dtv, struct thread_data *data)
{
	bool glibc = data->libc == THREAD_GLIBC;
	uint64_t low = glibc ? dtv - 16 : dtv, count, bytes;

	if (dtv < 0x10000 || dtv > ADDRESS_MAX || dtv % 8)
		return;
	count = picture_word(picture, low);
	bytes = glibc ? (count + 2) * 16 : (count + 1) * 8;
	if (!count || count > DTV_MAX || !mapped(picture, low, low + bytes))
		return;
	data->dtv_low = low;
	data->dtv_high = low + bytes;
}

/* The lowest address at which this thread's static TLS can be. */
static uint64_t lowest_tls(const struct picture *picture, const struct thread_data *data)
{
	const struct procmap *map = procmaps_find(&picture->maps, data->tcb);

	if (data->stack_low <= data->tcb && data->tcb < data->stack_high)
		return data->stack_first;
	return map ? map->start : data->tcb;
}

/*
 * An entry of the dtv: a block of static TLS, if it is near below the TCB and nothing says that
 * it must be freed (glibc: to_free is NULL; is_static is 1 in 2.24 and before).
 */
static void see_block(uint64_t block, uint64_t lowest, struct thread_data *data)
{
	if (block >= lowest && block < data->data_low && block < data->tcb)
		data->data_low = block & ~7ull;
}

static void find_static_tls(const struct picture *picture, struct thread_data *data)
{
	bool glibc = data->libc == THREAD_GLIBC;
	uint64_t words[DTV_CHUNK], lowest = lowest_tls(picture, data);
	uint64_t at = data->dtv_low + (glibc ? 32 : 8);

	while (at < data->dtv_high) {
		size_t wanted = data->dtv_high - at < sizeof(words) ? data->dtv_high - at
								     : sizeof(words);
		size_t got = picture_read_some(picture, at, words, wanted) / 8;

		for (size_t i = 0; i + glibc < got; i += 1u + glibc) {
			if (!glibc || words[i + 1] < 2)
				see_block(words[i], lowest, data);
		}
		if (got * 8 < wanted)
			return;
		at += wanted;
	}
}

int thread_data_read(const struct picture *picture, uint64_t tcb, struct thread_data *ret)
{
	struct thread_data data = { .tcb = tcb, .data_low = tcb };
	struct tcb_words words;

	if (tcb < 0x10000 || tcb > ADDRESS_MAX || tcb % 8)
		return -ENOENT;
	read_words(picture, tcb, &words);
	data.libc = libc_of(tcb, words.word);
	if (!data.libc)
		return -ENOENT;
	data.data_high = tcb + MAIN_BYTES;
	if (data.libc == THREAD_GLIBC) {
		find_glibc_stack(picture, &words, &data);
	} else {
		find_musl_end(&words, &data);
		find_musl_stack(picture, &words, &data);
	}
	set_dtv(picture, words.word[1], &data);
	find_static_tls(picture, &data);
	*ret = data;
	return 0;
}
