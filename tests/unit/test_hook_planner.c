/* SPDX-License-Identifier: MIT */
/*
 * test_hook_planner.c - plans for other programs: sleep alone and with allocators
 * preloaded, redis, and small programs built on the spot (static, with a private
 * jemalloc, with an unknown allocator). Each plan is checked against the target's
 * memory: bytes, kinds, reach, gaps that are filler, nothing used twice.
 */
#include "tests/unit/planner_target.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "src/plan/entry_decode.h"

#define LIBRARY(name) "/usr/lib/x86_64-linux-gnu/" name
#define REACH (1ll << 30)

static int exe_file(void *context, const struct procmap *map, struct planner_file *ret)
{
	struct target *t = context;
	_cleanup_fd_ int fd = open_proc(t->pid, "exe");
	struct stat status;
	void *bytes;

	(void)map;
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	t->exe = (struct planner_file){ bytes, (size_t)status.st_size };
	*ret = t->exe;
	return 0;
}

static int run_planner(uint32_t track, bool map_only)
{
	int r = plan_target(track, map_only, exe_file);

	if (target.exe.bytes)
		munmap((void *)(uintptr_t)target.exe.bytes, target.exe.size);
	target.exe.bytes = NULL;
	return r;
}

static uint32_t family(const char *name)
{
	for (uint32_t i = 0; i < target.plan.family_count; i++) {
		if (strcmp(target.plan.family[i].name, name) == 0)
			return i;
	}
	return UINT32_MAX;
}

static bool is_skipped(const char *start, const char *reason)
{
	for (uint32_t i = 0; i < target.plan.skipped_count; i++) {
		if (strncmp(target.plan.skipped[i], start, strlen(start)) == 0 &&
		    strstr(target.plan.skipped[i], reason))
			return true;
	}
	return false;
}

static void start_built(const char *name, const char *preload)
{
	char path[96];
	char *const argv[] = { path, NULL };

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	target_start(preload, argv, SYS_pause);
}

/* True if some run of whole filler instructions around the gap covers it. */
static bool is_filler(uint64_t gap)
{
	uint8_t bytes[32];

	for (unsigned int back = 0; back < 15; back++) {
		read_memory(gap - back, bytes, back + 20u);
		for (unsigned int more = 0; more < 15; more++) {
			if (entry_filler_bytes(bytes, back + 5u + more) == back + 5u + more)
				return true;
		}
	}
	return false;
}

static void check_patch(const struct hook_entry *e)
{
	int64_t distance = (int64_t)(e->gap - (e->address + 2));
	uint8_t bytes[HOOK_EXPECT_BYTES];

	switch (e->patch) {
	case HOOK_PATCH_GAP:
		assert_true(distance >= INT8_MIN && distance <= INT8_MAX);
		assert_true(e->covered_bytes >= 2);
		assert_true(is_filler(e->gap));
		read_memory(e->gap, bytes, 5);
		assert_memory_equal(bytes, e->gap_expect, 5);
		assert_ptr_equal(procmaps_find(&target.maps, e->gap),
				 procmaps_find(&target.maps, e->address));
		break;
	case HOOK_PATCH_DIRECT:
	case HOOK_PATCH_STOPPED:
		assert_true(e->covered_bytes >= 5);
		assert_true(e->address % 8 <= 3 || e->patch == HOOK_PATCH_STOPPED);
		assert_true(e->address % 4096 <= 4096 - 8 || e->address % 8 <= 3);
		assert_int_equal(e->gap, 0);
		break;
	default:
		fail();
	}
}

static void check_reach(const struct hook_entry *e)
{
	const struct hook_island *island;
	uint64_t slot;

	assert_true(e->island < target.plan.island_count);
	island = &target.plan.island[e->island];
	assert_true(e->slot < island->pages * 32);
	slot = island->address + e->slot * sizeof(struct ring_island_entry);
	assert_true(llabs((int64_t)(slot - e->address)) < REACH);
	assert_true(e->relocated_bytes > 0 && e->relocated_bytes <= HOOK_RELOCATED_BYTES);
	for (unsigned int i = 0; i < e->fixup_count; i++) {
		assert_true(e->fixup[i].at + 4 <= e->fixup[i].end);
		assert_true(e->fixup[i].end <= e->relocated_bytes);
		assert_true(llabs((int64_t)(slot - e->fixup[i].target)) < REACH);
	}
}

