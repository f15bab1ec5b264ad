/* SPDX-License-Identifier: MIT */
/*
 * test_hook_patches.c - plans for this very program, applied to it and run.
 *
 * Started again as "exercise", with an allocator preloaded or not, the program
 * plans for itself, writes every patch through /proc/self/mem, with islands whose
 * thunks count and go straight back, calls every entry by its shape a few hundred
 * times, works with the allocator, and puts the bytes back. What was moved wrong
 * crashes or returns nonsense; an entry that its patch does not lead through
 * does not count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "src/base/sanitized.h"
#include "src/plan/hook_planner.h"

#define LIBRARY(name) "/usr/lib/x86_64-linux-gnu/" name
#define PAGE		4096u
#define ROUNDS		300u
#define BLOCK		64u	/* size and alignment, so that every shape may be told both */
#define SLOT_BYTES	sizeof(struct ring_island_entry)
#define ORIGINAL_AT	offsetof(struct ring_island_entry, original)
#define CODE_AT		offsetof(struct ring_island_entry, code)

typedef uintptr_t any_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static struct hook_plan plan, second_plan;
static int mem_fd;

#define FAIL(...) do { fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); exit(1); } while (0)

static int make_plan(struct hook_plan *ret)
{
	const struct elf_reader reader = { elf_reader_fd, &mem_fd };
	_cleanup_fd_ int maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int auxv_fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	char auxv[4096];
	ssize_t count = read(auxv_fd, auxv, sizeof(auxv));
	struct hook_planner_input input = { .reader = &reader, .auxv = auxv,
					    .auxv_bytes = count > 0 ? (size_t)count : 0,
					    .track = ALLOCATOR_TRACK_ALL };
	struct procmaps maps;
	int r = procmaps_read(maps_fd, &maps);

	if (r < 0)
		return r;
	input.maps = &maps;
	r = hook_planner_run(&input, ret);
	procmaps_done(&maps);
	return r;
}

static uint8_t *slot_of(const struct hook_entry *entry)
{
	return (uint8_t *)(uintptr_t)(plan.island[entry->island].address +
				      entry->slot * SLOT_BYTES);
}

/* Counters lie in as many pages behind an island as it has. */
static uint64_t *counter_of(const struct hook_entry *entry)
{
	const struct hook_island *island = &plan.island[entry->island];

	return (uint64_t *)(uintptr_t)(island->address + island->pages * PAGE) + entry->slot;
}

static void put_displacement(uint8_t *at, uint64_t target, const uint8_t *end)
{
	int64_t wide = (int64_t)(target - (uintptr_t)end);
	int32_t displacement = (int32_t)wide;

	if (wide != displacement)
		FAIL("out of reach");
	memcpy(at, &displacement, sizeof(displacement));
}

static void put_jump(uint8_t *at, uint64_t target)
{
	*at = 0xe9;
	put_displacement(at + 1, target, at + 5);
}

static void fill_slot(const struct hook_entry *entry)
{
	static const uint8_t count[] = { 0xf0, 0x48, 0xff, 0x05 };	/* lock incq x(%rip) */
	uint8_t *slot = slot_of(entry), *original = slot + ORIGINAL_AT, *thunk = slot + CODE_AT;

	memcpy(original, entry->relocated, entry->relocated_bytes);
	for (unsigned int i = 0; i < entry->fixup_count; i++)
		put_displacement(original + entry->fixup[i].at, entry->fixup[i].target,
				 original + entry->fixup[i].end);
	put_jump(original + entry->relocated_bytes, entry->address + entry->covered_bytes);
	memcpy(thunk, count, sizeof(count));
	put_displacement(thunk + 4, (uintptr_t)counter_of(entry), thunk + 8);
	put_jump(thunk + 8, (uintptr_t)original);
}

