/* SPDX-License-Identifier: MIT */
/*
 * test_orphan.c - a forked process's jumps found by its files: ours all, nobody else's, and
 * nothing at all where something could not be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/load.h"
#include "inject/attach/orphan.h"
#include "inject/tracee/remote_mem.h"

enum { PAGE = 4096, PAGES = 4, ROOM = 64 * PAGE, NOP = 0x90,
       SLOTS = PAGE / sizeof(struct ring_island_entry) };

/* This program is the target; the text is a file of four pages, the island a memfd beside it. */
static struct attachment a;
static struct ring_journal *const journal = &a.journal;
static uint64_t text, island;
static char name[] = "/tmp/memattach-orphan.XXXXXX";

static void map_text(void)
{
	static char page[PAGES * PAGE];
	int fd;

	(void)memcpy(name + sizeof(name) - 7, "XXXXXX", 6);
	fd = mkstemp(name);
	assert_true(fd >= 0);
	memset(page, NOP, sizeof(page));
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	assert_true(mmap((void *)(uintptr_t)text, sizeof(page), PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
	(void)close(fd);
}

/* offset: where the island begins in the memfd. 0 is the place of the shim itself. */
static void map_island(off_t offset)
{
	int fd = memfd_create(MEMFD_SHIM_NAME, MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, offset + PAGE), 0);
	assert_true(mmap((void *)(uintptr_t)island, PAGE, PROT_READ | PROT_EXEC,
			 MAP_SHARED | MAP_FIXED, fd, offset) != MAP_FAILED);
	(void)close(fd);
}

static int begin(void **state)
{
	struct pidref ref = PIDREF_NONE;

	(void)state;
	memset(&a, 0, sizeof(a));
	a.target = TARGET_NONE;
	if (pidref_open(getpid(), &ref) || target_open(&ref, &a.target))
		return -1;
	text = (uintptr_t)mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == (uintptr_t)MAP_FAILED)
		return -1;
	island = text + ROOM / 2;
	map_text();
	map_island(PAGE);
	return 0;
}

static int end(void **state)
{
	(void)state;
	(void)munmap((void *)(uintptr_t)text, ROOM);
	(void)unlink(name);
	target_done(&a.target);
	return 0;
}

static void poke(uint64_t address, const void *bytes, size_t count)
{
	assert_int_equal(pwrite(a.target.mem, bytes, count, (off_t)address), count);
}

/* The five bytes of a jump from address to where the code of slot begins, and beyond. */
static void jump_to_slot(uint64_t address, unsigned int slot, unsigned int beyond)
{
	uint64_t to = island + slot * sizeof(struct ring_island_entry) +
		      offsetof(struct ring_island_entry, code) + beyond;
	int32_t distance = (int32_t)(int64_t)(to - address - 5);
	uint8_t jump[5] = { 0xe9 };

	memcpy(jump + 1, &distance, sizeof(distance));
	poke(address, jump, sizeof(jump));
}

static void jump_short(uint64_t address, int distance)
{
	const uint8_t jump[2] = { 0xeb, (uint8_t)(distance - 2) };

	poke(address, jump, sizeof(jump));
}

static int rebuild(void)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	assert_int_equal(procmaps_read(a.target.maps, &maps), 0);
	return orphan_rebuild(&a, &maps);
}

static uint64_t word(uint64_t address)
{
	uint64_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}
#define NOPS 0x9090909090909090ull

static const struct ring_patch *patch(uint32_t i)
{
	assert_true(i < journal->patch_count);
	assert_int_equal(journal->patch[i].state, RING_PATCH_INTENDED);
	return &journal->patch[i];
}

static void nothing_is_ours(void **state)
{
	(void)state;
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 0);
	assert_int_equal(journal->island_count, 1);
	assert_int_equal(journal->island[0].address, island);
	assert_int_equal(journal->island[0].bytes, PAGE);
	assert_int_equal(journal->loader, LOADER_MAP);
}

static void a_jump_is_found(void **state)
{
	(void)state;
	jump_to_slot(text + 64, 3, 0);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 1);
	assert_int_equal(journal->gap_patches, 0);
	assert_int_equal(patch(0)->address, text + 64);
	assert_int_equal(patch(0)->original, NOPS);
	assert_int_equal(patch(0)->patched, word(text + 64));
	assert_int_equal(patch(0)->page_is_file, 1);
}