/* The words of 8 bytes that the patch writes. */
static void check_words_apart(const struct hook_entry *a, const struct hook_entry *b)
{
	const uint64_t a_word[] = { a->address / 8, a->gap / 8, (a->gap + 4) / 8 };
	const uint64_t b_word[] = { b->address / 8, b->gap / 8, (b->gap + 4) / 8 };

	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int k = 0; k < 3; k++)
			assert_false(a_word[i] && a_word[i] == b_word[k]);
	}
}

static void check_entry(const struct hook_entry *e)
{
	const struct procmap *map = procmaps_find(&target.maps, e->address);
	uint8_t bytes[HOOK_EXPECT_BYTES];

	assert_non_null(map);
	assert_int_equal(map->prot, PROCMAP_R | PROCMAP_X);
	assert_true(e->low <= e->address && e->address < e->high);
	assert_true(e->shape > RING_SHAPE_NONE && e->shape < RING_SHAPE_COUNT);
	assert_true(e->family < target.plan.family_count);
	read_memory(e->address, bytes, sizeof(bytes));
	assert_memory_equal(bytes, e->expect, sizeof(bytes));
	check_patch(e);
	check_reach(e);
}

static void check_plan(void)
{
	const struct hook_plan *plan = &target.plan;


	for (uint32_t i = 0; i < plan->entry_count; i++) {
		check_entry(&plan->entry[i]);
		for (uint32_t k = 0; k < i; k++) {
			check_words_apart(&plan->entry[i], &plan->entry[k]);
			assert_false(plan->entry[i].island == plan->entry[k].island &&
				     plan->entry[i].slot == plan->entry[k].slot);
		}
	}
	for (uint32_t i = 0; i < plan->island_count; i++) {
		for (uint64_t page = 0; page < plan->island[i].pages; page++)
			assert_null(procmaps_find(&target.maps,
						  plan->island[i].address + page * 4096));
	}
}

static void check_gadgets(bool has_dlopen)
{
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t syscall_ret[] = { 0x0f, 0x05, 0xc3 };
	const struct hook_plan *plan = &target.plan;
	const struct procmap *map;
	uint8_t bytes[9];

	read_memory(plan->gadget_syscall_ret, bytes, sizeof(syscall_ret));
	assert_memory_equal(bytes, syscall_ret, sizeof(syscall_ret));
	read_memory(plan->gadget_restorer, bytes, sizeof(restorer));
	assert_memory_equal(bytes, restorer, sizeof(restorer));
	assert_int_equal(plan->dlopen != 0, has_dlopen);
	assert_int_equal(plan->dlclose != 0, has_dlopen);
	assert_int_equal(plan->dlopen_mode, has_dlopen ? RTLD_NOW : 0);
	map = procmaps_find(&target.maps, plan->main_stack_end);
	assert_non_null(map);
	assert_string_equal(map->path, "[stack]");
}

static void plan_all(void)
{
	assert_int_equal(run_planner(ALLOCATOR_TRACK_ALL, false), 0);
	check_plan();
}

static void expect_entries(uint32_t index, const char *const *names)
{
	for (; *names; names++) {
		if (!find(index, *names))
			fail_msg("%s is missing", *names);
	}
}

static void expect_glibc(uint32_t index)
{
	static const char *const names[] = {
		"malloc", "calloc", "realloc", "free", "reallocarray", "memalign",
		"posix_memalign", "valloc", "pvalloc", NULL
	};

	assert_string_equal(target.plan.family[index].name, "glibc");
	assert_true(isdigit((unsigned char)target.plan.family[index].version[0]));
	assert_non_null(strstr(target.plan.family[index].module, "libc.so.6"));
	expect_entries(index, names);
}

