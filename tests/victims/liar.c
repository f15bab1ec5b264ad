/* SPDX-License-Identifier: MIT */
/*
 * liar.c - a process whose own bookkeeping is forged: the loader's, libc's, the allocator's.
 *
 *	liar --kind=KIND [--file=PATH]
 *
 * link-cycle	the last struct link_map leads to the first
 * link-million	a million more of them, consistent both ways
 * link-wild	the last one leads into nothing
 * link-names	l_name: 16 MiB without an end, up to the end of memory, and nothing there
 * link-dynamic	l_ld: nothing there, 64 MiB without DT_NULL, the stack; l_addr: noise
 * spaces	each namespace is followed by itself
 * headers	program headers of the library --file, in memory: all that they say is far too large
 * dynamic	its dynamic section: hash tables, symbols and strings of 2^60 bytes, elsewhere
 * noise	its headers are noise in memory
 * file		its file is cut to a page of noise after it was loaded
 * dtv		this thread's vector of TLS blocks has 2^40 entries; dtv-wild: is nowhere
 * threads	half a million struct pthread in libc's ring of stacks
 * stacks	20,000 of them, each of which has all that memory as its stack
 * arenas	main_arena is followed by 100,000 others, and claims 2^60 bytes
 * chunks	the sizes of 1,000 chunks are noise
 * lists	tcache and fastbins go in circles; the top chunk is as large as all memory
 * vtables	100,000 blocks, each with a vtable and a typeinfo of its own; names do not end
 * modules	--file is mapped 8,000 times, executable
 * Then it says "ready" and waits; 'q' ends it. It allocates nothing after that, and opens nothing:
 * who forges his own bookkeeping has none.
 */
#include "tests/victims/victim.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE		4096u
#define NOWHERE		((void *)0x123450000ull)
#define LIST		(0x2c0 / 8)	/* of struct pthread, in words: glibc, x86-64 */
#define STACKBLOCK	(0x690 / 8)
#define ARENA_BINS	96		/* of malloc_state, glibc 2.27 to 2.42 */
#define ARENA_NEXT	2160
#define ARENA_MEMORY	2184

static const char *file;

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		victim_fail("mmap");
	return at;
}

/* What the compiler thinks it knows better about. */
static volatile uint64_t *word_at(size_t address)
{
	return (volatile uint64_t *)victim_size(address);
}

static uint64_t noise(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* --- the loader's list ----------------------------------------------------------- */

static struct link_map *last(void)
{
	struct link_map *at = _r_debug.r_map;

	while (at->l_next)
		at = at->l_next;
	return at;
}

static void link_cycle(void)
{
	last()->l_next = _r_debug.r_map;
}

static void link_million(void)
{
	const size_t count = 1000000;
	struct link_map *more = map(count * sizeof(*more)), *before = last();

	for (size_t i = 0; i < count; i++) {
		more[i] = (struct link_map){ .l_name = (char *)"", .l_prev = before };
		before->l_next = &more[i];
		before = &more[i];
	}
}

static void link_wild(void)
{
	last()->l_next = NOWHERE;
}

static void link_names(void)
{
	const size_t bytes = 16u << 20;
	char *text = map(bytes), *end = map(2 * PAGE);
	unsigned int i = 0;

	memset(text, 'x', bytes);
	memset(end, 'y', PAGE);
	mprotect(end + PAGE, PAGE, PROT_NONE);
	for (struct link_map *at = _r_debug.r_map->l_next; at; at = at->l_next)
		at->l_name = i++ % 3 == 0 ? text : i % 3 == 1 ? end + PAGE - 9 : NOWHERE;
}

static void link_dynamic(void)
{
	const size_t count = (64u << 20) / sizeof(ElfW(Dyn));
	ElfW(Dyn) *endless = map(count * sizeof(*endless));
	unsigned int i = 0;

	for (size_t k = 0; k < count; k++)
		endless[k] = (ElfW(Dyn)){ .d_tag = DT_STRTAB, .d_un.d_ptr = noise() };
	for (struct link_map *at = _r_debug.r_map->l_next; at; at = at->l_next) {
		at->l_ld = i++ % 3 == 0 ? endless : i % 3 == 1 ? NOWHERE : (void *)&i;
		at->l_addr = noise();
	}
}

/* struct r_debug_extended: a pointer to the next namespace follows. */
static void spaces(void)
{
	_r_debug.r_version = 2;
	*word_at((uintptr_t)&_r_debug + sizeof(_r_debug)) = (uintptr_t)&_r_debug;
}

/* --- a library ------------------------------------------------------------------- */

static ElfW(Ehdr) *load(void)
{
	struct link_map *module = dlopen(file, RTLD_NOW);
	ElfW(Ehdr) *header;

	if (!module)
		victim_fail("dlopen");
	header = (void *)module->l_addr;
	if (mprotect(header, PAGE, PROT_READ | PROT_WRITE) < 0)
		victim_fail("mprotect");
	return header;
}

static ElfW(Phdr) *headers_of(ElfW(Ehdr) *header)
{
	return (void *)((char *)header + header->e_phoff);
}

static void headers(void)
{
	ElfW(Ehdr) *header = load();

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		ElfW(Phdr) *p = &headers_of(header)[i];

		p->p_filesz = p->p_memsz = 1ull << 46;
		if (i % 2)
			p->p_vaddr = noise();
	}
}

