/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_cached.h - blocks that are free though no header says so: fastbins and tcaches.
 * For the parts of the glibc walker; results are as heap_glibc.h says.
 */
#ifndef MEMATTACH_LEAK_HEAP_GLIBC_CACHED_H
#define MEMATTACH_LEAK_HEAP_GLIBC_CACHED_H

#include "src/heap/glibc/heap_glibc.h"

/* The size of the chunk without its bits; 0 if it can't be read or is misaligned. */
uint64_t glibc_chunk_size(struct glibc *glibc, uint64_t chunk);
/* A singly linked list of chunks. */
struct glibc_list {
	bool (*fits)(unsigned int index, uint64_t size);
	unsigned int index;
	unsigned int link_offset;	/* what links point to: chunk + this */
	size_t limit;
	unsigned int tag;		/* low bits of what is cached */
};
/*
 * Follows it from first, caches (with tag) what it holds: the number, or -EAGAIN when a link leads
 * to no such chunk, or it is longer than limit, or a cycle.
 */
int64_t glibc_follow(struct glibc *glibc, const struct glibc_list *list, uint64_t first);
/* Collects what lies in fastbins, and the tcaches of the picture's threads with all they hold. */
int glibc_read_cached(struct glibc *glibc) _must_check_;
/* Its part for the threads; sorts cached. */
int glibc_read_tcaches(struct glibc *glibc) _must_check_;
/* Those of orphans that are tcaches; 1: there were any. */
int glibc_read_orphans(struct glibc *glibc, const struct glibc_orphans *orphans) _must_check_;
/* Could words at a chunk of that size be a tcache that holds something? */
bool glibc_maybe_tcache(const struct glibc *glibc, uint64_t size, const uint64_t *words);
int glibc_cached_push(struct glibc *glibc, uint64_t chunk) _must_check_;
/* Sorts cached; -EAGAIN when something is twice in it. */
int glibc_cached_sort(struct glibc *glibc) _must_check_;
/* After it: the index of the first cached chunk at or above address. */
size_t glibc_cached_from(const struct glibc *glibc, uint64_t address);
/* After it. */
bool glibc_is_cached(const struct glibc *glibc, uint64_t chunk);
/* True when a thread holds a list of fastbin chunks that is in no bin: malloc_consolidate runs. */
bool glibc_in_limbo(struct glibc *glibc);

#endif
