/* SPDX-License-Identifier: MIT */
/*
 * test_entry_decode.c - what may be moved from an entry and what may not, on
 * hand-assembled functions; moved code is run far from where it came from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "src/plan/entry_decode.h"

#define AT 0x400000ull
#define PAGE 4096u
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static int relocate(const uint8_t *bytes, size_t count, unsigned int at_least,
		    struct entry_relocation *ret)
{
	const struct entry_code code = { AT, AT + count, bytes };
	const char *reason;
	int r = entry_relocate(&code, AT, at_least, ret, &reason);

	assert_true((r == 0) == (reason == NULL));
	return r;
}

static void refuse(const uint8_t *bytes, size_t count, unsigned int at_least)
{
	struct entry_relocation moved;

	assert_int_equal(relocate(bytes, count, at_least, &moved), -ENOTSUP);
}

static void refuse_what_threads_return_to(void **state)
{
	(void)state;
	refuse(BYTES(0xff, 0xd0, 0x90, 0x90, 0x90), 1); /* call *%rax */
	refuse(BYTES(0x0f, 0x05), 1);                   /* syscall */
	refuse(BYTES(0x31, 0xc0, 0x0f, 0x05, 0x90), 5); /* xor; syscall */
	refuse(BYTES(0xf3, 0xa4), 1);                   /* rep movsb */
	refuse(BYTES(0xe8, 1, 0, 0, 0, 0x90), 6);       /* call; nop: it returns into it */
	refuse(BYTES(0xc3), 1);                         /* ret */
}

static void refuse_what_has_no_far_form(void **state)
{
	(void)state;
	refuse(BYTES(0xe2, 0x10), 1);				/* loop */
	refuse(BYTES(0xe3, 0x10), 1);				/* jrcxz */
	refuse(BYTES(0xc7, 0xf8, 1, 0, 0, 0), 1);		/* xbegin */
	refuse(BYTES(0x66, 0xe9, 1, 0, 0, 0), 1);		/* jmp with 16-bit prefix */
	refuse(BYTES(0xff, 0xe0), 1);				/* jmp *%rax */
	refuse(BYTES(0x67, 0x8d, 0x05, 1, 0, 0, 0), 1);		/* lea 1(%eip) */
}

static void refuse_what_is_no_code(void **state)
{
	(void)state;
	refuse(BYTES(0xcc), 1);					/* somebody's breakpoint */
	refuse(BYTES(0x0f, 0x0b), 1);				/* ud2 */
	refuse(BYTES(0xf4), 1);					/* hlt */
	refuse(BYTES(0x06), 1);					/* invalid in 64-bit mode */
	refuse(BYTES(0x48, 0x8b), 1);				/* cut short */
	refuse(BYTES(0x55, 0x53), 5);				/* shorter than the patch */
}

static void refuse_branches_in_the_middle(void **state)
{
	struct entry_relocation moved;

	(void)state;
	refuse(BYTES(0x74, 0x20, 0x48, 0x89, 0xf8), 5);		/* je; mov */
	refuse(BYTES(0x48, 0x85, 0xff, 0x74, 0xfe), 5);		/* test; je to itself */
	refuse(BYTES(0x48, 0x85, 0xff, 0x74, 0xfb), 5);		/* test; je to the entry */
	assert_int_equal(relocate(BYTES(0x48, 0x85, 0xff, 0x74, 0x20), 5, &moved), 0);
	assert_int_equal(moved.covered_bytes, 5);
	assert_int_equal(moved.relocated_bytes, 9);
	assert_int_equal(moved.fixup_count, 1);
	assert_int_equal(moved.fixup[0].at, 5);
	assert_int_equal(moved.fixup[0].end, 9);
	assert_int_equal(moved.fixup[0].target, AT + 5 + 0x20);
}

static void move_rip_relative(void **state)
{
	struct entry_relocation moved;

	(void)state;
	/* cmpb $0, 0x141b46(%rip): the displacement is not the last field. */
	assert_int_equal(relocate(BYTES(0x80, 0x3d, 0x46, 0x1b, 0x14, 0, 0), 1, &moved), 0);
	assert_int_equal(moved.first_bytes, 7);
	assert_int_equal(moved.fixup_count, 1);
	assert_int_equal(moved.fixup[0].at, 2);
	assert_int_equal(moved.fixup[0].end, 7);
	assert_int_equal(moved.fixup[0].target, AT + 7 + 0x141b46);
	/* endbr64 is the first instruction. */
	assert_int_equal(relocate(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0x55), 1, &moved), 0);
	assert_int_equal(moved.first_bytes, 4);
	assert_int_equal(moved.fixup_count, 0);
	/* Three of them are one too many. */
	refuse(BYTES(0x8b, 0x05, 0, 0, 0, 0, 0x8b, 0x05, 0, 0, 0, 0, 0x8b, 0x05, 0, 0, 0, 0), 18);
	assert_int_equal(relocate(BYTES(0x8b, 0x05, 0, 0, 0, 0, 0x8b, 0x05, 0, 0, 0, 0), 12,
				  &moved), 0);
	assert_int_equal(moved.fixup_count, 2);
}

