/* SPDX-License-Identifier: MIT */
/*
 * heap_glibc_find.c - main_arena and mp_, by what they look like.
 *
 * An empty bin holds its own address less 16, twice; nothing else does. From one such word the
 * arena follows: the bins begin a multiple of 16 before it, the ring of arenas stands 2048
 * bytes after their beginning and leads back to the struct itself, which gives its
 * address. mp_ lies near, and knows where the heap begins. Symbols were rejected as the
 * means: libraries are stripped of these two names, and the search works where they are, too.
 * A main_arena that was never used is not found: then nothing was allocated.
 */
#include "src/heap/glibc/heap_glibc.h"

#include <errno.h>
#include <string.h>

#include "src/heap/heap_bytes.h"

#define BLOCK_BYTES	(64u << 10)
#define MAX_LIBC_DATA	(4ull << 20)	/* writable memory of a libc */
#define MAX_OTHER_DATA	(256ull << 20)	/* of a program that may have a libc in itself */
#define RING_AFTER_BINS	2048u
#define MAX_BEFORE_BINS	112u
#define PAR_NEAR	(64u << 10)

struct find {
	const struct picture *picture;
	const struct module *module;
	struct glibc *ret;
	size_t count, room;
	bool bins_seen;		/* an empty bin was met, of whatever */
};

/* Does the ring lead from the arena at main, whose bins stand offset after it, back to it? */
static bool ring_closes(const struct picture *picture, uint64_t main, uint64_t offset)
{
	uint64_t arena = picture_word(picture, main + offset + RING_AFTER_BINS), seen = 0;

	for (unsigned int i = 0; i < GLIBC_MAX_ARENAS && arena != main; i++) {
		uint64_t header = arena % GLIBC_PAGE;

		if (arena == seen)	/* a ring without main */
			return false;
		if ((i & (i - 1)) == 0)
			seen = arena;

		/* The others stand behind the header of their first heap, which names them. */
		if ((header != 0x20 && header != 0x30) ||
		    picture_word(picture, arena - header) != arena)
			return false;
		arena = picture_word(picture, arena + offset + RING_AFTER_BINS);
	}
	return arena == main;
}

static uint64_t find_main(const struct picture *picture, uint64_t bins)
{
	static const uint8_t offsets[] = { MAX_BEFORE_BINS, 104, 24 };

	for (size_t i = 0; i < sizeof(offsets); i++) {
		if (ring_closes(picture, bins - offsets[i], offsets[i]))
			return bins - offsets[i];
	}
	return 0;
}

/* Every bin has links, be it empty or not. */
static bool bins_plausible(const uint64_t *bin)
{
	for (unsigned int i = 0; i < 2 * GLIBC_BINS; i++) {
		if (bin[i] == 0 || bin[i] % 8 != 0)
			return false;
	}
	return true;
}

static bool arena_try(struct find *find, uint64_t bins)
{
	uint64_t words[GLIBC_STATE_MAX / 8], bin[2 * GLIBC_BINS];
	const struct glibc_state_layout *layout;
	uint64_t main = find_main(find->picture, bins);

	if (!main || picture_read(find->picture, bins, bin, sizeof(bin)) < 0 ||
	    !bins_plausible(bin) ||
	    picture_read(find->picture, main, words, sizeof(words)) < 0)
		return false;
	layout = glibc_state_layout(main, bins, words);
	if (!layout || words[layout->top / 8] == 0 || (words[0] & 0xffffffff) > 2 ||
	    words[0] >> 36 != 0)
		return false;
	find->ret[find->count++] = (struct glibc){
		.picture = find->picture, .code_low = find->module->low,
		.code_high = find->module->high, .state = layout, .main = main,
		.versions = layout->versions, .safe_linking = -1,
	};
	return true;
}

/* Can the ring go on from bins to next: to the same arena, or to one behind a heap's header? */
static bool ring_may_go_to(uint64_t next, uint64_t bins)
{
	return next - bins + MAX_BEFORE_BINS <= MAX_BEFORE_BINS || next % GLIBC_PAGE == 0x20 ||
	       next % GLIBC_PAGE == 0x30;
}

