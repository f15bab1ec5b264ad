/* SPDX-License-Identifier: MIT */
/*
 * assigned_expr.c - see assigned_expr.h.
 *
 * The two questions that need types in C are decided by custom: "(a) f()" is a cast
 * unless what stands before is a name or if, while and the like; "a * b = f()" is a
 * declaration. Every loop goes one way over at most all tokens of a window.
 */
#include "src/leak/variable/assigned_expr.h"

#include <string.h>

#define MAX_TEMPLATE	128u	/* tokens between < and > */
#define MAX_CHAIN	256u	/* links of a.b->c */

char expr_mark(const struct tokens *tokens, size_t i)
{
	if (i >= tokens->count || tokens->token[i].kind != TOKEN_MARK ||
	    tokens->token[i].bytes != 1)
		return '\0';
	return *tokens->token[i].text;
}

bool expr_is_mark(const struct tokens *tokens, size_t i, const char *set)
{
	char c = expr_mark(tokens, i);

	return c != '\0' && strchr(set, c);
}

bool expr_is_word(const struct tokens *tokens, size_t i)
{
	return i < tokens->count && tokens->token[i].kind == TOKEN_WORD;
}

bool expr_is_one_of(const struct tokens *tokens, size_t i, const char *const *words)
{
	for (; *words; words++) {
		if (assigned_token_is(tokens, i, *words))
			return true;
	}
	return false;
}

bool expr_is_statement_word(const struct tokens *tokens, size_t i)
{
	static const char *const words[] = {
		"return", "if", "else", "while", "for", "do", "switch", "case", "default", "goto",
		"break", "continue", "sizeof", "alignof", "typeof", "typedef", NULL
	};
	/* Good names in C. */
	static const char *const cxx[] = {
		"new", "delete", "throw", "catch", "try", "using", "operator", "co_return",
		"co_yield",
		"co_await", NULL
	};

	if (!expr_is_word(tokens, i))
		return false;
	if (expr_is_one_of(tokens, i, words))
		return true;
	return expr_is_one_of(tokens, i, cxx) &&
	       (expr_is_word(tokens, i + 1) || expr_is_mark(tokens, i + 1, "({[") ||
		assigned_token_is(tokens, i + 1, "::"));
}

bool expr_is_new(const struct tokens *tokens, size_t i)
{
	return assigned_token_is(tokens, i, "new") && expr_is_statement_word(tokens, i) &&
	       (i == 0 || (expr_mark(tokens, i - 1) != '.' &&
			   !assigned_token_is(tokens, i - 1, "->")));
}

/* What may stand between the < and > of template arguments. */
static bool in_template(const struct tokens *tokens, size_t i)
{
	static const char *const marks[] = {
		"*", "&", "&&", "::", ",", "...", "<", ">", "(", ")", "[", "]", NULL
	};

	if (i >= tokens->count)
		return false;
	if (tokens->token[i].kind != TOKEN_MARK)
		return !expr_is_statement_word(tokens, i);
	return expr_is_one_of(tokens, i, marks);
}

size_t expr_template_open(const struct tokens *tokens, size_t close)
{
	unsigned int open = 0;

	for (size_t i = close, steps = 0; steps < MAX_TEMPLATE; i--, steps++) {
		char c = expr_mark(tokens, i);

		if (!in_template(tokens, i))
			return EXPR_NONE;
		open += c == '>';
		if (c == '<' && --open == 0)
			return i > 0 && expr_is_word(tokens, i - 1) ? i : EXPR_NONE;
		if (i == 0)
			break;
	}
	return EXPR_NONE;
}

size_t expr_template_close(const struct tokens *tokens, size_t open)
{
	unsigned int depth = 0;

	for (size_t i = open; in_template(tokens, i) && i - open < MAX_TEMPLATE; i++) {
		char c = expr_mark(tokens, i);

		depth += c == '<';
		if (c == '>' && --depth == 0)
			return i;
	}
	return EXPR_NONE;
}

