/* SPDX-License-Identifier: MIT */
/*
 * test_cfi_table.c - call frame information written by hand, right and hostile, as rows.
 *
 * What becomes of each instruction; and that whatever is not certain is RULES_COPY.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "src/unwind/cfi_table.h"

#define FILE_BYTES	0x20000u
#define SECTIONS_AT	0x100u
#define NAMES_AT	0x1c0u
#define HEADER_AT	0x200u
#define FRAME_AT	0x1000u
#define DEBUG_AT	0x8000u
#define CODE_AT		0x10000u
#define CODE_BYTES	0x10000u

/* A file of one CIE, FDEs in the order of their code, and a search table. */
struct file {
	uint8_t bytes[FILE_BYTES];
	uint32_t at;		/* where the next entry goes */
	uint32_t cie;
	uint32_t fdes;
	struct module_segment segment[2];
	struct module module;
	struct rule_set set;
	struct cfi_table table;
};

static void put32(struct file *file, size_t at, uint32_t value)
{
	memcpy(file->bytes + at, &value, sizeof(value));
}

static void put_bytes(struct file *file, const void *bytes, size_t count)
{
	memcpy(file->bytes + file->at, bytes, count);
	file->at += (uint32_t)count;
}

static void end_entry(struct file *file, uint32_t begin)
{
	while (file->at % 8 != 4)
		file->bytes[file->at++] = 0;	/* DW_CFA_nop */
	put32(file, begin, file->at - begin - 4);
}

static void put_cie(struct file *file, const char *augmentation, const void *program,
		    size_t count)
{
	uint32_t begin = file->at;

	file->cie = begin;
	put32(file, begin + 4, 0);
	file->at += 8;
	put_bytes(file, "\1", 1);
	put_bytes(file, augmentation, strlen(augmentation) + 1);
	put_bytes(file, "\1\x78\x10\1\x1b", 5);	/* code 1, data -8, rip, 1 byte: pcrel sdata4 */
	put_bytes(file, program, count);
	end_entry(file, begin);
}

/* Its row of the search table comes after those before it. */
static void put_fde(struct file *file, uint32_t start, uint32_t bytes, const void *program,
		    size_t count)
{
	uint32_t begin = file->at, row = HEADER_AT + 12 + 8 * file->fdes++;

	put32(file, begin + 4, begin + 4 - file->cie);
	put32(file, begin + 8, CODE_AT + start - (begin + 8));
	put32(file, begin + 12, bytes);
	file->bytes[begin + 16] = 0;
	file->at += 17;
	put_bytes(file, program, count);
	end_entry(file, begin);
	put32(file, row, CODE_AT + start - HEADER_AT);
	put32(file, row + 4, begin - HEADER_AT);
	put32(file, HEADER_AT + 8, file->fdes);
}

#define FDE(file, start, bytes, program) \
	put_fde(file, start, bytes, program, sizeof(program) - 1)

static struct file *new_file(const char *augmentation)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };
	struct file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	memcpy(file->bytes + HEADER_AT, head, sizeof(head));
	put32(file, HEADER_AT + 4, FRAME_AT - HEADER_AT - 4);
	file->at = FRAME_AT;
	put_cie(file, augmentation, "\x0c\7\x8\x90\1", 5);	/* CFA rsp+8, rip at CFA-8 */
	file->segment[0] = (struct module_segment){
		.memory_bytes = CODE_AT, .file_bytes = CODE_AT, .flags = PF_R,
	};
	file->segment[1] = (struct module_segment){
		.address = CODE_AT, .memory_bytes = CODE_BYTES, .offset = CODE_AT,
		.file_bytes = CODE_BYTES, .flags = PF_R | PF_X,
	};
	file->module = (struct module){
		.id = 1, .file = file->bytes, .file_bytes = FILE_BYTES, .fd = -1,
		.from_memory = true, .segment = file->segment, .segment_count = 2,
		.eh_frame_hdr = HEADER_AT,
	};
	assert_int_equal(rule_set_init(&file->set), 0);
	return file;
}

static void free_file(struct file *file)
{
	cfi_table_done(&file->table);
	rule_set_done(&file->set);
	free(file);
}

