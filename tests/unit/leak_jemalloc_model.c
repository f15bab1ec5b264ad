/* SPDX-License-Identifier: MIT */
/*
 * leak_jemalloc_model.c - see leak_jemalloc_model.h.
 *
 * Structures are laid out by hand, from jemalloc's source and not from the walker's constants, so
 * that a mistake there does not hide itself. What lies in blocks is not modelled: zeros.
 */
#include "tests/unit/leak_jemalloc_model.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CACHED	4u		/* room for pointers of each class in a cache */
#define CLASSES	37u		/* that are cached: the small ones, and one more */
#define BEFORE	0x7a7a7a7a7a7a7a7aull
#define BEHIND	0xa7a7a7a7a7a7a7a7ull

void jemodel_areas(struct jemodel *m, struct jemodel_area ret[JEMODEL_AREAS])
{
	const struct jemodel_area area[JEMODEL_AREAS] = {
		{ JEMODEL_LIB, sizeof(m->lib), m->lib },
		{ JEMODEL_DATA, sizeof(m->data), m->data },
		{ JEMODEL_MAP, sizeof(m->map), m->map },
		{ JEMODEL_BASE, sizeof(m->base), m->base },
		{ JEMODEL_LEAF, sizeof(m->leaf), m->leaf },
		{ JEMODEL_TLS, sizeof(m->tls), m->tls },
		{ m->stack_at, sizeof(m->stack), m->stack },
		{ m->made_at, sizeof(m->made), m->made },
	};

	memcpy(ret, area, sizeof(area));
}

static uint8_t *byte_at(struct jemodel *m, uint64_t address)
{
	struct jemodel_area area[JEMODEL_AREAS];

	jemodel_areas(m, area);
	for (size_t i = 0; i < JEMODEL_AREAS; i++)
		if (address >= area[i].address && address - area[i].address < area[i].bytes)
			return area[i].byte + (address - area[i].address);
	abort();
}

void jemodel_put(struct jemodel *m, uint64_t address, uint64_t word)
{
	memcpy(byte_at(m, address), &word, sizeof(word));
}

uint64_t jemodel_get(struct jemodel *m, uint64_t address)
{
	uint64_t word;

	memcpy(&word, byte_at(m, address), sizeof(word));
	return word;
}

/* --- the library -------------------------------------------------------------- */

static void build_elf(struct jemodel *m)
{
	static const char text[] = "<jemalloc>: Abort\0"
				   "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
	Elf64_Ehdr header = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
			      .e_phoff = sizeof(header), .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 3, .e_ehsize = sizeof(header) };
	const Elf64_Phdr phdr[3] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000,
		  .p_memsz = 0x2000, .p_align = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x2000, .p_vaddr = 0x2000,
		  .p_filesz = 0x1000, .p_memsz = 0x201000, .p_align = 0x1000 },
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

	memcpy(header.e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	memcpy(m->lib, &header, sizeof(header));
	memcpy(m->lib + sizeof(header), phdr, sizeof(phdr));
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

		jemodel_put(m, at, classes[i].bytes);
		jemodel_put(m, at + 8, slab);
		jemodel_put(m, at + 16, regions | 1ull << 32);
		jemodel_put(m, at + 24, regions);
		jemodel_put(m, at + 32, (regions + 63) / 64);
	}
}

/* --- extents ------------------------------------------------------------------ */

enum { ACTIVE, DIRTY, MUZZY, RETAINED };
#define NO_CLASS 232u

/* Its record's address; the elements of its first and its last page. */
static uint64_t add_extent(struct jemodel *m, uint64_t pages, uint64_t offset, unsigned int class,
			   unsigned int state, bool slab)
{
	uint64_t record = JEMODEL_RECORD + 128ull * m->extents++;
	uint64_t element = record | (uint64_t)class << 48 | state << 2 | slab;

	jemodel_put(m, record, (uint64_t)class << 20 | (uint64_t)state << 17 | 1u << 13 |
			       (slab ? 1u << 12 : 0));
	jemodel_put(m, record + 8, JEMODEL_HEAP + m->page * 4096 + offset);
	jemodel_put(m, record + 16, pages * 4096 + 7);	/* and a serial number */
	jemodel_put(m, JEMODEL_LEAF + 8 * m->page, element);
	for (uint64_t i = 1; i < pages; i++)
		if (i == pages - 1 || slab)
			jemodel_put(m, JEMODEL_LEAF + 8 * (m->page + i), slab ? element :
				    (element & ~(0xffffull << 48)) | (uint64_t)NO_CLASS << 48);
	m->page += pages;
	return record;
}

static void expect(struct jemodel *m, uint64_t address, uint64_t bytes)
{
	m->live[m->live_count++] = (struct block){ address, bytes };
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
			jemodel_put(m, group, jemodel_get(m, group) | 1ull << i % 64);
			free_count++;
		} else if (i > 1) {
			expect(m, low + i * bytes, bytes);
		}
	}
	jemodel_put(m, record, jemodel_get(m, record) | free_count << 28);
	m->free_count += free_count;
	return low;
}

/* --- caches ------------------------------------------------------------------- */

