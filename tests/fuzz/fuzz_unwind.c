/* SPDX-License-Identifier: MIT */
/*
 * fuzz_unwind.c - hostile stacks over hostile modules through the unwinder.
 *
 * The first byte chooses how the module is made: the input as the whole ELF file,
 * as .eh_frame behind a right search table, or as the programs of a CIE and FDE that
 * are otherwise right (which gets furthest). Then registers, then the stack.
 * Whatever comes, walks end, and the memo gives what a walk gives.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/symbolize/modules.h"
#include "src/symbolize/symbolize.h"
#include "src/unwind/unwind.h"

#define PLACE		0x7f0000000000ull
#define STACK		0x7ffc00000000ull
#define FILE_BYTES	16384u
#define HDR_AT		0x400u
#define FRAME_AT	0x500u
#define CODE_AT		0x2000u
#define CODE_BYTES	0x1000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input. */
struct input {
	const uint8_t *at;
	size_t left;
};

struct file {
	uint8_t bytes[FILE_BYTES];
	size_t size;
};

static size_t take(struct input *input, void *to, size_t bytes)
{
	size_t n = bytes < input->left ? bytes : input->left;

	memset(to, 0, bytes);
	if (n > 0)
		memcpy(to, input->at, n);
	input->at += n;
	input->left -= n;
	return n;
}

static void put_headers(struct file *file)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(header), .e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
	};
	Elf64_Phdr phdr[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = FILE_BYTES,
		  .p_memsz = FILE_BYTES, .p_align = 4096 },
		{ .p_type = PT_GNU_EH_FRAME, .p_offset = HDR_AT, .p_vaddr = HDR_AT,
		  .p_filesz = 20, .p_memsz = 20 },
	};

	memcpy(file->bytes, &header, sizeof(header));
	memcpy(file->bytes + sizeof(header), phdr, sizeof(phdr));
	file->size = FILE_BYTES;
}

static void put32(struct file *file, size_t at, uint32_t value)
{
	memcpy(file->bytes + at, &value, sizeof(value));
}

/* One row: the code, and its FDE at fde. */
static void put_table(struct file *file, uint32_t fde)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };

	memcpy(file->bytes + HDR_AT, head, sizeof(head));
	put32(file, HDR_AT + 4, FRAME_AT - (HDR_AT + 4));
	put32(file, HDR_AT + 8, 1);
	put32(file, HDR_AT + 12, CODE_AT - HDR_AT);
	put32(file, HDR_AT + 16, fde - HDR_AT);
}

/* A right CIE and FDE around programs of the input's. */
static void put_programs(struct file *file, struct input *input)
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

static void make_file(struct file *file, struct input *input)
{
	uint8_t kind;

	memset(file, 0, sizeof(*file));
	take(input, &kind, 1);
	if (kind % 8 == 0) {
		file->size = take(input, file->bytes, input->left / 2 < FILE_BYTES
						      ? input->left / 2 : FILE_BYTES);
		return;
	}
	put_headers(file);
	if (kind % 8 == 1) {
		put_table(file, FRAME_AT + kind);
		take(input, file->bytes + FRAME_AT,
		     input->left / 2 < 2048 ? input->left / 2 : 2048);
	} else {
		put_programs(file, input);
	}
	if (kind & 0x80)
		put32(file, HDR_AT, kind);	/* no usable table: libdw's rules */
}

static int open_file(void *context, const struct procmap *map)
{
	const struct file *file = context;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	(void)map;
	if (fd >= 0 && write(fd, file->bytes, file->size) != (ssize_t)file->size) {
		close(fd);
		return -EIO;
	}
	return fd < 0 ? -errno : fd;
}

static struct modules *load(struct file *file)
{
	struct module_source source = { .open_file = open_file, .context = file };
	struct procmap map = {
		.start = PLACE, .end = PLACE + FILE_BYTES, .inode = 1,
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

static void make_stack(struct unwind_input *walk, uint64_t *stack, struct input *input)
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

static void compare(struct unwinder *unwinder, struct stacks *stacks,
		    const struct unwind_input *walk)
{
	static struct frame frame[STACKS_MAX_FRAMES];
	enum unwind_end end;
	struct stack stack;
	uint32_t count, id;

	if (unwinder_walk(unwinder, walk, frame, &count, &end) < 0 ||
	    unwinder_stack(unwinder, stacks, walk, &id) < 0)
		abort();
	stack = stacks_get(stacks, id);
	if (count < 1 || count != stack.frame_count ||
	    memcmp(frame, stack.frame, count * sizeof(*frame)) != 0 ||
	    (stack.flags != 0) != (end != UNWIND_COMPLETE))
		abort();
}

/* As it is, known to the memo, elsewhere, and cut. */
static void walk_all(struct unwinder *unwinder, struct stacks *stacks, struct unwind_input *walk)
{
	struct unwind_stats stats;

	compare(unwinder, stacks, walk);
	compare(unwinder, stacks, walk);
	walk->registers.rsp += 4096;
	walk->stack_address += 4096;
	compare(unwinder, stacks, walk);
	walk->stack_bytes /= 2;
	compare(unwinder, stacks, walk);
	unwinder_stats(unwinder, &stats);
	if (stats.memo_conflicts > 0)
		abort();
}

static void symbolize_all(struct modules *modules, const struct stacks *stacks)
{
	struct symbolizer *symbolizer;
	struct stack stack = stacks_get(stacks, 1);
	size_t count;

	if (symbolizer_new(modules, &symbolizer) < 0)
		abort();
	for (uint32_t i = 0; i < stack.frame_count && i < 8; i++) {
		if (!symbolizer_frame(symbolizer, &stack.frame[i], &count) || count < 1)
			abort();
	}
	symbolizer_free(symbolizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file file;
	static uint64_t stack[256];
	struct input input = { data, size };
	struct unwind_input walk = { 0 };
	struct unwinder *unwinder;
	struct modules *modules;
	struct stacks *stacks;

	make_file(&file, &input);
	make_stack(&walk, stack, &input);
	modules = load(&file);
	if (unwinder_new(modules, &unwinder) < 0 || stacks_new(&stacks) < 0)
		abort();
	walk_all(unwinder, stacks, &walk);
	symbolize_all(modules, stacks);
	unwinder_free(unwinder);
	stacks_free(stacks);
	modules_free(modules);
	return 0;
}
