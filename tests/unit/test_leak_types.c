/* SPDX-License-Identifier: MIT */
/*
 * test_leak_types.c - the class of a block by its vtable.
 *
 * A C++ program, built in every way that changes where vtables lie, prints where its
 * objects are. Forged vtables are this program's own data.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "src/debuginfo/type_names.h"
#include "src/debuginfo/types.h"
#include "tests/unit/leak_picture.h"
#include "tests/unit/leak_victim.h"

static struct victim victim;

static const struct {
	const char *block, *class;
} expected[] = {
	{ "plain", NULL },
	{ "single", "Single" },
	{ "derived", "Derived" },
	{ "multiple", "Multiple" },
	{ "shared", "Shared" },
	{ "diamond", "Diamond" },
	{ "template", "outer::inner::Template<char const*, 5>" },
	{ "template_of_template",
	  "outer::inner::Template<std::pair<int, std::shared_ptr<Single> >, 2>" },
	{ "nested", "outer::inner::Nesting::Nested" },
	{ "hidden", "(anonymous namespace)::Hidden" },
	{ "local", "main::Local" },
	{ "concrete", "Concrete" },
	{ "exception", "std::runtime_error" },
	{ "library", "std::__cxx11::basic_ostringstream"
		     "<char, std::char_traits<char>, std::allocator<char> >" },
	{ "part", NULL },
	{ "typeinfo", NULL },
	{ "function", NULL },
	{ "array", NULL },
};

static void check_all(const char *flags, bool rtti)
{
	const char *path = victim_compile("types", "CXX", "c++", flags, "leak_types.cc");
	struct types *types;

	if (!path) {
		print_message("%s: can't be compiled\n", flags);
		return;
	}
	victim_start(&victim, path);
	assert_int_equal(types_new(&victim.picture, victim.modules, &types), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const char *class = rtti ? expected[i].class : NULL;
		/* Twice: the second answer is remembered. */
		for (int again = 0; again < 2; again++) {
			uint64_t address = victim_address(&victim, expected[i].block);
			const char *found = types_of(types, address, 48);

			if (!found != !class || (class && strcmp(found, class) != 0))
				fail_msg("%s: %s is %s, not %s", flags, expected[i].block,
					 found ? found : "unknown", class ? class : "unknown");
		}
	}
	types_free(types);
	victim_end(&victim);
}

static void test_every_kind_of_class_is_named(void **state)
{
	(void)state;
	if (!victim_compile("types", "CXX", "c++", "", "leak_types.cc"))
		skip();
	check_all("-O0", true);
	check_all("-O2", true);
}

static void test_stripped_and_static_programs_are_no_different(void **state)
{
	(void)state;
	check_all("-O1 -s", true);
	check_all("-O1 -no-pie -fno-pie", true);
	check_all("-O1 -static -s", true);
	check_all("-O1 -static-pie -s", true);
}

static const char *without_rtti(const char *block, struct types *types)
{
	return types_of(types, victim_address(&victim, block), 48);
}

static void test_code_without_rtti_gives_nothing(void **state)
{
	const char *path = victim_compile("types", "CXX", "c++", "-fno-rtti -s", "leak_types.cc");
	struct types *types;

	(void)state;
	if (!path)
		skip();
	victim_start(&victim, path);
	assert_int_equal(types_new(&victim.picture, victim.modules, &types), 0);
	assert_null(without_rtti("single", types));
	assert_null(without_rtti("multiple", types));
	assert_null(without_rtti("template", types));
	/* The library has its own all the same. */
	assert_string_equal(without_rtti("exception", types), "std::runtime_error");
	types_free(types);
	victim_end(&victim);
}

/* ---- forged ---- */

struct forged_typeinfo {
	const void *vtable;
	const char *name;
};
struct forged_vtable {
	int64_t offset_to_top;
	const void *typeinfo;
	const void *function[2];
};

/* A whole chain that is right in every point: that is believed. */
static char meta_name[] = "N10__cxxabiv117__class_type_infoE";
static struct forged_vtable meta_vtable;
static struct forged_typeinfo meta = { meta_vtable.function, meta_name };
static struct forged_vtable meta_vtable = { 0, &meta, { NULL, NULL } };
static char good_name[] = "6Forged";
static struct forged_typeinfo good = { meta_vtable.function, good_name };
static struct forged_vtable good_vtable = { 0, &good, { NULL, NULL } };

static char other_meta_name[] = "N10__cxxabiv119__pointer_type_infoE";
static struct forged_vtable other_meta_vtable;
static struct forged_typeinfo other_meta = { other_meta_vtable.function, other_meta_name };
static struct forged_vtable other_meta_vtable = { 0, &other_meta, { NULL, NULL } };

static char unprintable[] = "6For\001ed", broken[] = "6Forg", endless[2048], empty[] = "",
	    star[] = "*";
static const char *const bad_name[] = {
	unprintable, broken, endless, empty, star, NULL, (const char *)1, (const char *)-8,
};
static struct forged_typeinfo bad[ARRAY_SIZE(bad_name)];
static struct forged_vtable bad_vtable[ARRAY_SIZE(bad_name)];
static struct forged_typeinfo pointer_type = { other_meta_vtable.function, good_name };
static struct forged_typeinfo itself = { &itself, (const char *)&itself };
static struct forged_vtable odd_vtable[] = {
	{ 8, &good, { NULL, NULL } },			/* not the start of an object */
	{ 0, &pointer_type, { NULL, NULL } },		/* no class at all */
	{ 0, &itself, { NULL, NULL } },
	{ 0, NULL, { NULL, NULL } },
	{ 0, (const char *)&good + 1, { NULL, NULL } },
	{ 0, (const void *)INTPTR_MAX, { NULL, NULL } },
};