/* What struct rules_module promises of rows and index. */
static void check_form(const struct file *file)
{
	const struct cfi_table *table = &file->table;

	assert_true(table->row_count > 0 && table->row[0].start == 0);
	for (uint32_t i = 1; i < table->row_count; i++) {
		assert_true(table->row[i].start > table->row[i - 1].start);
		assert_true(table->row[i].rule != table->row[i - 1].rule);
		assert_true(table->low + table->row[i].start < table->high);
	}
	for (uint32_t i = 0; i < table->index_count; i++) {
		uint32_t row = table->index[i];
		uint64_t at = (uint64_t)i << RULES_PAGE_LOG2;

		assert_true(row < table->row_count && table->row[row].start <= at);
		assert_true(row + 1 == table->row_count || table->row[row + 1].start > at);
	}
	assert_true((uint64_t)table->index_count << RULES_PAGE_LOG2 >= table->high - table->low);
}

static void build(struct file *file)
{
	cfi_table_done(&file->table);
	assert_int_equal(cfi_table_build(&file->module, &file->set, &file->table), 0);
	assert_int_equal(file->table.low, CODE_AT);
	assert_int_equal(file->table.high, CODE_AT + CODE_BYTES);
	check_form(file);
}

static const struct rules_rule *rule_at(const struct file *file, uint32_t at)
{
	return &file->set.rule[cfi_table_find(&file->table, CODE_AT + at)];
}

static void expect(const struct file *file, uint32_t at, struct rules_rule rule)
{
	assert_memory_equal(rule_at(file, at), &rule, sizeof(rule));
}

static void expect_kind(const struct file *file, uint32_t at, enum rules_kind kind)
{
	expect(file, at, (struct rules_rule){ .kind = (uint8_t)kind });
}

static void expect_cfa(const struct file *file, uint32_t at, enum rules_base base, int32_t cfa)
{
	expect(file, at, (struct rules_rule){
		.kind = RULES_STEP, .base = (uint8_t)base, .cfa = cfa,
	});
}

/* The rule of an FDE with just that program, at its last byte. */
static struct rules_rule rule_of(const char *program, size_t count)
{
	struct file *file = new_file("zR");
	struct rules_rule rule;

	put_fde(file, 0x100, 0x100, program, count);
	build(file);
	rule = *rule_at(file, 0x1ff);
	free_file(file);
	return rule;
}

#define EXPECT_RULE(program, ...) do { \
	struct rules_rule rule_ = rule_of(program, sizeof(program) - 1); \
	const struct rules_rule expected_ = { __VA_ARGS__ }; \
	\
	assert_memory_equal(&rule_, &expected_, sizeof(rule_)); \
} while (0)
#define EXPECT_COPY(program)	EXPECT_RULE(program, .kind = RULES_COPY)
#define STEP(...)		.kind = RULES_STEP, __VA_ARGS__

/* push %rbp; mov %rsp,%rbp; ...; leave; ret */
static void one_function(void **state)
{
	struct file *file = new_file("zR");
	const struct rules_rule pushed = {
		STEP(.flags = RULES_SAVES_RBP, .cfa = 16, .rbp = -16)
	};
	const struct rules_rule framed = {
		STEP(.base = RULES_BASE_RBP, .flags = RULES_SAVES_RBP, .cfa = 16, .rbp = -16)
	};

	(void)state;
	FDE(file, 0x40, 0x60, "\x41\x0e\x10\x86\2\x43\x0d\6\x02\x50\x0c\7\x8\xc6");
	build(file);
	expect_kind(file, 0x00, RULES_CUT);
	expect_kind(file, 0x3f, RULES_CUT);
	expect_cfa(file, 0x40, RULES_BASE_RSP, 8);
	expect(file, 0x41, pushed);
	expect(file, 0x43, pushed);
	expect(file, 0x44, framed);
	expect(file, 0x93, framed);
	expect_cfa(file, 0x94, RULES_BASE_RSP, 8);
	expect_cfa(file, 0x9f, RULES_BASE_RSP, 8);
	expect_kind(file, 0xa0, RULES_CUT);
	expect_kind(file, CODE_BYTES, RULES_COPY);	/* outside */
	free_file(file);
}

