/* SPDX-License-Identifier: MIT */
/*
 * test_access_changes.c - what differs from a forked child that stands still: bytes of a block, of
 * a page with others, of a block over several pages; nothing that was only read, or given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "src/access/changes.h"
#include "tests/unit/leak_picture.h"

#define PAGE	4096u
#define PAGES	64u

struct pair {
	pid_t child;
	char *memory;
	struct access_changes changes;
};

/* Memory of PAGES filled pages, and a child that has it as it is now. */
static int setup(void **state)
{
	static struct pair pair;
	struct pair *p = &pair;

	p->memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->memory == MAP_FAILED)
		return -1;
	madvise(p->memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	memset(p->memory, 1, PAGES * PAGE);
	p->child = fork();
	if (p->child == 0)
		leak_picture_stand(getppid());
	p->changes = (struct access_changes){
		.before = leak_picture_open_file(p->child, "mem"),
		.now = leak_picture_open_file(getpid(), "mem"),
		.pagemap = leak_picture_open_file(p->child, "pagemap"),
		.pagemap_now = leak_picture_open_file(getpid(), "pagemap"),
		.budget = ACCESS_COMPARED,
	};
	*state = p;
	return p->child > 0 && p->changes.before >= 0 && p->changes.now >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	close(p->changes.before);
	close(p->changes.now);
	close(p->changes.pagemap);
	close(p->changes.pagemap_now);
	kill(p->child, SIGKILL);
	waitpid(p->child, NULL, 0);
	return munmap(p->memory, PAGES * PAGE);
}

static bool changed(struct pair *p, size_t offset, size_t bytes)
{
	uint64_t address = (uintptr_t)p->memory + offset;
	struct access_changes blind = p->changes;
	bool found = access_changes_in(&p->changes, address, bytes);

	/* the pagemap saves work, and changes nothing */
	blind.pagemap = blind.pagemap_now = -1;
	assert_int_equal(access_changes_in(&blind, address, bytes), found);
	return found;
}

static void finds_a_byte(void **state)
{
	struct pair *p = *state;

	assert_false(changed(p, 0, PAGES * PAGE));
	p->memory[10 * PAGE + 100] = 2;
	assert_true(changed(p, 0, PAGES * PAGE));
	assert_true(changed(p, 10 * PAGE + 96, 16));
	assert_true(changed(p, 9 * PAGE + 7, PAGE + 94));
	/* others in the same page, up to it and behind it */
	assert_false(changed(p, 9 * PAGE + 7, PAGE + 93));
	assert_false(changed(p, 10 * PAGE + 101, 50 * PAGE));
}

static void is_not_fooled(void **state)
{
	struct pair *p = *state;

	/* the same value again; given back; read */
	((volatile char *)p->memory)[3 * PAGE] = 1;
	madvise(p->memory + 5 * PAGE, PAGE, MADV_DONTNEED);
	munmap(p->memory + 7 * PAGE, PAGE);
	assert_false(changed(p, 0, 5 * PAGE));
	assert_false(changed(p, 6 * PAGE, 2 * PAGE));
	/* zeros instead of what was there are a change */
	assert_true(changed(p, 5 * PAGE, 8));
	assert_false(changed(p, PAGES * PAGE - 8, SIZE_MAX));
}

/* Pages that nobody wrote to are not even compared. */
static void compares_what_was_written(void **state)
{
	struct pair *p = *state;
	uint64_t before = p->changes.budget;

	if (p->changes.pagemap < 0)
		skip();
	((volatile char *)p->memory)[3 * PAGE] = 1;
	assert_false(access_changes_in(&p->changes, (uintptr_t)p->memory, PAGES * PAGE));
	assert_true(before - p->changes.budget < 8 * PAGE);
}

/* Neither in the child nor here: it stays so. What came since is seen. */
static void empty_pages_stay_empty(void **state)
{
	struct pair *p = *state, fresh;
	uint64_t before = p->changes.budget, entry = 0;

	madvise(p->memory, PAGES * PAGE, MADV_DONTNEED);
	fresh = *p;
	fresh.child = fork();
	if (fresh.child == 0)
		leak_picture_stand(getppid());
	fresh.changes.before = leak_picture_open_file(fresh.child, "mem");
	fresh.changes.pagemap = leak_picture_open_file(fresh.child, "pagemap");
	assert_false(access_changes_in(&fresh.changes, (uintptr_t)p->memory, PAGES * PAGE));
	assert_int_equal(fresh.changes.budget, before);
	assert_int_equal(pread(fresh.changes.pagemap_now, &entry, 8,
			       (off_t)((uintptr_t)p->memory / PAGE * 8)), 8);
	assert_int_equal(entry >> 62, 0);
	p->memory[9 * PAGE] = 1;
	assert_true(access_changes_in(&fresh.changes, (uintptr_t)p->memory, PAGES * PAGE));
	close(fresh.changes.before);
	close(fresh.changes.pagemap);
	kill(fresh.child, SIGKILL);
	waitpid(fresh.child, NULL, 0);
}

static void keeps_to_its_budget(void **state)
{
	struct pair *p = *state;

	p->memory[PAGE] = 2;
	p->changes.budget = PAGE;
	p->changes.pagemap = -1;
	assert_false(access_changes_in(&p->changes, (uintptr_t)p->memory, 2 * PAGE));
	p->changes.budget = 2 * PAGE;
	assert_true(access_changes_in(&p->changes, (uintptr_t)p->memory, 2 * PAGE));
	p->changes.before = -1;
	assert_false(access_changes_in(&p->changes, (uintptr_t)p->memory, 2 * PAGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_a_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(is_not_fooled, setup, teardown),
		cmocka_unit_test_setup_teardown(compares_what_was_written, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_pages_stay_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_to_its_budget, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
