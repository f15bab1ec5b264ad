/* SPDX-License-Identifier: MIT */
/*
 * leak_jemalloc_model.c - see leak_jemalloc_model.h.
 *
 * Structures are laid out by hand, from jemalloc's source and not from the walker's constants, so
 * that a mistake there does not hide itself. What lies in blocks is not modelled: zeros.
 */
#include "tests/unit/leak_jemalloc_model.h"

#include <elf.h>
#include <string.h>

#define CACHED	4u		/* room for pointers of each class in a cache */
#define CLASSES	37u		/* that are cached: the small ones, and one more */
#define NODE_AREA (JEMODEL_NODE + 0x30000)	/* in which the one pointer is */
#define BEFORE	0x7a7a7a7a7a7a7a7aull
#define BEHIND	0xa7a7a7a7a7a7a7a7ull

static const struct lab_area areas[] = {
	{ JEMODEL_LIB, 2 * JEMODEL_PAGE, offsetof(struct jemodel, lib) },
	{ JEMODEL_DATA, JEMODEL_PAGE, offsetof(struct jemodel, data) },
	{ JEMODEL_MAP, JEMODEL_PAGE, offsetof(struct jemodel, map) },
	{ JEMODEL_BASE, 3 * JEMODEL_PAGE, offsetof(struct jemodel, base) },
	{ JEMODEL_LEAF, 2 * JEMODEL_PAGE, offsetof(struct jemodel, leaf) },
	{ NODE_AREA, JEMODEL_PAGE, offsetof(struct jemodel, node) },
	{ JEMODEL_TLS, 2 * JEMODEL_PAGE, offsetof(struct jemodel, tls) },
	{ JEMODEL_STACK, 2 * JEMODEL_PAGE, offsetof(struct jemodel, stack) },
	{ JEMODEL_MADE, 2 * JEMODEL_PAGE, offsetof(struct jemodel, made) },
};

static const char maps[] =
	"7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /lib/libjemalloc.so.2\n"
	"7f0000002000-7f0000003000 rw-p 00002000 08:01 77 /lib/libjemalloc.so.2\n"
	"7f0000003000-7f0000203000 rw-p 00000000 00:00 0\n"
	"7f0080000000-7f0080400000 rw-p 00000000 00:00 0\n"
	"7f0100000000-7f0100200000 rw-p 00000000 00:00 0\n"
	"7f0200000000-7f0200002000 rw-p 00000000 00:00 0\n";

/* --- the library -------------------------------------------------------------- */

static void build_elf(struct jemodel *m)
{
	static const char text[] = "<jemalloc>: Abort\0"
				   "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
	const uint64_t data_bytes = m->wide ? 0x66000 : 0x201000;
	const Elf64_Phdr phdr[3] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000,
		  .p_memsz = 0x2000, .p_align = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x2000, .p_vaddr = 0x2000,
		  .p_filesz = 0x1000, .p_memsz = data_bytes, .p_align = 0x1000 },
		{ .p_type = PT_DYNAMIC, .p_flags = PF_R, .p_offset = 0x800, .p_vaddr = 0x800,
		  .p_filesz = 0x60, .p_memsz = 0x60, .p_align = 8 },
	};
	const Elf64_Dyn dynamic[] = {
		{ DT_HASH, { 0x900 } }, { DT_SYMTAB, { 0xa00 } }, { DT_STRTAB, { 0xb00 } },
		{ DT_STRSZ, { 8 } }, { DT_NULL, { 0 } },
	};
	const Elf64_Sym symbol[2] = {
		{ .st_name = 0 },
		{ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
		  .st_value = 0x400, .st_size = 64 },
	};
	const uint32_t hash[] = { 1, 2, 1, 0, 0 };

	lab_put_elf(m->lib, phdr, ARRAY_SIZE(phdr));
	memcpy(m->lib + 0x800, dynamic, sizeof(dynamic));
	memcpy(m->lib + 0x900, hash, sizeof(hash));
	memcpy(m->lib + 0xa00, symbol, sizeof(symbol));
	memcpy(m->lib + 0xb00, "\0malloc", 8);
	memcpy(m->lib + 0x1000, text, sizeof(text));
}

