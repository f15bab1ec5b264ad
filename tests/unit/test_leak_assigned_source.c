/* SPDX-License-Identifier: MIT */
/*
 * test_leak_assigned_source.c - what a statement's text says a call's result is assigned to.
 *
 * Each case is a piece of C or C++ in which @ stands where the compiler says the call
 * is: gcc's and clang's columns differ, both are here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/leak/variable/assigned_macro.h"
#include "src/leak/variable/assigned_name.h"
#include "src/leak/variable/assigned_source.h"

struct test_case {
	const char *text;	/* @: the column */
	enum source_kind kind;
	const char *variable, *type;
	const char *callee;
};

/* Takes the @ out of text, and says where it was. */
static void take_mark(const char *text, char *plain, struct source_place *place)
{
	const char *mark = strchr(text, '@');

	place->line = 1;
	place->column = 1;
	for (const char *p = text; mark && p < mark; p++) {
		place->column++;
		if (*p == '\n') {
			place->line++;
			place->column = 1;
		}
	}
	if (!mark) {
		strcpy(plain, text);
		place->column = 0;
		return;
	}
	memcpy(plain, text, (size_t)(mark - text));
	strcpy(plain + (mark - text), mark + 1);
}

static int read_text(const char *text, struct source_place *place, struct source_answer *ret)
{
	_cleanup_(assigned_tokens_done) struct tokens tokens = { 0 };
	char plain[4096];
	struct lexer_input input = { .text = plain, .line = 1, .most = 4096 };

	assert_true(strlen(text) < sizeof(plain));
	take_mark(text, plain, place);
	input.bytes = strlen(plain);
	input.wanted = place->line;
	assert_int_equal(assigned_lex(&input, &tokens), 0);
	return assigned_source_read(&tokens, place, ret);
}

static void check(const struct test_case *test, bool container)
{
	struct source_place place = { .callee = test->callee, .container = container };
	struct source_answer answer = { .kind = SOURCE_UNUSED };
	int r = read_text(test->text, &place, &answer);

	if (r < 0 || answer.kind != test->kind ||
	    (test->variable && strcmp(answer.text, test->variable) != 0) ||
	    (test->type && strcmp(answer.type, test->type) != 0))
		fail_msg("%s: %d, kind %d, \"%s\" (%s)", test->text, r, answer.kind, answer.text,
			 answer.type);
}

static void check_all(const struct test_case *test, size_t count, bool container)
{
	for (size_t i = 0; i < count; i++)
		check(&test[i], container);
}

