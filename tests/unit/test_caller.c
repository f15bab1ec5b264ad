/* SPDX-License-Identifier: MIT */
/* test_caller.c - which frame stands for a stack: functions that allocate for others are passed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "src/report/caller.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

static bool is_helper(const char *function, const char *module, const char *file, uint32_t line)
{
	const struct caller_function f = { function, module, file, line };

	return caller_is_helper(&f);
}

static void every_operator_new_is_a_helper(void **state)
{
	static const char *const name[] = {
		"operator new(unsigned long)", "operator new[](unsigned long)",
		"operator new(unsigned long, std::align_val_t)",
		"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
		"operator new(unsigned int)", "operator new", "operator new[]", "_Znwm", "_Znam",
		"_ZnwmRKSt9nothrow_t", "_ZnamSt11align_val_t", "_Znwj",
		"Node::operator new(unsigned long)", "ns::List<int>::operator new[](unsigned long)",
		"void* operator new<Arena>(unsigned long, Arena&)",
		"operator new(unsigned long) [clone .cold]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!is_helper(name[i], "/usr/bin/program", "/src/new.cc", 5))
			fail_msg("%s", name[i]);
}

static void what_only_sounds_like_it_is_none(void **state)
{
	static const char *const name[] = {
		"operator newer", "my_operator new_thing", "call<&operator new>()",
		"wrap(void* (*)(operator new))", "operator delete(void*)", "new_node", "_Znwo",
		"main", "fopen", "getaddrinfo", "strdup_all", "xstrdup",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (is_helper(name[i], "/usr/bin/program", "/src/new.cc", 5))
			fail_msg("%s", name[i]);
	assert_false(is_helper(NULL, LIBC, NULL, 0));
}

static void functions_of_the_c_library_are_helpers(void **state)
{
	static const char *const name[] = {
		"strdup", "__strdup", "__GI___strdup", "strndup", "__GI___strndup", "asprintf",
		"___asprintf", "__asprintf_chk", "vasprintf", "__vasprintf_internal",
		"__vasprintf_chk", "getline", "getdelim", "__getdelim", "_IO_getdelim",
		"__GI___getdelim", "realpath", "__GI___realpath", "__realpath_chk", "realpath_stk",
		"realpath@@GLIBC_2.3", "canonicalize_file_name", "get_current_dir_name", "getcwd",
		"wcsdup", "scandir64", "open_memstream", "__isoc99_sscanf", "__isoc23_sscanf",
		"__vfscanf_internal", "reallocarray",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!is_helper(name[i], LIBC, "./string/strdup.c", 42))
			fail_msg("%s", name[i]);
	assert_true(is_helper("strdup", "/lib/ld-musl-x86_64.so.1", NULL, 0));
}

/* A fortified function is inlined from a header; a static program has the C library in it. */
static void helpers_that_are_linked_in(void **state)
{
	(void)state;
	assert_true(is_helper("getline", "/usr/bin/program", "/usr/include/bits/stdio.h", 120));
	assert_true(is_helper("strdup", "/usr/bin/program", NULL, 0));
	assert_true(is_helper("__strdup", "/usr/bin/program", "strdup.c", 1));
	assert_false(is_helper("getline", "/usr/bin/program", "/src/editor.c", 120));
	assert_false(is_helper("strdup", "/usr/bin/program", "strings.c", 7));
}

/* --- stacks ----------------------------------------------------------------------------- */

static uint32_t found(const struct caller_function *f, size_t count)
{
	struct caller_search search = { 0 };

	for (size_t i = 0; i < count; i++)
		if (!caller_search_next(&search, &f[i]))
			break;
	return caller_search_found(&search);
}
#define FOUND(...)									\
	found((const struct caller_function[]){ __VA_ARGS__ },				\
	      sizeof((const struct caller_function[]){ __VA_ARGS__ }) /			\
	      sizeof(struct caller_function))
#define AT(function) { function, "/usr/bin/program", "/src/main.c", 1 }
#define IN_LIBC(function) { function, LIBC, NULL, 0 }

static void the_innermost_that_is_no_helper(void **state)
{
	(void)state;
	assert_int_equal(FOUND(AT("f"), AT("main")), 0);
	assert_int_equal(FOUND(AT("operator new(unsigned long)"), AT("f"), AT("main")), 1);
	assert_int_equal(FOUND(AT("operator new(unsigned long)"),
			       AT("operator new[](unsigned long)"), AT("f")), 2);
	assert_int_equal(FOUND(IN_LIBC("strdup"), IN_LIBC("realpath"), AT("f")), 2);
	/* Functions that a helper calls have no names in a stripped C library. */
	assert_int_equal(FOUND(IN_LIBC(NULL), IN_LIBC("asprintf"), AT("f")), 2);
	assert_int_equal(FOUND(IN_LIBC(NULL), IN_LIBC("fopen"), AT("f")), 0);
	/* The function that calls back is no part of the helper. */
	assert_int_equal(FOUND(AT("compare"), IN_LIBC("scandir"), AT("f")), 0);
}

static void helpers_alone_are_shown_themselves(void **state)
{
	(void)state;
	assert_int_equal(FOUND(AT("operator new(unsigned long)")), 0);
	assert_int_equal(FOUND(IN_LIBC("strdup"), IN_LIBC("realpath")), 0);
	assert_int_equal(found(NULL, 0), 0);
}

static void inlined_frames_are_frames(void **state)
{
	static const struct symbol_frame frames[] = {
		{ .function = "getline", .file = "/usr/include/bits/stdio.h", .line = 120,
		  .module = "/usr/bin/program", .inlined = true },
		{ .function = "read_all", .file = "/src/main.c", .line = 7,
		  .module = "/usr/bin/program" },
	};
	struct caller_search search = { 0 };

	(void)state;
	caller_search_frames(&search, frames, 2);
	assert_true(search.ended);
	assert_int_equal(caller_search_found(&search), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operator_new_is_a_helper),
		cmocka_unit_test(what_only_sounds_like_it_is_none),
		cmocka_unit_test(functions_of_the_c_library_are_helpers),
		cmocka_unit_test(helpers_that_are_linked_in),
		cmocka_unit_test(the_innermost_that_is_no_helper),
		cmocka_unit_test(helpers_alone_are_shown_themselves),
		cmocka_unit_test(inlined_frames_are_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
