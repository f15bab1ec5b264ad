/* SPDX-License-Identifier: MIT */
/* heap_bytes.h - numbers in an allocator's structures that were read as bytes, aligned or not. */
#ifndef MEMATTACH_LEAK_HEAP_BYTES_H
#define MEMATTACH_LEAK_HEAP_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 8, 4 and 2 bytes at offset, which the caller has. */
static inline uint64_t heap_word(const uint8_t *bytes, size_t offset)
{
	uint64_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static inline uint32_t heap_half(const uint8_t *bytes, size_t offset)
{
	uint32_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static inline uint16_t heap_quarter(const uint8_t *bytes, size_t offset)
{
	uint16_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

#endif
