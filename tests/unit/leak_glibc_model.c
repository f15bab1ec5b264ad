/* SPDX-License-Identifier: MIT */
/*
 * leak_glibc_model.c - see leak_glibc_model.h.
 *
 * The structs are declared as the versions' malloc.c and arena.c do, so that the compiler
 * computes their offsets, not the tables under test. Memory is a sparse file, which is read at
 * the addresses that its parts have in the modelled process.
 */
#include "tests/unit/leak_glibc_model.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

const struct model_area model_areas[MODEL_AREAS] = {
	{ MODEL_LIBC, MODEL_LIBC_BYTES, offsetof(struct model, libc) },
	{ MODEL_TLS, 0x1000, offsetof(struct model, tls) },
	{ MODEL_MAPPED, MODEL_MAPPED_BYTES, offsetof(struct model, mapped) },
	{ MODEL_ARENA, MODEL_HEAP_BYTES, offsetof(struct model, arena) },
	{ MODEL_HEAP, MODEL_HEAP_BYTES, offsetof(struct model, heap) },
};

uint8_t *model_byte(struct model *m, uint64_t address, size_t bytes)
{
	for (size_t i = 0; i < MODEL_AREAS; i++) {
		const struct model_area *a = &model_areas[i];

		if (address >= a->address && address - a->address < a->bytes &&
		    bytes <= a->bytes - (address - a->address))
			return (uint8_t *)m + a->offset + (address - a->address);
	}
	return NULL;
}

void model_put(struct model *m, uint64_t address, uint64_t word)
{
	memcpy(model_byte(m, address, 8), &word, 8);
}

uint64_t model_get(struct model *m, uint64_t address)
{
	uint64_t word;

	memcpy(&word, model_byte(m, address, 8), 8);
	return word;
}

void model_put_int(struct model *m, uint64_t address, uint32_t word)
{
	memcpy(model_byte(m, address, 4), &word, 4);
}

/* Writes a chunk after the last one and returns its address. */
static uint64_t model_chunk(struct model *m, uint64_t size, uint64_t bits)
{
	uint64_t chunk = m->at;

	if (m->last_free)
		model_put(m, chunk, m->last_size);
	model_put(m, chunk + 8, size | bits | !m->last_free);
	m->last_free = false;
	m->last_size = size;
	m->at += size;
	return chunk;
}

static void model_expect(struct model *m, uint64_t address, uint64_t bytes)
{
	m->live[m->live_count++] = (struct block){ address, bytes };
}

static void model_live(struct model *m, uint64_t size)
{
	uint64_t chunk = model_chunk(m, size, m->non_main);

	memset(model_byte(m, chunk + 16, size - 16), 0x5a, size - 16);
	model_expect(m, chunk + 16, size - 8);
}

/* A free chunk, at the front of the unsorted bin. */
static void model_free(struct model *m, uint64_t size)
{
	uint64_t bin = m->state + m->version->bins - 16;
	uint64_t chunk = model_chunk(m, size, 0), old = model_get(m, bin + 16);

	model_put(m, chunk + 16, old);
	model_put(m, chunk + 24, bin);
	model_put(m, bin + 16, chunk);
	model_put(m, old + 24, chunk);
	m->last_free = true;
	m->free_count++;
}

/* Puts a chunk in front of a list; links lead to chunk + offset. */
static void model_cache(struct model *m, uint64_t size, uint64_t head, uint64_t offset)
{
	uint64_t chunk = model_chunk(m, size, m->non_main);
	uint64_t link = model_get(m, head);

	if (m->version->minor >= 32)
		link ^= (chunk + 16) >> 12;
	model_put(m, chunk + 16, link);
	model_put(m, head, chunk + offset);
	m->free_count++;
}

static void model_bins(struct model *m, uint64_t state, uint64_t next)
{
	m->state = state;
	for (unsigned int i = 0; i < 127; i++) {
		uint64_t head = state + m->version->bins + 16 * i;

		model_put(m, head, head - 16);
		model_put(m, head + 8, head - 16);
	}
	model_put(m, state + m->version->next, next);
	if (m->version->attached)
		model_put(m, state + m->version->attached, 1);
}

/* What remains is the top chunk. */
static void model_top(struct model *m, uint64_t end)
{
	uint64_t state = m->state, chunk = m->at;

	model_chunk(m, end - chunk, 0);
	model_put(m, state + m->version->top, chunk);
	model_put(m, state + m->version->system_mem, MODEL_HEAP_BYTES);
	model_put(m, state + m->version->system_mem + 8, MODEL_HEAP_BYTES);
}