/* Across two words, and two pages: each word of it as it was, and as it is. */
static void a_jump_lies_in_two_words(void **state)
{
	(void)state;
	jump_to_slot(text + PAGE - 2, SLOTS - 1, 0);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(patch(i)->address, text + PAGE - 8 + 8 * i);
		assert_int_equal(patch(i)->original, NOPS);
		assert_int_equal(patch(i)->patched, word(text + PAGE - 8 + 8 * i));
	}
}

/* An entry of two bytes that leads to a jump of ours: what is reverted first comes last. */
static void a_gap_is_told_from_an_entry(void **state)
{
	(void)state;
	jump_short(text + 128, -16);
	jump_to_slot(text + 112, 0, 0);
	jump_short(text + 256, 16);	/* leads to nothing of ours */
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 2);
	assert_int_equal(journal->gap_patches, 1);
	assert_int_equal(patch(0)->address, text + 112);
	assert_int_equal(patch(1)->address, text + 128);
	assert_int_equal(patch(1)->original, NOPS);
}

/* Two jumps in one word: what one finds there is what the other left. */
static void a_word_is_written_twice(void **state)
{
	(void)state;
	jump_to_slot(text + 64, 1, 0);
	jump_short(text + 64 + 6, -6);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 2);
	assert_int_equal(patch(0)->original, NOPS);
	assert_int_equal(patch(1)->original, patch(0)->patched);
	assert_int_equal(patch(1)->patched, word(text + 64));
}

/* Somebody else's bytes: they stay, also in a word of ours, and the page is not the file's. */
static void what_others_wrote_stays(void **state)
{
	const uint8_t theirs = 0xcc;

	(void)state;
	jump_to_slot(text + 64, 3, 0);
	poke(text + 64 + 7, &theirs, 1);
	jump_to_slot(text + 512, 3, 1);	/* no start of a slot's code */
	jump_to_slot(text + PAGE + 64, 4, 0);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 2);
	assert_int_equal(patch(0)->original, 0xcc90909090909090ull);
	assert_int_equal(patch(0)->patched, word(text + 64));
	assert_int_equal(patch(0)->page_is_file, 0);
	assert_int_equal(patch(1)->address, text + PAGE + 64);
	assert_int_equal(patch(1)->page_is_file, 1);
}

/* Half reverted: a page that is the file's again is a copy still, and to be dropped. */
static void a_reverted_page_is_noted(void **state)
{
	const uint8_t nop = NOP;

	(void)state;
	poke(text + 2 * PAGE + 8, &nop, 1);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 1);
	assert_int_equal(patch(0)->address, text + 2 * PAGE);
	assert_int_equal(patch(0)->original, NOPS);
	assert_int_equal(patch(0)->patched, NOPS);
	assert_int_equal(patch(0)->page_is_file, 1);
}

/* Where the kernel does not tell which pages are private all are looked at; none is dropped. */
static void an_unread_pagemap_hides_nothing(void **state)
{
	const uint8_t nop = NOP;
	int kept = a.target.pagemap;

	(void)state;
	jump_to_slot(text + 64, 3, 0);
	poke(text + 2 * PAGE + 8, &nop, 1);
	a.target.pagemap = -1;
	assert_int_equal(rebuild(), 0);
	a.target.pagemap = kept;
	assert_int_equal(journal->patch_count, 1);
	assert_int_equal(patch(0)->address, text + 64);
}

/* A page that could not be read may hold a jump: not one is taken out then. */
static void unread_memory_is_an_error(void **state)
{
	int kept = a.target.mem;

	(void)state;
	jump_to_slot(text + 64, 3, 0);
	a.target.mem = -1;
	assert_int_equal(rebuild(), -EIO);
	a.target.mem = kept;
}

/* The status with which a child ends in which a file's pages, and what follows, can't be read. */
static int rebuild_without_files(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ESTALE), SCMP_SYS(pread64), 2,
			     SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)a.target.mem, 0),
			     SCMP_A2(SCMP_CMP_EQ, PAGE + 5, 0)) ||
	    seccomp_load(filter))
		return 99;
	return rebuild() == -ESTALE ? 1 : 2;
}

