/* SPDX-License-Identifier: MIT */
/*
 * heap_window.h - two ways to read a heap: onwards, and here and there.
 *
 * A window follows a walk and reads ahead while chunks are small; over large ones it jumps
 * and reads just headers. Pages is a small cache for lists that lead anywhere.
 */
#ifndef MEMATTACH_LEAK_HEAP_WINDOW_H
#define MEMATTACH_LEAK_HEAP_WINDOW_H

#include "src/memory/picture.h"

struct heap_window {
	const struct picture *picture;
	uint8_t *buffer;	/* owned */
	uint64_t at, limit;	/* of the buffer; nothing is read from limit on */
	size_t have, ahead;
	size_t gets;		/* since the buffer was filled */
};
/* 0 or -ENOMEM. */
int heap_window_init(struct heap_window *window, const struct picture *picture) _must_check_;
void heap_window_done(struct heap_window *window);
/* Before a walk through [low, limit). */
void heap_window_begin(struct heap_window *window, uint64_t low, uint64_t limit);
/* Not to be called: see heap_window_words. */
const uint64_t *heap_window_fill(struct heap_window *window, uint64_t address, size_t bytes);

/*
 * The words at address, at least bytes of them (at most 4096), until the next call; NULL if
 * they can't be read. pre: address is a multiple of 8.
 */
static inline const uint64_t *heap_window_words(struct heap_window *window, uint64_t address,
						 size_t bytes)
{
	uint64_t offset = address - window->at;

	window->gets++;
	if (offset >= window->have || bytes > window->have - offset)
		return heap_window_fill(window, address, bytes);
	return (const uint64_t *)(const void *)(window->buffer + offset);
}

#define HEAP_PAGES 256u	/* a megabyte */

struct heap_pages {
	const struct picture *picture;
	uint8_t *bytes;			/* owned */
	uint64_t page[HEAP_PAGES];	/* its address + 1; 0: empty */
};
/* 0 or -ENOMEM. */
int heap_pages_init(struct heap_pages *pages, const struct picture *picture) _must_check_;
void heap_pages_done(struct heap_pages *pages);
/* Exactly bytes at address: true, else nothing is changed in buffer that may be used. */
bool heap_pages_read(struct heap_pages *pages, uint64_t address, void *buffer, size_t bytes);

#endif
