/* SPDX-License-Identifier: MIT */
/* test_leak_picture.c - what is read from the running target, because the picture has it not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/mman.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_kept_memory_from_the_target),
		cmocka_unit_test(reads_copied_memory_from_the_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
