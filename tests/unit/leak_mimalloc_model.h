/* SPDX-License-Identifier: MIT */
/*
 * leak_mimalloc_model.h - a small heap as mimalloc 2.0.9 would leave it, in a picture.
 *
 * For builds that are not installed here (secure, debug), and for the fuzzer: the main thread with
 * a segment and a huge one, another thread, a segment of a thread that ended, and an empty one.
 */
#ifndef MEMATTACH_TESTS_LEAK_MIMALLOC_MODEL_H
#define MEMATTACH_TESTS_LEAK_MIMALLOC_MODEL_H

#include "tests/unit/leak_heap_lab.h"

enum mimodel_build { MIMODEL_PLAIN = 0, MIMODEL_SECURE, MIMODEL_DEBUG, MIMODEL_BUILDS };

#define MIMODEL_LIB	0x7f0000000000ull
#define MIMODEL_LIB_BYTES 0x8000u
#define MIMODEL_CODE	(MIMODEL_LIB + 0x1000)
#define MIMODEL_MAIN	(MIMODEL_LIB + 0x3000)	/* the main thread's heap */
#define MIMODEL_TLD	(MIMODEL_LIB + 0x5000)
#define MIMODEL_OTHER	0x7f0000100000ull	/* the other thread's heap, and its data */
#define MIMODEL_OTHER_TLD (MIMODEL_OTHER + 0x1800)
#define MIMODEL_OTHER_BYTES 0x2000u
#define MIMODEL_FIRST	0x20000000000ull	/* of the main thread */
#define MIMODEL_FIRST_BYTES 0x60000u
#define MIMODEL_SECOND	0x20004000000ull	/* of the other thread */
#define MIMODEL_ENDED	0x20008000000ull	/* of a thread that ended */
#define MIMODEL_SMALL_BYTES 0x20000u
#define MIMODEL_HUGE	0x2000c000000ull
#define MIMODEL_EMPTY	0x20010000000ull
#define MIMODEL_HEAD_BYTES 0x10000u
#define MIMODEL_HUGE_SLICES 400u
#define MIMODEL_STACK	0x7ffff0000000ull

struct mimodel {
	struct lab lab;
	enum mimodel_build build;
	uint8_t lib[MIMODEL_LIB_BYTES], other[MIMODEL_OTHER_BYTES], first[MIMODEL_FIRST_BYTES],
		second[MIMODEL_SMALL_BYTES], ended[MIMODEL_SMALL_BYTES],
		huge[MIMODEL_HEAD_BYTES], empty[MIMODEL_HEAD_BYTES];
	uint64_t aligned;		/* the begin of a live block in a page with such */
};

/* Addresses of fields: of a segment; of the page that begins with a slice of it. */
uint64_t mimodel_used(uint64_t segment);
uint64_t mimodel_page(const struct mimodel *m, uint64_t segment, unsigned int slice);
uint64_t mimodel_thread_free(const struct mimodel *m, uint64_t page);
/* Of the thread whose data are at tld: how many segments it has. */
uint64_t mimodel_segment_count(uint64_t tld);
/* Of a heap: the head of what is queued on it. */
uint64_t mimodel_delayed(const struct mimodel *m, uint64_t heap);
/* Fills the areas, and the lab with the truth. */
void mimodel_make(struct mimodel *m, enum mimodel_build build);

#endif
