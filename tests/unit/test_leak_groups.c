/* SPDX-License-Identifier: MIT */
/*
 * test_leak_groups.c - what is said of lost blocks beside their number: what memory that is not
 * live still names them, whose they may be, what they hold. A small heap is laid out by hand as
 * glibc would do it, and searched in a picture of this program. Addresses of its blocks are kept
 * inverted, so that the test itself holds none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sys/mman.h>

#include "src/base/sanitized.h"
#include "src/leak/analysis/groups.h"
#include "src/leak/candidates/stale.h"
#include "src/leak/holders/contents.h"
#include "src/leak/mark/mark.h"
#include "tests/unit/leak_picture.h"

#define HEAP_BYTES (1u << 20)

/* Chunks are laid out one after another; the address of a block is where its user's bytes are. */
struct lab {
	char *memory;			/* of the heap */
	uint64_t end;			/* of what is laid out */
	struct blocks *blocks;
	struct modules *modules;
	struct picture picture;
	struct roots roots;
	struct root root;
	uint64_t held[64];		/* the only root */
	struct ranges excluded;
	struct leak_report *report;
	pid_t child;
	uint64_t hidden[2000];		/* ~addresses that a test notes */
	struct analysis_known known[16];
	size_t known_count;
};
static struct lab lab;