static void dynamic(void)
{
	ElfW(Ehdr) *header = load();
	ElfW(Phdr) *p = headers_of(header);
	char *lies = map(PAGE);
	ElfW(Dyn) *d;
	uintptr_t low;

	while (p->p_type != PT_DYNAMIC)
		p++;
	d = (void *)((char *)header + p->p_vaddr);
	low = (uintptr_t)d & ~(uintptr_t)(PAGE - 1);
	if (mprotect((void *)low, (uintptr_t)d + p->p_memsz - low, PROT_READ | PROT_WRITE) < 0)
		victim_fail("mprotect");
	memset(lies, 0xff, PAGE);
	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRSZ || d->d_tag == DT_RELASZ || d->d_tag == DT_PLTRELSZ)
			d->d_un.d_val = 1ull << 60;
		else if (d->d_tag == DT_GNU_HASH || d->d_tag == DT_HASH)
			d->d_un.d_ptr = (uintptr_t)lies;
		else if (d->d_tag == DT_SYMTAB || d->d_tag == DT_STRTAB)
			d->d_un.d_ptr = noise();
	}
}

static void noise_headers(void)
{
	ElfW(Ehdr) *header = load();
	uint64_t *word = (uint64_t *)(header + 1);

	header->e_phnum = 0xfff0;
	for (size_t i = 0; i < 128; i++)
		word[i] = noise();
}

static void file_cut(void)
{
	uint64_t page[PAGE / 8];
	int fd;

	(void)load();
	for (size_t i = 0; i < PAGE / 8; i++)
		page[i] = noise();
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, PAGE) < 0 || pwrite(fd, page, PAGE, 0) != (ssize_t)PAGE)
		victim_fail("--file");
	close(fd);
}