static void find_lone_ret(void **state)
{
	static const uint8_t good[] = { 0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	static const uint8_t next[] = { 0xc3, 0x66, 0x90, 0x55, 0x48, 0x89, 0xe5 };
	uint8_t bytes;
	struct entry_code code = { AT, AT + sizeof(good), good };

	(void)state;
	assert_true(entry_is_lone_ret(&code, AT, &bytes));
	assert_int_equal(bytes, 1);
	code = (struct entry_code){ AT, AT + sizeof(next), next };
	assert_false(entry_is_lone_ret(&code, AT, &bytes));
}

/*
 *  0: je 16    2: jmp 24   4: nopw (12)   16: xor   18: ret   19: nopl (5)
 * 24: jmp 32  26: nopw (6)   32: ret   33: nop (3)
 */
static const uint8_t paddings[] = {
	0x74, 0x0e, 0xeb, 0x14, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x90,
	0x31, 0xc0, 0xc3, 0x0f, 0x1f, 0x44, 0, 0, 0xeb, 0x06, 0x66, 0x0f, 0x1f, 0x44, 0, 0,
	0xc3, 0x0f, 0x1f, 0x00,
};

static void scan(const uint8_t *bytes, size_t count, struct entry_scan *ret)
{
	const struct entry_code code = { AT, AT + count, bytes };

	assert_int_equal(entry_scan_code(&code, ret), 0);
}

static void find_dead_padding(void **state)
{
	struct entry_scan found;

	(void)state;
	scan(paddings, sizeof(paddings), &found);
	assert_true(found.complete);
	assert_int_equal(found.filler_count, 4);
	assert_int_equal(found.filler[0].low, AT + 4);
	assert_int_equal(found.filler[0].high, AT + 16);
	assert_int_equal(found.filler[1].low, AT + 19);
	assert_int_equal(found.filler[2].low, AT + 26);
	assert_int_equal(found.filler[3].high, AT + sizeof(paddings));
	assert_true(entry_scan_jumps_into(&found, AT + 16, AT + 17));
	assert_false(entry_scan_jumps_into(&found, AT + 17, AT + 24));
	entry_scan_done(&found);
}

/* One change each makes a padding live, or no padding. */
static void leave_live_padding(void **state)
{
	uint8_t code[sizeof(paddings)];
	struct entry_scan found;

	(void)state;
	memcpy(code, paddings, sizeof(code));
	code[1] = 0x02;		/* je to the padding itself */
	scan(code, sizeof(code), &found);
	assert_int_equal(found.filler_count, 3);
	assert_int_equal(found.filler[0].low, AT + 19);
	entry_scan_done(&found);

	memcpy(code, paddings, sizeof(code));
	code[18] = 0x90;	/* no ret: runs into the padding */
	scan(code, sizeof(code), &found);
	assert_int_equal(found.filler_count, 3);
	assert_int_equal(found.filler[1].low, AT + 26);
	entry_scan_done(&found);

	memcpy(code, paddings, sizeof(code));
	code[16] = 0xff;	/* jmp *%rax: targets unknown */
	code[17] = 0xe0;
	scan(code, sizeof(code), &found);
	assert_true(found.indirect);
	assert_int_equal(found.filler_count, 0);
	entry_scan_done(&found);

	memcpy(code, paddings, sizeof(code));
	code[16] = 0x06;	/* does not decode */
	scan(code, sizeof(code), &found);
	assert_false(found.complete);
	assert_int_equal(found.filler_count, 0);
	entry_scan_done(&found);
}

static void follow_forwards(void **state)
{
	static const uint8_t jump[] = { 0xe9, 0x00, 0x10, 0, 0 };
	/* test %rdi,%rdi; je +7; xor %edx,%edx; jmp away; ret */
	static const uint8_t guarded[] = { 0x48, 0x85, 0xff, 0x74, 0x07, 0x31, 0xd2,
					   0xe9, 0x00, 0x10, 0, 0, 0xc3 };
	/* mov %rsi,%rdi; jmp away: another block */
	static const uint8_t other[] = { 0x48, 0x89, 0xf7, 0xe9, 0x00, 0x10, 0, 0 };
	struct entry_code code = { AT, AT + sizeof(jump), jump };
	uint64_t target;

	(void)state;
	assert_true(entry_forwards(&code, AT, false, &target));
	assert_int_equal(target, AT + 0x1005);
	code = (struct entry_code){ AT, AT + sizeof(guarded), guarded };
	assert_false(entry_forwards(&code, AT, false, &target));
	assert_true(entry_forwards(&code, AT, true, &target));
	assert_int_equal(target, AT + 0x100c);
	code = (struct entry_code){ AT, AT + sizeof(other), other };
	assert_false(entry_forwards(&code, AT, true, &target));
}

static void decode_constants(void **state)
{
	/* lea 0x100(%rip),%rax; ret */
	static const uint8_t text[] = { 0x48, 0x8d, 0x05, 0, 1, 0, 0, 0xc3 };
	static const uint8_t number[] = { 0xb8, 0xd1, 0, 0, 0, 0xc3 };
	struct entry_code code = { AT, AT + sizeof(text), text };
	uint64_t value;
	bool is_address;

	(void)state;
	assert_true(entry_constant(&code, AT, &is_address, &value));
	assert_true(is_address);
	assert_int_equal(value, AT + 7 + 0x100);
	code = (struct entry_code){ AT, AT + sizeof(number), number };
	assert_true(entry_constant(&code, AT, &is_address, &value));
	assert_false(is_address);
	assert_int_equal(value, 209);
}

/* Puts the moved instructions, fixed up, and a jump back to `resume` at place. */
static void assemble(uint8_t *place, const struct entry_relocation *moved, const uint8_t *resume)
{
	int32_t back;

	memcpy(place, moved->relocated, moved->relocated_bytes);
	for (unsigned int i = 0; i < moved->fixup_count; i++) {
		const struct hook_fixup *f = &moved->fixup[i];
		int32_t displacement =
			(int32_t)(f->target - ((uintptr_t)place + f->end));

		memcpy(place + f->at, &displacement, sizeof(displacement));
	}
	place += moved->relocated_bytes;
	back = (int32_t)(resume - (place + 5));
	place[0] = 0xe9;
	memcpy(place + 1, &back, sizeof(back));
}

/* Moves at_least bytes of code from one page to another and calls them with argument. */
static long run_moved(const uint8_t *bytes, size_t count, unsigned int at_least, long argument)
{
	struct entry_relocation moved;
	struct entry_code code;
	const char *reason;
	uint8_t *page = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	long (*function)(long);
	void *far = page + 63 * PAGE;
	long result;

	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, bytes, count);
	code = (struct entry_code){ (uintptr_t)page, (uintptr_t)page + count, page };
	assert_int_equal(entry_relocate(&code, code.low, at_least, &moved, &reason), 0);
	assemble(far, &moved, page + moved.covered_bytes);
	/* Nothing of the original may run any more. */
	memset(page, 0xcc, moved.covered_bytes);
	assert_int_equal(mprotect(page, 64 * PAGE, PROT_READ | PROT_EXEC), 0);
	memcpy(&function, &far, sizeof(function));
	result = function(argument);
	munmap(page, 64 * PAGE);
	return result;
}

