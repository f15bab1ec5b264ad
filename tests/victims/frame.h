/* SPDX-License-Identifier: MIT */
/* frame.h - FRAME: a function that has a frame of its own under its own name, in C and C++. */
#ifndef VICTIM_FRAME_H
#define VICTIM_FRAME_H

#ifdef __clang__	/* makes no clones, and warns that it does not know the word */
#define FRAME	__attribute__((noinline))
#else
#define FRAME	__attribute__((noinline, noclone))
#endif

#endif