static void map_islands(void)
{
	for (uint32_t i = 0; i < plan.island_count; i++) {
		void *at = (void *)(uintptr_t)plan.island[i].address;

		if (mmap(at, 2 * plan.island[i].pages * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
			FAIL("island %u: %s", i, strerror(errno));
	}
	for (uint32_t i = 0; i < plan.entry_count; i++)
		fill_slot(&plan.entry[i]);
	for (uint32_t i = 0; i < plan.island_count; i++)
		mprotect((void *)(uintptr_t)plan.island[i].address, plan.island[i].pages * PAGE,
			 PROT_READ | PROT_EXEC);
}

static void write_text(uint64_t address, const void *bytes, size_t count)
{
	if (pwrite(mem_fd, bytes, count, (off_t)address) != (ssize_t)count)
		FAIL("can't write text: %s", strerror(errno));
}

/* jmp rel32 at address, as bytes. */
static void encode_jump(uint8_t jump[5], uint64_t address, uint64_t target)
{
	int32_t displacement = (int32_t)(target - (address + 5));

	jump[0] = 0xe9;
	memcpy(jump + 1, &displacement, sizeof(displacement));
}

static void patch(const struct hook_entry *entry)
{
	uint64_t thunk = (uintptr_t)slot_of(entry) + CODE_AT;
	uint8_t jump[5], hop[2] = { 0xeb, (uint8_t)(entry->gap - entry->address - 2) };

	if (entry->patch == HOOK_PATCH_GAP) {
		encode_jump(jump, entry->gap, thunk);
		write_text(entry->gap, jump, sizeof(jump));
		write_text(entry->address, hop, sizeof(hop));
	} else {
		encode_jump(jump, entry->address, thunk);
		write_text(entry->address, jump, sizeof(jump));
	}
}

static void unpatch(const struct hook_entry *entry)
{
	write_text(entry->address, entry->expect, entry->patch == HOOK_PATCH_GAP ? 2 : 5);
	if (entry->patch == HOOK_PATCH_GAP)
		write_text(entry->gap, entry->gap_expect, 5);
}

static uintptr_t call(const struct hook_entry *entry, uintptr_t a, uintptr_t b, uintptr_t c,
		      uintptr_t d)
{
	any_fn *function = (any_fn *)(uintptr_t)entry->address;

	/* Further arguments of zero: flags, offsets, a reference that is not looked at. */
	return function(a, b, c, d, 0, 0);
}

static const struct hook_entry *of_family(uint16_t family, enum ring_shape shape)
{
	for (uint32_t i = 0; i < plan.entry_count; i++) {
		if (plan.entry[i].family == family && plan.entry[i].shape == shape)
			return &plan.entry[i];
	}
	FAIL("family %u has no shape %u", family, shape);
}

static uintptr_t get_block(uint16_t family)
{
	uintptr_t block = call(of_family(family, RING_SHAPE_MEMALIGN), BLOCK, BLOCK, 0, 0);

	if (!block)
		FAIL("no block");
	memset((void *)block, 0x5a, BLOCK);
	return block;
}

/* glibc's reallocarray calls realloc through its PLT: that of the allocator in use. */
static uint16_t family_of(const struct hook_entry *entry)
{
	return strcmp(entry->name, "reallocarray") == 0 ? 0 : entry->family;
}

static void put_block(const struct hook_entry *entry, uintptr_t block)
{
	if (!block || block % 8 != 0)
		FAIL("%s: bad block %lx", entry->name, (unsigned long)block);
	memset((void *)block, 0xa5, BLOCK);
	call(of_family(family_of(entry), RING_SHAPE_FREE), block, BLOCK, 0, 0);
}

static void expect_content(const struct hook_entry *entry, uintptr_t block)
{
	if (*(uint64_t *)block != 0x5a5a5a5a5a5a5a5aull)
		FAIL("%s: content lost", entry->name);
}

static void call_posix_memalign(const struct hook_entry *entry)
{
	uintptr_t block = 0;

	if (call(entry, (uintptr_t)&block, BLOCK, BLOCK, 0) != 0)
		FAIL("%s failed", entry->name);
	put_block(entry, block);
}

static void call_realloc(const struct hook_entry *entry, bool array)
{
	uintptr_t block = get_block(family_of(entry));

	block = array ? call(entry, block, 8, BLOCK / 8, BLOCK) : call(entry, block, BLOCK, 0, 0);
	expect_content(entry, block);
	put_block(entry, block);
}

static void call_mapping(const struct hook_entry *entry)
{
	const size_t bytes = 4 * PAGE;
	any_fn *function = (any_fn *)(uintptr_t)entry->address;
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (entry->shape == RING_SHAPE_MMAP) {
		munmap(at, bytes);
		at = (void *)function(0, bytes, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, (uintptr_t)-1, 0);
	} else if (entry->shape == RING_SHAPE_MREMAP) {
		at = (void *)function((uintptr_t)at, bytes, bytes, MREMAP_MAYMOVE, 0, 0);
	} else if (function((uintptr_t)at, bytes, 0, 0, 0, 0) != 0) {
		FAIL("%s failed", entry->name);
	} else {
		return;
	}
	at[bytes - 1] = 1;
	munmap(at, bytes);
}

static void call_break(const struct hook_entry *entry)
{
	uintptr_t now = (uintptr_t)sbrk(0);
	uintptr_t result = call(entry, entry->shape == RING_SHAPE_BRK ? now : 0, 0, 0, 0);

	if (entry->shape == RING_SHAPE_BRK ? result != 0 : result != now)
		FAIL("%s failed", entry->name);
}

static void call_entry(const struct hook_entry *entry)
{
	switch (entry->shape) {
	case RING_SHAPE_MALLOC:
		put_block(entry, call(entry, BLOCK, 0, 0, 0));
		break;
	case RING_SHAPE_CALLOC:
		put_block(entry, call(entry, 8, BLOCK / 8, BLOCK, 0));
		break;
	case RING_SHAPE_MEMALIGN:
	case RING_SHAPE_NEW_ALIGNED:
		put_block(entry, call(entry, BLOCK, BLOCK, 0, 0));
		break;
	case RING_SHAPE_POSIX_MEMALIGN:
		call_posix_memalign(entry);
		break;
	case RING_SHAPE_REALLOC:
	case RING_SHAPE_REALLOCARRAY:
		call_realloc(entry, entry->shape == RING_SHAPE_REALLOCARRAY);
		break;
	case RING_SHAPE_FREE:
		/* Also the alignment, or flags that mean nothing to jemalloc here. */
		call(entry, get_block(entry->family), BLOCK, BLOCK, 0);
		break;
	case RING_SHAPE_MMAP:
	case RING_SHAPE_MREMAP:
	case RING_SHAPE_MUNMAP:
		call_mapping(entry);
		break;
	case RING_SHAPE_BRK:
	case RING_SHAPE_SBRK:
		call_break(entry);
		break;
	case RING_SHAPE_DL_STATE:
		call(entry, 0, 0, 0, 0);
		break;
	case RING_SHAPE_PRCTL:
		call(entry, PR_GET_DUMPABLE, 0, 0, 0);
		break;
	case RING_SHAPE_SYSCALL:
		call(entry, SYS_getpid, 0, 0, 0);
		break;
	default:
		FAIL("%s: shape %u", entry->name, entry->shape);
	}
}

/* What programs do: sizes small and large, growth, other users inside libc. */
static void work(void)
{
	void *block[64] = { NULL };
	unsigned int seed = 1;

	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int at = (unsigned int)rand_r(&seed) % 64;
		size_t bytes = (size_t)rand_r(&seed) % (i % 500 == 0 ? 400000 : 3000);

		if (i % 3 == 0) {
			free(block[at]);
			block[at] = i % 2 ? calloc(1, bytes + 1) : malloc(bytes + 1);
		} else {
			block[at] = realloc(block[at], bytes + 1);
		}
		memset(block[at], (int)i, bytes + 1);
	}
	for (unsigned int i = 0; i < 64; i++)
		free(block[i]);
	closedir(opendir("/proc/self/task"));
}

static void expect_counted(void)
{
	for (uint32_t i = 0; i < plan.entry_count; i++) {
		if (*counter_of(&plan.entry[i]) < ROUNDS)
			FAIL("%s: only %lu calls seen", plan.entry[i].name,
			     (unsigned long)*counter_of(&plan.entry[i]));
	}
}

/* A plan over our own patches must leave all of them alone. */
static void expect_recognised(void)
{
	if (make_plan(&second_plan) < 0)
		FAIL("no second plan");
	for (uint32_t i = 0; i < second_plan.entry_count; i++) {
		for (uint32_t k = 0; k < plan.entry_count; k++) {
			if (plan.entry[k].address == second_plan.entry[i].address)
				FAIL("%s would be patched twice", plan.entry[k].name);
		}
	}
}

static void expect_restored(void)
{
	uint8_t bytes[HOOK_EXPECT_BYTES];

	for (uint32_t i = 0; i < plan.entry_count; i++) {
		const struct hook_entry *entry = &plan.entry[i];

		memcpy(bytes, (void *)(uintptr_t)entry->address, sizeof(bytes));
		if (memcmp(bytes, entry->expect, sizeof(bytes)) != 0)
			FAIL("%s not restored", entry->name);
	}
}

/* argv[2] is the family that must come first. */
static int exercise(const char *family)
{
	mem_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (mem_fd < 0 || make_plan(&plan) < 0 || plan.entry_count == 0)
		FAIL("no plan");
	if (strcmp(plan.family[0].name, family) != 0)
		FAIL("the allocator is %s", plan.family[0].name);
	map_islands();
	for (uint32_t i = 0; i < plan.entry_count; i++)
		patch(&plan.entry[i]);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < plan.entry_count; i++)
			call_entry(&plan.entry[i]);
	}
	work();
	expect_counted();
	expect_recognised();
	for (uint32_t i = plan.entry_count; i-- > 0;)
		unpatch(&plan.entry[i]);
	expect_restored();
	work();
	return 0;
}

