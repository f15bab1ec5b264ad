/* SPDX-License-Identifier: MIT */
/* site_resizes.h - what became of a site's reallocs. */
#ifndef MEMATTACH_SITE_RESIZES_H
#define MEMATTACH_SITE_RESIZES_H

#include <stdint.h>

/* How a call of realloc or reallocarray went. */
enum site_resize {
	SITE_IN_PLACE = 0,
	SITE_MOVED,
	SITE_RESIZE_FAILED,	/* and the block lives on */
	SITE_FROM_NULL,		/* of NULL: as malloc */
	SITE_RESIZE_FREED,	/* to 0, and there is no block any more */
	SITE_RESIZES
};
/* What is known besides if the block's size before is. */
enum site_resize_known {
	SITE_GROWN = 0,		/* in place */
	SITE_SHRUNK,
	SITE_SAME,
	SITE_COPIED,		/* moved */
	SITE_RESIZES_KNOWN
};
/* Of one site. Counts in 1 / ESTIMATE_COUNT_ONE, bytes in 1 / ESTIMATE_BYTES_ONE. */
struct site_resizes {
	uint64_t count[SITE_RESIZES];		/* each call is in one of them */
	/* Some of them once more. Where sampled, estimates of their own: may exceed those above. */
	uint64_t known[SITE_RESIZES_KNOWN];
	uint64_t copied_bytes;			/* by SITE_COPIED: the smaller of both sizes */
};

#endif
