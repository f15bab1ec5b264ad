/* SPDX-License-Identifier: MIT */
/*
 * test_leak_picture.c - what is read from the running target, because the picture has it not; and
 * what is not read at all, because it is empty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "src/base/pagemap.h"
#include "src/base/sanitized.h"

#include "tests/unit/leak_picture.h"

#define PAGE 4096u

static void add_live(struct picture *picture, const char *text)
{
	struct procmaps maps;

	assert_int_equal(procmaps_parse(text, strlen(text), &maps), 0);
	assert_int_equal(picture_add_live(picture, leak_picture_open_file(getpid(), "mem"), &maps),
			 0);
	procmaps_done(&maps);
}

/* A page that children don't get, between others that they do. */
static void reads_kept_memory_from_the_target(void **state)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct picture picture;
	char text[256];
	pid_t child;

	(void)state;
	assert_int_equal(madvise(p + PAGE, PAGE, MADV_DONTFORK), 0);
	memcpy(p, "copied", 7);
	memcpy(p + PAGE, "kept", 5);
	child = leak_picture_fork(&picture);
	assert_int_equal(picture_word(&picture, (uintptr_t)p + PAGE), 0);
	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:00 0\n", (uintptr_t)p + PAGE,
		 (uintptr_t)p + 2 * PAGE);
	add_live(&picture, text);
	assert_int_equal(picture_word(&picture, (uintptr_t)p + PAGE) & 0xffffffffff, 0x7470656b);
	memcpy(p, "younger", 8);
	assert_int_equal(picture_word(&picture, (uintptr_t)p) & 0xffffffff, 0x69706f63);
	assert_non_null(procmaps_find(&picture.maps, (uintptr_t)p + PAGE));
	leak_picture_end(child, &picture);
	munmap(p, 3 * PAGE);
}

/* The target mapped and unmapped since: bounds differ, and what was copied is the picture's. */
static void reads_copied_memory_from_the_picture(void **state)
{
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct picture picture;
	char text[256];
	pid_t child;

	(void)state;
	memcpy(p + 2 * PAGE, "copied", 7);
	munmap(p, PAGE);
	child = leak_picture_fork(&picture);
	memcpy(p + 2 * PAGE, "younger", 8);
	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:00 0\n", (uintptr_t)p,
		 (uintptr_t)p + 4 * PAGE);
	add_live(&picture, text);
	assert_int_equal(picture_word(&picture, (uintptr_t)p + 2 * PAGE) & 0xffffffff, 0x69706f63);
	assert_int_equal(picture.live_ranges.count, 0);
	leak_picture_end(child, &picture);
	munmap(p, 4 * PAGE);
}

/* --- holes --------------------------------------------------------------------- */

static void find_holes(struct picture *picture, pid_t pid, pid_t live)
{
	int own = leak_picture_open_file(pid, "pagemap");
	int other = leak_picture_open_file(live, "pagemap");

	assert_int_equal(picture_find_holes(picture, own, other), 0);
	close(own);
	close(other);
}

/* Is there a page, be it one of zeros? */
static bool has_page(pid_t pid, const char *at)
{
	int fd = leak_picture_open_file(pid, "pagemap");
	uint64_t entry = 0;

	assert_int_equal(pread(fd, &entry, 8, (off_t)((uintptr_t)at / PAGE * 8)), 8);
	close(fd);
	return entry >> 62;
}

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)	/* vm.overcommit_memory=2 */
		skip();
	(void)madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

/* Written pages amid a terabyte: the rest reads as zeros, and stays untouched by that. */
static void empty_memory_is_not_touched(void **state)
{
	const size_t bytes = 1ull << 40, middle = bytes / 2;
	char *p = map(bytes), text[3 * PAGE];
	struct picture picture;
	uint64_t low = (uintptr_t)p;
	pid_t child;

	(void)state;
	memcpy(p + middle, "here", 5);
	memcpy(p + middle + 2 * PAGE - 2, "there", 6);
	child = leak_picture_fork(&picture);
	find_holes(&picture, child, child);
	assert_int_equal(picture_hole_bytes(&picture, low, low + bytes), bytes - 3 * PAGE);
	assert_true(picture_filled_bytes(&picture) < (MEMATTACH_SANITIZED ? bytes : 64u << 20));
	assert_int_equal(picture_skip_hole(&picture, low + 5), low + middle);
	assert_int_equal(picture_skip_hole(&picture, low + middle + 7), low + middle + 7);
	memset(text, 1, sizeof(text));
	assert_int_equal(picture_read(&picture, low + middle - PAGE, text, sizeof(text)), 0);
	for (size_t i = 0; i < PAGE; i++)
		assert_int_equal(text[i], 0);
	assert_string_equal(text + PAGE, "here");
	assert_memory_equal(text + 3 * PAGE - 2, "th", 2);
	assert_int_equal(picture_word(&picture, low), 0);
	assert_false(has_page(child, p) || has_page(child, p + middle - PAGE));
	assert_true(has_page(child, p + middle));
	leak_picture_end(child, &picture);
	munmap(p, bytes);
}

/* What a file has, its private mapping has too, pages or no pages. */
static void mapped_files_have_no_holes(void **state)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct picture picture;
	uint64_t low;
	pid_t child;
	char *p;

	(void)state;
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(pwrite(fd, "of a file", 9, 2 * PAGE), 9);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	memcpy(p, "written", 7);
	low = (uintptr_t)p;
	child = leak_picture_fork(&picture);
	find_holes(&picture, child, child);
	assert_false(has_page(child, p + 2 * PAGE));
	assert_int_equal(picture_hole_bytes(&picture, low, low + 4 * PAGE), 0);
	assert_int_equal(picture_word(&picture, low + 2 * PAGE) & 0xffff, 0x666f);
	leak_picture_end(child, &picture);
	munmap(p, 4 * PAGE);
	close(fd);
}