/* A tcache with two blocks of 0x50; its thread's pointer to it. */
static void model_tcache(struct model *m)
{
	const struct model_version *v = m->version;
	uint64_t chunk = model_chunk(m, v->tcache_chunk, m->non_main);
	uint64_t entries = chunk + 16 + v->tcache_count * v->tcache_bins;

	model_put(m, MODEL_FS - 0x60, chunk + 16);
	for (unsigned int i = 0; v->minor >= 42 && i < v->tcache_bins; i++)
		memcpy(model_byte(m, chunk + 16 + 2 * i, 2), i == 3 ? "\016" : "\020", 2);
	if (v->minor < 42)
		*model_byte(m, chunk + 16 + v->tcache_count * 3, 1) = 2;
	model_cache(m, 0x50, entries + 8 * 3, 16);
	model_live(m, 0x20);
	model_cache(m, 0x50, entries + 8 * 3, 16);
}

static void model_main_heap(struct model *m)
{
	uint64_t arena = MODEL_ARENA + m->version->heap_info;

	model_bins(m, MODEL_MAIN, arena);
	model_put(m, MODEL_FS - 0x30, MODEL_MAIN);
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
	model_put_int(m, arena + 4, 2);
	model_put(m, MODEL_ARENA, arena);
	model_put(m, MODEL_ARENA + 16, MODEL_HEAP_BYTES);
	model_put(m, MODEL_ARENA + 24, MODEL_HEAP_BYTES);
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

	model_put(m, MODEL_MAPPED + 8, 0x23002 - trailer);
	model_expect(m, MODEL_MAPPED + 16, 0x23000 - 16 - trailer / 2);
	model_put(m, moved + 8, 0x99002 - trailer);
	model_put(m, moved + 0x30, 0x30);
	model_put(m, moved + 0x38, 0x20fd2 - trailer);
	model_expect(m, moved + 0x40, 0x20fd0 - 16 - trailer / 2);
	model_put(m, MODEL_PAR_AT, 0x20000);
	model_put(m, MODEL_PAR_AT + 16, 0x20000);
	model_put(m, MODEL_PAR_AT + 24, 8);
	model_put_int(m, MODEL_PAR_AT + v->n_mmaps, 2);
	model_put_int(m, MODEL_PAR_AT + v->n_mmaps + 4, 65536);
	model_put_int(m, MODEL_PAR_AT + v->n_mmaps + 8, 3);
	model_put(m, MODEL_PAR_AT + v->mmapped_mem, MODEL_MAPPED_BYTES + (trailer ? 16 : 0));
	model_put(m, MODEL_PAR_AT + v->mmapped_mem + 8, 2 * MODEL_MAPPED_BYTES);
	model_put(m, MODEL_PAR_AT + v->sbrk_base, MODEL_HEAP);
}

static void model_elf(struct model *m)
{
	Elf64_Ehdr header = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
			      .e_phoff = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 2, .e_ehsize = sizeof(header) };
	const Elf64_Phdr phdr[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000,
		  .p_memsz = 0x2000, .p_align = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x2000, .p_vaddr = 0x2000,
		  .p_filesz = 0x6000, .p_memsz = 0x6000, .p_align = 0x1000 },
	};

	memcpy(header.e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	memcpy(m->libc, &header, sizeof(header));
	memcpy(m->libc + sizeof(header), phdr, sizeof(phdr));
}

void model_build(struct model *m, const struct model_version *version)
{
	*m = (struct model){ .version = version, .memory = m->memory };
	model_elf(m);
	model_main_heap(m);
	model_other_heap(m);
	model_mappings(m);
}

int model_read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return picture_read(context, address, buffer, bytes);
}

int model_open(struct model *m)
{
	static const char maps[] =
		"555555800000-555555821000 rw-p 00000000 00:00 0 [heap]\n"
		"7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /lib/libc.so.6\n"
		"7f0000002000-7f0000008000 rw-p 00002000 08:01 77 /lib/libc.so.6\n"
		"7f0000100000-7f0000101000 rw-p 00000000 00:00 0\n"
		"7f0001000000-7f0001044000 rw-p 00000000 00:00 0\n"
		"7f0004000000-7f0004021000 rw-p 00000000 00:00 0\n";
	struct picture_thread thread = { .tid = 1 };
	int maps_fd = memfd_create("maps", MFD_CLOEXEC), r;

	thread.registers.fs_base = MODEL_FS;
	m->memory = m->memory > 0 ? m->memory : memfd_create("memory", MFD_CLOEXEC);
	for (size_t i = 0; i < MODEL_AREAS; i++) {
		const struct model_area *a = &model_areas[i];

		if (pwrite(m->memory, (uint8_t *)m + a->offset, a->bytes, (off_t)a->address) !=
		    (ssize_t)a->bytes)
			return -EIO;
	}
	if (write(maps_fd, maps, sizeof(maps) - 1) < 0)
		return -EIO;
	r = picture_open(dup(m->memory), maps_fd, &thread, 1, &m->picture);
	close(maps_fd);
	if (r == 0)
		r = modules_new(&(struct module_source){ NULL, model_read_memory, &m->picture },
				&m->modules);
	if (r == 0)
		r = modules_update(m->modules, &m->picture.maps);
	return r < 0 ? r : 0;
}

void model_close(struct model *m)
{
	modules_free(m->modules);
	picture_done(&m->picture);
}
