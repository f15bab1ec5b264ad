/* SPDX-License-Identifier: MIT */
/*
 * test_leak_fields.c - members by offset, with debug information that lies.
 *
 * What honest debug information gives is tested through test_leak_holders.c. Here every
 * offset of every kind of forged type is asked for; what counts is that an answer comes,
 * soon, and is none where there can be none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "src/debuginfo/fields.h"
#include "src/debuginfo/type_names.h"
#include "src/debuginfo/type_shape.h"
#include "tests/unit/leak_victim.h"

static struct victim victim;
static struct fields *fields;

static int begin(void **state)
{
	const char *path = victim_compile("hostile", "CC", "cc", "", "leak_fields_hostile.S");

	(void)state;
	if (!path)
		return -1;
	victim_start(&victim, path);
	return fields_new(victim.modules, &fields);
}

static int end(void **state)
{
	(void)state;
	fields_free(fields);
	victim_end(&victim);
	return 0;
}

/* The variable's address in the process, by its ELF symbol. */
static uint64_t address_of(const char *name)
{
	for (uint32_t id = 1; id <= modules_count(victim.modules); id++) {
		const struct module *module = modules_get(victim.modules, id);
		struct field_variable found;

		if (!strstr(module->path, "hostile"))
			continue;
		for (uint64_t at = module->low; at < module->high; at += 64)
			if (fields_global(fields, at, &found) &&
			    strcmp(found.variable.name, name) == 0)
				return at;
	}
	fail_msg("there is no %s", name);
	return 0;
}

static const char *const names[] = {
	"circle", "two", "itself", "outside", "huge", "array", "empties", "base", "pointer",
	"to_circle", "nowhere", "missing",
};

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void walk(const struct field_type *type)
{
	static const uint64_t offsets[] = {
		0, 1, 8, 48, 63, 64, 4096, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX - 7, UINT64_MAX,
	};
	struct field_view view = { .type = *type };
	struct field_path path;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		fields_walk(fields, type, offsets[i], &path);
		assert_true(path.count <= FIELD_MAX_STEPS);
		for (size_t k = 0; k < ARRAY_SIZE(offsets); k++) {
			view.base = offsets[k];
			view.array = i % 2;
			fields_walk_block(fields, &view, 4096, offsets[i], &path);
			assert_true(path.count <= FIELD_MAX_STEPS);
			fields_walk_block(fields, &view, UINT64_MAX, offsets[i], &path);
		}
	}
}

static void test_every_lie_gets_an_answer(void **state)
{
	double start = seconds();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct field_variable found;
		struct field_view view;
		struct field_path path;

		assert_true(fields_global(fields, address_of(names[i]), &found));
		walk(&found.type);
		fields_walk(fields, &found.type, 0, &path);
		if (path.fit == FIELD_POINTER && fields_follow(fields, &path, NULL, 0, &view))
			walk(&view.type);
		(void)fields_size(&found.type);
	}
	assert_true(seconds() - start < 60);
}

static enum field_fit fit_at(const char *name, uint64_t offset, struct field_path *ret)
{
	struct field_variable found;

	assert_true(fields_global(fields, address_of(name), &found));
	fields_walk(fields, &found.type, offset, ret);
	return ret->fit;
}

static void test_lies_are_not_believed(void **state)
{
	struct field_variable found;
	struct field_path path;

	(void)state;
	assert_int_equal(fit_at("circle", 0, &path), FIELD_NONE);
	assert_int_equal(fit_at("two", 0, &path), FIELD_NONE);
	assert_true(fit_at("itself", 0, &path) < FIELD_WORD);
	assert_true(fit_at("base", 0, &path) < FIELD_WORD);
	assert_true(fit_at("array", 8, &path) < FIELD_WORD);
	assert_true(fit_at("empties", 8, &path) < FIELD_WORD);
	assert_int_equal(fit_at("missing", 0, &path), FIELD_NONE);
	/* What is true beside the lies is still found. */
	assert_int_equal(fit_at("outside", 48, &path), FIELD_POINTER);
	assert_string_equal(path.step[0].name, "good");
	assert_true(fields_global(fields, address_of("huge"), &found));
	assert_int_equal(fields_size(&found.type), 0);
	assert_true(fields_global(fields, address_of("array"), &found));
	assert_int_equal(fields_size(&found.type), 0);
}

static void test_names_nested_too_deep_are_not_found(void **state)
{
	struct field_type type;

	(void)state;
	assert_true(fields_type_named(fields, address_of("huge"), "itself", &type));
	assert_false(fields_type_named(fields, address_of("huge"), "deep", &type));
	assert_false(fields_type_named(fields, address_of("huge"), "n::deep", &type));
	assert_false(fields_type_named(fields, 0, "", &type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_lie_gets_an_answer, begin, end),
		cmocka_unit_test_setup_teardown(test_lies_are_not_believed, begin, end),
		cmocka_unit_test_setup_teardown(test_names_nested_too_deep_are_not_found, begin,
						end),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	victim_clean();
	return failed;
}