/* The bracket that opens what ends at i, if there is one: i itself otherwise. */
static size_t over_bracket(const struct tokens *tokens, size_t i)
{
	char c = expr_mark(tokens, i);

	if ((c == ')' || c == ']' || c == '}') && tokens->token[i].mate >= 0)
		return (size_t)tokens->token[i].mate;
	return i;
}

size_t expr_enclosing(const struct tokens *tokens, size_t i)
{
	while (i > 0) {
		size_t at = over_bracket(tokens, i - 1);

		if (at == i - 1) {
			if (expr_is_mark(tokens, at, "([{"))
				return at;
			if (expr_is_mark(tokens, at, ";}"))
				return EXPR_NONE;
		} else if (expr_mark(tokens, at) == '{' && !expr_is_mark(tokens, i, ",.")) {
			/* A block that ended, not an initializer in a list. */
			return EXPR_NONE;
		}
		i = at;
	}
	return EXPR_NONE;
}

static bool is_link(const struct tokens *tokens, size_t i)
{
	return expr_mark(tokens, i) == '.' || assigned_token_is(tokens, i, "->") ||
	       assigned_token_is(tokens, i, "::");
}

/* The ) of "if (...)" and the like. */
static bool is_condition(const struct tokens *tokens, size_t close)
{
	int32_t open = tokens->token[close].mate;

	return open > 0 && expr_is_statement_word(tokens, (size_t)open - 1);
}

/* One part of a chain that ends at last: a word, or brackets with what they belong to. */
static size_t part_begin(const struct tokens *tokens, size_t last)
{
	size_t i = last;

	for (unsigned int steps = 0; steps < MAX_CHAIN; steps++) {
		char c = expr_mark(tokens, i);
		size_t open = EXPR_NONE;

		if (c == ')' || c == ']')
			open = over_bracket(tokens, i) == i ? EXPR_NONE : over_bracket(tokens, i);
		else if (c == '>')
			open = expr_template_open(tokens, i);
		else
			return i;
		if (open == EXPR_NONE || open == 0)
			return i;
		c = expr_mark(tokens, open - 1);
		if (c != ')' && c != ']' && c != '>' &&
		    (!expr_is_word(tokens, open - 1) || expr_is_statement_word(tokens, open - 1)))
			return open;
		if (c == ')' && (expr_is_cast(tokens, open - 1) || is_condition(tokens, open - 1)))
			return open;
		i = open - 1;
	}
	return i;
}

size_t expr_begin(const struct tokens *tokens, size_t last)
{
	size_t i = part_begin(tokens, last);

	for (unsigned int steps = 0; i > 0 && steps < MAX_CHAIN; steps++) {
		if (!is_link(tokens, i - 1))
			break;
		i--;
		if (i == 0)
			break;
		if (!expr_is_word(tokens, i - 1) && !expr_is_mark(tokens, i - 1, ")]>"))
			break;		/* .field of an initializer, ::name */
		if (expr_is_statement_word(tokens, i - 1))
			break;
		i = part_begin(tokens, i - 1);
	}
	return i;
}

bool expr_is_cast(const struct tokens *tokens, size_t close)
{
	int32_t mate = close < tokens->count ? tokens->token[close].mate : -1;
	size_t open = (size_t)mate, words = 0;
	static const char *const before[] = { "return", "else", "do", "case", "throw", NULL };

	if (mate < 0 || expr_mark(tokens, close) != ')' || close - open > MAX_TEMPLATE)
		return false;
	for (size_t i = open + 1; i < close; i++) {
		words += expr_is_word(tokens, i);
		if (expr_is_statement_word(tokens, i) && !assigned_token_is(tokens, i, "typeof"))
			return false;
		if (tokens->token[i].kind == TOKEN_STRING)
			return false;
		if (tokens->token[i].kind == TOKEN_MARK && !expr_is_mark(tokens, i, "*&<>,()") &&
		    !assigned_token_is(tokens, i, "::"))
			return false;
	}
	if (words == 0)
		return false;
	if (open == 0)
		return true;
	if (expr_is_word(tokens, open - 1))
		return expr_is_one_of(tokens, open - 1, before);
	return !expr_is_mark(tokens, open - 1, "]>");
}

