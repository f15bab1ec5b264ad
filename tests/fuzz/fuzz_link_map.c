/* SPDX-License-Identifier: MIT */
/*
 * fuzz_link_map.c - a whole invented target: link map, modules, code, a file.
 *
 * The input is the content of three mappings (executable, library, heap); what it
 * leaves out is filled with a small well-formed program, so that mutations start
 * from something that gets far. The planner must end, and whatever it proposes
 * must lie in executable mappings and within its own limits.
 */
#include <errno.h>
#include <string.h>

#include "src/plan/entry_gap.h"
#include "src/plan/hook_planner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE		0x555555550000ull
#define PAGE		4096u
#define MEMORY_BYTES	(4u * PAGE)
#define TEXT		(1u * PAGE)	/* offset of the executable page */
#define EH_FRAME_HDR	0x800u
#define EH_FRAME	0x900u
#define FUNCTIONS	8u
#define FUNCTION_BYTES	64u

/* What the input is laid over, at BASE. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr phdr[4];
	Elf64_Dyn dynamic[10];
	uint32_t hash[2 + 1 + FUNCTIONS + 1];	/* DT_HASH with one bucket */
	Elf64_Sym symbol[FUNCTIONS + 1];
	char name[128];
	struct { int32_t version, pad; uint64_t map, brk, state, base; } debug;
	struct { uint64_t addr, name, ld, next, prev; } module;
	Elf64_Rela rela[1];
};

static const char *const names[FUNCTIONS] = {
	"malloc", "free", "calloc", "realloc", "_Znwm", "_ZdlPv", "mmap", "munmap"
};

static const uint8_t bodies[FUNCTIONS][16] = {
	{ 0x41, 0x54, 0x55, 0x53, 0xc3 },				/* push %r12; ... */
	{ 0x48, 0x85, 0xff, 0x74, 0x02, 0x31, 0xc0, 0xc3 },		/* test; je */
	{ 0x80, 0x3d, 0x46, 0x0b, 0, 0, 0, 0xc3 },			/* cmpb $0,x(%rip) */
	{ 0x53, 0x48, 0x89, 0xfb, 0x5b, 0xc3 },				/* push %rbx */
	{ 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 },				/* endbr64 */
	{ 0xe9, 0x7b, 0xfe, 0xff, 0xff },				/* jmp */
	{ 0xb8, 9, 0, 0, 0, 0x0f, 0x05, 0xc3 },				/* mov; syscall; ret */
	{ 0xc3 },
};

struct memory {
	uint8_t bytes[MEMORY_BYTES];
};

static int memory_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct memory *memory = context;

	if (address < BASE || address - BASE > MEMORY_BYTES ||
	    bytes > MEMORY_BYTES - (address - BASE))
		return -EIO;
	if (bytes > 0)
		memcpy(buffer, memory->bytes + (address - BASE), bytes);
	return 0;
}

static void fill_headers(struct program *p)
{
	memcpy(p->header.e_ident, ELFMAG, SELFMAG);
	p->header.e_ident[EI_CLASS] = ELFCLASS64;
	p->header.e_ident[EI_DATA] = ELFDATA2LSB;
	p->header.e_type = ET_DYN;
	p->header.e_machine = EM_X86_64;
	p->header.e_phoff = offsetof(struct program, phdr);
	p->header.e_phnum = 4;
	p->header.e_phentsize = sizeof(Elf64_Phdr);
	p->phdr[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = MEMORY_BYTES,
				   .p_memsz = MEMORY_BYTES, .p_flags = PF_R };
	p->phdr[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				   .p_vaddr = offsetof(struct program, dynamic),
				   .p_memsz = sizeof(p->dynamic) };
	p->phdr[2] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = EH_FRAME_HDR,
				   .p_memsz = 0x100 };
}

static void fill_dynamic(struct program *p)
{
	const Elf64_Dyn dynamic[] = {
		{ DT_DEBUG, { BASE + offsetof(struct program, debug) } },
		{ DT_HASH, { offsetof(struct program, hash) } },
		{ DT_SYMTAB, { offsetof(struct program, symbol) } },
		{ DT_STRTAB, { offsetof(struct program, name) } },
		{ DT_STRSZ, { sizeof(p->name) } },
		{ DT_JMPREL, { offsetof(struct program, rela) } },
		{ DT_PLTRELSZ, { sizeof(p->rela) } },
	};

	memcpy(p->dynamic, dynamic, sizeof(dynamic));
	p->debug.version = 1;
	p->debug.map = BASE + offsetof(struct program, module);
	p->debug.brk = BASE + TEXT + 7 * FUNCTION_BYTES;
	p->debug.base = BASE + 0x100000;
	p->module.addr = BASE;
	p->module.ld = BASE + offsetof(struct program, dynamic);
	p->module.name = BASE + offsetof(struct program, name);
}