static void instructions_about_the_cfa(void **state)
{
	(void)state;
	EXPECT_RULE("", STEP(.cfa = 8));
	EXPECT_RULE("\x0c\6\x10", STEP(.base = RULES_BASE_RBP, .cfa = 16));
	EXPECT_RULE("\x0c\3\x10", STEP(.base = RULES_BASE_RBX, .cfa = 16));
	EXPECT_RULE("\x12\6\x7e", STEP(.base = RULES_BASE_RBP, .cfa = 16));
	EXPECT_RULE("\x0d\6", STEP(.base = RULES_BASE_RBP, .cfa = 8));
	EXPECT_RULE("\x0e\x80\2", STEP(.cfa = 256));
	EXPECT_RULE("\x13\x70", STEP(.cfa = 128));
	EXPECT_RULE("\x2e\x10", STEP(.cfa = 8));	/* GNU_args_size */
	/* breg6 -8, deref: a realigned frame */
	EXPECT_RULE("\x0f\3\x76\x78\6",
		    STEP(.base = RULES_BASE_RBP, .flags = RULES_DEREF, .cfa = -8));
	EXPECT_RULE("\x0f\2\x76\x10", STEP(.base = RULES_BASE_RBP, .cfa = 16));
	EXPECT_RULE("\x0f\4\x76\x10\x23\x18", STEP(.base = RULES_BASE_RBP, .cfa = 40));

	EXPECT_COPY("\x0c\x0a\0");			/* r10 */
	EXPECT_COPY("\x0e\x0c");			/* rsp + 12 */
	EXPECT_COPY("\x0e\0");				/* rsp: the frame is empty */
	EXPECT_COPY("\x0e\x80\x80\x80\x80\x10");	/* 4 GiB */
	EXPECT_COPY("\x0f\5\x77\x28\6\x23\x08");	/* *(rsp + 40) + 8 */
	EXPECT_COPY("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22");	/* a PLT's */
	EXPECT_COPY("\x0f\1\x31");			/* lit1 */
	EXPECT_COPY("\x0f\2\x76\x78\x0e\x10");		/* an offset to an expression */
}

static void instructions_about_registers(void **state)
{
	(void)state;
	EXPECT_RULE("\x86\2", STEP(.flags = RULES_SAVES_RBP, .cfa = 8, .rbp = -16));
	EXPECT_RULE("\x83\2", STEP(.flags = RULES_SAVES_RBX, .cfa = 8, .rbx = -16));
	EXPECT_RULE("\5\6\2", STEP(.flags = RULES_SAVES_RBP, .cfa = 8, .rbp = -16));
	EXPECT_RULE("\x11\6\x7e", STEP(.flags = RULES_SAVES_RBP, .cfa = 8, .rbp = 16));
	EXPECT_RULE("\x86\2\xc6", STEP(.cfa = 8));
	EXPECT_RULE("\x86\2\6\6", STEP(.cfa = 8));	/* restore_extended */
	EXPECT_RULE("\x86\2\x8\6", STEP(.cfa = 8));	/* same_value */
	EXPECT_RULE("\x10\6\2\x76\0", STEP(.flags = RULES_SAVES_RBP | RULES_RBP_BY_RBP, .cfa = 8));
	EXPECT_RULE("\x10\3\2\x76\x70",
		    STEP(.flags = RULES_SAVES_RBX | RULES_RBX_BY_RBP, .cfa = 8, .rbx = -16));
	EXPECT_RULE("\x8c\2\x8d\3\x8e\4\x8f\5", STEP(.cfa = 8));
	EXPECT_RULE("\x10\x0c\2\x76\x78\7\x0d", STEP(.cfa = 8));
	EXPECT_RULE("\x81\2\7\0", STEP(.cfa = 8));	/* rdx, rax: nobody's concern */
	EXPECT_RULE("\7\x10", .kind = RULES_END);

	EXPECT_COPY("\7\x10\x0c\6\x10");	/* no return address, but rbp is needed */
	EXPECT_COPY("\7\6");			/* undefined */
	EXPECT_COPY("\7\3");
	EXPECT_COPY("\x9\6\3");			/* in another register */
	EXPECT_COPY("\x9\x0c\3");
	EXPECT_COPY("\x10\6\2\x77\0");		/* at rsp + n */
	EXPECT_COPY("\x10\6\3\x76\0\6");	/* behind a pointer */
	EXPECT_COPY("\x10\x0c\2\x7d\0");	/* at r13 */
	EXPECT_COPY("\x10\0\2\x72\0");		/* rax at rcx */
	EXPECT_COPY("\x8\x10");			/* the return address where it was before */
	EXPECT_COPY("\x90\2");			/* ... at CFA-16 */
	EXPECT_COPY("\x9\x10\3");		/* ... in a register */
	EXPECT_COPY("\x87\2");			/* rsp is not the CFA */
	EXPECT_COPY("\x11\6\x80\x80\x80\x80\2");	/* 4 GiB below */
}