/* Bytes of the small classes, and pages of their slabs. */
static const struct {
	uint16_t bytes, pages;
} classes[] = {
	{ 8, 1 }, { 16, 1 }, { 32, 1 }, { 48, 3 }, { 64, 1 }, { 80, 5 }, { 96, 3 }, { 112, 7 },
	{ 128, 1 }, { 160, 5 }, { 192, 3 }, { 224, 7 }, { 256, 1 }, { 320, 5 }, { 384, 3 },
	{ 448, 7 }, { 512, 1 }, { 640, 5 }, { 768, 3 }, { 896, 7 }, { 1024, 1 }, { 1280, 5 },
	{ 1536, 3 }, { 1792, 7 }, { 2048, 1 }, { 2560, 5 }, { 3072, 3 }, { 3584, 7 }, { 4096, 1 },
	{ 5120, 5 }, { 6144, 3 }, { 7168, 7 }, { 8192, 2 }, { 10240, 5 }, { 12288, 3 },
	{ 14336, 7 },
};

static void build_bins(struct jemodel *m)
{
	for (uint64_t i = 0; i < 36; i++) {
		uint64_t at = JEMODEL_BINS + 40 * i, slab = classes[i].pages * 4096ull;
		uint64_t regions = slab / classes[i].bytes;

		lab_put(&m->lab, at, classes[i].bytes);
		lab_put(&m->lab, at + 8, slab);
		lab_put(&m->lab, at + 16, regions | 1ull << 32);
		lab_put(&m->lab, at + 24, regions);
		lab_put(&m->lab, at + 32, (regions + 63) / 64);
	}
}

/* --- extents ------------------------------------------------------------------ */

enum { ACTIVE, DIRTY, MUZZY, RETAINED };
#define NO_CLASS 232u

uint64_t jemodel_element(const struct jemodel *m, uint64_t page)
{
	return JEMODEL_LEAF + page * (m->wide ? 16 : 8);
}

uint64_t jemodel_leaf_pointer(const struct jemodel *m)
{
	return m->wide ? JEMODEL_NODE + 8 * (JEMODEL_HEAP >> 27 & 0x7fff) :
			 JEMODEL_ROOT + 8 * (JEMODEL_HEAP >> 30);
}

static void put_element(struct jemodel *m, uint64_t page, uint64_t record, unsigned int class,
			unsigned int state, bool slab)
{
	uint64_t at = jemodel_element(m, page), low = state << 2 | slab;

	if (!m->wide) {
		lab_put(&m->lab, at, record | (uint64_t)class << 48 | low);
		return;
	}
	lab_put(&m->lab, at, record);
	lab_put(&m->lab, at + 8, class << 5 | low);
}

/* Its record's address; the elements of its first and its last page. */
static uint64_t add_extent(struct jemodel *m, uint64_t pages, uint64_t offset, unsigned int class,
			   unsigned int state, bool slab)
{
	uint64_t record = JEMODEL_RECORD + 128ull * m->extents++;

	lab_put(&m->lab, record, (uint64_t)class << 20 | (uint64_t)state << 17 | 1u << 13 |
				 (slab ? 1u << 12 : 0));
	lab_put(&m->lab, record + 8, JEMODEL_HEAP + m->page * 4096 + offset);
	lab_put(&m->lab, record + 16, pages * 4096 + 7);	/* and a serial number */
	put_element(m, m->page, record, class, state, slab);
	for (uint64_t i = 1; i < pages; i++)
		if (i == pages - 1 || slab)
			put_element(m, m->page + i, record, slab ? class : NO_CLASS, state, slab);
	m->page += pages;
	return record;
}

/* Of its regions every third is free. The first two in use are left for a cache to hold. */
static uint64_t add_slab(struct jemodel *m, unsigned int class)
{
	uint64_t low = JEMODEL_HEAP + m->page * 4096, bytes = classes[class].bytes;
	uint64_t record = add_extent(m, classes[class].pages, 0, class, ACTIVE, true);
	uint64_t count = classes[class].pages * 4096ull / bytes, free_count = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t group = record + 64 + i / 64 * 8;

		if (i % 3 == 2) {
			lab_put(&m->lab, group, lab_get(&m->lab, group) | 1ull << i % 64);
			free_count++;
		} else if (i > 1) {
			lab_expect(&m->lab, low + i * bytes, bytes);
		}
	}
	lab_put(&m->lab, record, lab_get(&m->lab, record) | free_count << 28);
	m->lab.free_count += free_count;
	return low;
}