/* ---- text ---- */

struct text {
	char *at;
	size_t left;
};

static void put(struct text *text, const char *from, size_t bytes)
{
	if (text->left <= 1)
		return;
	if (bytes > text->left - 1)
		bytes = text->left - 1;
	memcpy(text->at, from, bytes);
	text->at += bytes;
	text->left -= bytes;
	*text->at = '\0';
}

static bool wants_space(const struct tokens *tokens, size_t i)
{
	bool word = tokens->token[i].kind != TOKEN_MARK;
	bool word_before = tokens->token[i - 1].kind != TOKEN_MARK;

	if (expr_mark(tokens, i - 1) == ',')
		return true;
	return word && word_before;
}

void expr_text(const struct tokens *tokens, size_t begin, size_t end, char *text, size_t bytes)
{
	struct text out = { text, bytes };

	*text = '\0';
	for (size_t i = begin; i < end && i < tokens->count; i++) {
		if (i > begin && wants_space(tokens, i))
			put(&out, " ", 1);
		put(&out, tokens->token[i].text, tokens->token[i].bytes);
	}
}

/* ---- declarations ---- */

static bool is_storage(const struct tokens *tokens, size_t i)
{
	static const char *const words[] = {
		"static", "register", "extern", "inline", "thread_local", "_Thread_local",
		"__thread",
		"constexpr", "mutable", "volatile", "restrict", "__restrict", "__restrict__",
		"constinit", NULL
	};

	return expr_is_one_of(tokens, i, words);
}

/* Type tokens [begin, end) without storage classes, then the stars. */
static void type_text(const struct tokens *tokens, size_t begin, size_t end, const char *stars,
		      char *text, size_t bytes)
{
	struct text out = { text, bytes };
	size_t first = begin;

	*text = '\0';
	for (size_t i = begin; i < end; i++) {
		if (is_storage(tokens, i)) {
			first = i + 1;
			continue;
		}
		if (i > first && out.at > text && wants_space(tokens, i))
			put(&out, " ", 1);
		put(&out, tokens->token[i].text, tokens->token[i].bytes);
	}
	if (out.at > text && *stars) {
		put(&out, " ", 1);
		put(&out, stars, strlen(stars));
	}
}

/* Where the type that ends before end begins; end if there is none. */
static size_t type_begin(const struct tokens *tokens, size_t end)
{
	size_t i = end;

	while (i > 0) {
		size_t open;

		if (expr_is_word(tokens, i - 1) && !expr_is_statement_word(tokens, i - 1)) {
			i--;
		} else if (assigned_token_is(tokens, i - 1, "::")) {
			i--;
		} else if (expr_mark(tokens, i - 1) == '>') {
			open = expr_template_open(tokens, i - 1);
			if (open == EXPR_NONE)
				break;
			i = open;
		} else {
			break;
		}
	}
	return i;
}

/* A place where a declaration can begin: before i. */
static bool may_begin(const struct tokens *tokens, size_t i)
{
	if (i == 0 || expr_is_mark(tokens, i - 1, ";{}():,]"))
		return true;
	return expr_is_statement_word(tokens, i - 1) || tokens->token[i - 1].kind == TOKEN_STRING;
}

/* "T *a = x, *b = f()": the type of b, whose declarator begins at i, after a comma. */
static bool list_type(const struct tokens *tokens, size_t i, const char *stars,
		      struct expr_target *ret)
{
	size_t begin = i, end;

