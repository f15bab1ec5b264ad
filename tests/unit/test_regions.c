/* SPDX-License-Identifier: MIT */
/*
 * test_regions.c - this program's own mappings: pages as they were touched, kinds as they were
 * mapped, also where something only looks like an arena; nothing is known where the kernel does not
 * tell; sums do not overflow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/pagemap.h"
#include "src/memory/regions_take.h"
#include "src/memory/residency.h"

#define PAGE	4096ull
#define HEAP	(64ull << 20)

static int maps_fd, pagemap_fd, mem_fd;
static struct modules *modules;

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return elf_reader_fd(context, address, buffer, bytes);
}

static int begin(void **state)
{
	const struct module_source source = { .read_memory = read_memory, .context = &mem_fd };
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };

	(void)state;
	maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return modules_new(&source, &modules) || procmaps_read(maps_fd, &maps) ||
	       modules_update(modules, &maps) < 0 ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	modules_free(modules);
	close(maps_fd);
	close(pagemap_fd);
	close(mem_fd);
	return 0;
}

struct taken {
	struct regions *regions;
	struct ranges present;
	bool told;
};

static void take(struct taken *t, int pagemap)
{
	const struct elf_reader reader = { elf_reader_fd, &mem_fd };
	const struct regions_input input = { .maps_fd = maps_fd, .pagemap_fd = pagemap,
					     .reader = &reader, .modules = modules };

	*t = (struct taken){ .regions = NULL };
	assert_int_equal(regions_take(&input, &t->regions, &t->present, &t->told), 0);
}

static void done(struct taken *t)
{
	regions_free(t->regions);
	ranges_done(&t->present);
}

static const struct region *at(const struct taken *t, const void *address)
{
	for (size_t i = 0; i < t->regions->count; i++) {
		const struct region *r = &t->regions->region[i];

		if ((uintptr_t)address - r->start < r->end - r->start)
			return r;
	}
	fail_msg("%p is in no mapping", address);
	return NULL;
}

/* Of so many pages, at an address with that alignment, with nothing mapped on either side. */
static char *map(size_t pages, size_t align, int prot)
{
	char *room = mmap(NULL, pages * PAGE + 2 * align, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *begin = (char *)(((uintptr_t)room + 2 * align - 1) & ~(uintptr_t)(align - 1));

	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(munmap(room, pages * PAGE + 2 * align), 0);
	begin = mmap(begin, pages * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		     -1, 0);
	assert_ptr_not_equal(begin, MAP_FAILED);
	return begin;
}

static void counts_pages(void **state)
{
	char *memory = map(10, 1 << 20, PROT_READ | PROT_WRITE);
	const struct region *r;
	struct taken t;

	(void)state;
	memory[0] = memory[3 * PAGE] = memory[4 * PAGE] = 1;
	take(&t, pagemap_fd);
	r = at(&t, memory);
	assert_true(t.regions->pages_known && t.told);
	assert_int_equal(r->start, (uintptr_t)memory);
	assert_int_equal(r->sizes.size, 10 * PAGE);
	assert_int_equal(r->sizes.resident, 3 * PAGE);
	assert_int_equal(r->sizes.own, 3 * PAGE);
	assert_int_equal(r->sizes.swapped, 0);
	assert_int_equal(r->kind, REGION_ANONYMOUS);
	assert_true(ranges_contain(&t.present, (uintptr_t)memory + 4 * PAGE));
	assert_false(ranges_contain(&t.present, (uintptr_t)memory + 5 * PAGE));
	done(&t);
	munmap(memory, 10 * PAGE);
}

static void *wait_for_end(void *where)
{
	pthread_barrier_t *barrier = where;

	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* One thread; its stack is found without asking it. */
static void tells_kinds(void **state)
{
	static int data = 1, zeros[4096];
	static const int constant = 1;
	int local = 0, memfd = memfd_create("shared", MFD_CLOEXEC);
	char *code = map(1, 1 << 20, PROT_READ | PROT_EXEC);
	char *reserved = map(1, 1 << 20, PROT_NONE), *shared;
	pthread_barrier_t barrier;
	pthread_attr_t attributes;
	pthread_t thread;
	size_t bytes, stacks = 0;
	struct taken t;
	void *stack;

	(void)state;
	assert_int_equal(ftruncate(memfd, PAGE), 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(pthread_getattr_np(thread, &attributes), 0);
	pthread_attr_getstack(&attributes, &stack, &bytes);
	pthread_attr_destroy(&attributes);
	take(&t, pagemap_fd);
	assert_int_equal(at(&t, (void *)(uintptr_t)tells_kinds)->kind, REGION_TEXT);
	assert_int_equal(at(&t, &constant)->kind, REGION_RODATA);
	assert_int_equal(at(&t, &data)->kind, REGION_DATA);
	assert_int_equal(at(&t, &zeros[4095])->kind, REGION_BSS);
	assert_non_null(strstr(at(&t, &zeros[4095])->path, "test_regions"));
	assert_int_equal(at(&t, &local)->kind, REGION_STACK);
	assert_int_equal(at(&t, (char *)stack + bytes - 1)->kind, REGION_STACK);
	assert_int_equal(at(&t, code)->kind, REGION_JIT);
	assert_int_equal(at(&t, reserved)->kind, REGION_RESERVED);
	assert_int_equal(at(&t, shared)->kind, REGION_SHARED);
	assert_true(at(&t, shared)->deleted);
	for (size_t i = 0; i < t.regions->count; i++)
		stacks += t.regions->region[i].kind == REGION_STACK;
	assert_int_equal(stacks, 2);
	regions_note_thread(t.regions, 4711, (uintptr_t)stack + bytes - 64);
	assert_int_equal(at(&t, (char *)stack + bytes - 1)->tid, 4711);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	done(&t);
	munmap(shared, PAGE);
	munmap(reserved, PAGE);
	munmap(code, PAGE);
	close(memfd);
}

/* The header of the first heap of an arena, and a later one's; what is not quite one. */
static void tells_arenas_by_their_headers(void **state)
{
	char *memory = map(4, HEAP, PROT_READ | PROT_WRITE);
	uint64_t *head = (uint64_t *)(void *)memory, address = (uintptr_t)memory;
	const struct {
		uint64_t word[4];
		enum region_kind kind;
	} cases[] = {
		{ { address + 0x30, 0, 3 * PAGE, 4 * PAGE }, REGION_ALLOCATOR },
		{ { address + 0x20, 0, 4 * PAGE, 4 * PAGE }, REGION_ALLOCATOR },
		{ { address - HEAP + 0x30, address - HEAP, PAGE, PAGE }, REGION_ALLOCATOR },
		{ { address + 0x40, 0, 3 * PAGE, 4 * PAGE }, REGION_ANONYMOUS },
		{ { address + 0x30, 0, 4 * PAGE, 5 * PAGE }, REGION_ANONYMOUS },
		{ { address + 0x30, 0, 0, 4 * PAGE }, REGION_ANONYMOUS },
		/* A block with its own mapping; two that fill half of it; one that does not. */
		{ { 0, 4 * PAGE + 2, 0, 0 }, REGION_ALLOCATOR },
		{ { 0, 2 * PAGE + 2, 0, 0 }, REGION_ALLOCATOR },
		{ { 0, PAGE + 2, 0, 0 }, REGION_ANONYMOUS },
		{ { 0, 5 * PAGE + 2, 0, 0 }, REGION_ANONYMOUS },
		{ { 0, 4 * PAGE + 1, 0, 0 }, REGION_ANONYMOUS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct taken t;

		memcpy(head, cases[i].word, sizeof(cases[i].word));
		take(&t, pagemap_fd);
		if (at(&t, memory)->kind != cases[i].kind)
			print_message("case %zu\n", i);
		assert_int_equal(at(&t, memory)->kind, cases[i].kind);
		done(&t);
	}
	munmap(memory, 4 * PAGE);
}

/* A walk knows more: of what it fills by half. */
static void takes_a_walks_word(void **state)
{
	char *memory = map(4, 1 << 20, PROT_READ | PROT_WRITE);
	uint64_t low = (uintptr_t)memory;
	struct range range = { low + PAGE, low + 2 * PAGE };
	struct ranges heap = { 1, 1, &range };
	struct taken t;

	(void)state;
	take(&t, pagemap_fd);
	regions_note_heap(t.regions, &heap);
	assert_int_equal(at(&t, memory)->kind, REGION_ANONYMOUS);
	range.high = low + 3 * PAGE;
	regions_note_heap(t.regions, &heap);
	assert_int_equal(at(&t, memory)->kind, REGION_ALLOCATOR);
	done(&t);
	munmap(memory, 4 * PAGE);
}

static void says_what_the_kernel_does_not_tell(void **state)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct region_sum kind[REGION_KINDS], all;
	struct taken t;

	(void)state;
	take(&t, nothing);
	assert_false(t.regions->pages_known || t.regions->huge_known || t.told);
	regions_by_kind(t.regions, kind, &all);
	assert_true(all.sizes.size > PAGE);
	assert_int_equal(all.sizes.resident, 0);
	done(&t);
	close(nothing);
}

static void adds_up_without_overflow(void **state)
{
	struct region region[] = {
		{ .end = 1, .path = (char *)(uintptr_t)"/b", .sizes = { UINT64_MAX, 1, 0, 0, 0 } },
		{ .end = 1, .path = (char *)(uintptr_t)"/a", .sizes = { 5, 2, 0, 0, 0 } },
		{ .end = 1, .path = (char *)(uintptr_t)"/b", .sizes = { 1, 1, 0, 0, 0 } },
		{ .end = 1, .path = (char *)(uintptr_t)"[heap]", .sizes = { 1, 9, 0, 0, 0 } },
		{ .path = (char *)(uintptr_t)"", .sizes = { 1, UINT64_MAX, 0, 0, 0 } },
	};
	const struct regions regions = { .count = ARRAY_SIZE(region), .region = region,
					 .left_out = UINT64_MAX };
	struct region_sum kind[REGION_KINDS], all, *file;
	size_t count;

	(void)state;
	regions_by_kind(&regions, kind, &all);
	assert_int_equal(all.mappings, UINT64_MAX);
	assert_int_equal(all.sizes.size, UINT64_MAX);
	assert_int_equal(all.sizes.resident, UINT64_MAX);
	assert_int_equal(kind[REGION_TEXT].sizes.resident, UINT64_MAX);
	assert_int_equal(regions_by_file(&regions, &file, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(file[0].path, "/b");
	assert_int_equal(file[0].mappings, 2);
	assert_int_equal(file[0].sizes.resident, 2);
	assert_string_equal(file[1].path, "/a");
	free(file);
}

static void finds_what_is_resident(void **state)
{
	struct range range[] = { { 100, 200 }, { 300, 400 }, { 500, 600 } };
	const struct ranges present = { 3, 3, range };
	struct residency r = { .present = &present }, unknown = { .present = NULL };

	(void)state;
	assert_int_equal(residency_bytes(&r, 0, 1000), 300);
	assert_int_equal(residency_bytes(&r, 120, 130), 10);
	assert_int_equal(residency_bytes(&r, 150, 350), 100);
	assert_int_equal(residency_bytes(&r, 310, 320), 10);
	assert_int_equal(residency_bytes(&r, 200, 300), 0);
	assert_int_equal(residency_bytes(&r, 350, 550), 100);
	assert_int_equal(residency_bytes(&unknown, 350, 550), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_pages),
		cmocka_unit_test(tells_kinds),
		cmocka_unit_test(tells_arenas_by_their_headers),
		cmocka_unit_test(takes_a_walks_word),
		cmocka_unit_test(says_what_the_kernel_does_not_tell),
		cmocka_unit_test(adds_up_without_overflow),
		cmocka_unit_test(finds_what_is_resident),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