static void plan_glibc(void **state)
{
	static const char *const mapping[] = { "mmap", "munmap", "mremap", "brk", "sbrk", NULL };
	const struct hook_entry *notify;

	(void)state;
	start_sleep(NULL);
	plan_all();
	expect_glibc(0);
	/* The rest of libc calls malloc for the program, but not what ends a thread. */
	assert_int_equal(target.plan.helper_count, 1);
	assert_true(target.plan.helper[0].high - target.plan.helper[0].low < 4096);
	assert_true(find(0, "free")->address - target.plan.helper[0].low + 0x8000 < 0x10000);
	expect_entries(family("mmap"), mapping);
	notify = find(family("loader"), "_dl_debug_state");
	assert_non_null(notify);
	assert_int_equal(notify->shape, RING_SHAPE_DL_STATE);
	assert_int_equal(notify->patch, HOOK_PATCH_DIRECT);
	check_gadgets(true);
	/* What gives memory back comes before what hands it out. */
	assert_true(find(0, "free") < find(0, "realloc"));
	assert_true(find(0, "realloc") < find(0, "malloc"));
	target_stop();
}

/* mmap64 is mmap, cfree is free: each address once, under its first name. */
static void name_aliases_once(void **state)
{
	(void)state;
	start_sleep(NULL);
	plan_all();
	assert_null(find(family("mmap"), "mmap64"));
	assert_null(find(0, "cfree"));
	assert_null(find(0, "__libc_memalign"));
	target_stop();
}

static void track_one_kind(void **state)
{
	(void)state;
	start_sleep(NULL);
	assert_int_equal(run_planner(ALLOCATOR_TRACK_MALLOC, false), 0);
	check_plan();
	assert_int_equal(family("glibc"), 0);
	assert_int_equal(family("mmap"), UINT32_MAX);
	assert_int_equal(run_planner(ALLOCATOR_TRACK_MMAP, false), 0);
	check_plan();
	assert_int_equal(family("glibc"), UINT32_MAX);
	assert_int_equal(family("mmap"), 0);
	assert_true(family("loader") != UINT32_MAX);
	target_stop();
}

static void plan_jemalloc(void **state)
{
	static const char *const names[] = {
		"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc",
		"posix_memalign", "mallocx", "rallocx", "sdallocx", "dallocx",
		"operator new(size_t)", "operator delete(void*, size_t)", NULL
	};

	(void)state;
	start_sleep(LIBRARY("libjemalloc.so.2"));
	plan_all();
	assert_string_equal(target.plan.family[0].name, "jemalloc");
	assert_int_equal(target.plan.family[0].uses_tls, 1);
	assert_true(isdigit((unsigned char)target.plan.family[0].version[0]));
	expect_entries(0, names);
	/* libc's own is still there for whoever reaches it. */
	expect_glibc(1);
	assert_true(is_skipped("xallocx", "shape"));
	/* A jump to free through the PLT, which nobody has called yet: not twice. */
	assert_null(find(0, "operator delete(void*)"));
	assert_true(is_skipped("operator delete(void*)", "calls free"));
	/* sdallocx by a jump, after other work: the hook must keep its frame around it. */
	assert_true(find(0, "operator delete(void*, size_t, align_val_t)")->jumps_on);
	assert_false(find(0, "free")->jumps_on);
	target_stop();
}

static void plan_without_unwind_tables(void **state)
{
	(void)state;
	start_sleep(LIBRARY("libjemalloc.so.2"));
	assert_int_equal(run_planner(ALLOCATOR_TRACK_ALL, true), 0);
	check_plan();
	assert_null(find(0, "operator new(size_t)"));
	assert_true(is_skipped("operator new(size_t)", "throw"));
	assert_non_null(find(0, "operator new(size_t, nothrow_t)"));
	assert_non_null(find(0, "malloc"));
	target_stop();
}

/* gperftools did until 2.10. */
static bool wraps_mmap(const char *version)
{
	int major = 0, minor = 0;

	assert_int_equal(sscanf(version, "%d.%d", &major, &minor), 2);
	return major == 2 && minor <= 10;
}

