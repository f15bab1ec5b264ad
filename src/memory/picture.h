/* SPDX-License-Identifier: MIT */
/*
 * picture.h - the whole target as it stood at one moment, to be read at leisure.
 *
 * The keeper makes it (inject/snapshot/freeze.h): a child of the target that shares its
 * pages and never runs, and the registers of every thread from the same pause.
 * Everything in it is hostile.
 */
#ifndef MEMATTACH_LEAK_PICTURE_H
#define MEMATTACH_LEAK_PICTURE_H

#include <sys/user.h>

#include "src/base/procmaps.h"
#include "src/base/ranges.h"
#include "src/elf/elf_image.h"

struct picture_thread {
	int32_t tid;
	uint32_t reserved;
	struct user_regs_struct registers;	/* as the thread itself would see them */
};
/* A pointer, perhaps, that a vector register of a running thread held. */
struct picture_vector {
	int32_t tid;
	uint32_t reserved;
	uint64_t value;
};
struct picture {
	int mem;			/* owned; reads the frozen memory by address, with pread */
	struct procmaps maps;		/* of the frozen memory */
	size_t thread_count;
	struct picture_thread *thread;	/* owned */
	size_t vector_count;
	struct picture_vector *vector;	/* owned */
	uint64_t pause_us;		/* how long the target stood still for it */
	int live;			/* owned; the running target's memory, -1: none */
	struct ranges live_ranges;	/* what is read there: the picture has no copy of it */
	struct ranges holes;		/* memory that is empty: zeros, never read; see below */
	/* Called between reads while it is not NULL, on the reading thread: other work goes on. */
	void (*idle)(void *context);
	void *idle_context;
	struct elf_reader reader;	/* over mem; points into this struct: never copy it */
};

/*
 * Takes ownership of mem; maps_text is copied out of maps_fd (borrowed). threads: copied.
 * 0 or -errno; ret is empty then and mem closed.
 */
int picture_open(int mem, int maps_fd, const struct picture_thread *threads, size_t count,
		 struct picture *ret) _must_check_;
/* Once. words: copied. 0, -ENOMEM. */
int picture_add_vectors(struct picture *picture, const struct picture_vector *words, size_t count)
	_must_check_;
/*
 * Memory that the target keeps from its children (MADV_DONTFORK; V8's heaps): what is
 * private and writable in maps (read after the picture: older ones name what is gone, and may be
 * something else by now), and not in the picture, is read from live (a
 * descriptor, taken) when it is looked at, and stands in picture->maps. It is younger than the
 * rest, and may be torn. 0, -ENOMEM (live is closed).
 */
int picture_add_live(struct picture *picture, int live, const struct procmaps *maps) _must_check_;
/*
 * Finds the holes: what of the private anonymous mappings is in no memory and no swap, by pagemap
 * (the picture's) and live_pagemap (the running target's, for live_ranges); both borrowed. Where
 * they (-1, or files that tell nothing) do not say, all counts as filled; so do the
 * smallest holes if there are more than two million. Once, after picture_add_live. 0, -ENOMEM.
 */
int picture_find_holes(struct picture *picture, int pagemap, int live_pagemap) _must_check_;
/*
 * True for private memory that its owner has made unreadable (mprotect): its bytes can be read here
 * all the same. What is larger than blocks are is reserved address space, and left alone.
 */
bool picture_is_protected(const struct procmap *map);
/* Where the hole ends that address is in; address itself if it is in none. */
uint64_t picture_skip_hole(const struct picture *picture, uint64_t address);
/* How much of [low, high) lies in holes. */
uint64_t picture_hole_bytes(const struct picture *picture, uint64_t low, uint64_t high);
/* Private memory that may be looked through for pointers, without the holes. */
uint64_t picture_filled_bytes(const struct picture *picture);
void picture_done(struct picture *picture);
/* As much as is there from address on, up to bytes; the count, 0 if nothing. */
size_t picture_read_some(const struct picture *picture, uint64_t address, void *buffer,
			 size_t bytes);
/* Exactly bytes: 0, or -EFAULT. */
int picture_read(const struct picture *picture, uint64_t address, void *buffer, size_t bytes)
	_must_check_;
/* One aligned or unaligned word; 0 where there is none. */
uint64_t picture_word(const struct picture *picture, uint64_t address);

#endif