static void advances(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	/* 1, 2 and 4 bytes, and none; what lies beyond the end is nobody's */
	FDE(file, 0, 0x4000, "\x02\x10\x0e\x10\x03\0\x10\x0e\x18\x40\x0e\x20\x04\0\x10\0\0"
			     "\x0e\x28\x04\0\0\0\x40\x0e\x30");
	FDE(file, 0x4000, 0x10, "");
	build(file);
	expect_cfa(file, 0x000f, RULES_BASE_RSP, 8);
	expect_cfa(file, 0x0010, RULES_BASE_RSP, 16);
	expect_cfa(file, 0x100f, RULES_BASE_RSP, 16);
	expect_cfa(file, 0x1010, RULES_BASE_RSP, 32);
	expect_cfa(file, 0x200f, RULES_BASE_RSP, 32);
	expect_cfa(file, 0x2010, RULES_BASE_RSP, 40);
	expect_cfa(file, 0x3fff, RULES_BASE_RSP, 40);
	expect_cfa(file, 0x4000, RULES_BASE_RSP, 8);
	expect_kind(file, 0x4010, RULES_CUT);
	free_file(file);
}

static void states_are_remembered(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0, 0x40, "\x0e\x10\x86\2\x0a\x50\x0a\x0c\7\x8\xc6\x50\x0b\x50\x0e\x20\x0b");
	build(file);
	expect(file, 0x0f, (struct rules_rule){
		STEP(.flags = RULES_SAVES_RBP, .cfa = 16, .rbp = -16)
	});
	expect_cfa(file, 0x10, RULES_BASE_RSP, 8);
	expect(file, 0x20, *rule_at(file, 0x0f));
	expect(file, 0x3f, *rule_at(file, 0x0f));
	free_file(file);
}

/* Whatever comes before the flaw is worth nothing either: cfi_check() refuses all of it. */
static void flaws_cost_the_whole_fde(void **state)
{
	static const struct {
		const char *program;
		size_t count;
	} flaw[] = {
#define FLAW(program)	{ program, sizeof(program) - 1 }
		FLAW("\x0b"),				/* restore_state of none */
		FLAW("\1\0\0\0\0"),			/* set_loc */
		FLAW("\x14\6\2"), FLAW("\x15\6\2"), FLAW("\x16\6\2\x76\0"),	/* values */
		FLAW("\x2d"), FLAW("\x2f\6\2"), FLAW("\x1c"), FLAW("\x3f"),
		FLAW("\x91\2"), FLAW("\xd1"), FLAW("\x0d\x11"), FLAW("\7\x80\1"),
		FLAW("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),	/* a number of 11 bytes */
		FLAW("\x0f\x7f\x76\x10"),		/* longer than the entry */
		FLAW("\x0f\2\x90\1"),			/* not of this file's doing: regx */
		FLAW("\x10\6\0"),			/* an empty expression */
#undef FLAW
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flaw); i++) {
		struct file *file = new_file("zR");
		char program[64] = "\x0e\x10\x44\x0e\x18\x44\x0e\x20";

		FDE(file, 0, 0x20, "");
		memcpy(program + 8, flaw[i].program, flaw[i].count);
		put_fde(file, 0x20, 0x20, program, 8 + flaw[i].count);
		FDE(file, 0x40, 0x20, "");
		build(file);
		expect_cfa(file, 0x1f, RULES_BASE_RSP, 8);
		expect_kind(file, 0x20, RULES_COPY);
		expect_kind(file, 0x3f, RULES_COPY);
		expect_cfa(file, 0x40, RULES_BASE_RSP, 8);
		free_file(file);
	}
}