static void plan_tcmalloc(void **state)
{
	static const char *const names[] = {
		"malloc", "calloc", "realloc", "free", "memalign", "posix_memalign",
		"operator new(size_t)", "operator delete(void*, size_t)",
		"tc_malloc_skip_new_handler", NULL
	};

	(void)state;
	start_sleep(LIBRARY("libtcmalloc_minimal.so.4"));
	plan_all();
	assert_string_equal(target.plan.family[0].name, "tcmalloc");
	assert_true(isdigit((unsigned char)target.plan.family[0].version[0]));
	expect_entries(0, names);
	assert_null(find(0, "tc_malloc"));
	if (wraps_mmap(target.plan.family[0].version)) {
		assert_string_equal(target.plan.family[1].name, "mmap");
		assert_non_null(strstr(target.plan.family[1].module, "tcmalloc"));
	}
	target_stop();
}

static void plan_mimalloc(void **state)
{
	static const char *const names[] = {
		"malloc", "calloc", "realloc", "free", "mi_zalloc", "mi_mallocn",
		"operator new(size_t)", "mi_new_n", NULL
	};

	(void)state;
	start_sleep(LIBRARY("libmimalloc.so.2.0"));
	plan_all();
	assert_string_equal(target.plan.family[0].name, "mimalloc");
	assert_int_equal(strncmp(target.plan.family[0].version, "2.0.", 4), 0);
	expect_entries(0, names);
	assert_true(is_skipped("cfree", "calls free"));
	assert_true(is_skipped("reallocf", "shape"));
	assert_true(is_skipped("mi_heap_malloc", "shape"));
	assert_true(is_skipped("mi_strdup", "shape"));
	assert_true(is_skipped("mi_heap_destroy", "shape"));
	/* realloc frees from a function that is no entry. */
	assert_true(target.plan.helper_count > 0);
	assert_false(find(0, "malloc")->jumps_on);
	assert_true(find(0, "mi_memalign")->jumps_on);
	target_stop();
}

static void plan_redis(void **state)
{
	char socket_path[64];
	char *const argv[] = { (char *)"redis-server", (char *)"--port", (char *)"0",
			       (char *)"--save", (char *)"", (char *)"--unixsocket", socket_path,
			       (char *)"--dir", directory, NULL };

	(void)state;
	snprintf(socket_path, sizeof(socket_path), "%s/redis", directory);
	target_start(NULL, argv, SYS_epoll_wait);
	plan_all();
	assert_string_equal(target.plan.family[0].name, "jemalloc");
	assert_non_null(find(0, "malloc"));
	assert_non_null(find(0, "free"));
	/* zmalloc and what else the executable has must be seen. */
	for (uint32_t i = 0; i < target.plan.helper_count; i++)
		assert_null(strstr(procmaps_find(&target.maps, target.plan.helper[i].low)->path,
				   "redis"));
	check_gadgets(true);
	target_stop();
}

static const char static_text[] =
	"#include <stdlib.h>\n#include <unistd.h>\n#include <sys/mman.h>\nvoid *volatile p;\n"
	"int main(void) { p = malloc(9); p = realloc(p, 99); free(p); p = calloc(9, 9);\n"
	"p = mmap(0, 4096, 3, 34, -1, 0); munmap(p, 4096); for (;;) pause(); }\n";

static void plan_static(void **state)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free", NULL };
	static const char *const mapping[] = { "mmap", "munmap", "brk", "sbrk", NULL };

	(void)state;
	build("static", "-static", static_text);
	start_built("static", NULL);
	plan_all();
	assert_string_equal(target.plan.family[0].name, "glibc");
	expect_entries(0, names);
	expect_entries(family("mmap"), mapping);
	check_gadgets(false);
	assert_int_equal(family("loader"), UINT32_MAX);
	target_stop();
}

static void plan_static_pie(void **state)
{
	(void)state;
	build("static_pie", "-static-pie", static_text);
	start_built("static_pie", NULL);
	plan_all();
	assert_int_equal(family("glibc"), 0);
	assert_non_null(find(0, "malloc"));
	target_stop();
}

/* Nothing tells where malloc is: no plan, and no guess. */
static void plan_static_stripped(void **state)
{
	(void)state;
	build("stripped", "-static -s", static_text);
	start_built("stripped", NULL);
	plan_all();
	assert_int_equal(target.plan.entry_count, 0);
	assert_int_equal(target.plan.family_count, 0);
	assert_true(target.plan.gadget_syscall_ret != 0);
	target_stop();
}

