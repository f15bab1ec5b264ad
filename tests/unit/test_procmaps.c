/* SPDX-License-Identifier: MIT */
/* test_procmaps.c - the kernel's text, hostile paths, broken text, and finding holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/procmaps.h"

#define MANY_BYTES	(1u << 20)

static void parse(const char *text, struct procmaps *ret)
{
	assert_int_equal(procmaps_parse(text, strlen(text), ret), 0);
}

static void parse_typical_text(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("555555554000-555555556000 r--p 00001000 fe:10 1234567    /usr/bin/with space\n"
	      "555555556000-555555557000 rw-p 00000000 00:00 0 \n"
	      "7ffff7d8c000-7ffff7d8e000 r-xs 00000000 00:01 2051       /memfd:x (deleted)\n"
	      "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0          [stack]\n"
	      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n",
	      &maps);
	assert_int_equal(maps.count, 5);
	assert_int_equal(maps.map[0].start, 0x555555554000);
	assert_int_equal(maps.map[0].end, 0x555555556000);
	assert_int_equal(maps.map[0].offset, 0x1000);
	assert_int_equal(maps.map[0].dev_major, 0xfe);
	assert_int_equal(maps.map[0].dev_minor, 0x10);
	assert_int_equal(maps.map[0].inode, 1234567);
	assert_int_equal(maps.map[0].prot, PROCMAP_R);
	assert_string_equal(maps.map[0].path, "/usr/bin/with space");
	assert_false(maps.map[0].deleted);
	assert_string_equal(maps.map[1].path, "");
	assert_int_equal(maps.map[1].prot, PROCMAP_R | PROCMAP_W);
	assert_string_equal(maps.map[2].path, "/memfd:x");
	assert_true(maps.map[2].deleted);
	assert_int_equal(maps.map[2].prot, PROCMAP_R | PROCMAP_X | PROCMAP_SHARED);
	assert_int_equal(maps.map[4].start, 0xffffffffff600000);
	assert_int_equal(maps.map[4].prot, PROCMAP_X);
}

static void parse_escaped_newline(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("1000-2000 r--p 0 0:0 7 /a\\0121000-2000 rwxp\\012\\\n", &maps);
	assert_int_equal(maps.count, 1);
	assert_string_equal(maps.map[0].path, "/a\n1000-2000 rwxp\n\\");
}

static void parse_without_last_newline(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("1000-2000 r--p 0 0:0 0", &maps);
	assert_int_equal(maps.count, 1);
	assert_string_equal(maps.map[0].path, "");
}

static void parse_empty_text(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	assert_int_equal(procmaps_parse("", 0, &maps), 0);
	assert_int_equal(maps.count, 0);
	assert_null(procmaps_find(&maps, 0x1000));
}

static void parse_refuses_broken_text(void **state)
{
	static const char *const broken[] = {
		"x",
		"\n",
		"1000-2000",
		"1000-2000 r--p",
		"1000-2000 r--p 0 0:0",
		"1000-2000 r--p 0 0:0 ",
		"2000-1000 r--p 0 0:0 0\n",
		"1000-1000 r--p 0 0:0 0\n",
		"1000-2000 rxwp 0 0:0 0\n",
		"1000-2000 r--q 0 0:0 0\n",
		"1000-2000 r--p 0 0:0 12x /a\n",
		"-2000 r--p 0 0:0 0\n",
		"11111111111111111-2000 r--p 0 0:0 0\n",
		"1000-2000 r--p 0 100000000:0 0\n",
		"1000-2000 r--p 0 0:0 99999999999999999999\n",
		"1000-2000 r--p 0 0:0 0\n\n",
		"1000-3000 r--p 0 0:0 0\n2000-4000 r--p 0 0:0 0\n",
		"3000-4000 r--p 0 0:0 0\n1000-2000 r--p 0 0:0 0\n",
	};
	struct procmaps maps;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++)
		assert_int_equal(procmaps_parse(broken[i], strlen(broken[i]), &maps), -EBADMSG);
	assert_int_equal(procmaps_parse("1000-2000 r--p 0 0:0 7 /a\0b\n", 28, &maps), -EBADMSG);
}

static void read_own_maps_twice(void **state)
{
	_cleanup_fd_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	uint64_t here = (uint64_t)(uintptr_t)&read_own_maps_twice;
	char page[4096];

	(void)state;
	for (int i = 0; i < 2; i++) {
		_cleanup_(procmaps_done) struct procmaps maps = { 0 };
		const struct procmap *map;

		assert_int_equal(procmaps_read(fd, &maps), 0);
		map = procmaps_find(&maps, here);
		assert_non_null(map);
		assert_true(map->prot & PROCMAP_X);
		assert_true(map->inode != 0);
		map = procmaps_find(&maps, (uint64_t)(uintptr_t)page);
		assert_non_null(map);
		assert_string_equal(map->path, "[stack]");
	}
}

/* More than one read's worth: the parts must join without a seam. */
static void read_many_mappings(void **state)
{
	_cleanup_fd_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	size_t length = 4000 * 4096;
	char *area = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t found = 0;

	(void)state;
	assert_true(area != MAP_FAILED);
	for (size_t i = 0; i < length; i += 8192)
		assert_int_equal(mprotect(area + i, 4096, PROT_READ), 0);
	assert_int_equal(procmaps_read(fd, &maps), 0);
	for (size_t i = 0; i < length; i += 4096) {
		const struct procmap *map = procmaps_find(&maps, (uint64_t)(uintptr_t)area + i);

		assert_non_null(map);
		assert_int_equal(map->prot, i % 8192 ? 0 : PROCMAP_R);
		found++;
	}
	assert_int_equal(found, 4000);
	munmap(area, length);
}

