/* SPDX-License-Identifier: MIT */
/*
 * test_hook_reach.c - which code calls entries on behalf of entries, and which
 * entries end in a jump to another one, in a library built for it; and what the
 * shim is told of it.
 */
#include "tests/unit/planner_target.h"

#include <errno.h>

#include "inject/attach/ring_publish.h"

static void check_helpers(void)
{
	const struct hook_plan *plan = &target.plan;

	assert_true(plan->helper_count + plan->entry_count <= RING_MAX_ENTRIES);
	for (uint32_t i = 0; i < plan->helper_count; i++) {
		const struct ring_range *helper = &plan->helper[i];
		const struct procmap *map = procmaps_find(&target.maps, helper->low);

		assert_true(helper->low < helper->high);
		assert_true(i == 0 || plan->helper[i - 1].high < helper->low);
		assert_non_null(map);
		assert_int_equal(map->prot, PROCMAP_R | PROCMAP_X);
		assert_true(helper->high <= map->end);
	}
}

static bool is_helper(uint64_t address)
{
	for (uint32_t i = 0; i < target.plan.helper_count; i++) {
		if (address >= target.plan.helper[i].low && address < target.plan.helper[i].high)
			return true;
	}
	return false;
}

static void plan_with(bool map_only)
{
	assert_int_equal(plan_target(ALLOCATOR_TRACK_ALL, map_only, NULL), 0);
	check_helpers();
}

/*
 * realloc allocates by `grow` and frees by way of `step` (a call), which jumps to
 * `drop`, which jumps to free; `cold` is reached by a pointer only. `copy` allocates
 * for the program, and so does an operator new that is not hooked; memalign and
 * vfree are hooked themselves and jump on, after some work.
 */
static const char helpers_text[] =
	"#include <stddef.h>\n#include <string.h>\n"
	"#define APART __attribute__((noinline, noclone))\n"
	"static char pool[1 << 24]; static size_t used; volatile int seen;\n"
	"APART void *malloc(size_t n) { size_t *b = (size_t *)(pool + used);\n"
	"used += (n + 31) & -16ul; *b = n; return b + 2; }\n"
	"APART void free(void *p) { seen += p != 0; }\n"
	"void *calloc(size_t a, size_t b) { return malloc(a * b); }\n"
	"APART static void *grow(size_t n) { char *q = malloc(n); seen++; return q; }\n"
	"APART static void drop(void *p) { seen += 2; free(p); }\n"
	"APART static void jump(void *p) { seen += 3; drop(p); }\n"
	"APART static void step(void *p) { jump(p); seen += 4; }\n"
	"APART static void cold(void *p) { free(p); seen += 5; }\n"
	"APART static void each(void (*f)(void *), void *p) { f(p); seen += 6; }\n"
	"void *realloc(void *p, size_t n) { char *q = grow(n), *s = p; size_t i;\n"
	"for (i = 0; s && i < n && i < ((size_t *)p)[-2]; i++) q[i] = s[i];\n"
	"if (n > 99) step(p); else each(cold, p); return q; }\n"
	"APART char *copy(const char *s) { char *q = malloc(strlen(s) + 1);\n"
	"seen++; return strcpy(q, s); }\n"
	"APART void *_Znwm(size_t n) { char *p = malloc(n); seen++; return p; }\n"
	"void *_ZnwmRKSt9nothrow_t(size_t n) { void *p = _Znwm(n); seen += !p; return p; }\n"
	"void *memalign(size_t a, size_t n) { seen += (int)a; return malloc(n + a); }\n"
	"APART void vfree(void *p) { seen += p ? 7 : 8; seen += 9; free(p); }\n"
	"void *const where[] = { grow, drop, jump, step, cold, each, copy, _Znwm };\n";
enum { GROW, DROP, JUMP, STEP, COLD, EACH, COPY, NEW, WHERE_COUNT };