static void run_moved_code(void **state)
{
	/* mov 0x8(%rip),%rax; add %rdi,%rax; ret; ...; 1000 */
	static const uint8_t load[] = { 0x48, 0x8b, 0x05, 0x09, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3,
					0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xe8, 3, 0, 0, 0, 0, 0, 0 };
	/* test %rdi,%rdi; je 1f; lea 1(%rdi),%rax; ret; 1: mov $7,%eax; ret */
	static const uint8_t branch[] = { 0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x01,
					  0xc3, 0xb8, 7, 0, 0, 0, 0xc3 };
	/* jmp 1f; int3; 1: lea 2(%rdi),%rax; ret */
	static const uint8_t jump[] = { 0xeb, 0x01, 0xcc, 0x48, 0x8d, 0x47, 0x02, 0xc3 };

	/* sub $8,%rsp; call 1f; add $8,%rsp; ret; 1: lea 3(%rdi),%rax; ret */
	static const uint8_t call[] = { 0x48, 0x83, 0xec, 0x08, 0xe8, 5,    0,    0,    0,   0x48,
					0x83, 0xc4, 0x08, 0xc3, 0x48, 0x8d, 0x47, 0x03, 0xc3 };

	(void)state;
	assert_int_equal(run_moved(call, sizeof(call), 5, 39), 42);
	assert_int_equal(run_moved(load, sizeof(load), 1, 5), 1005);
	assert_int_equal(run_moved(load, sizeof(load), 8, 5), 1005);
	assert_int_equal(run_moved(branch, sizeof(branch), 5, 0), 7);
	assert_int_equal(run_moved(branch, sizeof(branch), 5, 41), 42);
	assert_int_equal(run_moved(jump, sizeof(jump), 1, 40), 42);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuse_what_threads_return_to),
		cmocka_unit_test(refuse_what_has_no_far_form),
		cmocka_unit_test(refuse_what_is_no_code),
		cmocka_unit_test(refuse_branches_in_the_middle),
		cmocka_unit_test(move_rip_relative),
		cmocka_unit_test(find_lone_ret),
		cmocka_unit_test(find_dead_padding),
		cmocka_unit_test(leave_live_padding),
		cmocka_unit_test(follow_forwards),
		cmocka_unit_test(decode_constants),
		cmocka_unit_test(run_moved_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