static void read_refuses_other_files(void **state)
{
	_cleanup_fd_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct procmaps maps;

	(void)state;
	assert_int_equal(procmaps_read(fd, &maps), -EBADMSG);
	assert_int_equal(procmaps_read(-1, &maps), -EBADF);
}

static void find_at_edges(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("2000-3000 r--p 0 0:0 0\n3000-4000 rw-p 0 0:0 0\n6000-7000 r--p 0 0:0 0\n", &maps);
	assert_null(procmaps_find(&maps, 0x1fff));
	assert_ptr_equal(procmaps_find(&maps, 0x2000), &maps.map[0]);
	assert_ptr_equal(procmaps_find(&maps, 0x2fff), &maps.map[0]);
	assert_ptr_equal(procmaps_find(&maps, 0x3000), &maps.map[1]);
	assert_null(procmaps_find(&maps, 0x4000));
	assert_null(procmaps_find(&maps, 0x5fff));
	assert_ptr_equal(procmaps_find(&maps, 0x6fff), &maps.map[2]);
	assert_null(procmaps_find(&maps, 0x7000));
}

static void hole_below_is_preferred(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("10000000-10001000 r-xp 0 0:0 7 /low\n20000000-20100000 r-xp 0 0:0 7 /a\n", &maps);
	assert_int_equal(procmaps_find_hole(&maps, 0x20000000, 0x20100000, 0x2000, 1u << 30),
			 0x20000000 - 0x10000 - 0x2000);
}

/* Below is too far or too small: above, 64 KiB away. */
static void hole_above(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("1ff00000-20000000 r-xp 0 0:0 7 /low\n20000000-20100000 r-xp 0 0:0 7 /a\n", &maps);
	assert_int_equal(procmaps_find_hole(&maps, 0x20000000, 0x20100000, 0x2000, 0x180000),
			 0x20100000 + 0x10000);
	/* Every byte of the hole must reach every byte of the range. */
	assert_int_equal(procmaps_find_hole(&maps, 0x20000000, 0x20100000, 0x2000, 0x111fff), 0);
	assert_int_equal(procmaps_find_hole(&maps, 0x20000000, 0x20100000, 0x2000, 0x112000),
			 0x20110000);
}

static void hole_keeps_distance(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	uint64_t hole;

	(void)state;
	parse("20000000-20100000 r-xp 0 0:0 7 /a\n20121000-20122000 r-xp 0 0:0 7 /b\n"
	      "20143000-7ffffffff000 r-xp 0 0:0 7 /c\n",
	      &maps);
	hole = procmaps_find_hole(&maps, 0x20000000, 0x20100000, 0x1000, 0x200000);
	assert_int_equal(hole, 0x20000000 - 0x11000);
	hole = procmaps_find_hole(&maps, 0x20000000, 0x20122000, 0x1000, 0x122000);
	assert_int_equal(hole, 0x20110000);
	assert_int_equal(procmaps_find_hole(&maps, 0x20000000, 0x20122000, 0x2000, 0x122000), 0);
}

static void hole_never_at_the_bottom(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("22000-7ffffffff000 r-xp 0 0:0 7 /a\n", &maps);
	assert_int_equal(procmaps_find_hole(&maps, 0x22000, 0x23000, 0x2000, 1u << 30), 0x10000);
	assert_int_equal(procmaps_find_hole(&maps, 0x22000, 0x23000, 0x3000, 1u << 30), 0);
	assert_int_equal(procmaps_find_hole(&maps, 0x22000, 0x23000, 0, 1u << 30), 0);
}

