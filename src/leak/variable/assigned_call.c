/* SPDX-License-Identifier: MIT */
/*
 * assigned_call.c - see assigned_call.h.
 *
 * gcc gives the column of a C function's name, of the ( of a C++ call, of the last
 * token of a new expression, and of the statement's outer call for some inner ones; clang
 * that of the first word, or of "new". Where there is no call at the column the statement is
 * searched for the callee's name, which the stack knows.
 */
#include "src/leak/variable/assigned_call.h"

#define MAX_SEARCH	4096u	/* tokens, for a callee */
#define MAX_STATEMENT	400u	/* tokens from a place to its call */
#define MAX_LINES	8u	/* from the line to a call on a later one */

static const char *const allocators[] = {
	"malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup", "aligned_alloc",
	"memalign", "posix_memalign", "valloc", "pvalloc", "wcsdup", "new", "make_unique",
	"make_shared", "asprintf", "vasprintf", "getline", "getdelim", "xmalloc", "xcalloc",
	"xrealloc", "xstrdup", "xstrndup", "g_malloc", "g_malloc0", "g_new", "g_new0", "g_strdup",
	"zmalloc", "mmap", "_Znwm", "_Znam", NULL
};

/* Where a call's name is, as an index; "new" is a name too. */
size_t assigned_call_name(const struct tokens *tokens, size_t open)
{
	size_t last = open - 1;

	if (open == 0)
		return EXPR_NONE;
	if (expr_mark(tokens, last) == '>') {
		last = expr_template_open(tokens, last);
		if (last == EXPR_NONE || last == 0)
			return EXPR_NONE;
		last--;
	}
	return expr_is_word(tokens, last) && !expr_is_statement_word(tokens, last) ? last
										   : EXPR_NONE;
}

/* The "new" whose type ends before i (which is its ( or [ or the end of the expression). */
static size_t new_before(const struct tokens *tokens, size_t i)
{
	for (unsigned int steps = 0; i > 0 && steps < 16; steps++) {
		size_t at = i - 1;

		if (expr_is_new(tokens, at))
			return at;
		if (expr_mark(tokens, at) == '>')
			at = expr_template_open(tokens, at);
		else if (expr_is_mark(tokens, at, ")]"))
			at = tokens->token[at].mate < 0 ? EXPR_NONE
							: (size_t)tokens->token[at].mate;
		else if (!expr_is_word(tokens, at) && !assigned_token_is(tokens, at, "::") &&
			 expr_mark(tokens, at) != '*')
			return EXPR_NONE;
		if (at == EXPR_NONE || expr_is_statement_word(tokens, at))
			return EXPR_NONE;
		i = at;
	}
	return EXPR_NONE;
}

/* The call whose name begins with or holds the word at i: std::x<T>(, a.b->c(. */
static size_t call_of_word(const struct tokens *tokens, size_t i)
{
	size_t before = new_before(tokens, i);

	if (expr_is_new(tokens, i) || expr_is_statement_word(tokens, i))
		return expr_is_new(tokens, i) ? i : EXPR_NONE;
	if (before != EXPR_NONE)
		return before;
	for (unsigned int steps = 0; steps < 64; steps++) {
		size_t next = i + 1;

		if (expr_mark(tokens, next) == '<' &&
		    expr_template_close(tokens, next) != EXPR_NONE)
			next = expr_template_close(tokens, next) + 1;
		if (expr_mark(tokens, next) == '[' && tokens->token[next].mate > 0)
			next = (size_t)tokens->token[next].mate + 1;
		if (expr_mark(tokens, next) == '(')
			return i;
		if (!assigned_token_is(tokens, next, "::") && expr_mark(tokens, next) != '.' &&
		    !assigned_token_is(tokens, next, "->"))
			return EXPR_NONE;
		i = next + 1;
		if (!expr_is_word(tokens, i))
			return EXPR_NONE;
	}
	return EXPR_NONE;
}