static void statements(void **state)
{
	static const struct test_case cases[] = {
		{ ";p = @malloc(n);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";p = malloc(n);", SOURCE_VARIABLE, "p", "", NULL },
		{ "{ struct node *n = @malloc(sizeof(*n));", SOURCE_VARIABLE, "n", "struct node *",
		  NULL },
		{ ";s->buf = (char *)@malloc((size_t)n);", SOURCE_VARIABLE, "s->buf", "char *",
		  NULL },
		{ ";s->a.b[i + 1] = @strdup(x);", SOURCE_VARIABLE, "s->a.b[i+1]", "", NULL },
		{ ";*out = @calloc(1, 2);", SOURCE_VARIABLE, "*out", "", NULL },
		{ ";**out = @calloc(1, 2);", SOURCE_VARIABLE, "**out", "", NULL },
		{ ";*s->p++ = @malloc(1);", SOURCE_UNUSED, NULL, NULL, NULL },
		{ ";(*out)->x = @calloc(1, 2);", SOURCE_VARIABLE, "(*out)->x", "", NULL },
		{ ";f(a)->x = @calloc(1, 2);", SOURCE_VARIABLE, "f(a)->x", "", NULL },
		{ ";if ((p = @malloc(n)) == NULL)", SOURCE_VARIABLE, "p", "", NULL },
		{ ";if (!(s->p =\n\t@malloc(n)))", SOURCE_VARIABLE, "s->p", "", NULL },
		{ ";while ((e = @next(list)))", SOURCE_VARIABLE, "e", "", "next" },
		{ ";a = b = @malloc(7);", SOURCE_VARIABLE, "b", "", NULL },
		{ ";return @xmalloc(n);", SOURCE_RETURN, NULL, NULL, NULL },
		{ ";return (T *)@xmalloc(n);", SOURCE_RETURN, NULL, "T *", NULL },
		{ ";return (@xmalloc(n));", SOURCE_RETURN, NULL, NULL, NULL },
		{ ";return a ? @xmalloc(n) : NULL;", SOURCE_RETURN, NULL, NULL, NULL },
		{ ";p = a ? x : @xmalloc(n);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";p = 8 + @xmalloc(n);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";for (struct e *e = @first(l); e;)", SOURCE_VARIABLE, "e", "struct e *",
		  "first" },
		{ ";keep(@malloc(3));", SOURCE_ARGUMENT, "keep", NULL, NULL },
		{ ";@keep(malloc(3));", SOURCE_ARGUMENT, "keep", NULL, NULL },
		{ ";@keep(a, b, strdup(3));", SOURCE_ARGUMENT, "keep", NULL, NULL },
		{ ";l->add(l, @node_new(3));", SOURCE_ARGUMENT, "add", NULL, "node_new" },
		{ ";p = wrap(@xstrdup(a), xmalloc(b));", SOURCE_ARGUMENT, "wrap", NULL, "xstrdup" },
		{ ";p = @wrap(xstrdup(a), xmalloc(b));", SOURCE_VARIABLE, "p", "", "wrap" },
		{ ";p = strcpy(@malloc(strlen(s) + 1), s);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";strcpy(p, @malloc(3));", SOURCE_ARGUMENT, "strcpy", NULL, NULL },
		{ ";@init();", SOURCE_UNUSED, NULL, NULL, "init" },
		{ ";if (a) @init();", SOURCE_UNUSED, NULL, NULL, "init" },
		{ ";if (@malloc(3) == NULL)", SOURCE_UNUSED, NULL, NULL, NULL },
		{ ";case 3: @init();", SOURCE_UNUSED, NULL, NULL, "init" },
		{ ";} else\n p = @malloc(3);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";if (x) p = @malloc(3);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";if (x) (p) = @malloc(3);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";else (p) = (T *)@malloc(3);", SOURCE_VARIABLE, "p", "T *", NULL },
		{ ";if (likely(p = @malloc(3)))", SOURCE_VARIABLE, "p", "", NULL },
		{ ";static char *buf = (@malloc(3));", SOURCE_VARIABLE, "buf", "char *", NULL },
	};

	(void)state;
	check_all(cases, ARRAY_SIZE(cases), false);
}

static void declarations(void **state)
{
	static const struct test_case cases[] = {
		{ "{ char *a, *b = @malloc(3);", SOURCE_VARIABLE, "b", "char *", NULL },
		{ "{ char *a = f(1, 2), **b = @malloc(3);", SOURCE_VARIABLE, "b", "char **", NULL },
		{ "{ static const unsigned char *b = @malloc(3);", SOURCE_VARIABLE, "b",
		  "const unsigned char *", NULL },
		{ "{ struct s *const b = @malloc(3);", SOURCE_VARIABLE, "b", "struct s *", NULL },
		{ "{ void *v[2] = { 0, @malloc(3) };", SOURCE_VARIABLE, "v[1]", "", NULL },
		{ "{ struct s x = { .buf = @malloc(3) };", SOURCE_VARIABLE, "x.buf", "", NULL },
		{ "{ struct s x = { 1, f(2, 3), .buf = @malloc(3), };", SOURCE_VARIABLE, "x.buf",
		  "",
		  NULL },
		{ "{ struct s x = { 1, @malloc(3) };", SOURCE_VARIABLE, "x", NULL, NULL },
		{ ";*s = (struct s){ .buf = @malloc(3) };", SOURCE_VARIABLE, "*s.buf", "", NULL },
		{ ";x = (struct s){ .buf = @malloc(3) };", SOURCE_VARIABLE, "x.buf", "", NULL },
		{ ";return (struct s){ .buf = @malloc(3) };", SOURCE_RETURN, NULL, NULL, NULL },
		{ "{ char *t[3] = { [2] = @malloc(3) };", SOURCE_VARIABLE, "t[2]", "", NULL },
		{ "struct s *g = \n#if A\n x();\n#else\n @malloc(3);\n#endif\n", SOURCE_VARIABLE,
		  "g",
		  "struct s *", NULL },
		{ "#if A\np = @malloc(3);\n#else\nq = ma(\n#endif\n", SOURCE_VARIABLE, "p", "",
		  NULL },
		{ ";p /* q = */ = // r =\n @malloc(3);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";log(\"a = b;\"); p = @malloc(3);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";log('\\''); p = @malloc(3);", SOURCE_VARIABLE, "p", "", NULL },
		{ ";new->name = @strdup(n);", SOURCE_VARIABLE, "new->name", "", NULL },
		{ "{ struct s *new = @malloc(n);", SOURCE_VARIABLE, "new", "struct s *", NULL },
	};

	(void)state;
	check_all(cases, ARRAY_SIZE(cases), false);
}

static void cxx(void **state)
{
	static const struct test_case cases[] = {
		{ ";t_ = new T(n@);", SOURCE_VARIABLE, "t_", "T *", NULL },
		{ ";t_ = @new T(n);", SOURCE_VARIABLE, "t_", "T *", NULL },
		{ ";t_ = new @T(n);", SOURCE_VARIABLE, "t_", "T *", NULL },
		{ ";t_ = new ns::T<int, char*>(n@);", SOURCE_VARIABLE, "t_", "ns::T<int, char*> *",
		  NULL },
		{ ";a = new char[n@];", SOURCE_VARIABLE, "a", "char *", NULL },
		{ ";a = new (std::nothrow) T(1@);", SOURCE_VARIABLE, "a", "T *", NULL },
		{ "{ auto *x = @new T;", SOURCE_VARIABLE, "x", "auto *", NULL },
		{ ";p.reset(@new T(4));", SOURCE_VARIABLE, "p", "T *", NULL },
		{ ";p.reset(new T(4@));", SOURCE_VARIABLE, "p", "T *", NULL },
		{ ";this->p_.q->reset(@new T(4));", SOURCE_VARIABLE, "this->p_.q", "T *", NULL },
		{ ";v.push_back(@new T(3));", SOURCE_ARGUMENT, "push_back", NULL, NULL },
		{ "{ std::unique_ptr<T> p(@new T(3));", SOURCE_VARIABLE, "p", "std::unique_ptr<T>",
		  NULL },
		{ ";m_ = std::unique_ptr<T>(@new T(3));", SOURCE_VARIABLE, "m_", "T *", NULL },
		{ "{ auto p = std::make_unique<T>@(4);", SOURCE_VARIABLE, "p", "auto",
		  "make_unique" },
		{ "{ auto p = @std::make_unique<T>(4);", SOURCE_VARIABLE, "p", "auto",
		  "make_unique" },
		{ "U(int n) : t_(@new T(n)), arr(new char[n]) {}", SOURCE_VARIABLE, "t_", NULL,
		  NULL },
		{ "U(int n) : t_(new T(n)), arr(new char[n@]) {}", SOURCE_VARIABLE, "arr", NULL,
		  NULL },
		{ "U(int n) : t_{new T(n)}, arr{new char[n@]} {}", SOURCE_VARIABLE, "arr", NULL,
		  NULL },
		{ ";x = static_cast<T *>(@malloc(3));", SOURCE_VARIABLE, "x", "", NULL },
		{ ";x = reinterpret_cast<T *>(@malloc(3));", SOURCE_VARIABLE, "x", "", NULL },
		{ ";return @new U(n);", SOURCE_RETURN, NULL, NULL, NULL },
		{ ";throw new E(n@);", SOURCE_ARGUMENT, "throw", NULL, NULL },
		{ ";T *x{@new T};", SOURCE_VARIABLE, "x", NULL, NULL },
		{ ";ns::g_x = @new T;", SOURCE_VARIABLE, "ns::g_x", NULL, NULL },
		{ ";std::move(x)->y = R\"(\"; z = )\" ? @new T : 0;", SOURCE_VARIABLE,
		  "std::move(x)->y",
		  NULL, NULL },
	};

	(void)state;
	check_all(cases, ARRAY_SIZE(cases), false);
}

/* The allocation is a container's of the C++ library: its object has the name. */
static void containers(void **state)
{
	static const struct test_case cases[] = {
		{ ";v.push_back@(1);", SOURCE_VARIABLE, "v", NULL, "push_back" },
		{ ";s->v_.@resize(1);", SOURCE_VARIABLE, "s->v_", NULL, "resize" },
		{ ";m[3@] = \"hello\";", SOURCE_VARIABLE, "m", NULL, "operator[]" },
		{ "{ std::vector<int> v(100@);", SOURCE_VARIABLE, "v", "std::vector<int>",
		  "vector" },
		{ "{ std::vector<int> @v(100);", SOURCE_VARIABLE, "v", "std::vector<int>",
		  "vector" },
		{ ";s @+= x;", SOURCE_VARIABLE, "s", NULL, "operator+=" },
		{ ";std::string t = a @+ b;", SOURCE_VARIABLE, "t", "std::string", "operator+" },
		{ ";t = s.substr@(1);", SOURCE_VARIABLE, "t", NULL, "substr" },
		{ "A() : v_(3@) {}", SOURCE_VARIABLE, "v_", NULL, "vector" },
	};

	(void)state;
	check_all(cases, ARRAY_SIZE(cases), true);
}

static void not_there(void **state)
{
	static const char *const texts[] = {
		";p @= q;", "", "@", ";p = q@;\n;\n;\n", "int @x;", ";}}}))]@", ";p = (((@",
		";\"@malloc(3)", "#define @malloc(3)\n", "/* @malloc(3) */",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct source_place place = { .callee = NULL };
		struct source_answer answer;

		if (read_text(texts[i], &place, &answer) != -ENOENT)
			fail_msg("%s: %s", texts[i], answer.text);
	}
}

/* ---- macros ---- */

static const char *find_definition(void *context, const char *name, size_t bytes,
				   size_t *ret_bytes)
{
	const char *const *definition = context;

	for (; *definition; definition++) {
		if (strncmp(*definition, name, bytes) == 0 &&
		    ((*definition)[bytes] == '(' || (*definition)[bytes] == ' ')) {
			*ret_bytes = strlen(*definition);
			return *definition;
		}
	}
	return NULL;
}

static void macros(void **state)
{
	static const char *const definitions[] = {
		"GROW(x, n) do { if ((n) > x##_room) (x) = realloc((x), (n)); } while (0)",
		"GROW_IT(y) GROW(y, 2 * (y)->n)",
		"TAKE(c, type, r) do { if ((c).n) { (r) = (type *)(c).d[--(c).n]; } else \\\n"
		" (r) = (type *)malloc(sizeof(type)); } while (0)",
		"COPY(s) (char *)strcpy(malloc(1 + strlen(s)), (s))",
		"SAVE(v, s) (s) ? (v)->text = COPY(s) : NULL",
		"MAKE() do { g_dot = malloc(2); } while (0)",
		"ROUND(a) ROUND(a) + ROUND(a)",
		"LOG(...) log(__VA_ARGS__)",
		NULL
	};
	static const struct test_case cases[] = {
		{ ";@GROW(s->buf, 3);", SOURCE_VARIABLE, "s->buf", NULL, NULL },
		{ ";@GROW_IT(t);", SOURCE_VARIABLE, "t", NULL, NULL },
		{ ";@TAKE(cache, struct s, elt);", SOURCE_VARIABLE, "elt", NULL, NULL },
		{ ";@TAKE(cache, S, (elt));", SOURCE_VARIABLE, "elt", NULL, NULL },
		{ ";@SAVE(x[1], y);", SOURCE_VARIABLE, "(x[1])->text", NULL, NULL },
		{ ";@MAKE();", SOURCE_VARIABLE, "g_dot", NULL, NULL },
		{ ";@ROUND(3);", SOURCE_UNUSED, NULL, NULL, NULL },
		{ ";@LOG(a, p = malloc(3));", SOURCE_VARIABLE, "p", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct macro_source source = { find_definition,
						     (void *)(uintptr_t)definitions };
		_cleanup_(assigned_tokens_done) struct tokens tokens = { 0 };
		struct source_answer answer = { .kind = SOURCE_UNUSED };
		struct source_place place = { .callee = NULL };
		struct lexer_input input = { .line = 1, .wanted = 1, .most = 4096 };
		char plain[4096];
		int r;

		take_mark(cases[i].text, plain, &place);
		input.text = plain;
		input.bytes = strlen(plain);
		assert_int_equal(assigned_lex(&input, &tokens), 0);
		r = assigned_macro_read(&tokens, &place, &source, &answer);
		if (r != (cases[i].kind == SOURCE_UNUSED ? -ENOENT : 0) ||
		    answer.kind != cases[i].kind ||
		    (cases[i].variable && strcmp(answer.text, cases[i].variable) != 0))
			fail_msg("%s: %d, \"%s\"", cases[i].text, r, answer.text);
	}
}

static void returned_locals(void **state)
{
	static const char text[] = "struct s *make(int n)\n{\n\tstruct s *p = malloc(n);\n"
				   "\tif (!p) { return NULL; }\n\treturn (p);\n}\n"
				   "int *other(void)\n{\n\treturn q;\n}\n";
	struct lexer_input input = { .text = text, .bytes = strlen(text), .line = 1, .wanted = 3,
				     .most = 4096 };
	_cleanup_(assigned_tokens_done) struct tokens tokens = { 0 };

	(void)state;
	assert_int_equal(assigned_lex(&input, &tokens), 0);
	assert_true(assigned_source_returns(&tokens, 1, 3, "p"));
	assert_false(assigned_source_returns(&tokens, 1, 3, "q"));
	assert_false(assigned_source_returns(&tokens, 1, 3, "s"));
	assert_true(assigned_source_has_word(&tokens, 1, "make"));
	assert_false(assigned_source_has_word(&tokens, 1, "other"));
}

static void names(void **state)
{
	static const struct { const char *function, *name; bool constructor; } cases[] = {
		{ "main", "main", false },
		{ "shop::total(int)", "total", false },
		{ "shop::order<int>::total(std::vector<int>) const", "total", false },
		{ "void std::vector<T, A>::push_back<int>(int&&)", "push_back", false },
		{ "U::U(int)", "U", true },
		{ "ns::U<int>::U(int)", "U", true },
		{ "U::~U()", "U", true },
		{ "(anonymous namespace)::f(int)", "f", false },
		{ "xmalloc.part.0", "xmalloc", false },
		{ "T::operator()(int)", "operator", false },
		{ "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[ASSIGNED_NAME_BYTES];

		assigned_name_short(cases[i].function, name);
		assert_string_equal(name, cases[i].name);
		assert_int_equal(assigned_name_is_constructor(cases[i].function),
				 cases[i].constructor);
	}
	assert_true(assigned_name_same("s->buf[i]", "t.buf"));
	assert_true(assigned_name_same("*p", "p"));
	assert_false(assigned_name_same("s->buf", "s->end"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statements),
		cmocka_unit_test(declarations),
		cmocka_unit_test(cxx),
		cmocka_unit_test(containers),
		cmocka_unit_test(not_there),
		cmocka_unit_test(macros),
		cmocka_unit_test(returned_locals),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
