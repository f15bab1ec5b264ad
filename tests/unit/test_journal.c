/* SPDX-License-Identifier: MIT */
/* test_journal.c - reverting what is ours, leaving what is another's, forgetting what is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/journal.h"
#include "inject/attach/load.h"
#include "inject/attach/text_pages.h"
#include "inject/tracee/remote_mem.h"

#define PAGE 4096

/* This program is the target; the text is a page of a file. */
static struct target self;
static char *text;
static struct ring_journal journal, mirror;

static char names[32][40];
static size_t name_count;

/* A file of one page, every byte fill. It keeps its name: an ordinary user needs it. */
static int file_of(int fill)
{
	char *name = names[name_count++], page[PAGE];
	int fd;

	strcpy(name, "/tmp/memattach-journal.XXXXXX");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	memset(page, fill, sizeof(page));
	assert_int_equal(write(fd, page, sizeof(page)), PAGE);
	return fd;
}

static void map_text(int fill)
{
	int fd = file_of(fill);
	void *at = mmap(text, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (text ? MAP_FIXED : 0),
			fd, 0);

	assert_true(at != MAP_FAILED);
	text = at;
	(void)close(fd);
}

static int set_up(void **state)
{
	struct pidref ref = PIDREF_NONE;

	(void)state;
	if (pidref_open(getpid(), &ref) || target_open(&ref, &self))
		return -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < name_count; i++)
		(void)unlink(names[i]);
	target_done(&self);
	return 0;
}

static int apply(void **state)
{
	struct ring_patch patch;

	(void)state;
	map_text(0x11);
	memset(&journal, 0, sizeof(journal));
	memset(&mirror, 0, sizeof(mirror));
	patch = (struct ring_patch){ .address = (uintptr_t)text + 64, .page_is_file = 1,
				     .original = 0x1111111111111111,
				     .patched = 0x1111111122334455 };
	assert_int_equal(text_page_note(&self, patch.address, &patch), 0);
	patch.page_is_file = RING_PAGE_FILE;	/* pagemap may not be had */
	assert_int_equal(patch.original, 0x1111111111111111);
	assert_int_equal(journal_intend(&journal, &mirror, &patch), 0);
	assert_int_equal(remote_write_word(&self, patch.address, patch.patched), 0);
	return 0;
}

static uint64_t word_now(void)
{
	uint64_t word;

	assert_int_equal(remote_read(&self, (uintptr_t)text + 64, &word, sizeof(word)), 0);
	return word;
}

static void ours_is_reverted(void **state)
{
	(void)state;
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(word_now(), 0x1111111111111111);
	assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
}

/* A word across two aligned ones has bytes of the other patch in it: each is put back alone. */
static void words_may_overlap(void **state)
{
	struct ring_patch second = { .address = (uintptr_t)text + 66 };

	(void)state;
	assert_int_equal(text_page_note(&self, second.address, &second), 0);
	assert_int_equal(second.original, 0x1111111111112233);
	second.patched = second.original ^ 0xffff0000;
	assert_int_equal(journal_intend(&journal, &mirror, &second), 0);
	assert_int_equal(remote_write_word(&self, second.address, second.patched), 0);
	assert_int_equal(word_now(), 0x1111eeee22334455);
	assert_true(journal_needs_stop(&journal, 0, 2));
	assert_int_equal(journal_revert(&self, &journal, 0, 2, true), 0);
	assert_int_equal(word_now(), 0x1111eeee11111111);
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal.patch[1].state, RING_PATCH_INTENDED);
	assert_int_equal(journal_revert(&self, &journal, 0, 2, false), 0);
	assert_int_equal(word_now(), 0x1111111111111111);
	assert_false(journal_needs_stop(&journal, 0, 2));
}

static void anothers_is_left(void **state)
{
	(void)state;
	assert_int_equal(remote_write_word(&self, (uintptr_t)text + 64, 0x77), 0);
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), -EEXIST);
	assert_int_equal(word_now(), 0x77);
	assert_int_equal(journal.patch[0].state, RING_PATCH_INTENDED);
}

/* A uprobe's breakpoint stays, what is behind it is the file's again; so it stays when it was. */
static void trap_on_ours_is_left_alone(void **state)
{
	char byte = (char)0xcc;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(remote_write(&self, (uintptr_t)text + 64, &byte, 1), 0);
		assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
		assert_int_equal(word_now(), 0x11111111111111cc);
		assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
		journal.patch[0].state = RING_PATCH_INTENDED;
	}
	journal.patch[0].original ^= 1ull << 60;	/* neither with a breakpoint on it */
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), -EEXIST);
}

static void closed_library_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(munmap(text, PAGE), 0);
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
}