/* The call that the token at exactly the column belongs to. */
static size_t call_at(const struct tokens *tokens, size_t i)
{
	char c = expr_mark(tokens, i);
	size_t open;

	if (expr_is_word(tokens, i))
		return call_of_word(tokens, i);
	if (c == ')' || c == ']') {
		if (tokens->token[i].mate < 0)
			return EXPR_NONE;
		open = (size_t)tokens->token[i].mate;
		return new_before(tokens, i + 1) != EXPR_NONE ? new_before(tokens, i + 1)
							      : assigned_call_name(tokens, open);
	}
	return c == '(' ? assigned_call_name(tokens, i) : EXPR_NONE;
}

bool assigned_call_is(const struct tokens *tokens, size_t i, const char *callee)
{
	if (callee)
		return assigned_token_is(tokens, i, callee);
	return expr_is_one_of(tokens, i, allocators);
}

static bool is_call(const struct tokens *tokens, size_t i)
{
	return expr_is_word(tokens, i) && call_of_word(tokens, i) == i;
}

/* The first call of callee in [from, to). */
static size_t find_in(const struct tokens *tokens, size_t from, size_t to, const char *callee)
{
	for (size_t i = from; i < to && i < tokens->count && i - from < MAX_SEARCH; i++) {
		if (is_call(tokens, i) && assigned_call_is(tokens, i, callee))
			return i;
	}
	return EXPR_NONE;
}

/* First token of line or of a later one. */
size_t assigned_call_line(const struct tokens *tokens, uint32_t line)
{
	size_t low = 0, high = tokens->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (tokens->token[middle].line < line)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t assigned_call_token(const struct tokens *tokens, uint32_t line, uint32_t column)
{
	size_t i = assigned_call_line(tokens, line);

	for (; column > 0 && i < tokens->count && tokens->token[i].line == line; i++) {
		const struct token *token = &tokens->token[i];

		if (column >= token->column && column < token->column + token->bytes)
			return i;
	}
	return EXPR_NONE;
}

/* The end of the statement that holds i, or of what is looked at of it. */
static size_t statement_end(const struct tokens *tokens, size_t i)
{
	size_t end = i;

	while (end < tokens->count && end - i < MAX_STATEMENT &&
	       !expr_is_mark(tokens, end, ";{}") &&
	       tokens->token[end].line <= tokens->token[i].line + MAX_LINES)
		end++;
	return end;
}

/* The end of the last statement that begins on line. */
static size_t line_end(const struct tokens *tokens, uint32_t line)
{
	size_t end = assigned_call_line(tokens, line + 1);

	return end > 0 && !expr_is_mark(tokens, end - 1, ";{}") ? statement_end(tokens, end) : end;
}

/*
 * The call at place->column is the statement's outer one for some of gcc's inner calls: where
 * it is not the callee, and the callee is called in its arguments, that is meant.
 */
static size_t inner_call(const struct tokens *tokens, size_t call, const char *callee)
{
	size_t end = statement_end(tokens, call);
	size_t inner = assigned_call_is(tokens, call, callee) ? EXPR_NONE
						       : find_in(tokens, call + 1, end, callee);

	return inner == EXPR_NONE ? call : inner;
}

size_t assigned_call_find(const struct tokens *tokens, const struct source_place *place,
			  bool *ret_by_place)
{
	size_t at = assigned_call_token(tokens, place->line, place->column);
	size_t call = at == EXPR_NONE ? EXPR_NONE : call_at(tokens, at);
	size_t from = assigned_call_line(tokens, place->line), end;

	*ret_by_place = false;
	if (place->anywhere)
		return find_in(tokens, 0, tokens->count, place->callee);
	*ret_by_place = call != EXPR_NONE;
	if (call != EXPR_NONE)
		return inner_call(tokens, call, place->callee);
	if (from >= tokens->count || tokens->token[from].line > place->line + 1)
		return EXPR_NONE;
	end = line_end(tokens, place->line);
	if (at != EXPR_NONE)
		call = find_in(tokens, at, statement_end(tokens, at), place->callee);
	return call != EXPR_NONE ? call : find_in(tokens, from, end, place->callee);
}

size_t assigned_call_exact(const struct tokens *tokens, const struct source_place *place)
{
	size_t at = assigned_call_token(tokens, place->line, place->column);

	return at == EXPR_NONE ? EXPR_NONE : call_at(tokens, at);
}