static void states_are_bounded(void **state)
{
	char program[65 * 1 + 2];

	(void)state;
	memset(program, 0x0a, sizeof(program));
	memcpy(program + 64, "\x0e\x10", 2);
	assert_int_equal(rule_of(program, 66).cfa, 16);
	memcpy(program + 64, "\x0a\x0e\x10", 3);
	assert_int_equal(rule_of(program, 67).kind, RULES_COPY);
}

static void signal_frames(void **state)
{
	struct file *file = new_file("zRS");

	(void)state;
	FDE(file, 0, 0x20, "");
	build(file);
	expect_kind(file, 0x10, RULES_COPY);
	expect_kind(file, 0x20, RULES_CUT);
	free_file(file);
}

/* musl's has no call frame information; the frame before it is found by its bytes. */
static void code_through_which_signals_return(void **state)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0, 0x20, "");
	FDE(file, 0x40, 0x20, "");
	FDE(file, 0x80, 0x20, "");
	FDE(file, 0xc0, 0x20, "");
	memcpy(file->bytes + CODE_AT + 0x30, code, sizeof(code));
	memcpy(file->bytes + CODE_AT + 0x80, code, sizeof(code));	/* after the gap's end */
	memcpy(file->bytes + CODE_AT + 0xa0, code, sizeof(code));	/* the FDE is in the way */
	build(file);
	expect_kind(file, 0x2f, RULES_COPY);
	expect_kind(file, 0x7f, RULES_COPY);
	expect_kind(file, 0xb0, RULES_CUT);
	free_file(file);
}

static void tables_that_lie(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0x00, 0x20, "");
	FDE(file, 0x20, 0x20, "");
	FDE(file, 0x40, 0x20, "");
	/* The second is said to start one byte earlier, then to lie nowhere at all. */
	put32(file, HEADER_AT + 20, CODE_AT + 0x1f - HEADER_AT);
	build(file);
	expect_cfa(file, 0x1e, RULES_BASE_RSP, 8);
	expect_kind(file, 0x1f, RULES_COPY);
	expect_kind(file, 0x3f, RULES_COPY);
	expect_cfa(file, 0x40, RULES_BASE_RSP, 8);
	put32(file, HEADER_AT + 24, 0x7fffffff);
	build(file);
	expect_kind(file, 0x20, RULES_COPY);
	expect_cfa(file, 0x40, RULES_BASE_RSP, 8);
	/* Not in order: nothing is certain. */
	put32(file, HEADER_AT + 20, CODE_AT + 0x50 - HEADER_AT);
	build(file);
	assert_int_equal(file->table.row_count, 1);
	expect_kind(file, 0x10, RULES_COPY);
	free_file(file);
}

/* A search finds the one that starts last; before and after it the other is not found for sure. */
static void overlapping(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0x00, 0x80, "\x0e\x10");
	FDE(file, 0x20, 0x20, "\x0e\x18");
	FDE(file, 0xa0, 0x40, "\x0e\x20");
	FDE(file, 0xa0, 0x20, "\x0e\x28");
	build(file);
	expect_cfa(file, 0x1f, RULES_BASE_RSP, 16);
	expect_cfa(file, 0x20, RULES_BASE_RSP, 24);
	expect_cfa(file, 0x3f, RULES_BASE_RSP, 24);
	expect_kind(file, 0x40, RULES_COPY);
	expect_kind(file, 0x7f, RULES_COPY);
	expect_kind(file, 0x80, RULES_CUT);
	expect_cfa(file, 0xa0, RULES_BASE_RSP, 40);
	expect_kind(file, 0xc0, RULES_CUT);
	free_file(file);
}

/* No search table that we know, and no sections to go by: nothing is certain. */
static void without_a_table(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0x00, 0x80, "\x0e\x10");
	file->bytes[HEADER_AT + 3] = 0xff;
	build(file);
	assert_int_equal(file->table.row_count, 1);
	expect_kind(file, 0x10, RULES_COPY);
	/* No header either: there is nothing. */
	file->module.eh_frame_hdr = 0;
	build(file);
	assert_int_equal(file->table.row_count, 1);
	expect_kind(file, 0x10, RULES_CUT);
	free_file(file);
}

/* ---- sections ---- */