static void an_unread_file_is_an_error(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	jump_to_slot(text + 64, 3, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(rebuild_without_files());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 99)
		skip();
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* It is not where the maps had it: what stands there now was not looked at. */
static void a_moved_file_is_an_error(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	assert_int_equal(procmaps_read(a.target.maps, &maps), 0);
	assert_int_equal(munmap((void *)(uintptr_t)(text + 3 * PAGE), PAGE), 0);
	assert_int_equal(orphan_rebuild(&a, &maps), -ENOENT);
}

static void protect(uint64_t page, int prot)
{
	assert_int_equal(mprotect((void *)(uintptr_t)page, PAGE, prot), 0);
}

/* The program may write to its code, or to a page of it: what the file has is known still. */
static void writable_text_is_searched(void **state)
{
	(void)state;
	jump_to_slot(text + PAGE + 64, 3, 0);
	protect(text + PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 1);
	assert_int_equal(patch(0)->address, text + PAGE + 64);
	assert_int_equal(patch(0)->original, NOPS);
}

/* An entry in one mapping, its gap in another, which begins in a third. */
static void mappings_are_searched_as_one(void **state)
{
	(void)state;
	jump_short(text + PAGE + 16, -16 - 2);
	jump_to_slot(text + PAGE - 2, 0, 0);
	protect(text + PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->gap_patches, 2);
	assert_int_equal(journal->patch_count, 3);
	assert_int_equal(patch(1)->original, NOPS);
	assert_int_equal(patch(2)->address, text + PAGE + 16);
}

/* The page as it is now, in memory of no file; as "text on huge pages" does it. */
static void move(uint64_t page)
{
	static char copy[PAGE];
	void *at = (void *)(uintptr_t)page;

	memcpy(copy, at, PAGE);
	assert_true(mmap(at, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	memcpy(at, copy, PAGE);
	protect(page, PROT_READ | PROT_EXEC);
}

static void a_jump_of_no_file_is_refused(void **state)
{
	(void)state;
	jump_to_slot(text + PAGE + 64, 3, 0);
	move(text + PAGE);
	move(text + 2 * PAGE);
	assert_int_equal(rebuild(), -ETXTBSY);
	jump_to_slot(text + PAGE + 64, 3, 1);	/* no start of a slot's code: not ours */
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 0);
}

/* Its gap has a file: were that taken back, it would lead to what no function begins with. */
static void an_entry_of_no_file_is_refused(void **state)
{
	(void)state;
	jump_to_slot(text + PAGE - 16, 3, 0);
	jump_short(text + PAGE + 16, -32);
	move(text + PAGE);
	assert_int_equal(rebuild(), -ETXTBSY);
	jump_short(text + PAGE + 16, -31);
	assert_int_equal(rebuild(), 0);
	assert_int_equal(journal->patch_count, 1);
}

/* A file that is only huge pages has zeroes where the program has its code. */
static void a_file_of_zeroes_is_refused(void **state)
{
	int fd = memfd_create("pages", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_true(mmap((void *)(uintptr_t)text, PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
	(void)close(fd);
	jump_to_slot(text + 64, 3, 0);
	/* who may not open what is mapped opens it by its name, and that is no file's */
	assert_int_equal(rebuild(), geteuid() == 0 ? -ETXTBSY : -ENOENT);
}

static void another_versions_shim_is_refused(void **state)
{
	(void)state;
	map_island(0);
	a.layout.text_bytes = PAGE;
	jump_to_slot(text + 64, 3, 0);
	assert_int_equal(rebuild(), -EBADMSG);
	assert_int_equal(journal->patch_count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_ours),
		TEST(a_jump_is_found),
		TEST(a_jump_lies_in_two_words),
		TEST(a_gap_is_told_from_an_entry),
		TEST(a_word_is_written_twice),
		TEST(what_others_wrote_stays),
		TEST(a_reverted_page_is_noted),
		TEST(an_unread_pagemap_hides_nothing),
		TEST(unread_memory_is_an_error),
		TEST(an_unread_file_is_an_error),
		TEST(a_moved_file_is_an_error),
		TEST(writable_text_is_searched),
		TEST(mappings_are_searched_as_one),
		TEST(a_jump_of_no_file_is_refused),
		TEST(an_entry_of_no_file_is_refused),
		TEST(a_file_of_zeroes_is_refused),
		TEST(another_versions_shim_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