	while (begin > 0) {
		size_t at = over_bracket(tokens, begin - 1);

		if (at == begin - 1 && expr_is_mark(tokens, at, ";{}(["))
			break;
		if (at != begin - 1 && expr_mark(tokens, at) == '{' &&
		    expr_mark(tokens, begin) != ',')
			break;
		begin = at;
	}
	for (end = begin; expr_is_word(tokens, end) || assigned_token_is(tokens, end, "::"); end++)
		if (expr_is_statement_word(tokens, end))
			return false;
	if (expr_mark(tokens, end) == '<' && expr_template_close(tokens, end) != EXPR_NONE)
		end = expr_template_close(tokens, end) + 1;
	else if (expr_mark(tokens, end) != '*' && end > begin)
		end--;		/* the name of the first declarator, without a star */
	if (end <= begin || end >= i)
		return false;
	type_text(tokens, begin, end, stars, ret->type, sizeof(ret->type));
	return ret->type[0] != '\0';
}

/*
 * Whether the name that begins at begin is declared there; fills type, and takes unary * into
 * the text's begin where it is not.
 */
static size_t read_prefix(const struct tokens *tokens, size_t begin, struct expr_target *ret)
{
	char stars[16] = "";
	size_t i = begin, count = 0, type;

	while (i > 0 && expr_is_mark(tokens, i - 1, "*&")) {
		if (count < sizeof(stars) - 1)
			stars[count++] = expr_mark(tokens, i - 1);
		i--;
	}
	/* T *const p, T *restrict p, T &&p */
	if (i > 0 && assigned_token_is(tokens, i - 1, "&&")) {
		i--;
		memcpy(stars, "&&", 3);
	}
	if (i == begin && i > 1 && (is_storage(tokens, i - 1) ||
				    assigned_token_is(tokens, i - 1, "const")) &&
	    expr_mark(tokens, i - 2) == '*')
		return read_prefix(tokens, i - 1, ret);
	type = type_begin(tokens, i);
	if (type < i && may_begin(tokens, type)) {
		type_text(tokens, type, i, stars, ret->type, sizeof(ret->type));
		ret->declared = ret->type[0] != '\0';
	} else if (i > 0 && expr_mark(tokens, i - 1) == ',') {
		ret->declared = list_type(tokens, i - 1, stars, ret);
	}
	return ret->declared || type < i ? begin : i;
}

static bool is_assignment(const struct tokens *tokens, size_t i)
{
	static const char *const marks[] = { "=", "+=", "-=", "|=", "&=", "^=", NULL };

	return expr_is_one_of(tokens, i, marks);
}

bool expr_target(const struct tokens *tokens, size_t assign, struct expr_target *ret)
{
	struct expr_target target = { .text = "" };
	size_t begin, last = assign - 1;

	if (!is_assignment(tokens, assign) || assign == 0)
		return false;
	if (expr_mark(tokens, last) == '}' ||
	    (!expr_is_word(tokens, last) && expr_mark(tokens, last) != ')' &&
	     expr_mark(tokens, last) != ']'))
		return false;
	begin = expr_begin(tokens, last);
	if (expr_is_statement_word(tokens, begin))
		return false;
	target.plain = begin == last;
	target.begin = read_prefix(tokens, begin, &target);
	if (target.declared)
		target.begin = begin;
	/* T name[3] = ...: the name alone; so is a declared name. */
	if (target.declared && expr_mark(tokens, last) == ']')
		last = begin;
	if (target.begin != begin)
		target.plain = false;
	/* (x) = ... of a macro */
	while (target.begin == begin && expr_mark(tokens, begin) == '(' && last > begin + 1 &&
	       tokens->token[begin].mate == (int32_t)last) {
		begin = target.begin = target.begin + 1;
		last--;
		target.plain = begin == last;
	}
	expr_text(tokens, target.begin, last + 1, target.text, sizeof(target.text));
	*ret = target;
	return true;
}

bool expr_declared(const struct tokens *tokens, size_t last, struct expr_target *ret)
{
	struct expr_target target = { .text = "", .plain = true, .begin = last };

	if (!expr_is_word(tokens, last) || expr_is_statement_word(tokens, last))
		return false;
	(void)read_prefix(tokens, last, &target);
	if (!target.declared)
		return false;
	expr_text(tokens, last, last + 1, target.text, sizeof(target.text));
	*ret = target;
	return true;
}
