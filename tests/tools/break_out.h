/* SPDX-License-Identifier: MIT */
/* break_out.h - all that the analyst's sandbox is there to prevent, tried from inside. */
#ifndef MEMATTACH_TESTS_BREAK_OUT_H
#define MEMATTACH_TESTS_BREAK_OUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Tries everything, a line on stderr for each that is not refused (loud: for each). How many were
 * not; *ret_tried: how many there are. pre: SIGSYS is handled, as trapped_begin() has it; a file is
 * there whose path is BREAK_OUT_FILE in the environment.
 */
unsigned int break_out(bool loud, unsigned int *ret_tried);

#endif