/* Nor if children don't get it: then its name is not known, but that it is a file's. */
static void kept_files_have_no_holes(void **state)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct picture picture;
	char text[256];
	pid_t child;
	char *p;

	(void)state;
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(pwrite(fd, "of a file", 9, 2 * PAGE), 9);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(madvise(p, 4 * PAGE, MADV_DONTFORK), 0);
	child = leak_picture_fork(&picture);
	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:01 77 /memfd:file (deleted)\n",
		 (uintptr_t)p, (uintptr_t)p + 4 * PAGE);
	add_live(&picture, text);
	find_holes(&picture, child, getpid());
	assert_int_equal(picture_word(&picture, (uintptr_t)p + 2 * PAGE) & 0xffff, 0x666f);
	leak_picture_end(child, &picture);
	munmap(p, 4 * PAGE);
	close(fd);
}

/*
 * Memory that children don't get has its own page map. Only what is large counts: a collector may
 * move things into small ones meanwhile.
 */
static void kept_memory_has_large_holes_of_its_own(void **state)
{
	const size_t large = 64u << 20;
	char *p = map(large + 5 * PAGE);
	struct picture picture;
	uint64_t low = (uintptr_t)p;
	char text[256];
	pid_t child;

	(void)state;
	assert_int_equal(madvise(p + PAGE, large + 3 * PAGE, MADV_DONTFORK), 0);
	memcpy(p, "copied", 7);
	memcpy(p + 2 * PAGE, "kept", 5);
	child = leak_picture_fork(&picture);
	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:00 0\n", low + PAGE,
		 low + large + 4 * PAGE);
	add_live(&picture, text);
	find_holes(&picture, child, getpid());
	assert_int_equal(picture_hole_bytes(&picture, low, low + large + 5 * PAGE),
			 large + 2 * PAGE);
	memcpy(p + PAGE, "moved", 6);
	assert_int_equal(picture_word(&picture, low + PAGE) & 0xffffffff, 0x65766f6d);
	assert_int_equal(picture_word(&picture, low + 2 * PAGE) & 0xffffffff, 0x7470656b);
	assert_int_equal(picture_word(&picture, low + 3 * PAGE), 0);
	assert_false(has_page(getpid(), p + 3 * PAGE));
	leak_picture_end(child, &picture);
	munmap(p, large + 5 * PAGE);
}

static void without_page_map_all_is_read(void **state)
{
	char *p = map(3 * PAGE);
	struct picture picture;
	pid_t child;

	(void)state;
	p[PAGE] = 1;
	child = leak_picture_fork(&picture);
	assert_int_equal(picture_find_holes(&picture, -1, -1), 0);
	assert_int_equal(picture.holes.count, 0);
	assert_int_equal(picture_word(&picture, (uintptr_t)p + PAGE), 1);
	leak_picture_end(child, &picture);
	munmap(p, 3 * PAGE);
}

/* A page map in which nothing is populated, not even the stack that the thread runs on. */
static void a_page_map_that_lies_is_not_believed(void **state)
{
	int liar = memfd_create("pagemap", MFD_CLOEXEC);
	struct picture picture;
	pid_t child;

	(void)state;
	assert_int_equal(ftruncate(liar, 1ll << 38), 0);
	child = leak_picture_fork(&picture);
	assert_int_equal(picture_find_holes(&picture, liar, liar), 0);
	assert_int_equal(picture.holes.count, 0);
	picture.thread_count = 0;	/* nobody to ask */
	assert_int_equal(picture_find_holes(&picture, liar, liar), 0);
	assert_true(picture.holes.count > 0);
	leak_picture_end(child, &picture);
	close(liar);
}

/* Three million holes of a page and a large one: only that is kept. */
static void tiny_holes_by_the_million_are_given_up(void **state)
{
	const uint64_t low = 1ull << 40, tiny = 3000000, large = 1u << 30;
	int fd = memfd_create("pagemap", MFD_CLOEXEC);
	struct picture picture = { .mem = -1, .live = -1 };
	uint64_t entry[8192] = { 0 };
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(entry); i += 2)
		entry[i] = 1ull << 63;
	for (uint64_t at = 0; at < 2 * tiny; at += ARRAY_SIZE(entry))
		assert_int_equal(pwrite(fd, entry, sizeof(entry), (off_t)((low / PAGE + at) * 8)),
				 sizeof(entry));
	assert_int_equal(ftruncate(fd, 1ll << 38), 0);
	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:00 0\n", low,
		 low + 2 * tiny * PAGE + large);
	assert_int_equal(procmaps_parse(text, strlen(text), &picture.maps), 0);
	assert_int_equal(picture_find_holes(&picture, fd, -1), 0);
	assert_in_range(picture.holes.count, 1, 2u << 20);
	assert_in_range(picture_filled_bytes(&picture), tiny * PAGE, 2 * tiny * PAGE + (64u << 20));
	picture_done(&picture);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_kept_memory_from_the_target),
		cmocka_unit_test(reads_copied_memory_from_the_picture),
		cmocka_unit_test(empty_memory_is_not_touched),
		cmocka_unit_test(mapped_files_have_no_holes),
		cmocka_unit_test(kept_files_have_no_holes),
		cmocka_unit_test(kept_memory_has_large_holes_of_its_own),
		cmocka_unit_test(without_page_map_all_is_read),
		cmocka_unit_test(a_page_map_that_lies_is_not_believed),
		cmocka_unit_test(tiny_holes_by_the_million_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
