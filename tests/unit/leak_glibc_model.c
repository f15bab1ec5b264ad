/* SPDX-License-Identifier: MIT */
/*
 * leak_glibc_model.c - see leak_glibc_model.h.
 *
 * The structs are declared as the versions' malloc.c and arena.c do, so that the compiler
 * computes their offsets, not the tables under test.
 */
#include "tests/unit/leak_glibc_model.h"

#include <string.h>

struct model_state_17 {
	int mutex, flags;
	uint64_t fast[10], top, remainder, bins[254];
	unsigned int binmap[4];
	uint64_t next, next_free, system_mem, max_system_mem;
};
struct model_state_23 {
	int mutex, flags;
	uint64_t fast[10], top, remainder, bins[254];
	unsigned int binmap[4];
	uint64_t next, next_free, attached, system_mem, max_system_mem;
};
struct model_state_27 {
	int mutex, flags, have_fastchunks;
	uint64_t fast[10], top, remainder, bins[254];
	unsigned int binmap[4];
	uint64_t next, next_free, attached, system_mem, max_system_mem;
};
struct model_state_43 {
	int mutex, flags;
	uint64_t top, remainder, bins[254];
	unsigned int binmap[4];
	uint64_t next, next_free, attached, system_mem, max_system_mem;
};
struct model_par_17 {
	uint64_t trim_threshold, top_pad, mmap_threshold, arena_test, arena_max;
	int n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
	uint64_t mmapped_mem, max_mmapped_mem, max_total_mem, sbrk_base;
};
struct model_par_24 {
	uint64_t trim_threshold, top_pad, mmap_threshold, arena_test, arena_max;
	int n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
	uint64_t mmapped_mem, max_mmapped_mem, sbrk_base;
};
struct model_par_35 {
	uint64_t trim_threshold, top_pad, mmap_threshold, arena_test, arena_max;
	uint64_t thp_pagesize, hp_pagesize;
	int hp_flags, n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
	uint64_t mmapped_mem, max_mmapped_mem, sbrk_base;
};
struct model_par_43 {
	uint64_t trim_threshold, top_pad, mmap_threshold, arena_test, arena_max;
	int thp_mode;
	uint64_t thp_pagesize, hp_pagesize;
	int hp_flags, n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
	uint64_t mmapped_mem, max_mmapped_mem, sbrk_base;
};

