/* SPDX-License-Identifier: MIT */
/*
 * regions_take.c - see regions_take.h.
 *
 * Sizes in memory come from pagemap: page tables are looked at in steps of some milliseconds, with
 * the target's lock on its mappings let go in between. Rejected: smaps, which holds it for a
 * whole mapping, a second for a hundred gigabytes, while the target's mmap waits. As in smaps, what
 * is not the process's to count stands with 0: vvar, anonymous huge pages of hugetlbfs.
 * Kinds are told by the list of modules and by shape: an arena of glibc by the header of its heap,
 * a large block by its own, a thread's stack by the control block at its upper end, which names its
 * own address. Of memory to be read for that only pages are touched that are there.
 */
#include "src/memory/regions_take.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "inject/abi/memfd_names.h"
#include "src/base/pagemap.h"

#define PAGE		4096ull
#define RANGES		1024u		/* of one call */
#define MAX_PRESENT	(2u << 20)	/* 32 MiB */
#define MAX_BY_ENTRY	(32ull << 40)	/* half a minute */
#define HEAP_ALIGN	(64ull << 20)	/* of glibc's heaps */
#define IS_MMAPPED	2u		/* in the size of a chunk of glibc's */
#define MAX_BLOCKS	256u		/* that are looked at in one mapping */
#define TOP_BYTES	(16u << 10)	/* of a stack, with its thread's control block */

struct taking {
	const struct regions_input *input;
	struct pagemap pagemap;
	struct regions *regions;
	const struct procmaps *maps;
	struct ranges *present;
	bool told;
	uint64_t left;			/* bytes that may still be asked for by entry */
	struct pagemap_range range[RANGES];
};

/* --- what it is ----------------------------------------------------------------- */

static bool is_anonymous(const struct procmap *map)
{
	return !map->inode && !(map->prot & PROCMAP_SHARED) &&
	       (map->path[0] == '\0' || strncmp(map->path, "[anon", 5) == 0);
}

/* The segment of module that holds address; NULL: none. */
static const struct module_segment *segment_at(const struct module *module, uint64_t address)
{
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *s = &module->segment[i];
		uint64_t low = s->address & ~(PAGE - 1);

		if (address - module->bias - low < s->address - low + s->memory_bytes)
			return s;
	}
	return NULL;
}

static enum region_kind module_kind(const struct module *module, const struct procmap *map)
{
	const struct module_segment *segment = segment_at(module, map->start);

	if (!map->inode)
		return REGION_BSS;
	if (map->prot & PROCMAP_X)
		return REGION_TEXT;
	return (map->prot & PROCMAP_W) || (segment && (segment->flags & PF_W)) ? REGION_DATA :
										 REGION_RODATA;
}

/* The program or library that the mapping belongs to; NULL: none. */
static const struct module *module_of(const struct taking *t, const struct procmap *map)
{
	const struct module *module = modules_find(t->input->modules, map->start);

	if (!module || module->kind == MODULE_JIT || (map->prot & PROCMAP_SHARED))
		return NULL;
	if (map->inode)
		return module->inode == map->inode || module->kind == MODULE_SHIM ? module : NULL;
	return is_anonymous(map) && segment_at(module, map->start) ? module : NULL;
}

static enum region_kind kind_by_place(const struct procmap *map)
{
	const bool kernel = strncmp(map->path, "[v", 2) == 0;

	if (memfd_path_is_ours(map->path))
		return REGION_MEMATTACH;
	if (kernel && !map->inode)
		return REGION_KERNEL;
	if (strcmp(map->path, "[heap]") == 0)
		return REGION_HEAP;
	if (strncmp(map->path, "[stack", 6) == 0)
		return REGION_STACK;
	if (map->prot & PROCMAP_SHARED)
		return REGION_SHARED;
	if (!(map->prot & (PROCMAP_R | PROCMAP_W | PROCMAP_X)))
		return REGION_RESERVED;
	if (map->prot & PROCMAP_X)
		return REGION_JIT;
	return map->inode ? REGION_FILE : REGION_ANONYMOUS;
}

static bool read_words(const struct taking *t, uint64_t address, uint64_t *words, size_t bytes)
{
	const struct elf_reader *reader = t->input->reader;
	uint64_t end = address + bytes;
	const struct range *r = ranges_at_or_above(t->present, address);

	return r && r->low <= address && end <= r->high &&
	       reader->read(reader->context, address, words, bytes) == 0;
}

/* The header of a heap: its arena, the heap before it, its size, how much can be written. */
static bool is_arena(const struct taking *t, uint64_t start, uint64_t end)
{
	uint64_t head[4];

	return start % HEAP_ALIGN == 0 && read_words(t, start, head, sizeof(head)) &&
	       head[0] % 16 == 0 && head[0] != 0 && head[1] % HEAP_ALIGN == 0 &&
	       head[2] % PAGE == 0 && head[2] > 0 && head[2] <= head[3] &&
	       head[3] <= end - start &&
	       (head[1] || head[0] - start == 0x20 || head[0] - start == 0x30);
}

