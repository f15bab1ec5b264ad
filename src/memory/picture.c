/* SPDX-License-Identifier: MIT */
/* picture.c - see picture.h. Reading is pread on the frozen memory: no mapping of hostile pages. */
#include "src/memory/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/array.h"

static int read_exactly(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return picture_read(context, address, buffer, bytes);
}

int picture_open(int mem, int maps_fd, const struct picture_thread *threads, size_t count,
		 struct picture *ret)
{
	int error;

	*ret = (struct picture){ .mem = mem, .live = -1, .thread_count = count };
	ret->reader = (struct elf_reader){ read_exactly, ret };
	error = procmaps_read(maps_fd, &ret->maps);
	ret->thread = error ? NULL : calloc(count + 1, sizeof(*threads));
	if (!error && !ret->thread)
		error = -ENOMEM;
	if (error) {
		picture_done(ret);
		return error;
	}
	memcpy(ret->thread, threads, count * sizeof(*threads));
	return 0;
}

int picture_add_vectors(struct picture *picture, const struct picture_vector *words, size_t count)
{
	picture->vector = calloc(count + 1, sizeof(*words));
	if (!picture->vector)
		return -ENOMEM;
	memcpy(picture->vector, words, count * sizeof(*words));
	picture->vector_count = count;
	return 0;
}

void picture_done(struct picture *picture)
{
	cleanup_fd(&picture->mem);
	cleanup_fd(&picture->live);
	ranges_done(&picture->live_ranges);
	ranges_done(&picture->holes);
	procmaps_done(&picture->maps);
	free(picture->thread);
	free(picture->vector);
	*picture = (struct picture){ .mem = -1, .live = -1 };
}

/* Is any of it in the picture? */
static bool is_copied(const struct picture *picture, const struct procmap *map)
{
	const struct procmap *in = picture->maps.map;
	size_t low = ARRAY_BISECT(picture->maps.count, i, in[i].end <= map->start);

	return low < picture->maps.count && in[low].start < map->end;
}

/* Mappings have other bounds a moment later; a kept one never touches one that was copied. */
static bool is_kept_from_children(const struct picture *picture, const struct procmap *map)
{
	uint32_t wanted = PROCMAP_R | PROCMAP_W;

	return (map->prot & (wanted | PROCMAP_SHARED)) == wanted && map->path[0] != '[' &&
	       !is_copied(picture, map);
}

static int by_start(const void *a, const void *b)
{
	const struct procmap *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int picture_add_live(struct picture *picture, int live, const struct procmaps *maps)
{
	struct procmap *grown = reallocarray(picture->maps.map,
					     picture->maps.count + maps->count + 1,
					     sizeof(*grown));
	size_t count = picture->maps.count;
	int error = grown ? 0 : -ENOMEM;

	if (grown)
		picture->maps.map = grown;
	for (size_t i = 0; !error && i < maps->count; i++) {
		if (!is_kept_from_children(picture, &maps->map[i]))
			continue;
		error = ranges_add(&picture->live_ranges, maps->map[i].start, maps->map[i].end);
		grown[count] = maps->map[i];
		grown[count++].path = "";	/* the other list owns its text */
	}
	if (error || count == picture->maps.count) {
		cleanup_fd(&live);
		return error;
	}
	picture->maps.count = count;
	qsort(grown, count, sizeof(*grown), by_start);
	ranges_normalize(&picture->live_ranges);
	picture->live = live;
	return 0;
}

/* Is address in one of ranges? Cuts bytes off where that changes. */
static bool cut_at_border(const struct ranges *ranges, uint64_t address, size_t *bytes)
{
	const struct range *next = ranges_at_or_above(ranges, address);
	bool inside = next && next->low <= address;

	if (next && (inside ? next->high : next->low) - address < *bytes)
		*bytes = (size_t)((inside ? next->high : next->low) - address);
	return inside;
}

/* A piece of what is wanted, as much as has one source: as pread. */
static ssize_t read_piece(const struct picture *picture, uint64_t address, void *buffer,
			  size_t bytes)
{
	int fd = cut_at_border(&picture->live_ranges, address, &bytes) ? picture->live :
									 picture->mem;

	if (!cut_at_border(&picture->holes, address, &bytes))
		return pread(fd, buffer, bytes, (off_t)address);
	memset(buffer, 0, bytes);
	return (ssize_t)bytes;
}

size_t picture_read_some(const struct picture *picture, uint64_t address, void *buffer,
			 size_t bytes)
{
	size_t done = 0;

	if (picture->idle)
		picture->idle(picture->idle_context);
	while (done < bytes) {
		ssize_t got = read_piece(picture, address + done, (char *)buffer + done,
					 bytes - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

int picture_read(const struct picture *picture, uint64_t address, void *buffer, size_t bytes)
{
	return picture_read_some(picture, address, buffer, bytes) == bytes ? 0 : -EFAULT;
}

uint64_t picture_word(const struct picture *picture, uint64_t address)
{
	uint64_t word;

	return picture_read(picture, address, &word, sizeof(word)) ? 0 : word;
}