/* Preloads them, finds the addresses of the functions in the order of `where`. */
static void start_helpers(const char *flags, uint64_t where[WHERE_COUNT])
{
	struct elf_symbol symbol;
	struct elf_image image;
	char path[96], all[160];
	size_t i = 0;

	snprintf(all, sizeof(all), "-shared -fPIC -fno-builtin -fno-tree-loop-distribute-patterns "
		 "-fno-ipa-icf -fno-ipa-ra -fno-inline %s", flags);
	build("helpers.so", all, helpers_text);
	snprintf(path, sizeof(path), "%s/helpers.so", directory);
	start_sleep(path);
	while (i < target.maps.count && strcmp(target.maps.map[i].path, path) != 0)
		i++;
	assert_true(i < target.maps.count);
	assert_int_equal(elf_image_open(&target.reader, target.maps.map[i].start, &image), 0);
	assert_int_equal(elf_image_lookup(&image, "where", &symbol), 0);
	read_memory(symbol.address, where, WHERE_COUNT * sizeof(*where));
}

static void check_own_helpers(const char *flags)
{
	uint64_t where[WHERE_COUNT];

	start_helpers(flags, where);
	plan_with(false);
	assert_string_equal(target.plan.family[0].name, "other");
	assert_true(is_helper(where[GROW]) && is_helper(where[STEP]) && is_helper(where[COLD]));
	assert_false(is_helper(where[DROP]) || is_helper(where[JUMP]) || is_helper(where[EACH]));
	assert_false(is_helper(where[COPY]));
	assert_non_null(find(0, "operator new(size_t)"));
	assert_true(find(0, "memalign")->jumps_on && find(0, "vfree")->jumps_on);
	assert_false(find(0, "malloc")->jumps_on || find(0, "free")->jumps_on);
	target_stop();
}

static void find_helpers(void **state)
{
	(void)state;
	check_own_helpers("");
}

/* Calls through the linkage table that nobody has made yet, and through slots of it. */
static void find_helpers_by_stubs(void **state)
{
	(void)state;
	check_own_helpers("-Wl,-z,lazy -fsemantic-interposition");
	check_own_helpers("-Wl,-z,now -fno-plt");
	check_own_helpers("-Wl,-Bsymbolic -fcf-protection=full");
}

/* An operator new that is left alone asks malloc for the program: that call counts. */
static void count_calls_of_unhooked(void **state)
{
	uint64_t where[WHERE_COUNT];

	(void)state;
	start_helpers("", where);
	plan_with(true);
	assert_null(find(0, "operator new(size_t)"));
	assert_non_null(find(0, "operator new(size_t, nothrow_t)"));
	assert_false(is_helper(where[NEW]));
	assert_true(is_helper(where[GROW]));
	target_stop();
}

/* The shim's table: what the entries brought and the helpers, merged. */
static void publish_helpers(void **state)
{
	static const struct ring_range helper[] = { { 150, 250 }, { 10, 20 } };
	static const struct ring_range many[RING_MAX_ENTRIES];
	struct ring_control *control = calloc(1, sizeof(*control));

	(void)state;
	assert_non_null(control);
	control->entry[0] = (struct ring_entry){ .low = 100, .high = 200,
						 .shape = RING_SHAPE_MALLOC };
	control->entry[1] = (struct ring_entry){ .low = 300, .high = 400,
						 .shape = RING_SHAPE_MUNMAP };
	control->entry_count = 2;
	ring_publish_callers(control);
	assert_int_equal(ring_publish_helpers(control, helper, 2), 0);
	assert_int_equal(control->caller_count[RING_CLASS_HEAP], 2);
	assert_int_equal(control->caller[RING_CLASS_HEAP][0].low, 10);
	assert_int_equal(control->caller[RING_CLASS_HEAP][1].low, 100);
	assert_int_equal(control->caller[RING_CLASS_HEAP][1].high, 250);
	assert_int_equal(control->caller_count[RING_CLASS_MAPPING], 1);
	assert_int_equal(ring_publish_helpers(control, many, RING_MAX_ENTRIES), -E2BIG);
	assert_int_equal(control->caller_count[RING_CLASS_HEAP], 2);
	free(control);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_helpers),
		cmocka_unit_test(find_helpers_by_stubs),
		cmocka_unit_test(count_calls_of_unhooked),
		cmocka_unit_test(publish_helpers),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