static void fill_symbols(struct program *p)
{
	size_t at = 1;

	p->hash[0] = 1;
	p->hash[1] = FUNCTIONS + 1;
	p->hash[2] = 1;
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		strcpy(p->name + at, names[i]);
		p->symbol[i + 1] = (Elf64_Sym){
			.st_name = (Elf64_Word)at, .st_shndx = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_value = TEXT + i * FUNCTION_BYTES, .st_size = 16,
		};
		p->hash[3 + i + 1] = i + 1 < FUNCTIONS ? i + 2 : 0;
		at += strlen(names[i]) + 1;
	}
}

/* One CIE, an FDE for each function, and the sorted table. */
static void fill_unwind(uint8_t *memory)
{
	static const uint8_t cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
				       0x1b, 0, 0, 0, 0, 0, 0, 0 };
	uint8_t *head = memory + EH_FRAME_HDR;
	const uint32_t count = FUNCTIONS;

	memcpy(head, "\x01\x1b\x03\x3b", 4);
	memcpy(head + 8, &count, sizeof(count));
	memcpy(memory + EH_FRAME, cie, sizeof(cie));
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		const uint32_t at = EH_FRAME + sizeof(cie) + i * 20;
		const uint32_t fde[] = { 16, at + 4 - EH_FRAME,
					 TEXT + i * FUNCTION_BYTES - (at + 8), 16, 0 };
		const uint32_t row[] = { TEXT + i * FUNCTION_BYTES - EH_FRAME_HDR,
					 at - EH_FRAME_HDR };

		memcpy(memory + at, fde, sizeof(fde));
		memcpy(head + 12 + i * sizeof(row), row, sizeof(row));
	}
}

static void fill_program(struct memory *memory)
{
	struct program p = { 0 };

	fill_headers(&p);
	fill_dynamic(&p);
	fill_symbols(&p);
	memset(memory->bytes, 0, sizeof(memory->bytes));
	memcpy(memory->bytes, &p, sizeof(p));
	memset(memory->bytes + TEXT, 0x90, PAGE);
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		memcpy(memory->bytes + TEXT + i * FUNCTION_BYTES, bodies[i], sizeof(bodies[i]));
	fill_unwind(memory->bytes);
}

/* Pieces of the input go where it says: offset (16 bits), length (8 bits), bytes. */
static void apply_input(struct memory *memory, const uint8_t *data, size_t size)
{
	while (size > 3) {
		size_t at = (data[0] | (size_t)data[1] << 8) % MEMORY_BYTES;
		size_t n = data[2] < size - 3 ? data[2] : size - 3;

		n = n < MEMORY_BYTES - at ? n : MEMORY_BYTES - at;
		memcpy(memory->bytes + at, data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
}

static int own_file(void *context, const struct procmap *map, struct planner_file *ret)
{
	const struct memory *memory = context;

	(void)map;
	*ret = (struct planner_file){ memory->bytes, sizeof(memory->bytes) };
	return 0;
}

static void check_entry(const struct hook_plan *plan, const struct hook_entry *e)
{
	if (e->address < BASE + TEXT || e->address >= BASE + TEXT + PAGE ||
	    e->low > e->address || e->high <= e->address || e->family >= plan->family_count ||
	    e->island >= plan->island_count || e->relocated_bytes > HOOK_RELOCATED_BYTES ||
	    e->fixup_count > HOOK_MAX_FIXUPS || !memchr(e->name, '\0', sizeof(e->name)))
		abort();
	if (e->patch == HOOK_PATCH_GAP &&
	    (e->gap < BASE + TEXT || e->gap > BASE + TEXT + PAGE - 5 ||
	     e->gap + ENTRY_GAP_BELOW < e->address || e->gap > e->address + ENTRY_GAP_ABOVE))
		abort();
}

static void check_plan(const struct hook_plan *plan)
{
	if (plan->entry_count > RING_MAX_ENTRIES || plan->family_count > HOOK_MAX_FAMILIES ||
	    plan->island_count > RING_MAX_ISLANDS || plan->skipped_count > HOOK_MAX_SKIPPED)
		abort();
	for (uint32_t i = 0; i < plan->entry_count; i++)
		check_entry(plan, &plan->entry[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] =
		"555555550000-555555551000 r--p 00000000 08:01 77 /exe\n"
		"555555551000-555555552000 r-xp 00001000 08:01 77 /exe\n"
		"555555552000-555555554000 rw-p 00002000 08:01 77 /exe\n";
	static struct memory memory;
	static struct hook_plan plan;
	const struct elf_reader reader = { memory_read, &memory };
	struct procmaps maps;
	struct hook_planner_input input = { .maps = &maps, .reader = &reader, .exe_base = BASE,
					    .track = ALLOCATOR_TRACK_ALL, .file = own_file,
					    .file_context = &memory };

	fill_program(&memory);
	apply_input(&memory, data, size);
	if (procmaps_parse(text, sizeof(text) - 1, &maps) < 0)
		abort();
	if (hook_planner_run(&input, &plan) == 0)
		check_plan(&plan);
	/* Unchanged, the program must be understood, or the mutations explore nothing. */
	if (size == 0 && plan.entry_count < 5)
		abort();
	procmaps_done(&maps);
	return 0;
}