/* Null, the section, and the names. */
static void put_section(struct file *file, const char *name, Elf64_Shdr section)
{
	const Elf64_Ehdr elf = {
		.e_shoff = SECTIONS_AT, .e_shentsize = sizeof(section), .e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Shdr header[3] = {
		[1] = section,
		[2] = { .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = 32 },
	};

	header[1].sh_name = 1;
	memcpy(file->bytes, &elf, sizeof(elf));
	memcpy(file->bytes + SECTIONS_AT, header, sizeof(header));
	strcpy((char *)file->bytes + NAMES_AT + 1, name);
}

/* Its end: the terminator of .eh_frame. */
static void put_frame_section(struct file *file, uint32_t cut)
{
	put_section(file, ".eh_frame", (Elf64_Shdr){
		.sh_type = SHT_PROGBITS, .sh_addr = FRAME_AT, .sh_offset = FRAME_AT,
		.sh_size = file->at + 4 - FRAME_AT - cut,
	});
	file->module.eh_frame_hdr = 0;
}

static void by_section(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0xa0, 0x40, "\x0e\x20");	/* in no order */
	FDE(file, 0x20, 0x20, "\x0e\x18");
	FDE(file, 0x00, 0x20, "\x0e\x10");
	FDE(file, 0xc0, 0x40, "\x0e\x28");	/* which one is found here is not known */
	FDE(file, 0x60, 0x20, "\x0e\x30");
	put_frame_section(file, 0);
	build(file);
	expect_cfa(file, 0x1f, RULES_BASE_RSP, 16);
	expect_cfa(file, 0x20, RULES_BASE_RSP, 24);
	expect_kind(file, 0x40, RULES_CUT);
	expect_cfa(file, 0x7f, RULES_BASE_RSP, 48);
	expect_kind(file, 0x80, RULES_CUT);
	expect_kind(file, 0xa0, RULES_COPY);
	expect_kind(file, 0xff, RULES_COPY);
	expect_kind(file, 0x100, RULES_CUT);
	/* The last entry is not all there, or there is something behind the end. */
	put_frame_section(file, 8);
	build(file);
	assert_int_equal(file->table.row_count, 1);
	expect_kind(file, 0x00, RULES_COPY);
	file->at += 8;
	put_frame_section(file, 0);
	build(file);
	expect_kind(file, 0x00, RULES_COPY);
	free_file(file);
}

static void put_debug_fde(struct file *file, uint32_t start, uint64_t bytes, uint8_t cfa)
{
	const uint64_t range[2] = { CODE_AT + start, bytes };

	put_bytes(file, "\x1c\0\0\0\0\0\0\0", 8);
	put_bytes(file, range, sizeof(range));
	put_bytes(file, (uint8_t [8]){ 0x0e, cfa }, 8);
}

/* Asked where .eh_frame has nothing. */
static void by_debug_frame(void **state)
{
	struct file *file = new_file("zR");
	Elf64_Shdr section = { .sh_type = SHT_PROGBITS, .sh_offset = DEBUG_AT };
	Elf64_Ehdr elf;

	(void)state;
	FDE(file, 0x00, 0x20, "\x0e\x10");
	FDE(file, 0x30, 0x08, "\x0e\x10");
	file->at = DEBUG_AT;
	put_bytes(file, "\x10\0\0\0\xff\xff\xff\xff\3\0\1\x78\x10\x0c\7\x8\x90\1\0\0", 20);
	put_debug_fde(file, 0x60, 0x20, 24);
	put_debug_fde(file, 0x00, 0x40, 32);
	section.sh_size = file->at - DEBUG_AT;
	put_section(file, ".debug_frame", section);
	build(file);
	expect_cfa(file, 0x1f, RULES_BASE_RSP, 16);
	expect_cfa(file, 0x20, RULES_BASE_RSP, 32);
	expect_cfa(file, 0x30, RULES_BASE_RSP, 16);
	expect_cfa(file, 0x3f, RULES_BASE_RSP, 32);
	expect_kind(file, 0x40, RULES_CUT);
	expect_cfa(file, 0x60, RULES_BASE_RSP, 24);
	expect_kind(file, 0x80, RULES_CUT);
	/* There is one, but it can't be read: no code is certain to have nothing. */
	section.sh_flags = SHF_COMPRESSED;
	put_section(file, ".debug_frame", section);
	build(file);
	expect_cfa(file, 0x1f, RULES_BASE_RSP, 16);
	expect_kind(file, 0x20, RULES_COPY);
	expect_kind(file, 0x40, RULES_COPY);
	put_section(file, ".comment", section);
	build(file);
	expect_kind(file, 0x20, RULES_CUT);
	/* More sections than are looked through. */
	memcpy(&elf, file->bytes, sizeof(elf));
	elf.e_shnum = 0xfeff;
	memcpy(file->bytes, &elf, sizeof(elf));
	build(file);
	expect_cfa(file, 0x1f, RULES_BASE_RSP, 16);
	expect_kind(file, 0x20, RULES_COPY);
	free_file(file);
}

