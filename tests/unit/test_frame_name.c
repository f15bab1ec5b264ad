/* SPDX-License-Identifier: MIT */
/* test_frame_name.c - names made shorter: C++, C, Rust, and what is none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/symbolize/frame_name.h"

static void assert_becomes(void (*shorten)(char *name), const char *from, const char *to)
{
	char *name = strdup(from);

	shorten(name);
	assert_string_equal(name, to);
	free(name);
}

static void templates_become_angles(void **state)
{
	static const char *const pair[][2] = {
		{ "main", "main" },
		{ "std::vector<int, std::allocator<int> >::push_back(int const&)",
		  "std::vector<>::push_back(int const&)" },
		{ "void f<a::b<c>, 2>(std::map<int, x<y> >&)", "void f<>(std::map<>&)" },
		{ "bool operator< <int>(a<int> const&)", "bool operator<<>(a<> const&)" },
		{ "std::operator<<(std::ostream&, char)", "std::operator<<(std::ostream&, char)" },
		{ "a<int>::operator->() const", "a<>::operator->() const" },
		{ "operator<=>(b<1> const&, b<1> const&)",
		  "operator<=>(b<> const&, b<> const&)" },
		{ "operator=<f()::<lambda()> >", "operator=<>" },
		{ "a::operator()<int, b<c> >(int) const", "a::operator()<>(int) const" },
		{ "f<(1>2), 3>()", "f<>()" },
		{ "f<(x)(4)>::g(int)", "f<>::g(int)" },
		{ "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
		  "<alloc::vec::Vec<> as core::ops::Drop>::drop" },
		{ "a<b", "a<b" },
		{ "a<b::c<int>", "a<b::c<int>" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++)
		assert_becomes(frame_name_shorten_templates, pair[i][0], pair[i][1]);
}

static void functions_lose_their_parameters(void **state)
{
	static const char *const pair[][2] = {
		{ "main", "main" },
		{ "f(int, char const*)", "f" },
		{ "a::b<c(int)>::f(d) const", "a::b<c(int)>::f" },
		{ "std::vector<int> make<int>(int)", "make<int>" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "void (anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "a::operator()(int) const", "a::operator()" },
		{ "operator new(unsigned long)", "operator new" },
		{ "a::operator char const*() const", "a::operator char const*" },
		{ "bool operator<(a const&, a const&)", "operator<" },
		{ "main::{lambda(int)#1}::operator()(int) const",
		  "main::{lambda(int)#1}::operator()" },
		{ "f(int)::g::h()", "f(int)::g::h" },
		{ "f(int) [clone .isra.0]", "f" },
		{ "f(int).cold", "f" },
		{ "char* f(int)", "f" },
		{ "main.(*T).Method", "main.(*T).Method" },
		{ "<T as a::B>::f", "<T as a::B>::f" },
		{ "f(int", "f(int" },
		{ "()", "()" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++)
		assert_becomes(frame_name_only, pair[i][0], pair[i][1]);
}

/* 4 MiB of one bracket: by the square of it this would take hours. */
static void assert_fits(const char *from, size_t most, const char *to)
{
	char *name = strdup(from);

	frame_name_fit(name, most);
	assert_string_equal(name, to);
	free(name);
}

static void long_names_lose_inner_lists(void **state)
{
	static const char map[] = "std::map<std::basic_string<char, std::char_traits<char> >, int>"
				  "::insert(std::pair<std::basic_string<char> const, int> const&)";

	(void)state;
	assert_fits(map, sizeof(map), map);
	assert_fits(map, 124, "std::map<std::basic_string<char, std::char_traits<...> >, int>"
			      "::insert(std::pair<std::basic_string<...> const, int> const&)");
	assert_fits(map, 90, "std::map<std::basic_string<...>, int>"
			     "::insert(std::pair<...> const&)");
	assert_fits(map, 10, "std::map<...>::insert(...)");
	assert_fits("(anonymous namespace)::f<int>(long, long)", 10,
		    "(anonymous namespace)::f<int>(...)");
	assert_fits("bool operator< <int>(pair<int, int> const&)", 10,
		    "bool operator< <int>(...)");
	assert_fits("operator<<(a<bcdef>, g)", 5, "operator<<(...)");
	assert_fits("unmatched<abcdef", 5, "unmatched<abcdef");
	assert_fits("}", 0, "}");
}

static void hostile_names_take_no_time(void **state)
{
	const size_t length = 4u << 20;
	char *name = malloc(length + 1);
	clock_t begin = clock();

	(void)state;
	for (const char *c = "<(a{["; *c; c++) {
		memset(name, *c, length);
		name[length] = '\0';
		name[0] = 'a';
		frame_name_shorten_templates(name);
		frame_name_only(name);
		assert_int_equal(strlen(name), length);
		name[16 << 10] = '\0';	/* as long as a name can be */
		frame_name_fit(name, 100);
		assert_int_equal(strlen(name), 16 << 10);
	}
	assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(templates_become_angles),
		cmocka_unit_test(functions_lose_their_parameters),
		cmocka_unit_test(long_names_lose_inner_lists),
		cmocka_unit_test(hostile_names_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