/*
 * Blocks of glibc's with mappings of their own, which the kernel may have joined: headers
 * {0, size}, IS_MMAPPED in it, that fill the mapping by half at least.
 */
static bool is_blocks(const struct taking *t, uint64_t start, uint64_t end)
{
	uint64_t at = start, head[2];

	for (unsigned int i = 0; i < MAX_BLOCKS && at < end; i++) {
		if (!read_words(t, at, head, sizeof(head)) || head[0] != 0 ||
		    head[1] % PAGE != IS_MMAPPED || head[1] < PAGE ||
		    head[1] - IS_MMAPPED > end - at)
			break;
		at += head[1] - IS_MMAPPED;
	}
	return at - start >= (end - start) / 2;
}

/* A control block at address: glibc's names itself twice, musl's is in a ring with others. */
static bool is_thread(const struct taking *t, uint64_t address, const uint64_t *word)
{
	uint64_t next[3];

	if (word[0] != address)
		return false;
	if (word[2] == address)
		return true;
	return word[3] % 8 == 0 && word[3] != address &&
	       read_words(t, word[3], next, sizeof(next)) && next[0] == word[3] &&
	       next[2] == address;
}

static bool is_stack(const struct taking *t, uint64_t start, uint64_t end)
{
	uint64_t word[512 + 3];
	uint64_t low = end - start > TOP_BYTES ? end - TOP_BYTES : start;

	for (uint64_t page = end; page > low; page -= PAGE) {
		size_t bytes = sizeof(word);

		if (page == end || !read_words(t, page - PAGE, word, bytes))
			bytes = PAGE;
		if (bytes == PAGE && !read_words(t, page - PAGE, word, bytes))
			continue;
		for (size_t i = 0; i + 3 < bytes / 8; i += 2)
			if (is_thread(t, page - PAGE + 8 * i, word + i))
				return true;
	}
	return false;
}

/* The main thread's control block lies in memory without one. */
static bool has_guard(const struct taking *t, const struct procmap *map)
{
	const struct procmap *before = map == t->maps->map ? NULL : map - 1;

	return before && before->end == map->start &&
	       !(before->prot & (PROCMAP_R | PROCMAP_W | PROCMAP_X));
}

static enum region_kind kind_by_shape(const struct taking *t, const struct procmap *map)
{
	if (is_arena(t, map->start, map->end))
		return REGION_ALLOCATOR;
	if (has_guard(t, map) && is_stack(t, map->start, map->end))
		return REGION_STACK;
	return is_blocks(t, map->start, map->end) ? REGION_ALLOCATOR : REGION_ANONYMOUS;
}

static void classify(struct taking *t, const struct procmap *map, struct region *r)
{
	const struct module *module = module_of(t, map);

	r->kind = kind_by_place(map);
	if (module && (r->kind != REGION_MEMATTACH || module->kind == MODULE_SHIM))
		r->kind = module->kind == MODULE_SHIM ? REGION_MEMATTACH :
						       module_kind(module, map);
	if (r->kind == REGION_BSS)
		r->path = strdup(module->path);
	else if (r->kind == REGION_ANONYMOUS && is_anonymous(map))
		r->kind = kind_by_shape(t, map);
	if (!r->path)
		r->path = strdup(map->path);
}

/* --- how much of it is there ------------------------------------------------------- */

static bool is_counted(const struct procmap *map)
{
	return strncmp(map->path, "[vv", 3) != 0 && strcmp(map->path, "[vsyscall]") != 0 &&
	       strcmp(map->path, "/anon_hugepage") != 0;
}

static int note_present(struct taking *t, const struct pagemap_range *range)
{
	struct range *last = t->present->count ? &t->present->range[t->present->count - 1] : NULL;

	if (last && last->high == range->low) {
		last->high = range->high;
		return 0;
	}
	t->told = t->told && t->present->count < MAX_PRESENT;
	return t->told ? ranges_add(t->present, range->low, range->high) : 0;
}

static int note_pages(struct taking *t, const struct pagemap_range *range, bool anonymous,
		      struct region_sizes *sizes)
{
	uint64_t bytes = range->high - range->low;

	if (!(range->categories & PAGEMAP_PRESENT)) {
		sizes->swapped += bytes;
		return 0;
	}
	sizes->resident += bytes;
	sizes->own += range->categories & PAGEMAP_OF_FILE ? 0 : bytes;
	sizes->huge += range->categories & PAGEMAP_HUGE ? bytes : 0;
	return anonymous ? note_present(t, range) : 0;
}

/* 0, -ENOMEM, -EIO: the kernel does not tell. */
static int measure(struct taking *t, const struct procmap *map, struct region_sizes *sizes)
{
	bool anonymous = !map->inode && !(map->prot & PROCMAP_SHARED);
	uint64_t at = map->start;
	int error = 0;

	sizes->size = map->end - map->start;
	if (!is_counted(map) || !t->regions->pages_known)
		return 0;
	if (t->pagemap.way == PAGEMAP_BY_ENTRY && sizes->size > t->left)
		return -EIO;
	t->left -= t->pagemap.way == PAGEMAP_BY_ENTRY ? sizes->size : 0;
	while (!error && at < map->end) {
		int count = pagemap_next_kinds(&t->pagemap, &at, map->end, t->range, RANGES);

		if (count < 0)
			return -EIO;
		for (int i = 0; !error && i < count; i++)
			error = note_pages(t, &t->range[i], anonymous, sizes);
		if (t->input->idle)
			t->input->idle(t->input->idle_context);
	}
	return error;
}

