/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_layout.h - where glibc's malloc keeps what, from 2.17 to 2.44, on x86-64.
 *
 * Versions are minor numbers: 36 is glibc 2.36. Offsets are in bytes.
 */
#ifndef MEMATTACH_LEAK_HEAP_GLIBC_LAYOUT_H
#define MEMATTACH_LEAK_HEAP_GLIBC_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GLIBC_BINS		127u	/* unsorted, small and large: pairs of fd and bk */
#define GLIBC_FASTBINS		10u
#define GLIBC_STATE_MAX		2200u	/* the largest struct malloc_state */
#define GLIBC_TCACHE_MAX	768u	/* the largest chunk of a tcache */
#define GLIBC_PAGE		4096u
#define GLIBC_MINSIZE		32u
#define GLIBC_HEADER		16u	/* from a chunk to its user address */

#define GLIBC_PREV_INUSE	1u
#define GLIBC_IS_MMAPPED	2u
#define GLIBC_NON_MAIN		4u
#define GLIBC_SIZE_BITS		7u

#define GLIBC_FLAGS		4u	/* of malloc_state: bit 1 says the arena is in pieces */
#define GLIBC_NONCONTIGUOUS	2u

struct glibc_versions {
	uint8_t first, last;
};
/* struct malloc_state; mutex at 0, flags at 4. */
struct glibc_state_layout {
	struct glibc_versions versions;
	uint16_t fastbins;	/* 0: none */
	uint16_t top, bins;
	uint16_t next;		/* the ring of arenas */
	uint16_t system_mem, bytes;
};
/* struct malloc_par, of which there is one, mp_. */
struct glibc_par_layout {
	struct glibc_versions versions;
	uint16_t n_mmaps;	/* then n_mmaps_max, max_n_mmaps, no_dyn_threshold: 4 bytes each */
	uint16_t mmapped_mem;	/* then max_mmapped_mem */
	uint16_t sbrk_base;	/* the last pointer in it */
	bool drifts;		/* mmapped_mem grows by 16 too many at each mremap */
};
/* struct tcache_perthread_struct. */
struct glibc_tcache_layout {
	struct glibc_versions versions;
	uint16_t chunk, spare;	/* size of its chunk, and how much larger it may be */
	uint16_t bins;
	uint16_t count_bytes;	/* of one count; all counts stand first, then the lists */
	uint16_t entries;
	bool remaining;		/* the counts say how many more would fit */
};

/*
 * That of the arena at address, whose bins are at bins and of whose bytes words has those from
 * address on: NULL if there is no such.
 */
const struct glibc_state_layout *glibc_state_layout(uint64_t address, uint64_t bins,
						    const uint64_t *words);
/* The index-th that goes with a malloc_state of these versions, NULL after the last. */
const struct glibc_par_layout *glibc_par_layout(struct glibc_versions versions, size_t index);
/* The one whose struct fills a chunk of this size; NULL: none. */
const struct glibc_tcache_layout *glibc_tcache_layout(struct glibc_versions versions,
						      uint64_t chunk);
/* True when chunks of size belong into the list index of a tcache. */
bool glibc_tcache_fits(unsigned int index, uint64_t size);
/* Leaves only the versions that are in both; unchanged where none would be left. */
void glibc_versions_narrow(struct glibc_versions *versions, struct glibc_versions other);

#endif