/*
 * An empty bin is at address: which is it, and whose? One reading shows what stands at the place
 * of the ring for each: memory may be full of what looks like an empty bin.
 */
static bool bin_try(struct find *find, uint64_t address)
{
	uint64_t ring[2 * GLIBC_BINS];
	const uint64_t low = address - 16ull * (GLIBC_BINS - 1);
	size_t got = picture_read_some(find->picture, low + RING_AFTER_BINS, ring, sizeof(ring));

	for (size_t i = GLIBC_BINS; i-- > 0;) {
		uint64_t bins = low + 16 * i;

		if (16 * i + 8 <= got && ring_may_go_to(ring[2 * i], bins) && arena_try(find, bins))
			return true;
	}
	return false;
}

/* Returns where to go on. */
static uint64_t search_block(struct find *find, uint64_t low, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		uint64_t address = low + 8 * i;

		if (words[i] != address - 16 || words[i + 1] != address - 16)
			continue;
		find->bins_seen = true;
		if (bin_try(find, address))
			return address + 16ull * GLIBC_BINS;
		i++;
	}
	return low + 8 * (count > 1 ? count - 1 : 1);
}

static int search_range(struct find *find, uint64_t low, uint64_t high)
{
	_cleanup_free_ uint64_t *words = malloc(BLOCK_BYTES);

	if (!words)
		return -ENOMEM;
	while (low < high && find->count < find->room) {
		size_t wanted = high - low < BLOCK_BYTES ? (size_t)(high - low) : BLOCK_BYTES;
		size_t got = picture_read_some(find->picture, low, words, wanted);

		if (got < 16)
			break;
		low = search_block(find, low, words, got / 8);
	}
	return 0;
}

static int search_module(struct find *find, const struct module *module, uint64_t *budget)
{
	int r = 0;

	find->module = module;
	for (uint32_t i = 0; i < module->segment_count && r == 0; i++) {
		const struct module_segment *s = &module->segment[i];
		uint64_t low = (s->address + module->bias + 7) & ~7ull;
		uint64_t bytes = s->memory_bytes < *budget ? s->memory_bytes : *budget;

		if (!(s->flags & PF_W) || bytes > UINT64_MAX - low)
			continue;
		*budget -= bytes;
		r = search_range(find, low, low + bytes);
	}
	return r;
}

static bool is_libc(const struct module *module)
{
	const char *name = strrchr(module->path, '/');

	name = name ? name + 1 : module->path;
	/* libc.so is musl's */
	return strncmp(name, "libc.so.", 8) == 0 || strncmp(name, "libc-2.", 7) == 0;
}

static int search_modules(struct find *find, const struct modules *modules, bool libcs,
			  uint64_t budget)
{
	int r = 0;

	for (uint32_t id = 1; id <= modules_count(modules) && r == 0; id++) {
		const struct module *module = modules_get(modules, id);
		uint64_t each = MAX_LIBC_DATA;

		if (!module || module->closed || module->kind != MODULE_FILE ||
		    is_libc(module) != libcs)
			continue;
		r = search_module(find, module, libcs ? &each : &budget);
	}
	return r;
}

int glibc_find(const struct picture *picture, const struct modules *modules, struct glibc *ret,
	       size_t room)
{
	struct find find = { .picture = picture, .ret = ret, .room = room };
	int r = search_modules(&find, modules, true, 0);

	if (r == 0 && find.count == 0 && find.bins_seen)
		return -EBADMSG;
	/* A static program has it in itself. */
	if (r == 0 && find.count == 0)
		r = search_modules(&find, modules, false, MAX_OTHER_DATA);
	return r < 0 ? r : (int)find.count;
}

/*
 * The numbers of a malloc_par agree with each other. In 2.43 and 2.44 each mremap counts 16
 * bytes too many, so that mmapped_mem is nothing exact there. Where nothing is in the main arena
 * (2.42 makes tcaches late), they alone tell the layouts apart.
 */