static void hole_not_in_growth_room(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("10000-400000 r-xp 0 0:0 7 /exe\n400000-500000 rw-p 0 0:0 0 [heap]\n"
	      "30000000-30001000 r-xp 0 0:0 7 /lib\n60000000-60010000 rw-p 0 0:0 0 [stack]\n",
	      &maps);
	/* Only above the heap, or under the stack, or above the stack. */
	assert_int_equal(procmaps_find_hole(&maps, 0x10000, 0x400000, 0x1000, 0x20000000), 0);
	assert_int_equal(procmaps_find_hole(&maps, 0x30000000, 0x30001000, 0x1000, 0x20000000), 0);
	assert_int_equal(procmaps_find_hole(&maps, 0x30000000, 0x30001000, 0x1000, 0x40000000),
			 0x60020000);
}

static void hole_never_beyond_user_space(void **state)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	parse("7ff000000000-7fffffff0000 r-xp 0 0:0 7 /a\n"
	      "ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]\n",
	      &maps);
	assert_int_equal(procmaps_find_hole(&maps, 0x7fffffff0000 - 0x1000, 0x7fffffff0000, 0x1000,
					    1u << 30),
			 0);
}

static void *map_and_unmap(void *unused)
{
	unsigned int seed = 1;

	for (;;) {
		char *m = mmap(NULL, MANY_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		size_t at = (size_t)rand_r(&seed) % 100 * 4096;

		if (m == MAP_FAILED)
			continue;
		(void)mprotect(m + at, 4096 * (1 + (size_t)rand_r(&seed) % 100), PROT_READ);
		(void)munmap(m + (size_t)rand_r(&seed) % 100 * 4096, 4096);
		(void)munmap(m, MANY_BYTES);
	}
	return unused;
}

static _Noreturn void never_stand_still(pid_t parent)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(99);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, map_and_unmap, NULL))
			_exit(99);
	for (;;)
		pause();
}

/* Some in a thousand texts are not sorted, on kernels that read without the map's lock. */
static void read_while_it_changes(void **state)
{
	pid_t parent = getpid(), child = fork();
	char path[64];
	int fd, bad = 0;

	(void)state;
	if (child == 0)
		never_stand_still(parent);
	assert_true(child > 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < 10000; i++) {
		_cleanup_(procmaps_done) struct procmaps maps = { 0 };

		bad += procmaps_read(fd, &maps) != 0;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(bad, 0);
}

/* A process with so many mappings is killed while they are read: none or all, never a part. */
static void read_while_it_ends(void **state)
{
	enum { MAPPINGS = 8000, TRIES = 40 };
	size_t length = MAPPINGS * 4096;
	char path[64], *area = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(area != MAP_FAILED);
	for (size_t i = 0; i < length; i += 8192)
		assert_int_equal(mprotect(area + i, 4096, PROT_READ), 0);
	for (int i = 0; i < TRIES; i++) {
		_cleanup_(procmaps_done) struct procmaps maps = { 0 };
		pid_t child = fork();
		int fd;

		if (child == 0)
			for (;;)
				pause();
		snprintf(path, sizeof(path), "/proc/%d/maps", child);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		kill(child, SIGKILL);
		assert_int_equal(procmaps_read(fd, &maps), 0);
		assert_true(maps.count == 0 || maps.count > MAPPINGS);
		close(fd);
		waitpid(child, NULL, 0);
	}
	munmap(area, length);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_typical_text),
		cmocka_unit_test(parse_escaped_newline),
		cmocka_unit_test(parse_without_last_newline),
		cmocka_unit_test(parse_empty_text),
		cmocka_unit_test(parse_refuses_broken_text),
		cmocka_unit_test(read_own_maps_twice),
		cmocka_unit_test(read_many_mappings),
		cmocka_unit_test(read_refuses_other_files),
		cmocka_unit_test(read_while_it_changes),
		cmocka_unit_test(read_while_it_ends),
		cmocka_unit_test(find_at_edges),
		cmocka_unit_test(hole_below_is_preferred),
		cmocka_unit_test(hole_above),
		cmocka_unit_test(hole_keeps_distance),
		cmocka_unit_test(hole_never_at_the_bottom),
		cmocka_unit_test(hole_not_in_growth_room),
		cmocka_unit_test(hole_never_beyond_user_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