static void writable_tables(void **state)
{
	struct file *file = new_file("zR");

	(void)state;
	FDE(file, 0x00, 0x80, "\x0e\x10");
	file->segment[0].flags |= PF_W;
	build(file);
	expect_kind(file, 0x10, RULES_COPY);
	free_file(file);
}

static void errors(void **state)
{
	struct file *file = new_file("zR");
	struct cfi_table table;

	(void)state;
	FDE(file, 0x00, 0x80, "");
	file->segment[1].flags = PF_R;
	assert_int_equal(cfi_table_build(&file->module, &file->set, &table), -ENOENT);
	file->segment[1].flags = PF_R | PF_X;
	file->segment[0].flags = PF_R | PF_X;
	file->segment[0].address = 1ull << 32;
	assert_int_equal(cfi_table_build(&file->module, &file->set, &table), -E2BIG);
	file->module.file = NULL;
	assert_int_equal(cfi_table_build(&file->module, &file->set, &table), -ENOENT);
	free_file(file);
}

static void rules_are_shared(void **state)
{
	struct file *file = new_file("zR"), *other = new_file("zR");
	struct rules_rule rule = { .kind = RULES_STEP };
	uint32_t count;

	(void)state;
	FDE(file, 0x00, 0x20, "\x0e\x10");
	FDE(file, 0x40, 0x20, "\x0e\x10");
	build(file);
	assert_int_equal(cfi_table_find(&file->table, CODE_AT),
			 cfi_table_find(&file->table, CODE_AT + 0x40));
	assert_int_equal(file->set.count, 5);
	assert_int_equal(file->set.rule[RULE_SET_COPY].kind, RULES_COPY);
	assert_int_equal(file->set.rule[RULE_SET_END].kind, RULES_END);
	assert_int_equal(file->set.rule[RULE_SET_CUT].kind, RULES_CUT);
	assert_int_equal(file->set.rule[RULE_SET_GUESS].kind, RULES_GUESS);
	/* A full set keeps what it has, and says that the rest is to be copied. */
	for (rule.cfa = 0; file->set.count < RULES_MAX_RULES; rule.cfa += 8)
		rule_set_add(&file->set, &rule);
	count = file->set.count;
	rule.cfa += 80000000;
	assert_int_equal(rule_set_add(&file->set, &rule), RULE_SET_COPY);
	FDE(other, 0x00, 0x20, "\x0e\x10");
	FDE(other, 0x20, 0x20, "\x0e\x80\x80\x80\x40");
	assert_int_equal(cfi_table_build(&other->module, &file->set, &other->table), 0);
	assert_int_equal(cfi_table_find(&other->table, CODE_AT),
			 cfi_table_find(&file->table, CODE_AT));
	assert_int_equal(cfi_table_find(&other->table, CODE_AT + 0x20), RULE_SET_COPY);
	assert_int_equal(file->set.count, count);
	free_file(file);
	free_file(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_function),
		cmocka_unit_test(instructions_about_the_cfa),
		cmocka_unit_test(instructions_about_registers),
		cmocka_unit_test(advances),
		cmocka_unit_test(states_are_remembered),
		cmocka_unit_test(flaws_cost_the_whole_fde),
		cmocka_unit_test(states_are_bounded),
		cmocka_unit_test(signal_frames),
		cmocka_unit_test(code_through_which_signals_return),
		cmocka_unit_test(tables_that_lie),
		cmocka_unit_test(overlapping),
		cmocka_unit_test(without_a_table),
		cmocka_unit_test(by_section),
		cmocka_unit_test(by_debug_frame),
		cmocka_unit_test(writable_tables),
		cmocka_unit_test(errors),
		cmocka_unit_test(rules_are_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