static int set_up(void **state)
{
	static const struct module_source none;

	(void)state;
	memset(&lab, 0, sizeof(lab));
	lab.memory = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	assert_ptr_not_equal(lab.memory, MAP_FAILED);
	lab.end = (uintptr_t)lab.memory;
	assert_int_equal(blocks_new(&lab.blocks), 0);
	assert_int_equal(blocks_add_segment(lab.blocks, lab.end, lab.end + HEAP_BYTES, 16), 0);
	assert_int_equal(modules_new(&none, &lab.modules), 0);
	assert_int_equal(leak_report_new(&lab.report), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (lab.child)
		leak_picture_end(lab.child, &lab.picture);
	leak_report_free(lab.report);
	modules_free(lab.modules);
	blocks_free(lab.blocks);
	if (lab.roots.root != &lab.root)
		roots_done(&lab.roots);
	munmap(lab.memory, HEAP_BYTES);
	return 0;
}

static uint64_t *words(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

/* A chunk for usable bytes (24, 40, ...); ~address. */
static uint64_t chunk(uint64_t usable, bool live)
{
	uint64_t user = lab.end + 16;

	words(user)[-1] = (usable + 8) | 1;
	if (live)
		assert_int_equal(blocks_add(lab.blocks, user, usable), 0);
	lab.end += usable + 8;
	return ~user;
}

static uint64_t lost(uint64_t usable)
{
	return chunk(usable, true);
}

/* A freed block whose word at offset names block. */
static uint64_t freed(uint64_t usable, uint64_t offset, uint64_t block)
{
	uint64_t freed_block = chunk(usable, false);

	words(~freed_block)[offset / 8] = ~block;
	return freed_block;
}

static void finish_heap(void)
{
	words(lab.end)[1] = ((uintptr_t)lab.memory + HEAP_BYTES - lab.end) | 1;	/* the top */
}

static void take_picture(void)
{
	lab.child = leak_picture_fork(&lab.picture);
	if (lab.roots.root)
		return;
	lab.root = (struct root){ .low = (uintptr_t)lab.held,
				  .high = (uintptr_t)(lab.held + ARRAY_SIZE(lab.held)),
				  .class = ROOT_GLOBALS };
	lab.roots = (struct roots){ .count = 1, .root = &lab.root, .bytes = sizeof(lab.held) };
}

static void mark(void)
{
	struct mark_input input = { .picture = &lab.picture, .blocks = lab.blocks,
				    .roots = &lab.roots, .workers = 1 };
	struct mark_sums sums;

	assert_int_equal(mark_run(&input, &sums), 0);
	for (int i = 0; i < BLOCK_KINDS; i++)
		lab.report->kind[i] = (struct leak_sum){ sums.count[i], sums.bytes[i] };
	lab.report->scanned_bytes = sums.scanned_bytes;
}

static bool known_block(void *context, uint64_t address, struct analysis_known *ret)
{
	(void)context;
	for (size_t i = 0; i < lab.known_count; i++)
		if (lab.known[i].address == address && lab.known[i].age < 0) {
			*ret = lab.known[i];
			return true;
		}
	return false;
}

static void each_known(void *context,
		       void (*each)(void *each_context, const struct analysis_known *block),
		       void *each_context)
{
	(void)context;
	for (size_t i = 0; i < lab.known_count; i++)
		each(each_context, &lab.known[i]);
}

static void group(unsigned int classes, uint32_t show_bytes)
{
	struct groups_input input = {
		.picture = &lab.picture, .modules = lab.modules, .blocks = lab.blocks,
		.roots = &lab.roots, .excluded = &lab.excluded, .classes = classes,
		.known = known_block, .each_known = each_known, .show_bytes = show_bytes,
	};

	mark();
	assert_int_equal(groups_make(&input, lab.report), 0);
	leak_report_sort(lab.report);
}

static struct leak_group *group_of(uint64_t block)
{
	for (size_t i = 0; i < lab.report->group_count; i++)
		for (uint32_t k = 0; k < lab.report->group[i].address_count; k++)
			if (lab.report->group[i].address[k] == ~block)
				return &lab.report->group[i];
	fail_msg("0x%llx is in no group", (unsigned long long)~block);
	return NULL;
}

/* --- traces ---------------------------------------------------------------------- */

static void a_freed_owner_is_named(void **state)
{
	uint64_t block[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		block[i] = lost(104);
		(void)lost(40);
		(void)freed(24, 16, block[i]);
	}
	(void)lost(104);
	finish_heap();
	take_picture();
	group(ROOT_GLOBALS, 0);
	/* One group all the same: of the fourth block the trace is gone. */
	assert_int_equal(lab.report->group_count, 2);
	assert_int_equal(group_of(block[0])->count, 4);
	assert_string_equal(group_of(block[0])->last_held_by,
			    "a freed block of 24 bytes, at +16");
	assert_int_equal(group_of(block[0])->last_held_count, 3);
	assert_null(group_of(block[0])->content);
}

/* Several chunks in one free piece, and a live block behind it. */
static void sizes_are_followed_through_a_piece(void **state)
{
	uint64_t block, reached;

	(void)state;
	block = lost(2008);
	(void)chunk(56, false);
	(void)freed(88, 72, block);
	(void)chunk(24, false);
	reached = lost(40);
	finish_heap();
	lab.held[3] = ~reached;
	take_picture();
	group(ROOT_GLOBALS, 0);
	assert_string_equal(group_of(block)->last_held_by, "a freed block of 88 bytes, at +72");
	assert_int_equal(group_of(block)->size, 2008);
	assert_int_equal(group_of(block)->size_class, 2048);
}

static void sizes_that_lead_nowhere_are_not_believed(void **state)
{
	uint64_t block, torn;

	(void)state;
	block = lost(200);
	(void)freed(24, 16, block);
	torn = chunk(56, false);
	words(~torn)[-1] = 4096 | 1;	/* beyond the live block that follows */
	(void)lost(40);
	finish_heap();
	take_picture();
	group(ROOT_GLOBALS, 0);
	assert_string_equal(group_of(block)->last_held_by, "free memory of the heap");
}

/* Old blocks in what is the top now; and what is no trace: the middle, and other kinds. */
static void only_begins_of_lost_blocks_count(void **state)
{
	uint64_t block = lost(72), below = lost(88), middle = lost(104), top;

	(void)state;
	words(~block)[0] = ~below;
	(void)freed(56, 24, below);
	(void)freed(56, 24, middle + 8);	/* ~(address - 8) */
	(void)freed(56, 24, middle - 8);
	(void)lost(24);
	finish_heap();
	top = lab.end + 4096;
	words(top)[0] = ~block;
	take_picture();
	group(ROOT_GLOBALS, 0);
	assert_string_equal(group_of(block)->last_held_by, "free memory of the heap");
	assert_null(group_of(middle)->last_held_by);
	assert_int_equal(group_of(block)->indirect_count, 1);
}

/* A stretch of memory that is much longer than a line of the map, free pieces at its edges. */
static void pieces_of_every_length_are_read(void **state)
{
	static const uint64_t length[] = { 24, 1000, 1016, 1032, 2040, 65528, 300008 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(length); i++) {
		lab.hidden[i] = lost(200 + 16 * i);
		(void)freed(length[i], (length[i] - 8) & ~7ull, lab.hidden[i]);
	}
	(void)lost(24);
	finish_heap();
	take_picture();
	group(ROOT_GLOBALS, 0);
	for (size_t i = 0; i < ARRAY_SIZE(length); i++) {
		char text[STALE_TEXT_BYTES];

		snprintf(text, sizeof(text), "a freed block of %llu bytes, at +%llu",
			 (unsigned long long)length[i],
			 (unsigned long long)(length[i] - 8) & ~7ull);
		assert_string_equal(group_of(lab.hidden[i])->last_held_by, text);
	}
}

static void two_owners_are_two_groups(void **state)
{
	(void)state;
	for (size_t i = 0; i < 40; i++) {
		lab.hidden[i] = lost(104);
		if (i % 4 == 0)
			(void)freed(24, 16, lab.hidden[i]);
		else if (i % 4 == 1)
			(void)freed(40, 32, lab.hidden[i]);
		else if (i == 2)
			(void)freed(56, 32, lab.hidden[i]);
		(void)lost(24);
	}
	finish_heap();
	take_picture();
	group(ROOT_GLOBALS, 0);
	assert_int_equal(lab.report->group_count, 4);	/* and that of 24 bytes */
	assert_string_equal(group_of(lab.hidden[0])->last_held_by,
			    "a freed block of 24 bytes, at +16");
	assert_int_equal(group_of(lab.hidden[0])->count, 10);
	assert_string_equal(group_of(lab.hidden[1])->last_held_by,
			    "a freed block of 40 bytes, at +32");
	assert_int_equal(group_of(lab.hidden[1])->last_held_count, 10);
	assert_ptr_equal(group_of(lab.hidden[2]), group_of(lab.hidden[3]));
	assert_int_equal(group_of(lab.hidden[3])->count, 20);
	assert_int_equal(group_of(lab.hidden[3])->last_held_count, 1);
	/* The lowest addresses, ascending. */
	assert_int_equal(group_of(lab.hidden[3])->address_count, LEAK_MAX_ADDRESSES);
	assert_int_equal(group_of(lab.hidden[3])->address[0], ~lab.hidden[2]);
	assert_int_equal(group_of(lab.hidden[3])->address[1], ~lab.hidden[3]);
	assert_int_equal(group_of(lab.hidden[3])->address[2], ~lab.hidden[6]);
}

/* Leaves the address in a frame far below its caller's. */
static __attribute__((noinline)) void leave_in_frame(uint64_t hidden)
{
	volatile uint64_t frame[8192];

	for (size_t i = 0; i < ARRAY_SIZE(frame); i++)
		frame[i] = 0;
	frame[100] = ~hidden;
}

static void collect_roots(void)
{
	struct roots_input input = { .picture = &lab.picture,
				     .heap = blocks_segments(lab.blocks),
				     .excluded = &lab.excluded, .blocks = lab.blocks,
				     .classes = ROOT_ALL };

	assert_int_equal(roots_collect(&input, &lab.roots), 0);
}

static void dead_stack_is_named(void **state)
{
	uint64_t block = lost(152);
	char text[STALE_TEXT_BYTES];

	(void)state;
	if (MEMATTACH_SANITIZED)	/* terabytes of shadow memory would be roots */
		skip();
	(void)lost(24);		/* lab.end lies in it, and holds it */
	finish_heap();
	leave_in_frame(block);
	lab.child = leak_picture_fork(&lab.picture);
	collect_roots();
	group(ROOT_ALL, 0);
	assert_int_equal(group_of(block)->last_frame.module, 0);	/* none are known */
	snprintf(text, sizeof(text), "what calls left below the stack of thread %d", getpid());
	assert_string_equal(group_of(block)->last_held_by, text);
	/* Of roots that were switched off nothing is stale. */
	leak_report_free(lab.report);
	assert_int_equal(leak_report_new(&lab.report), 0);
	group(ROOT_ALL & ~ROOT_TLS, 0);
	assert_null(group_of(block)->last_held_by);
}

/* --- whose they may be -------------------------------------------------------------- */

/* Sites of the same tens are of one place. */
static void know(uint64_t block, uint32_t site, double age)
{
	lab.known[lab.known_count++] = (struct analysis_known){ .address = ~block, .bytes = 20,
								.site = site, .age = age,
								.place = site / 10 };
}

static void the_one_site_of_a_size_is_likely(void **state)
{
	uint64_t old = lost(24), other = lost(40), unlike = lost(56);
	uint64_t a = lost(24), b = lost(24), c = lost(40), d = lost(40), reached = lost(24);

	(void)state;
	finish_heap();
	lab.held[0] = ~reached;
	know(a, 70, -1);	/* -1: its site is told to groups_make as well */
	know(b, 71, -1);
	know(reached, 71, 1);
	know(c, 80, -1);
	know(d, 90, -1);
	take_picture();
	group(ROOT_GLOBALS, 0);
	assert_int_equal(group_of(old)->likely_site, 70);
	assert_int_equal(group_of(other)->likely_site, 0);	/* 80 or 90? */
	assert_int_equal(group_of(unlike)->likely_site, 0);
	assert_int_equal(group_of(a)->site, 70);
	assert_int_equal(group_of(a)->likely_site, 0);
}

/* --- contents ------------------------------------------------------------------------ */

/* A block with these bytes, and what is shown of its first limit ones. */
static struct leak_content show(uint64_t usable, const void *bytes, size_t count, uint32_t limit)
{
	struct block block = { .bytes = usable };
	struct leak_content content;

	block.address = ~lost(usable);
	if (bytes)
		memcpy(words(block.address), bytes, count);
	if (lab.child)
		leak_picture_end(lab.child, &lab.picture);
	lab.child = leak_picture_fork(&lab.picture);
	assert_int_equal(contents_read(&lab.picture, &block, limit, &content), 0);
	return content;
}

static void shows_text(const char *bytes, size_t count, uint32_t limit, const char *text, bool cut)
{
	struct leak_content content = show(1016, bytes, count, limit);

	assert_int_equal(content.count, limit < 1016 ? limit : 1016);
	assert_memory_equal(content.byte, bytes, count < limit ? count : limit);
	assert_int_equal(content.kind, text ? LEAK_TEXT_C : LEAK_TEXT_NONE);
	if (text)
		assert_string_equal(content.text, text);
	else
		assert_null(content.text);
	assert_int_equal(content.text_cut, cut);
	leak_content_done(&content);
}

static void strings_of_c_are_shown(void **state)
{
	char full[24];
	void *mapped;

	(void)state;
	shows_text("secret\n", 8, 64, "secret\n", false);
	shows_text("secret", 7, 6, "secret", true);
	shows_text("abc", 4, 64, NULL, false);			/* too short to be one */
	shows_text("secret\x01", 8, 64, NULL, false);
	shows_text("na\xc3\xafve", 7, 64, "na\xc3\xafve", false);
	shows_text("abcd\xc3\xaf", 7, 5, "abcd", true);		/* cut in a character */
	shows_text("abcd\xff" "abc", 9, 64, NULL, false);
	shows_text("abcd\xed\xa0\x80", 8, 64, NULL, false);	/* a surrogate */
	/* Printable, and yet an address. */
	mapped = mmap((void *)0x555555554000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	shows_text("\x41\x42\x55\x55\x55\x55\0", 8, 64,
		   mapped == (void *)0x555555554000 ? NULL : "ABUUUU", false);
	munmap(mapped, 4096);
	/* As long as its block: no end, no string. */
	memset(full, 'x', sizeof(full));
	for (uint32_t limit = 24; limit <= 32; limit += 8) {
		struct leak_content content = show(24, full, 24, limit);

		assert_int_equal(content.count, 24);
		assert_null(content.text);
		leak_content_done(&content);
	}
}

/* libstdc++'s layout, its text inside (small) or at text. */
static struct leak_content show_string(const char *small, const char *text, uint64_t length,
				       uint64_t capacity, uint32_t limit)
{
	struct {
		uint64_t text, length;
		union {
			char small[16];
			uint64_t capacity;
		};
	} string = { .length = length };

	string.text = small ? lab.end + 16 + 16 : (uintptr_t)text;
	if (small)
		memcpy(string.small, small, length + 1);
	else
		string.capacity = capacity;
	return show(40, &string, sizeof(string), limit);
}

static void shows_string(struct leak_content content, const char *text, bool cut)
{
	assert_int_equal(content.kind, text ? LEAK_TEXT_STD : LEAK_TEXT_NONE);
	if (text)
		assert_string_equal(content.text, text);
	assert_int_equal(content.text_cut, cut);
	leak_content_done(&content);
}

static void strings_of_cxx_are_shown(void **state)
{
	static const char text[] = "a text of more than fifteen bytes";
	uint64_t length = sizeof(text) - 1;

	(void)state;
	shows_string(show_string("Ann", NULL, 3, 0, 64), "Ann", false);
	shows_string(show_string("Annabelle", NULL, 9, 0, 4), "Anna", true);
	shows_string(show_string("Ann\x02", NULL, 4, 0, 64), NULL, false);
	shows_string(show_string("Ann", NULL, 2, 0, 64), NULL, false);	/* no zero behind it */
	shows_string(show_string(NULL, text, length, 40, 64), text, false);
	shows_string(show_string(NULL, text, length, 40, 6), "a text", true);
	shows_string(show_string(NULL, text, length, 20, 64), NULL, false);	/* too small */
	shows_string(show_string(NULL, text, length - 1, 40, 64), NULL, false);
	shows_string(show_string(NULL, (const char *)16, length, 40, 64), NULL, false);
	shows_string(show_string(NULL, text, 1ull << 39, 1ull << 39, 8), "a text o", true);
}

static void contents_go_with_examples(void **state)
{
	uint64_t block = lost(24);

	(void)state;
	memcpy(words(~block), "secret", 7);
	finish_heap();
	take_picture();
	group(ROOT_GLOBALS, 16);
	assert_int_equal(group_of(block)->content_count, 1);
	assert_int_equal(group_of(block)->content[0].address, ~block);
	assert_int_equal(group_of(block)->content[0].count, 16);
	assert_string_equal(group_of(block)->content[0].text, "secret");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: freed memory of other tests may name the same addresses. */
		TEST(dead_stack_is_named),
		TEST(a_freed_owner_is_named),
		TEST(sizes_are_followed_through_a_piece),
		TEST(sizes_that_lead_nowhere_are_not_believed),
		TEST(only_begins_of_lost_blocks_count),
		TEST(pieces_of_every_length_are_read),
		TEST(two_owners_are_two_groups),
		TEST(the_one_site_of_a_size_is_likely),
		TEST(strings_of_c_are_shown),
		TEST(strings_of_cxx_are_shown),
		TEST(contents_go_with_examples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
