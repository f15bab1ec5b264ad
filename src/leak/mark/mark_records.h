/* SPDX-License-Identifier: MIT */
/*
 * mark_records.h - where the pointers of a small block lead, in a few bytes, so that its memory
 * is read only once: when its neighbours are, and not when the first pointer to it is found.
 *
 * A record is one or more links, of which the last says so; or one byte, RECORD_UNREAD or
 * RECORD_EMPTY, which is what a link from a block to itself would be. The records of a line lie
 * one behind the other, one for each of its unread bits.
 */
#ifndef MEMATTACH_LEAK_MARK_RECORDS_H
#define MEMATTACH_LEAK_MARK_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LINK_LAST	4u	/* in a link's first byte */
#define LINK_MAX	8u	/* bytes that encoding or decoding one may touch */
#define LINK_PAYLOAD	46	/* bits, LINK_LAST included */
#define RECORD_EMPTY	0u	/* has turned out to lead nowhere */
#define RECORD_UNREAD	LINK_LAST	/* large, or too many links: to be read from the picture */
#define RECORD_MAX	256u	/* bytes of links, about */

enum link_kind {
	LINK_START,	/* index: of the block */
	LINK_INNER,	/* index: of the granule pointed into; half: its second 8 bytes */
	LINK_LOOSE,	/* not 8-aligned, so that no heuristic applies; index: of the block */
};
struct link {
	enum link_kind kind;
	bool half;
	uint64_t index;
};

/* The payload's length is in the low two bits: 1, 2, 4 or 6 bytes with 6, 14, 30 or 46 bits. */
static inline unsigned int link_bytes(uint64_t first)
{
	return 0x6421u >> (first & 3) * 4 & 15;
}
/*
 * Encodes at to, of which LINK_MAX bytes may be overwritten, not as the last; the bytes used, 0:
 * can't be. pre: link is not LINK_START to from.
 */
static inline unsigned int link_put(uint8_t *to, uint64_t from, struct link link)
{
	uint64_t away = link.index - from, payload = away << 1 ^ (uint64_t)((int64_t)away >> 63);
	unsigned int code;

	if (link.kind == LINK_START)
		payload <<= 2;
	else
		payload = payload << 4 | (link.kind == LINK_LOOSE ? 10u : link.half ? 6u : 2u);
	code = payload < 1u << 6 ? 0 : payload < 1u << 14 ? 1 : payload < 1u << 30 ? 2 : 3;
	if (payload >> LINK_PAYLOAD)
		return 0;
	payload = payload << 2 | code;
	memcpy(to, &payload, sizeof(payload));
	return link_bytes(code);
}
/* Decodes at at, of which LINK_MAX bytes can be read. */
static inline struct link link_get(const uint8_t *at, uint64_t from)
{
	uint64_t word, payload, away;
	struct link link = { LINK_START, false, 0 };

	memcpy(&word, at, sizeof(word));
	payload = (word & ~0ull >> (64 - link_bytes(word) * 8)) >> 3;
	if (payload & 1) {
		link.kind = payload & 4 ? LINK_LOOSE : LINK_INNER;
		link.half = payload & 2;
		payload >>= 2;
	}
	away = payload >> 1;
	link.index = from + (away >> 1 ^ -(away & 1));
	return link;
}
/* Whether the link that begins with this byte ends its record. */
static inline bool link_is_last(uint8_t first)
{
	return (first & LINK_LAST) || first == RECORD_EMPTY;
}

#endif