/* --- all of them --------------------------------------------------------------------- */

/* A row of its own, or a part of the last one. */
static int regions_take_add(struct taking *t, const struct procmap *map)
{
	struct regions *regions = t->regions;
	struct region one = { .start = map->start, .end = map->end, .offset = map->offset,
			      .prot = map->prot, .deleted = map->deleted };
	struct region *rest = &regions->region[REGIONS_MAX];
	int error = measure(t, map, &one.sizes);

	if (error == -EIO) {
		regions->pages_known = false;
		error = 0;
	}
	if (error)
		return error;
	if (regions->count < REGIONS_MAX) {
		classify(t, map, &one);
		regions->region[regions->count++] = one;
		return one.path ? 0 : -ENOMEM;
	}
	regions->left_out++;
	region_sizes_add(&rest->sizes, &one.sizes);
	return 0;
}

/* The last row, if there were too many: of no kind. */
static int add_rest(struct regions *regions)
{
	struct region *rest = &regions->region[REGIONS_MAX];

	if (!regions->left_out)
		return 0;
	rest->kind = REGION_ANONYMOUS;
	rest->path = strdup("");
	regions->count++;
	return rest->path ? 0 : -ENOMEM;
}

/* Half a truth is none. */
static void forget_pages(struct regions *regions)
{
	for (size_t i = 0; i < regions->count; i++)
		regions->region[i].sizes = (struct region_sizes){
			.size = regions->region[i].sizes.size };
}

static int take_all(struct taking *t, const struct procmaps *maps)
{
	size_t room = maps->count < REGIONS_MAX ? maps->count : REGIONS_MAX;
	int error = 0;

	t->maps = maps;
	t->regions->region = calloc(room + 1, sizeof(*t->regions->region));
	if (!t->regions->region)
		return -ENOMEM;
	for (size_t i = 0; !error && i < maps->count; i++)
		error = regions_take_add(t, &maps->map[i]);
	if (!error)
		error = add_rest(t->regions);
	if (!t->regions->pages_known) {
		t->told = t->regions->huge_known = false;
		forget_pages(t->regions);
	}
	return error;
}

int regions_take(const struct regions_input *input, struct regions **ret,
		 struct ranges *ret_present, bool *ret_told)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	_cleanup_free_ struct taking *t = calloc(1, sizeof(*t));
	struct regions *regions = calloc(1, sizeof(*regions));
	int error = t && regions ? procmaps_read(input->maps_fd, &maps) : -ENOMEM;

	ret_present->count = 0;
	if (!error && maps.count == 0)
		error = -ESRCH;
	if (!error) {
		*t = (struct taking){ .input = input, .regions = regions,
				      .present = ret_present, .left = MAX_BY_ENTRY };
		pagemap_init(&t->pagemap, input->pagemap_fd);
		t->told = regions->pages_known = t->pagemap.way != PAGEMAP_UNKNOWN;
		regions->huge_known = t->pagemap.way == PAGEMAP_BY_RANGE;
		error = take_all(t, &maps);
	}
	if (error) {
		regions_free(regions);
		return error;
	}
	ranges_normalize(ret_present);
	*ret_told = t->told;
	*ret = regions;
	return 0;
}

/* --- what is known later ----------------------------------------------------------------- */

void regions_note_thread(struct regions *regions, int32_t tid, uint64_t stack_pointer)
{
	for (size_t i = 0; i < regions->count; i++) {
		struct region *r = &regions->region[i];

		if (stack_pointer - r->start >= r->end - r->start)
			continue;
		if (r->kind == REGION_ANONYMOUS)
			r->kind = REGION_STACK;
		if (r->kind == REGION_STACK && !r->tid)
			r->tid = tid;
		return;
	}
}

static uint64_t overlap(const struct ranges *ranges, uint64_t low, uint64_t high)
{
	const struct range *r = ranges_at_or_above(ranges, low);
	const struct range *end = ranges->range + ranges->count;
	uint64_t bytes = 0;

	for (; r && r < end && r->low < high; r++)
		bytes += (r->high < high ? r->high : high) - (r->low > low ? r->low : low);
	return bytes;
}

void regions_note_heap(struct regions *regions, const struct ranges *heap)
{
	for (size_t i = 0; i < regions->count; i++) {
		struct region *r = &regions->region[i];

		if (r->kind == REGION_ANONYMOUS && r->path[0] == '\0' && r->start < r->end &&
		    overlap(heap, r->start, r->end) >= (r->end - r->start) / 2)
			r->kind = REGION_ALLOCATOR;
	}
}
