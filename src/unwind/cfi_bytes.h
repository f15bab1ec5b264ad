/* SPDX-License-Identifier: MIT */
/*
 * cfi_bytes.h - a cursor over bytes of call frame information that may be hostile.
 *
 * It never leaves its bounds. Once bad, it reads zeros and stays bad, so that one
 * look at the end of a piece of code is enough.
 */
#ifndef MEMATTACH_CFI_BYTES_H
#define MEMATTACH_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_bytes {
	const uint8_t *at, *end;
	uint64_t address;		/* virtual address of at */
	bool bad;
};

/* A little-endian number of up to 8 bytes. */
uint64_t cfi_bytes_fixed(struct cfi_bytes *bytes, size_t count);
/* LEB128, unsigned and signed. More than 10 bytes are no number. */
uint64_t cfi_bytes_uleb(struct cfi_bytes *bytes);
int64_t cfi_bytes_sleb(struct cfi_bytes *bytes);
void cfi_bytes_skip(struct cfi_bytes *bytes, uint64_t count);
/* The next count bytes on their own, which are skipped. Empty and bad when there are less. */
struct cfi_bytes cfi_bytes_take(struct cfi_bytes *bytes, uint64_t count);
/* A number in the format of a DW_EH_PE_ encoding, without what it is relative to. */
uint64_t cfi_bytes_format(struct cfi_bytes *bytes, uint8_t encoding);
/* Absolute and pc-relative pointers; x86-64 compilers write no others. */
uint64_t cfi_bytes_pointer(struct cfi_bytes *bytes, uint8_t encoding);

static inline uint8_t cfi_bytes_one(struct cfi_bytes *bytes)
{
	if (bytes->bad || bytes->at == bytes->end) {
		bytes->bad = true;
		return 0;
	}
	bytes->address++;
	return *bytes->at++;
}

#endif