static void test_forged_vtables_are_judged_by_their_shape(void **state)
{
	struct module_source source = { .open_file = victim_open_file };
	void **on_heap = malloc(sizeof(good_vtable));
	struct modules *modules;
	struct picture picture;
	struct types *types;
	pid_t child;

	(void)state;
	memset(endless, 'a', sizeof(endless));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		bad[i] = (struct forged_typeinfo){ meta_vtable.function, bad_name[i] };
		bad_vtable[i] = (struct forged_vtable){ 0, &bad[i], { NULL, NULL } };
	}
	memcpy(on_heap, &good_vtable, sizeof(good_vtable));
	child = leak_picture_fork(&picture);
	assert_int_equal(modules_new(&source, &modules), 0);
	assert_int_equal(modules_update(modules, &picture.maps), 1);
	assert_int_equal(types_new(&picture, modules, &types), 0);
	assert_string_equal(types_of_vtable(types, (uintptr_t)good_vtable.function), "Forged");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(types_of_vtable(types, (uintptr_t)bad_vtable[i].function));
	for (size_t i = 0; i < ARRAY_SIZE(odd_vtable); i++)
		assert_null(types_of_vtable(types, (uintptr_t)odd_vtable[i].function));
	/* Vtables lie in modules only. */
	assert_null(types_of_vtable(types, (uintptr_t)(on_heap + 2)));
	assert_null(types_of_vtable(types, (uintptr_t)good_vtable.function + 1));
	for (int shift = 0; shift < 64; shift++)
		assert_null(types_of_vtable(types, UINT64_C(1) << shift));
	assert_null(types_of_vtable(types, UINT64_MAX));
	/* Too small or crooked for an object. */
	assert_null(types_of(types, (uintptr_t)on_heap, 4));
	assert_null(types_of(types, UINT64_MAX - 7, 8));
	types_free(types);
	modules_free(modules);
	leak_picture_end(child, &picture);
	free(on_heap);
}

static void test_size_classes(void **state)
{
	char text[TYPES_LABEL_BYTES];
	uint64_t before = 0;

	(void)state;
	assert_string_equal(types_size_label(1, text), "block of 1 byte");
	assert_string_equal(types_size_label(64, text), "block of 64 bytes");
	assert_string_equal(types_size_label(512, text), "block of 512 bytes");
	assert_string_equal(types_size_label(513, text), "block of 513 to 640 bytes");
	assert_string_equal(types_size_label(640, text), "block of 513 to 640 bytes");
	assert_string_equal(types_size_label(641, text), "block of 641 to 768 bytes");
	assert_string_equal(types_size_label(1024, text), "block of 897 to 1024 bytes");
	assert_string_equal(types_size_label(1025, text), "block of 1025 to 1280 bytes");
	for (uint64_t bytes = 0; bytes < 100000; bytes++) {
		uint64_t class = types_size_class(bytes);

		assert_true(class >= bytes && class >= before);
		assert_true(class - bytes <= bytes / 4);
		assert_int_equal(types_size_class(class), class);
		before = class;
	}
	assert_int_equal(types_size_class(UINT64_MAX), UINT64_MAX);
}

static void test_spellings_of_one_name_are_equal(void **state)
{
	static const char *const same[][2] = {
		{ "A<char const*>", "A<const char*>" },
		{ "A<unsigned long, 5ul>", "A<long unsigned int, 5>" },
		{ "A<B<int> >", "A<B<int>>" },
		{ "A<long, short, long long>", "A<long int, short int, long long int>" },
		{ "A<unsigned char>", "A<unsigned char>" },
		{ "n::m::A", "n::m::A" },
	};
	static const char *const different[][2] = {
		{ "A<int>", "A<unsigned int>" }, { "A<long>", "A<int>" }, { "A<char>", "A<int>" },
		{ "A<long>", "A<long long>" }, { "A", "n::A" }, { "A<4>", "A<5>" }, { "A1", "A2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		assert_true(type_name_hash(TYPE_NAME_EMPTY, same[i][0]) ==
			    type_name_hash(TYPE_NAME_EMPTY, same[i][1]));
	for (size_t i = 0; i < ARRAY_SIZE(different); i++)
		assert_true(type_name_hash(TYPE_NAME_EMPTY, different[i][0]) !=
			    type_name_hash(TYPE_NAME_EMPTY, different[i][1]));
	/* From scope to scope, and all at once. */
	assert_true(type_name_hash(type_name_hash(TYPE_NAME_EMPTY, "n"), "A<int>") ==
		    type_name_hash(TYPE_NAME_EMPTY, "n::A<int>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_class_is_named),
		cmocka_unit_test(test_stripped_and_static_programs_are_no_different),
		cmocka_unit_test(test_code_without_rtti_gives_nothing),
		cmocka_unit_test(test_forged_vtables_are_judged_by_their_shape),
		cmocka_unit_test(test_size_classes),
		cmocka_unit_test(test_spellings_of_one_name_are_equal),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	victim_clean();
	return failed;
}