/* A cache at address with its stacks in block: cached holds what lies in each class's. */
static uint64_t build_cache(struct jemodel *m, uint64_t address, uint64_t slow, uint64_t block,
			    const uint64_t (*cached)[2])
{
	uint64_t at = block + 8;

	jemodel_put(m, block, BEFORE);
	jemodel_put(m, address, slow);
	for (uint64_t i = 0; i < CLASSES; i++) {
		uint64_t end = at + 8 * CACHED, head = end, bin = address + 8 + 24 * i;

		for (unsigned int k = 0; k < 2 && cached && cached[i][k]; k++)
			jemodel_put(m, head -= 8, cached[i][k]);
		if (!cached)	/* of old */
			jemodel_put(m, end - 8, JEMODEL_HEAP + 64);
		jemodel_put(m, bin, head);
		jemodel_put(m, bin + 16, (end & 0xffff) | (at & 0xffff) << 16 |
					 (end & 0xffff) << 32);
		at = end;
	}
	jemodel_put(m, at, BEHIND);
	jemodel_put(m, slow + 40, JEMODEL_BASE + 0x2800);	/* an arena */
	jemodel_put(m, slow + 160, block);
	jemodel_put(m, slow + 168, address);
	return at + 8 - block;
}

static void build_heap(struct jemodel *m)
{
	uint64_t cached[CLASSES][2] = { { 0 } }, bytes;

	m->stack_at = JEMODEL_HEAP + m->page * 4096;
	add_extent(m, 5, 0, 36, ACTIVE, false);
	m->made_at = JEMODEL_HEAP + m->page * 4096;
	add_extent(m, 5, 0, 36, ACTIVE, false);
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int used[] = { 0, 2, 3 };
		uint64_t low = add_slab(m, used[i]);

		cached[used[i]][0] = low;
		cached[used[i]][1] = low + classes[used[i]].bytes;
		m->free_count += 2;
	}
	add_extent(m, 3, 0, NO_CLASS, DIRTY, false);
	expect(m, JEMODEL_HEAP + m->page * 4096 + 0x340, 20480);
	add_extent(m, 6, 0x340, 37, ACTIVE, false);
	cached[36][0] = JEMODEL_HEAP + m->page * 4096 + 0xfc0;
	m->free_count++;
	add_extent(m, 5, 0xfc0, 36, ACTIVE, false);
	expect(m, JEMODEL_HEAP + m->page * 4096, 5ull << 18);
	add_extent(m, 321, 0, 61, ACTIVE, false);
	add_extent(m, JEMODEL_HEAP_PAGES - m->page, 0, NO_CLASS, RETAINED, false);
	bytes = build_cache(m, JEMODEL_CACHE, JEMODEL_SLOW, m->stack_at, cached);
	build_cache(m, m->made_at + bytes, m->made_at + bytes + 1760, m->made_at, NULL);
}

/* The base: a block of 4 MiB with a header, and itself behind that. */
static void build_base(struct jemodel *m)
{
	jemodel_put(m, JEMODEL_BASE, 4 << 20);
	jemodel_put(m, JEMODEL_BASE + 192 + 160, JEMODEL_BASE);
	jemodel_put(m, JEMODEL_ROOT - 120, JEMODEL_BASE + 192);
	jemodel_put(m, JEMODEL_ROOT + (JEMODEL_HEAP >> 30) * 8, JEMODEL_LEAF);
}

void jemodel_build(struct jemodel *m)
{
	*m = (struct jemodel){ .memory = m->memory };
	build_elf(m);
	build_bins(m);
	build_base(m);
	build_heap(m);
}

/* --- the picture -------------------------------------------------------------- */

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return picture_read(context, address, buffer, bytes);
}

static int write_areas(struct jemodel *m)
{
	struct jemodel_area area[JEMODEL_AREAS];

	if (m->memory <= 0)
		m->memory = memfd_create("memory", MFD_CLOEXEC);
	/* What is not modelled reads as zeros. */
	if (m->memory < 0 || ftruncate(m->memory, (off_t)1 << 47) < 0)
		return -errno;
	jemodel_areas(m, area);
	for (size_t i = 0; i < JEMODEL_AREAS; i++)
		if (pwrite(m->memory, area[i].byte, area[i].bytes, (off_t)area[i].address) !=
		    (ssize_t)area[i].bytes)
			return -EIO;
	return 0;
}

int jemodel_open(struct jemodel *m)
{
	const char *maps = m->maps ? m->maps :
		"7f0000000000-7f0000002000 r-xp 00000000 08:01 77 /lib/libjemalloc.so.2\n"
		"7f0000002000-7f0000003000 rw-p 00002000 08:01 77 /lib/libjemalloc.so.2\n"
		"7f0000003000-7f0000203000 rw-p 00000000 00:00 0\n"
		"7f0080000000-7f0080400000 rw-p 00000000 00:00 0\n"
		"7f0100000000-7f0100200000 rw-p 00000000 00:00 0\n"
		"7f0200000000-7f0200002000 rw-p 00000000 00:00 0\n";
	struct picture_thread thread = { .tid = 1 };
	int maps_fd = memfd_create("maps", MFD_CLOEXEC), r = write_areas(m);

	thread.registers.fs_base = JEMODEL_FS;
	thread.registers.rip = m->rip;
	if (r < 0 || write(maps_fd, maps, strlen(maps)) < 0)
		return r < 0 ? r : -EIO;
	r = picture_open(dup(m->memory), maps_fd, &thread, 1, &m->picture);
	close(maps_fd);
	if (r == 0)
		r = modules_new(&(struct module_source){ NULL, read_memory, &m->picture },
				&m->modules);
	if (r == 0)
		r = modules_update(m->modules, &m->picture.maps);
	return r < 0 ? r : 0;
}

void jemodel_close(struct jemodel *m)
{
	modules_free(m->modules);
	picture_done(&m->picture);
}