#define MODEL_STATE(v)                                                        \
	.flags = 4, .top = offsetof(struct model_state_##v, top),             \
	.bins = offsetof(struct model_state_##v, bins),                       \
	.next = offsetof(struct model_state_##v, next),                       \
	.system_mem = offsetof(struct model_state_##v, system_mem),           \
	.state_bytes = sizeof(struct model_state_##v)
#define MODEL_FAST(v)	  .fast = offsetof(struct model_state_##v, fast)
#define MODEL_ATTACHED(v) .attached = offsetof(struct model_state_##v, attached)
#define MODEL_PAR(v)                                                          \
	.n_mmaps = offsetof(struct model_par_##v, n_mmaps),                   \
	.mmapped_mem = offsetof(struct model_par_##v, mmapped_mem),           \
	.sbrk_base = offsetof(struct model_par_##v, sbrk_base)
#define MODEL_TCACHE(chunk, count, bins)                                      \
	.tcache_chunk = (chunk), .tcache_count = (count), .tcache_bins = (bins)

const struct model_version model_versions[MODEL_VERSIONS] = {
	{ 17, MODEL_STATE(17), MODEL_FAST(17), MODEL_PAR(17), .heap_info = 32 },
	{ 23, MODEL_STATE(23), MODEL_FAST(23), MODEL_ATTACHED(23), MODEL_PAR(17), .heap_info = 32 },
	{ 24, MODEL_STATE(23), MODEL_FAST(23), MODEL_ATTACHED(23), MODEL_PAR(24), .heap_info = 32 },
	{ 26, MODEL_STATE(23), MODEL_FAST(23), MODEL_ATTACHED(23), MODEL_PAR(24), .heap_info = 32,
	  MODEL_TCACHE(0x250, 1, 64) },
	{ 28, MODEL_STATE(27), MODEL_FAST(27), MODEL_ATTACHED(27), MODEL_PAR(24), .heap_info = 32,
	  MODEL_TCACHE(0x250, 1, 64) },
	{ 30, MODEL_STATE(27), MODEL_FAST(27), MODEL_ATTACHED(27), MODEL_PAR(24), .heap_info = 32,
	  MODEL_TCACHE(0x290, 2, 64) },
	{ 33, MODEL_STATE(27), MODEL_FAST(27), MODEL_ATTACHED(27), MODEL_PAR(24), .heap_info = 32,
	  MODEL_TCACHE(0x290, 2, 64) },
	{ 36, MODEL_STATE(27), MODEL_FAST(27), MODEL_ATTACHED(27), MODEL_PAR(35), .heap_info = 48,
	  MODEL_TCACHE(0x290, 2, 64) },
	{ 42, MODEL_STATE(27), MODEL_FAST(27), MODEL_ATTACHED(27), MODEL_PAR(35), .heap_info = 48,
	  MODEL_TCACHE(0x300, 2, 76) },
	{ 43, MODEL_STATE(43), MODEL_ATTACHED(43), MODEL_PAR(43), .heap_info = 48,
	  MODEL_TCACHE(0x310, 2, 76) },
};

static const struct lab_area areas[] = {
	{ MODEL_LIBC, MODEL_LIBC_BYTES, offsetof(struct model, libc) },
	{ MODEL_TLS, 0x1000, offsetof(struct model, tls) },
	{ MODEL_MAPPED, MODEL_MAPPED_BYTES, offsetof(struct model, mapped) },
	{ MODEL_ARENA, MODEL_HEAP_BYTES, offsetof(struct model, arena) },
	{ MODEL_HEAP, MODEL_HEAP_BYTES, offsetof(struct model, heap) },
};

static const char maps[] =
	"555555800000-555555821000 rw-p 00000000 00:00 0 [heap]\n"
	"7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /lib/libc.so.6\n"
	"7f0000002000-7f0000008000 rw-p 00002000 08:01 77 /lib/libc.so.6\n"
	"7f0000100000-7f0000101000 rw-p 00000000 00:00 0\n"
	"7f0001000000-7f0001044000 rw-p 00000000 00:00 0\n"
	"7f0004000000-7f0004021000 rw-p 00000000 00:00 0\n";

/* Writes a chunk after the last one and returns its address. */
static uint64_t model_chunk(struct model *m, uint64_t size, uint64_t bits)
{
	uint64_t chunk = m->at;

	if (m->last_free)
		lab_put(&m->lab, chunk, m->last_size);
	lab_put(&m->lab, chunk + 8, size | bits | !m->last_free);
	m->last_free = false;
	m->last_size = size;
	m->at += size;
	return chunk;
}

static void model_live(struct model *m, uint64_t size)
{
	uint64_t chunk = model_chunk(m, size, m->non_main);

	memset(lab_byte(&m->lab, chunk + 16, size - 16), 0x5a, size - 16);
	lab_expect(&m->lab, chunk + 16, size - 8);
}

/* A free chunk, at the front of the unsorted bin. */
static void model_free(struct model *m, uint64_t size)
{
	uint64_t bin = m->state + m->version->bins - 16;
	uint64_t chunk = model_chunk(m, size, 0), old = lab_get(&m->lab, bin + 16);

	lab_put(&m->lab, chunk + 16, old);
	lab_put(&m->lab, chunk + 24, bin);
	lab_put(&m->lab, bin + 16, chunk);
	lab_put(&m->lab, old + 24, chunk);
	m->last_free = true;
	m->lab.free_count++;
}

/* Puts a chunk in front of a list; links lead to chunk + offset. */
static void model_cache(struct model *m, uint64_t size, uint64_t head, uint64_t offset)
{
	uint64_t chunk = model_chunk(m, size, m->non_main);
	uint64_t link = lab_get(&m->lab, head);

	if (m->version->minor >= 32)
		link ^= (chunk + 16) >> 12;
	lab_put(&m->lab, chunk + 16, link);
	lab_put(&m->lab, head, chunk + offset);
	m->lab.free_count++;
}

static void model_bins(struct model *m, uint64_t state, uint64_t next)
{
	m->state = state;
	for (unsigned int i = 0; i < 127; i++) {
		uint64_t head = state + m->version->bins + 16 * i;

		lab_put(&m->lab, head, head - 16);
		lab_put(&m->lab, head + 8, head - 16);
	}
	lab_put(&m->lab, state + m->version->next, next);
	if (m->version->attached)
		lab_put(&m->lab, state + m->version->attached, 1);
}

/* What remains is the top chunk. */
static void model_top(struct model *m, uint64_t end)
{
	uint64_t state = m->state, chunk = m->at;

	model_chunk(m, end - chunk, 0);
	lab_put(&m->lab, state + m->version->top, chunk);
	lab_put(&m->lab, state + m->version->system_mem, MODEL_HEAP_BYTES);
	lab_put(&m->lab, state + m->version->system_mem + 8, MODEL_HEAP_BYTES);
}

/* A tcache with two blocks of 0x50; its thread's pointer to it. */
static void model_tcache(struct model *m)
{
	const struct model_version *v = m->version;
	uint64_t chunk = model_chunk(m, v->tcache_chunk, m->non_main);
	uint64_t entries = chunk + 16 + v->tcache_count * v->tcache_bins;

	lab_put(&m->lab, MODEL_FS - 0x60, chunk + 16);
	for (unsigned int i = 0; v->minor >= 42 && i < v->tcache_bins; i++)
		memcpy(lab_byte(&m->lab, chunk + 16 + 2 * i, 2), i == 3 ? "\016" : "\020", 2);
	if (v->minor < 42)
		*lab_byte(&m->lab, chunk + 16 + v->tcache_count * 3, 1) = 2;
	model_cache(m, 0x50, entries + 8 * 3, 16);
	model_live(m, 0x20);
	model_cache(m, 0x50, entries + 8 * 3, 16);
}

static void model_main_heap(struct model *m)
{
	uint64_t arena = MODEL_ARENA + m->version->heap_info;

	model_bins(m, MODEL_MAIN, arena);
	lab_put(&m->lab, MODEL_FS - 0x30, MODEL_MAIN);
	m->at = MODEL_HEAP;
	if (m->version->tcache_chunk)
		model_tcache(m);
	model_live(m, 0x20);
	model_live(m, 0x510);
	model_free(m, 0x90);
	model_live(m, 0x30);
	for (unsigned int i = 0; m->version->fast && i < 3; i++) {
		model_cache(m, 0x40, MODEL_MAIN + m->version->fast + 8 * 2, 0);
		model_live(m, 0x40);
	}
	model_free(m, 0x430);
	model_live(m, 0x2000);
	model_top(m, MODEL_HEAP + MODEL_HEAP_BYTES);
}

static void model_other_heap(struct model *m)
{
	uint64_t arena = MODEL_ARENA + m->version->heap_info;

	model_bins(m, arena, MODEL_MAIN);
	lab_put_some(&m->lab, arena + 4, 2, 4);
	lab_put(&m->lab, MODEL_ARENA, arena);
	lab_put(&m->lab, MODEL_ARENA + 16, MODEL_HEAP_BYTES);
	lab_put(&m->lab, MODEL_ARENA + 24, MODEL_HEAP_BYTES);
	m->non_main = 4;
	m->last_free = false;
	m->at = (arena + m->version->state_bytes + 15) & ~15ull;
	model_live(m, 0x20);
	model_free(m, 0x50);
	model_live(m, 0x1000);
	model_free(m, 0x5000);
	model_live(m, 0x90);
	model_top(m, MODEL_ARENA + MODEL_HEAP_BYTES);
}

/* One block, and one that memalign moved up by 0x30 and that shrank since. */
static void model_mappings(struct model *m)
{
	const uint64_t moved = MODEL_MAPPED + 0x23000, trailer = m->version->minor >= 43 ? 16 : 0;
	const struct model_version *v = m->version;

	lab_put(&m->lab, MODEL_MAPPED + 8, 0x23002 - trailer);
	lab_expect(&m->lab, MODEL_MAPPED + 16, 0x23000 - 16 - trailer / 2);
	lab_put(&m->lab, moved + 8, 0x99002 - trailer);
	lab_put(&m->lab, moved + 0x30, 0x30);
	lab_put(&m->lab, moved + 0x38, 0x20fd2 - trailer);
	lab_expect(&m->lab, moved + 0x40, 0x20fd0 - 16 - trailer / 2);
	lab_put(&m->lab, MODEL_PAR_AT, 0x20000);
	lab_put(&m->lab, MODEL_PAR_AT + 16, 0x20000);
	lab_put(&m->lab, MODEL_PAR_AT + 24, 8);
	lab_put_some(&m->lab, MODEL_PAR_AT + v->n_mmaps, 2, 4);
	lab_put_some(&m->lab, MODEL_PAR_AT + v->n_mmaps + 4, 65536, 4);
	lab_put_some(&m->lab, MODEL_PAR_AT + v->n_mmaps + 8, 3, 4);
	lab_put(&m->lab, MODEL_PAR_AT + v->mmapped_mem, MODEL_MAPPED_BYTES + (trailer ? 16 : 0));
	lab_put(&m->lab, MODEL_PAR_AT + v->mmapped_mem + 8, 2 * MODEL_MAPPED_BYTES);
	lab_put(&m->lab, MODEL_PAR_AT + v->sbrk_base, MODEL_HEAP);
}

void model_build(struct model *m, const struct model_version *version)
{
	*m = (struct model){
		.version = version,
		.lab = { LAB_AGAIN(m->lab, areas), .maps = maps,
			 .registers = { .fs_base = MODEL_FS } },
	};
	lab_put_library(m->libc);
	model_main_heap(m);
	model_other_heap(m);
	model_mappings(m);
}
