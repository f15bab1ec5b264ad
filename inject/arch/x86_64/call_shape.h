/* SPDX-License-Identifier: MIT */
/* call_shape.h - does the code before an address end in a call instruction? */
#ifndef MEMATTACH_CALL_SHAPE_H
#define MEMATTACH_CALL_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_SHAPE_BYTES 7	/* the longest call instruction without prefixes */

/*
 * before: the CALL_SHAPE_BYTES bytes before a word that may be a return
 * address. False for certain means that it is none.
 */
static inline bool call_shape_ends_with_call(const uint8_t before[CALL_SHAPE_BYTES])
{
	if (before[2] == 0xe8)					/* call rel32 */
		return true;
	for (int length = 2; length <= 7; length++) {		/* call *r/m: ff /2 */
		const uint8_t *at = before + CALL_SHAPE_BYTES - length;

		if (at[0] == 0xff && (at[1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

#endif
