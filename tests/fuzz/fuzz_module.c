/* SPDX-License-Identifier: MIT */
/* fuzz_module.c - hostile modules and stacks for the fuzzers of what unwinds. */
#include "tests/fuzz/fuzz_module.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACE		0x7f0000000000ull
#define STACK		0x7ffc00000000ull
#define HDR_AT		0x400u
#define FRAME_AT	0x500u
#define CODE_AT		0x2000u
#define CODE_BYTES	0x1000u
#define SECTIONS_AT	0x3000u
#define NAMES_AT	0x3100u

static size_t take(struct fuzz_input *input, void *to, size_t bytes)
{
	size_t n = bytes < input->left ? bytes : input->left;

	memset(to, 0, bytes);
	if (n > 0)
		memcpy(to, input->at, n);
	input->at += n;
	input->left -= n;
	return n;
}

static void put_headers(struct fuzz_file *file)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(header), .e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
	};
	Elf64_Phdr phdr[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = FUZZ_FILE_BYTES,
		  .p_memsz = FUZZ_FILE_BYTES, .p_align = 4096 },
		{ .p_type = PT_GNU_EH_FRAME, .p_offset = HDR_AT, .p_vaddr = HDR_AT,
		  .p_filesz = 20, .p_memsz = 20 },
	};

	memcpy(file->bytes, &header, sizeof(header));
	memcpy(file->bytes + sizeof(header), phdr, sizeof(phdr));
	file->size = FUZZ_FILE_BYTES;
}

static void put32(struct fuzz_file *file, size_t at, uint32_t value)
{
	memcpy(file->bytes + at, &value, sizeof(value));
}

/* One row: the code, and its FDE at fde. */
static void put_table(struct fuzz_file *file, uint32_t fde)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };

	memcpy(file->bytes + HDR_AT, head, sizeof(head));
	put32(file, HDR_AT + 4, FRAME_AT - (HDR_AT + 4));
	put32(file, HDR_AT + 8, 1);
	put32(file, HDR_AT + 12, CODE_AT - HDR_AT);
	put32(file, HDR_AT + 16, fde - HDR_AT);
}

/* A right CIE and FDE around programs of the input's. */
static void put_programs(struct fuzz_file *file, struct fuzz_input *input)
{
	static const uint8_t cie[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b };
	uint8_t lengths[2];
	uint32_t at = FRAME_AT, fde, cie_bytes, fde_bytes;

	take(input, lengths, sizeof(lengths));
	cie_bytes = lengths[0] % 64;
	fde_bytes = lengths[1];
	put32(file, at, (uint32_t)(4 + sizeof(cie) + 5 + cie_bytes));
	memcpy(file->bytes + at + 8, cie, sizeof(cie));
	at += 8 + (uint32_t)sizeof(cie);
	memcpy(file->bytes + at, "\x0c\x07\x08\x90\x01", 5);	/* cfa=rsp+8, rip at cfa-8 */
	take(input, file->bytes + at + 5, cie_bytes);
	fde = at + 5 + cie_bytes;
	put32(file, fde, 13 + fde_bytes);
	put32(file, fde + 4, fde + 4 - FRAME_AT);
	put32(file, fde + 8, CODE_AT - (fde + 8));
	put32(file, fde + 12, CODE_BYTES);
	take(input, file->bytes + fde + 17, fde_bytes);
	put_table(file, fde);
}

/* ---- several FDEs ---- */

/* Where in the file a CIE or FDE was begun. */
static uint32_t begin_entry(struct fuzz_file *file, uint32_t *at, uint32_t reference)
{
	uint32_t begin = *at;

	put32(file, begin + 4, reference);
	*at += 8;
	return begin;
}

static void put_program(struct fuzz_file *file, struct fuzz_input *input, uint32_t *at,
			uint32_t most)
{
	uint8_t bytes;

	take(input, &bytes, 1);
	take(input, file->bytes + *at, bytes % most);
	*at += bytes % most;
}

static void put_start(struct fuzz_file *file, uint32_t *at, bool debug, uint32_t start,
		      uint32_t bytes)
{
	put32(file, *at, debug ? CODE_AT + start : CODE_AT + start - *at);
	if (debug) {
		put32(file, *at + 8, bytes);
		*at += 16;
	} else {
		put32(file, *at + 4, bytes);
		file->bytes[*at + 8] = 0;	/* no augmentation data */
		*at += 9;
	}
}

static uint32_t put_several(struct fuzz_file *file, struct fuzz_input *input, bool debug)
{
	static const uint8_t cie[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b };
	static const uint8_t debug_cie[] = { 3, 0, 1, 0x78, 16 };
	uint32_t at = FRAME_AT, begin = begin_entry(file, &at, debug ? 0xffffffff : 0);
	uint8_t count;

	if (debug)
		memcpy(file->bytes + at, debug_cie, sizeof(debug_cie));
	else
		memcpy(file->bytes + at, cie, sizeof(cie));
	at += debug ? sizeof(debug_cie) : sizeof(cie);
	memcpy(file->bytes + at, "\x0c\x07\x08\x90\x01", 5);	/* cfa=rsp+8, rip at cfa-8 */
	at += 5;
	put_program(file, input, &at, 16);
	put32(file, begin, at - begin - 4);
	take(input, &count, 1);
	for (uint32_t i = 0; i < count % 8u; i++) {
		uint16_t place[2];

		begin = begin_entry(file, &at, debug ? 0 : at + 4 - FRAME_AT);
		take(input, place, sizeof(place));
		put32(file, HDR_AT + 12 + 8 * i, CODE_AT + place[0] % CODE_BYTES - HDR_AT);
		put32(file, HDR_AT + 16 + 8 * i, begin - HDR_AT);
		put32(file, HDR_AT + 8, i + 1);
		put_start(file, &at, debug, place[0] % CODE_BYTES, place[1] % 512);
		put_program(file, input, &at, 48);
		put32(file, begin, at - begin - 4);
	}
	return at;
}