static void modules(void)
{
	const size_t count = 8000;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char *at = map(2 * count * PAGE);

	if (fd < 0)
		victim_fail("--file");
	for (size_t i = 0; i < count; i++)
		if (mmap(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			victim_fail("mmap");
	close(fd);
}

/* --- threads ---------------------------------------------------------------------- */

/* This thread's control block: itself, dtv, itself, ... */
static uint64_t *self_block(void)
{
	uint64_t *self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	return self;
}

static void dtv(void)
{
	uint64_t *fake = map(64u << 20);

	fake[0] = 1ull << 40;
	for (size_t i = 2; i < (64u << 20) / 8; i++)
		fake[i] = i % 2 ? 0 : (uintptr_t)fake + i;
	self_block()[1] = (uintptr_t)(fake + 2);
}

static void dtv_wild(void)
{
	self_block()[1] = (uintptr_t)NOWHERE;
}

/* Control blocks step words apart, one behind the other in this thread's ring. */
static uint64_t *make_ring(size_t count, size_t step)
{
	uint64_t *blocks = map((count * step + 4096) * 8), *before = self_block() + LIST;
	uint64_t *after = (uint64_t *)(uintptr_t)before[0];

	for (size_t i = 0; i < count; i++) {
		uint64_t *block = blocks + i * step;

		block[0] = block[2] = (uintptr_t)block;
		block[LIST + 1] = (uintptr_t)before;
		before[0] = (uintptr_t)(block + LIST);
		before = block + LIST;
	}
	before[0] = (uintptr_t)after;
	after[1] = (uintptr_t)before;
	return blocks;
}

static void threads(void)
{
	(void)make_ring(500000, 6);	/* as near to each other as they can be */
}

static void stacks(void)
{
	const size_t count = 20000, step = 320;
	uint64_t *block = make_ring(count, step);

	for (size_t i = 0; i < count; i++) {
		block[i * step + STACKBLOCK] = (uintptr_t)block;
		block[i * step + STACKBLOCK + 1] = count * step * 8 / PAGE * PAGE;
		block[i * step + STACKBLOCK + 2] = i % 16 * PAGE;
	}
}

/* --- the heap --------------------------------------------------------------------- */

/* A chunk alone in its bin leads there and back. */
static char *main_arena(void)
{
	void *chunk = victim_seen(malloc(5000)), *behind = victim_seen(malloc(5000));
	size_t at = (uintptr_t)chunk;

	(void)behind;
	free(chunk);
	return (char *)(uintptr_t)*word_at(at) - ARENA_BINS;
}

static void put(char *at, size_t offset, uint64_t value)
{
	memcpy(at + offset, &value, sizeof(value));
}

static void arenas(void)
{
	const size_t count = 100000, step = 2304;
	char *arena = main_arena(), *more = map(count * step), *before = arena;

	for (size_t i = 0; i < count; i++) {
		char *at = more + i * step;

		memcpy(at, arena, 2200);
		put(before, ARENA_NEXT, (uintptr_t)at);
		before = at;
	}
	put(before, ARENA_NEXT, (uintptr_t)more);
	put(arena, ARENA_MEMORY, 1ull << 60);
}

static void chunks(void)
{
	static uint64_t *block[1000];

	for (size_t i = 0; i < 1000; i++)
		block[i] = victim_seen(malloc(24 + i));
	for (size_t i = 0; i < 1000; i += 7)
		block[i][-1] = noise();
}

static void lists(void)
{
	char *arena = main_arena();
	size_t block[20];

	for (size_t i = 0; i < 20; i++)
		block[i] = (uintptr_t)victim_seen(malloc(40));
	for (size_t i = 0; i < 20; i++)
		free((void *)block[i]);
	for (size_t i = 0; i < 20; i++) {
		size_t next = block[(i + 1) % 20];

		*word_at(block[i]) = (i < 7 ? next : next - 16) ^ block[i] >> 12;
	}
	word_at((size_t)*word_at((uintptr_t)arena + ARENA_BINS))[1] = UINT64_MAX & ~6ull;
}

static uint64_t table[1u << 20];	/* where vtables may be: in a module */

static void vtables(void)
{
	const size_t count = 100000;

	memset(table, 'n', sizeof(table));
	for (size_t i = 0; i < count; i++) {
		uint64_t *entry = &table[i * 8], **object = victim_seen(malloc(64));

		entry[0] = 0;
		entry[1] = (uintptr_t)(entry + 4);		/* typeinfo, */
		entry[4] = (uintptr_t)&table[(i + 1) * 8 + 2];	/* of whose class nobody knows */
		entry[5] = (uintptr_t)(entry + 6);		/* name */
		object[0] = entry + 2;
	}
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*forge)(void);
	} kinds[] = {
		{ "link-cycle", link_cycle }, { "link-million", link_million },
		{ "link-wild", link_wild }, { "link-names", link_names },
		{ "link-dynamic", link_dynamic }, { "spaces", spaces }, { "headers", headers },
		{ "dynamic", dynamic }, { "noise", noise_headers }, { "file", file_cut },
		{ "dtv", dtv }, { "dtv-wild", dtv_wild }, { "threads", threads },
		{ "stacks", stacks }, { "arenas", arenas }, { "chunks", chunks },
		{ "lists", lists }, { "vtables", vtables }, { "modules", modules },
	};
	const char *kind = victim_option(argv, "kind", "");

	(void)argc;
	victim_setup();
	file = victim_option(argv, "file", "");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		kinds[i].forge();
		victim_ready();
		while (victim_await() != 'q')
			;
		_exit(0);
	}
	victim_fail("unknown --kind");
}