/* A read that fails says nothing of the library: the jump would outlive what it leads to. */
static void unread_is_not_forgotten(void **state)
{
	int *descriptor[] = { &self.mem, &self.maps };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int kept = *descriptor[i];

		if (i == 1)
			assert_int_equal(munmap(text, PAGE), 0);
		*descriptor[i] = -1;
		assert_true(journal_revert(&self, &journal, 0, 1, false) < 0);
		assert_int_equal(journal.patch[0].state, RING_PATCH_INTENDED);
		*descriptor[i] = kept;
		if (i == 0)
			assert_int_equal(word_now(), 0x1111111122334455);
	}
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
}

/* Read from the target after its keeper's death. */
static void adopted_is_checked(void **state)
{
	(void)state;
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal.patch[0].state, RING_PATCH_INTENDED);
	journal.patch[0].original ^= 1;	/* would be written */
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
	journal.patch[0].original ^= 1;
	journal.patch[0].address |= 0xff9;	/* across the end of its page */
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
}

/* Beside our bytes, in the same word: before we came. */
static void adopted_with_anothers_bytes(void **state)
{
	uint64_t anothers = 0x99ull << 56;

	(void)state;
	journal.patch[0].original ^= anothers;
	journal.patch[0].patched ^= anothers;
	assert_int_equal(remote_write_word(&self, journal.patch[0].address,
					   journal.patch[0].patched), 0);
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(word_now(), 0x1111111111111111 ^ anothers);
}

static void adopted_of_closed_library(void **state)
{
	(void)state;
	map_text(0x99);
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
	assert_int_equal(journal_pages(&journal, &(uint64_t){ 0 }, 1), 0);
	journal.patch[0].state = RING_PATCH_INTENDED;
	assert_int_equal(munmap(text, PAGE), 0);
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
}

