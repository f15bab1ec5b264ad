/* SPDX-License-Identifier: MIT */
/* regions.c - see regions.h. Who takes them from a process is regions_take.c. */
#include "src/memory/regions.h"

#include <errno.h>
#include <string.h>

const char *region_kind_name(enum region_kind kind)
{
	static const char *const name[REGION_KINDS] = {
		"text", "rodata", "data", "bss", "heap", "allocator", "stack", "anonymous",
		"file", "shared", "jit", "reserved", "kernel", "memattach",
	};

	return kind < REGION_KINDS ? name[kind] : "unknown";
}

void regions_free(struct regions *regions)
{
	if (!regions)
		return;
	for (size_t i = 0; i < regions->count; i++)
		free(regions->region[i].path);
	free(regions->region);
	free(regions);
}

void region_sizes_add(struct region_sizes *to, const struct region_sizes *from)
{
	to->size = memory_sum(to->size, from->size);
	to->resident = memory_sum(to->resident, from->resident);
	to->own = memory_sum(to->own, from->own);
	to->swapped = memory_sum(to->swapped, from->swapped);
	to->huge = memory_sum(to->huge, from->huge);
}

static uint64_t mappings_in(const struct regions *regions, const struct region *region)
{
	return region->start == region->end ? regions->left_out : 1;
}

static void regions_add(struct region_sum *sum, const struct regions *regions,
			const struct region *region)
{
	sum->mappings = memory_sum(sum->mappings, mappings_in(regions, region));
	region_sizes_add(&sum->sizes, &region->sizes);
}

void regions_by_kind(const struct regions *regions, struct region_sum ret[REGION_KINDS],
		     struct region_sum *ret_all)
{
	memset(ret, 0, REGION_KINDS * sizeof(*ret));
	*ret_all = (struct region_sum){ .path = NULL };
	for (size_t i = 0; i < regions->count; i++) {
		regions_add(&ret[regions->region[i].kind], regions, &regions->region[i]);
		regions_add(ret_all, regions, &regions->region[i]);
	}
}

static bool has_file(const struct region *region)
{
	return region->path[0] != '\0' && region->path[0] != '[';
}

static int by_path(const void *left, const void *right)
{
	const struct region *a = *(const struct region *const *)left;
	const struct region *b = *(const struct region *const *)right;

	return strcmp(a->path, b->path);
}

static int by_size(const void *left, const void *right)
{
	const struct region_sum *a = left, *b = right;

	if (a->sizes.resident != b->sizes.resident)
		return a->sizes.resident > b->sizes.resident ? -1 : 1;
	if (a->sizes.size != b->sizes.size)
		return a->sizes.size > b->sizes.size ? -1 : 1;
	return strcmp(a->path, b->path);
}

int regions_by_file(const struct regions *regions, struct region_sum **ret, size_t *ret_count)
{
	_cleanup_free_ const struct region **sorted = calloc(regions->count + 1, sizeof(*sorted));
	struct region_sum *sum = calloc(regions->count + 1, sizeof(*sum));
	size_t count = 0, sums = 0;

	if (!sorted || !sum) {
		free(sum);
		return -ENOMEM;
	}
	for (size_t i = 0; i < regions->count; i++)
		if (has_file(&regions->region[i]))
			sorted[count++] = &regions->region[i];
	qsort(sorted, count, sizeof(*sorted), by_path);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(sorted[i - 1]->path, sorted[i]->path) != 0)
			sum[sums++].path = sorted[i]->path;
		regions_add(&sum[sums - 1], regions, sorted[i]);
	}
	qsort(sum, sums, sizeof(*sum), by_size);
	*ret = sum;
	*ret_count = sums;
	return 0;
}