static bool par_plausible(const uint8_t *at, const struct glibc_par_layout *layout)
{
	uint64_t mapped = heap_word(at, layout->mmapped_mem);
	uint32_t count = heap_half(at, layout->n_mmaps);

	return count <= heap_half(at, layout->n_mmaps + 8u) &&
	       heap_half(at, layout->n_mmaps + 12u) <= 1 &&
	       heap_half(at, layout->n_mmaps + 4u) < 1u << 31 &&
	       mapped <= heap_word(at, layout->mmapped_mem + 8u) && mapped % 16 == 0 &&
	       mapped / GLIBC_PAGE >= count && (count > 0 || mapped == 0 || layout->drifts) &&
	       heap_word(at, 0) != 0 &&		/* trim_threshold */
	       heap_word(at, 16) - 1 < 4ull << 30 && /* mmap_threshold: half a heap at the most */
	       heap_word(at, 24) - 1 < 4096;		/* arena_test: 8, but for tunables */
}

/* Where the heap should begin by the main arena's own numbers; 0 if that can't be said. */
static uint64_t expected_base(const struct glibc *glibc)
{
	const struct glibc_arena *main = &glibc->arena[0];

	return main->pieces || main->system_mem == 0
		       ? 0
		       : main->top + main->top_bytes - main->system_mem;
}

static bool base_plausible(const struct glibc *glibc, uint64_t base)
{
	const struct procmap *map = procmaps_find(&glibc->picture->maps, base);

	if (glibc->arena[0].system_mem == 0)
		return base == 0;
	if (!glibc->arena[0].pieces)
		return base == expected_base(glibc);
	return map && glibc_is_memory(map);
}

static bool par_take(struct glibc *glibc, const struct glibc_par_layout *layout,
		     const uint8_t *at, uint64_t address)
{
	uint64_t base = heap_word(at, layout->sbrk_base);

	if (!par_plausible(at, layout) || !base_plausible(glibc, base))
		return false;
	glibc->par = layout;
	glibc->par_address = address;
	glibc->sbrk_base = base;
	glibc->n_mmaps = heap_half(at, layout->n_mmaps);
	glibc->mmapped_mem = heap_word(at, layout->mmapped_mem);
	glibc_versions_narrow(&glibc->versions, layout->versions);
	return true;
}

/* Is mp_ at that place of bytes, which begin at low? */
static bool par_at(struct glibc *glibc, const uint8_t *bytes, uint64_t low, uint64_t address)
{
	const struct glibc_par_layout *layout;

	for (size_t i = 0; (layout = glibc_par_layout(glibc->state->versions, i)); i++) {
		if (address - low <= 2 * PAR_NEAR - layout->sbrk_base - 8u &&
		    par_take(glibc, layout, bytes + (address - low), address))
			return true;
	}
	return false;
}

/* mp_ is declared right after main_arena, and has always come to lie near it: nearest first. */
int glibc_find_par(struct glibc *glibc)
{
	_cleanup_free_ uint8_t *bytes = calloc(1, 2 * PAR_NEAR);
	const uint64_t low = (glibc->main - PAR_NEAR) & ~(uint64_t)(GLIBC_PAGE - 1);

	if (!bytes)
		return -ENOMEM;
	/* What can't be read, before and after the library's data, stays 0. */
	for (uint64_t at = 0; at < 2 * PAR_NEAR; at += GLIBC_PAGE)
		picture_read_some(glibc->picture, low + at, bytes + at, GLIBC_PAGE);
	for (uint64_t distance = 8; distance < PAR_NEAR - GLIBC_PAGE; distance += 8) {
		if (par_at(glibc, bytes, low, glibc->main - distance) ||
		    par_at(glibc, bytes, low, glibc->main + distance))
			return 0;
	}
	return glibc_fail(glibc, -EAGAIN, "mp_ not found near main_arena");
}