/* The program may write to its code; but never we to a file. */
static void adopted_that_may_be_written(void **state)
{
	char *private = text;
	int fd;

	(void)state;
	assert_int_equal(mprotect(text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal.patch[0].state, RING_PATCH_INTENDED);
	assert_int_equal(munmap(text, PAGE), 0);
	fd = file_of(0x11);
	assert_int_equal(pwrite(fd, &journal.patch[0].patched, 8, 64), 8);
	text = mmap(private, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0);
	assert_ptr_equal(text, private);
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
	(void)close(fd);
}

/* Moved by the program, with what we wrote in it, to where no file is. */
static void move_text(void)
{
	char page[PAGE];

	memcpy(page, text, PAGE);
	text = mmap(text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
		    -1, 0);
	assert_true(text != MAP_FAILED);
	memcpy(text, page, PAGE);
	assert_int_equal(mprotect(text, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* Nothing says what was there before that: a word that is no jump of ours stays. */
static void adopted_without_file(void **state)
{
	(void)state;
	move_text();
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
}

static char *island;

/* A page somewhere near, or where it was; name: what the kernel says it is. */
static void map_island(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	island = mmap(island, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | (island ? MAP_FIXED : 0),
		      fd, 0);
	assert_true(island != MAP_FAILED);
	(void)close(fd);
	journal.island_count = 1;
	journal.island[0] = (struct ring_island){ (uintptr_t)island, PAGE };
}

/* The patched word becomes a jump to the first slot of the island, or beyond that. */
static void patch_with_jump(unsigned int beyond)
{
	uint64_t to = (uintptr_t)island + offsetof(struct ring_island_entry, code) + beyond;
	int32_t distance = (int32_t)(int64_t)(to - journal.patch[0].address - 5);
	uint8_t *bytes = (uint8_t *)&journal.patch[0].patched;

	bytes[0] = 0xe9;
	memcpy(bytes + 1, &distance, sizeof(distance));
	memset(bytes + 5, 0x11, 3);
	assert_int_equal(remote_write_word(&self, journal.patch[0].address,
					   journal.patch[0].patched), 0);
}

static void adopted_jump_without_file(void **state)
{
	(void)state;
	map_island(MEMFD_SHIM_NAME);
	patch_with_jump(0);
	move_text();
	assert_int_equal(journal_check(&self, &journal), 0);
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(word_now(), 0x1111111111111111);
	journal.patch[0].state = RING_PATCH_INTENDED;
	assert_int_equal(journal_check(&self, &journal), 0);	/* nothing is left to write */
	assert_int_equal(journal.patch[0].state, RING_PATCH_REVERTED);
}

/* To where no thunk begins, to what is no island, with more bytes to be written than a jump's. */
static void adopted_forgery_without_file(void **state)
{
	(void)state;
	map_island(MEMFD_SHIM_NAME);
	patch_with_jump(1);
	move_text();
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
	patch_with_jump(0);
	assert_int_equal(journal_check(&self, &journal), 0);
	journal.patch[0].original ^= 1ull << 40;
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
	journal.patch[0].original ^= 1ull << 40;
	map_island("another");
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
	map_island(MEMFD_SHIM_NAME);
	assert_int_equal(mprotect(text, PAGE, PROT_READ), 0);
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
}

/* Where there is a file that says otherwise, that counts. */
static void adopted_forgery_with_file(void **state)
{
	(void)state;
	map_island(MEMFD_SHIM_NAME);
	patch_with_jump(0);
	assert_int_equal(journal_check(&self, &journal), 0);
	journal.patch[0].original ^= 1;
	assert_int_equal(journal_check(&self, &journal), -EBADMSG);
}

static void place_of_another_file_is_left(void **state)
{
	(void)state;
	map_text(0x99);
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(word_now(), 0x9999999999999999);
	assert_int_equal(journal_pages(&journal, &(uint64_t){ 0 }, 1), 0);
}

static void place_of_data_is_left(void **state)
{
	(void)state;
	text = mmap(text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
		    -1, 0);
	assert_true(text != MAP_FAILED);
	text[64] = 3;
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(word_now(), 3);
}

/* How many pages may be dropped, and (they are copies still) would be told if they were left. */
static void expect_pages(unsigned int files)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	uint64_t page = 0;

	assert_int_equal(procmaps_read(self.maps, &maps), 0);
	assert_int_equal(text_pages_judge(&self, &maps, &journal), 0);
	assert_int_equal(journal_pages(&journal, &page, 1), files);
	assert_true(!files || page == (uintptr_t)text);
	assert_int_equal(text_pages_left(&self, &journal), files);
}

static void reverted_page_is_the_files(void **state)
{
	(void)state;
	expect_pages(0);	/* our word is there */
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	expect_pages(1);
	assert_int_equal(text_page_confirm(&self, &journal, (uintptr_t)text), 1);
}

/* Before the pages are judged, and after that; until it is taken back. */
static void page_with_anothers_bytes_stays(void **state)
{
	(void)state;
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(remote_write_word(&self, (uintptr_t)text + 1024, 7), 0);
	expect_pages(0);
	assert_int_equal(text_page_confirm(&self, &journal, (uintptr_t)text), 0);
	assert_int_equal(remote_write_word(&self, (uintptr_t)text + 1024, 0x1111111111111111), 0);
	expect_pages(1);
	assert_int_equal(remote_write_word(&self, (uintptr_t)text + PAGE - 8, 7), 0);
	assert_int_equal(text_page_confirm(&self, &journal, (uintptr_t)text), 0);
	assert_int_equal(journal_pages(&journal, &(uint64_t){ 0 }, 1), 0);
	assert_int_equal(text_pages_left(&self, &journal), 0);
}

/* What can't be read is equal to nothing. */
static void cut_file_is_not_equal(void **state)
{
	(void)state;
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(truncate(names[name_count - 1], 0), 0);
	expect_pages(0);
}

static void page_that_may_be_written_stays(void **state)
{
	(void)state;
	assert_int_equal(journal_revert(&self, &journal, 0, 1, false), 0);
	assert_int_equal(mprotect(text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	expect_pages(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ours_is_reverted, apply),
		cmocka_unit_test_setup(anothers_is_left, apply),
		cmocka_unit_test_setup(words_may_overlap, apply),
		cmocka_unit_test_setup(trap_on_ours_is_left_alone, apply),
		cmocka_unit_test_setup(closed_library_is_forgotten, apply),
		cmocka_unit_test_setup(unread_is_not_forgotten, apply),
		cmocka_unit_test_setup(adopted_is_checked, apply),
		cmocka_unit_test_setup(adopted_with_anothers_bytes, apply),
		cmocka_unit_test_setup(adopted_of_closed_library, apply),
		cmocka_unit_test_setup(adopted_that_may_be_written, apply),
		cmocka_unit_test_setup(adopted_without_file, apply),
		cmocka_unit_test_setup(adopted_jump_without_file, apply),
		cmocka_unit_test_setup(adopted_forgery_without_file, apply),
		cmocka_unit_test_setup(adopted_forgery_with_file, apply),
		cmocka_unit_test_setup(place_of_another_file_is_left, apply),
		cmocka_unit_test_setup(place_of_data_is_left, apply),
		cmocka_unit_test_setup(reverted_page_is_the_files, apply),
		cmocka_unit_test_setup(page_with_anothers_bytes_stays, apply),
		cmocka_unit_test_setup(cut_file_is_not_equal, apply),
		cmocka_unit_test_setup(page_that_may_be_written_stays, apply),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