/* Functions that only .symtab names; a local "free" of the program is none of libc's. */
static void plan_private_jemalloc(void **state)
{
	static const char text[] =
		"#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile p;\n"
		"__attribute__((noinline)) void *_rjem_malloc(size_t n) { return malloc(n + 1); }\n"
		"__attribute__((noinline)) void _rjem_free(void *q)\n"
		"{ if (q != p) p = q; free(q); }\n"
		"__attribute__((noinline)) static void vfree(int a, int b) { p = p + a + b; }\n"
		"int main(void) { p = _rjem_malloc(9); _rjem_free(p); vfree(1, 2);\n"
		"for (;;) pause(); }\n";

	(void)state;
	build("private", "", text);
	start_built("private", NULL);
	plan_all();
	assert_string_equal(target.plan.family[0].name, "jemalloc");
	assert_non_null(find(0, "_rjem_malloc"));
	assert_non_null(find(0, "_rjem_free"));
	expect_glibc(1);
	for (uint32_t i = 0; i < target.plan.entry_count; i++)
		assert_string_not_equal(target.plan.entry[i].name, "vfree");
	target_stop();
}

static void plan_unknown_allocator(void **state)
{
	static const char text[] =
		"#include <stddef.h>\nstatic char pool[1 << 24]; static size_t used;\n"
		"void *malloc(size_t n) { size_t *b = (size_t *)(pool + used);\n"
		"used += (n + 31) & -16ul; *b = n; return b + 2; }\n"
		"void free(void *p) { __asm__(\"\" : : \"r\"(p)); }\n"
		"void *calloc(size_t a, size_t b) { return malloc(a * b); }\n"
		"void *realloc(void *p, size_t n) { char *q = malloc(n), *s = p; size_t i;\n"
		"for (i = 0; s && i < n && i < ((size_t *)p)[-2]; i++) q[i] = s[i]; return q; }\n"
		"static void *pv(size_t n) { return malloc(n); }\n"
		"static void *choose(void) { return pv; }\n"
		"void *pvalloc(size_t n) __attribute__((ifunc(\"choose\")));\n";
	char path[96];

	(void)state;
	build("unknown.so", "-shared -fPIC -fno-builtin -fno-tree-loop-distribute-patterns",
	      text);
	snprintf(path, sizeof(path), "%s/unknown.so", directory);
	start_sleep(path);
	plan_all();
	assert_string_equal(target.plan.family[0].name, "other");
	assert_string_equal(target.plan.family[0].version, "");
	assert_string_equal(target.plan.family[0].module, path);
	assert_non_null(find(0, "malloc"));
	assert_true(is_skipped("pvalloc (unknown.so)", "IFUNC"));
	assert_int_equal(family("glibc"), 1);
	target_stop();
}

static void print_plan(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	start_sleep(NULL);
	plan_all();
	strcpy(target.plan.family[0].module, "/tmp/\033[2Jx");
	hook_plan_print(&target.plan, out);
	fclose(out);
	assert_non_null(strstr(text, "glibc "));
	assert_non_null(strstr(text, "  malloc at 0x"));
	assert_non_null(strstr(text, "/tmp/?[2Jx"));
	assert_null(strchr(text, '\033'));
	target_stop();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_glibc),
		cmocka_unit_test(name_aliases_once),
		cmocka_unit_test(track_one_kind),
		cmocka_unit_test(plan_jemalloc),
		cmocka_unit_test(plan_without_unwind_tables),
		cmocka_unit_test(plan_tcmalloc),
		cmocka_unit_test(plan_mimalloc),
		cmocka_unit_test(plan_redis),
		cmocka_unit_test(plan_static),
		cmocka_unit_test(plan_static_pie),
		cmocka_unit_test(plan_static_stripped),
		cmocka_unit_test(plan_private_jemalloc),
		cmocka_unit_test(plan_unknown_allocator),
		cmocka_unit_test(print_plan),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