/* Null, the frames, and the names. */
static void put_sections(struct fuzz_file *file, uint32_t frames, const char *name, bool debug)
{
	static const char names[] = "\0.shstrtab";
	Elf64_Shdr header[3] = {
		[1] = { .sh_name = sizeof(names), .sh_type = SHT_PROGBITS,
			.sh_flags = debug ? 0 : SHF_ALLOC, .sh_addr = debug ? 0 : FRAME_AT,
			.sh_offset = FRAME_AT, .sh_size = frames - FRAME_AT },
		[2] = { .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT,
			.sh_size = 64 },
	};
	Elf64_Ehdr elf;

	memcpy(&elf, file->bytes, sizeof(elf));
	elf.e_shoff = SECTIONS_AT;
	elf.e_shentsize = sizeof(header[0]);
	elf.e_shnum = 3;
	elf.e_shstrndx = 2;
	memcpy(file->bytes, &elf, sizeof(elf));
	memcpy(file->bytes + SECTIONS_AT, header, sizeof(header));
	memcpy(file->bytes + NAMES_AT, names, sizeof(names));
	memcpy(file->bytes + NAMES_AT + sizeof(names), name, strlen(name) + 1);
}

enum { WITH_TABLE, WITH_SECTION, WITH_BOTH, DEBUG_FRAME };

static void make_several(struct fuzz_file *file, struct fuzz_input *input, uint8_t kind)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };
	unsigned int how = (kind >> 3) % 4;
	uint32_t end = put_several(file, input, how == DEBUG_FRAME);

	if (how == WITH_TABLE || how == WITH_BOTH) {
		memcpy(file->bytes + HDR_AT, head, sizeof(head));
		put32(file, HDR_AT + 4, FRAME_AT - (HDR_AT + 4));
	} else {
		memset(file->bytes + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), 0,
		       sizeof(Elf64_Phdr));	/* PT_NULL: no header either */
	}
	if (how == DEBUG_FRAME)
		put_sections(file, end, ".debug_frame", true);
	else if (how != WITH_TABLE)
		put_sections(file, end + 4, ".eh_frame", false);
}

void fuzz_module_make(struct fuzz_file *file, struct fuzz_input *input)
{
	uint8_t kind;

	memset(file, 0, sizeof(*file));
	take(input, &kind, 1);
	if (kind % 8 == 0) {
		file->size = take(input, file->bytes, input->left / 2 < FUZZ_FILE_BYTES
						      ? input->left / 2 : FUZZ_FILE_BYTES);
		return;
	}
	put_headers(file);
	if (kind % 8 == 1) {
		put_table(file, FRAME_AT + kind);
		take(input, file->bytes + FRAME_AT,
		     input->left / 2 < 2048 ? input->left / 2 : 2048);
	} else if (kind % 8 < 5) {
		put_programs(file, input);
	} else {
		make_several(file, input, kind);
		return;
	}
	if (kind & 0x80)
		put32(file, HDR_AT, kind);	/* no usable table: libdw's rules */
}

static int open_file(void *context, const struct procmap *map)
{
	const struct fuzz_file *file = context;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	(void)map;
	if (fd >= 0 && write(fd, file->bytes, file->size) != (ssize_t)file->size) {
		close(fd);
		return -EIO;
	}
	return fd < 0 ? -errno : fd;
}

struct modules *fuzz_module_load(struct fuzz_file *file)
{
	struct module_source source = { .open_file = open_file, .context = file };
	struct procmap map = {
		.start = PLACE, .end = PLACE + FUZZ_FILE_BYTES, .inode = 1,
		.prot = PROCMAP_R | PROCMAP_X, .path = "/fuzz",
	};
	struct procmaps maps = { .count = 1, .map = &map };
	struct modules *modules;

	if (modules_new(&source, &modules) < 0)
		abort();
	if (modules_update(modules, &maps) < 0)
		abort();
	return modules;
}

/* Words of the stack: some lead back into the code, some into the stack. */
static uint64_t make_word(uint64_t word)
{
	switch (word & 3) {
	case 0:
		return PLACE + CODE_AT + (word >> 2) % CODE_BYTES;
	case 1:
		return STACK + (word >> 2) % 2048;
	}
	return word;
}

void fuzz_module_stack(struct unwind_input *walk, uint64_t *stack, struct fuzz_input *input)
{
	uint64_t *registers = &walk->registers.rip;
	uint8_t flags;

	take(input, &flags, 1);
	for (size_t i = 0; i < sizeof(walk->registers) / sizeof(uint64_t); i++) {
		uint16_t word;

		take(input, &word, sizeof(word));
		registers[i] = make_word(word);
	}
	if (flags & 1)
		walk->registers.rip = PLACE + CODE_AT + flags;
	if (flags & 2)
		walk->registers.rsp = STACK + 8u * (flags >> 4);
	walk->first_is_return = flags & 4;
	walk->stack = (const uint8_t *)stack;
	walk->stack_address = STACK;
	walk->stack_bytes = input->left < 2048 ? input->left : 2048;
	take(input, stack, walk->stack_bytes);
	for (size_t i = 0; i < walk->stack_bytes / 8; i++)
		stack[i] = make_word(stack[i]);
}