/* --- caches ------------------------------------------------------------------- */

/* A cache at address with its stacks in block: cached holds what lies in each class's. */
static uint64_t build_cache(struct jemodel *m, uint64_t address, uint64_t slow, uint64_t block,
			    const uint64_t (*cached)[2])
{
	uint64_t at = block + 8;

	lab_put(&m->lab, block, BEFORE);
	lab_put(&m->lab, address, slow);
	for (uint64_t i = 0; i < CLASSES; i++) {
		uint64_t end = at + 8 * CACHED, head = end, bin = address + 8 + 24 * i;

		for (unsigned int k = 0; k < 2 && cached && cached[i][k]; k++)
			lab_put(&m->lab, head -= 8, cached[i][k]);
		if (!cached)	/* of old */
			lab_put(&m->lab, end - 8, JEMODEL_HEAP + 64);
		lab_put(&m->lab, bin, head);
		lab_put(&m->lab, bin + 16, (end & 0xffff) | (at & 0xffff) << 16 |
					   (end & 0xffff) << 32);
		at = end;
	}
	lab_put(&m->lab, at, BEHIND);
	lab_put(&m->lab, slow + 40, JEMODEL_BASE + 0x2800);	/* an arena */
	lab_put(&m->lab, slow + 160, block);
	lab_put(&m->lab, slow + 168, address);
	return at + 8 - block;
}

static void build_heap(struct jemodel *m)
{
	uint64_t cached[CLASSES][2] = { { 0 } }, bytes;

	/* at JEMODEL_STACK and JEMODEL_MADE */
	add_extent(m, 5, 0, 36, ACTIVE, false);
	add_extent(m, 5, 0, 36, ACTIVE, false);
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int used[] = { 0, 2, 3 };
		uint64_t low = add_slab(m, used[i]);

		cached[used[i]][0] = low;
		cached[used[i]][1] = low + classes[used[i]].bytes;
		m->lab.free_count += 2;
	}
	add_extent(m, 3, 0, NO_CLASS, DIRTY, false);
	lab_expect(&m->lab, JEMODEL_HEAP + m->page * 4096 + 0x340, 20480);
	add_extent(m, 6, 0x340, 37, ACTIVE, false);
	cached[36][0] = JEMODEL_HEAP + m->page * 4096 + 0xfc0;
	m->lab.free_count++;
	add_extent(m, 5, 0xfc0, 36, ACTIVE, false);
	lab_expect(&m->lab, JEMODEL_HEAP + m->page * 4096, 5ull << 18);
	add_extent(m, 321, 0, 61, ACTIVE, false);
	add_extent(m, JEMODEL_HEAP_PAGES - m->page, 0, NO_CLASS, RETAINED, false);
	bytes = build_cache(m, JEMODEL_CACHE, JEMODEL_SLOW, JEMODEL_STACK, cached);
	build_cache(m, JEMODEL_MADE + bytes, JEMODEL_MADE + bytes + 1760, JEMODEL_MADE, NULL);
}

/* The base: a block of 4 MiB with a header, and itself behind that. */
static void build_base(struct jemodel *m)
{
	lab_put(&m->lab, JEMODEL_BASE, 4 << 20);
	lab_put(&m->lab, JEMODEL_BASE + 192 + 160, JEMODEL_BASE);
	lab_put(&m->lab, JEMODEL_ROOT - 120, JEMODEL_BASE + 192);
	if (m->wide)
		lab_put(&m->lab, JEMODEL_ROOT + 8 * (JEMODEL_HEAP >> 42), JEMODEL_NODE);
	lab_put(&m->lab, jemodel_leaf_pointer(m), JEMODEL_LEAF);
}

void jemodel_build(struct jemodel *m)
{
	*m = (struct jemodel){
		/* What is not modelled reads as zeros. */
		.lab = { LAB_AGAIN(m->lab, areas), .maps = maps, .end = 1ull << 47,
			 .registers = { .fs_base = JEMODEL_FS } },
		.wide = m->wide,
	};
	build_elf(m);
	build_bins(m);
	build_base(m);
	build_heap(m);
}