static void run_exercise(const char *preload, const char *family)
{
	int status;
	pid_t child;

#if MEMATTACH_SANITIZED
	/* The sanitizer's malloc would be the one that is patched. */
	skip();
#endif
	if (preload && access(preload, R_OK) != 0)
		skip();
	child = fork();
	if (child == 0) {
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execl("/proc/self/exe", "test_hook_patches", "exercise", family, (char *)NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void exercise_glibc(void **state)
{
	(void)state;
	run_exercise(NULL, "glibc");
}

static void exercise_jemalloc(void **state)
{
	(void)state;
	run_exercise(LIBRARY("libjemalloc.so.2"), "jemalloc");
}

static void exercise_tcmalloc(void **state)
{
	(void)state;
	run_exercise(LIBRARY("libtcmalloc_minimal.so.4"), "tcmalloc");
}

static void exercise_mimalloc(void **state)
{
	(void)state;
	run_exercise(LIBRARY("libmimalloc.so.2.0"), "mimalloc");
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(exercise_glibc),
		cmocka_unit_test(exercise_jemalloc),
		cmocka_unit_test(exercise_tcmalloc),
		cmocka_unit_test(exercise_mimalloc),
	};

	if (argc == 3 && strcmp(argv[1], "exercise") == 0)
		return exercise(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
