/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_layout.c - see heap_glibc_layout.h.
 *
 * The tables are checked against the debug information of Debian's 2.31, 2.36, 2.41, 2.43 and
 * 2.44; the others against their sources. A layout is told by the data, never by a version
 * number: distributions backport (the 16-bit counts of 2.30's tcache went into a 2.28), and a
 * static program need not say which version it holds. In all of them the ring of arenas stands
 * 2048 bytes after the bins, so the bins are found first and the rest follows.
 */
#include "src/heap/glibc/heap_glibc_layout.h"

#include "src/base/cleanup.h"

/* No arena of a program with a heap has as little, and no arena as many threads. */
#define MANY_THREADS	65536u

static const struct glibc_state_layout states[] = {
	{ { 17, 22 }, 8, 88, 104, 2152, 2168, 2184 },
	{ { 23, 26 }, 8, 88, 104, 2152, 2176, 2192 },	/* + attached_threads */
	{ { 27, 42 }, 16, 96, 112, 2160, 2184, 2200 },	/* + have_fastchunks */
	{ { 43, 99 }, 0, 8, 24, 2072, 2096, 2112 },	/* no fastbins any more */
};

static const struct glibc_par_layout pars[] = {
	{ { 17, 23 }, 40, 56, 80, false },	/* with max_total_mem */
	{ { 24, 34 }, 40, 56, 72, false },
	{ { 35, 42 }, 60, 80, 96, false },/* + huge pages */
	{ { 42, 99 }, 68, 88, 104, true },/* + their mode */
};

/* 16 bytes too small to be split off stay with a chunk; 2.43 also rounds its size up twice. */
static const struct glibc_tcache_layout tcaches[] = {
	{ { 26, 29 }, 0x250, 16, 64, 1, 64, false },
	{ { 27, 41 }, 0x290, 16, 64, 2, 128, false },
	{ { 42, 99 }, 0x300, 32, 76, 2, 152, true },
};

static bool versions_meet(struct glibc_versions a, struct glibc_versions b)
{
	return a.first <= b.last && b.first <= a.last;
}

const struct glibc_state_layout *glibc_state_layout(uint64_t address, uint64_t bins,
						    const uint64_t *words)
{
	const struct glibc_state_layout *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(states) && !found; i++) {
		if (bins - address == states[i].bins)
			found = &states[i];
	}
	/* The first two differ in a number of threads where the other has a number of bytes. */
	if (found == &states[0] && words[states[0].system_mem / 8] < MANY_THREADS)
		found = &states[1];
	return found;
}

const struct glibc_par_layout *glibc_par_layout(struct glibc_versions versions, size_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(pars); i++) {
		if (versions_meet(versions, pars[i].versions) && index-- == 0)
			return &pars[i];
	}
	return NULL;
}

const struct glibc_tcache_layout *glibc_tcache_layout(struct glibc_versions versions,
						      uint64_t chunk)
{
	for (size_t i = 0; i < ARRAY_SIZE(tcaches); i++) {
		if (chunk - tcaches[i].chunk <= tcaches[i].spare &&
		    versions_meet(versions, tcaches[i].versions))
			return &tcaches[i];
	}
	return NULL;
}

bool glibc_tcache_fits(unsigned int index, uint64_t size)
{
	const unsigned int small = 64, smallest_large = 0x420;

	if (index < small)
		return size == GLIBC_MINSIZE + 16ull * index;
	/* The large ones hold what has the same highest bit: 0x420 to 0x7ff, 0x800 to 0xfff... */
	return size >= smallest_large && size < 1u << 31 &&
	       64u - (unsigned int)__builtin_clzll(size) - 11u == index - small;
}

void glibc_versions_narrow(struct glibc_versions *versions, struct glibc_versions other)
{
	if (!versions_meet(*versions, other))
		return;
	if (other.first > versions->first)
		versions->first = other.first;
	if (other.last < versions->last)
		versions->last = other.last;
}
