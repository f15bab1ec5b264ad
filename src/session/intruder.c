/* SPDX-License-Identifier: MIT */
/*
 * intruder.c - see intruder.h. In a file of its own, so that the linker leaves it out where a
 * program brings another.
 */
#include "src/session/intruder.h"

void intruder_begin(void)
{
}
