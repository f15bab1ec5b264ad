/* SPDX-License-Identifier: MIT */
/*
 * heap_window.c - see heap_window.h.
 *
 * pread on /proc/PID/mem costs half a microsecond a call and as much again a page, so small
 * chunks are read in long stretches, and of large ones nothing but the header. Which of
 * the two it is, is decided at each refill by how densely the last stretch was used. Mapping the
 * picture was rejected: it can't be, it is another process.
 */
#include "src/heap/heap_window.h"

#include <errno.h>
#include <string.h>

#define ROOM		(256u << 10)
#define LEAST		512u
#define SPARSE		2048u	/* bytes read for one that was asked for: too many */
#define PAGE		4096u

int heap_window_init(struct heap_window *window, const struct picture *picture)
{
	*window = (struct heap_window){ .picture = picture, .buffer = malloc(ROOM) };
	return window->buffer ? 0 : -ENOMEM;
}

void heap_window_done(struct heap_window *window)
{
	free(window->buffer);
	window->buffer = NULL;
}

void heap_window_begin(struct heap_window *window, uint64_t low, uint64_t limit)
{
	window->at = low;
	window->limit = limit;
	window->have = 0;
	window->gets = 0;
	window->ahead = LEAST;
}

static size_t next_ahead(const struct heap_window *window)
{
	if (window->have > window->gets * SPARSE)
		return LEAST;
	return window->ahead < ROOM ? window->ahead * 2 : ROOM;
}

const uint64_t *heap_window_fill(struct heap_window *window, uint64_t address, size_t bytes)
{
	size_t wanted;

	if (address > window->limit || bytes > window->limit - address)
		return NULL;
	window->ahead = next_ahead(window);
	wanted = window->ahead > bytes ? window->ahead : bytes;
	if (wanted > window->limit - address)
		wanted = window->limit - address;
	window->at = address;
	window->gets = 0;
	window->have = picture_read_some(window->picture, address, window->buffer, wanted);
	return window->have < bytes ? NULL : (const uint64_t *)(const void *)window->buffer;
}

int heap_pages_init(struct heap_pages *pages, const struct picture *picture)
{
	*pages = (struct heap_pages){ .picture = picture, .bytes = malloc(HEAP_PAGES * PAGE) };
	return pages->bytes ? 0 : -ENOMEM;
}

void heap_pages_done(struct heap_pages *pages)
{
	free(pages->bytes);
	pages->bytes = NULL;
}

/* The bytes of the page at address, NULL if it can't be read. */
static const uint8_t *page_get(struct heap_pages *pages, uint64_t address)
{
	unsigned int slot = (unsigned int)(address / PAGE % HEAP_PAGES);
	uint8_t *bytes = pages->bytes + (size_t)slot * PAGE;

	if (pages->page[slot] == address + 1)
		return bytes;
	pages->page[slot] = 0;
	if (picture_read(pages->picture, address, bytes, PAGE) < 0)
		return NULL;
	pages->page[slot] = address + 1;
	return bytes;
}

bool heap_pages_read(struct heap_pages *pages, uint64_t address, void *buffer, size_t bytes)
{
	uint8_t *to = buffer;

	while (bytes > 0) {
		size_t offset = address % PAGE;
		size_t n = PAGE - offset < bytes ? PAGE - offset : bytes;
		const uint8_t *page = page_get(pages, address - offset);

		if (!page)
			return false;
		memcpy(to, page + offset, n);
		to += n;
		address += n;
		bytes -= n;
	}
	return true;
}
