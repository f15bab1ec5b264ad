/* SPDX-License-Identifier: MIT */
/*
 * assigned_name.c - see assigned_name.h.
 *
 * Demangled names are read by bracket depth, not parsed: "std::map<int, T>::find(int)"
 * has its name before the first ( that is in no <>, after the last :: or space.
 */
#include "src/leak/variable/assigned_name.h"

#include <string.h>

#include "src/debuginfo/type_shape.h"
#include "src/leak/variable/assigned_expr.h"

/* Offsets of a demangled name's parts. */
struct parts {
	size_t scope;	/* where the qualified name begins, after a return type */
	size_t name;	/* where its last word begins */
	size_t end;	/* of that word */
};

static bool is_operator(const char *at)
{
	return strncmp(at, "operator", 8) == 0;
}

/* The ( of the parameters, or the end. */
static size_t parameters_at(const char *text)
{
	int depth = 0;
	size_t i;

	for (i = 0; text[i]; i++) {
		if (is_operator(text + i) && depth == 0 && (i == 0 || text[i - 1] == ':'))
			return i + 8;
		depth += text[i] == '<';
		depth -= text[i] == '>';
		/* (anonymous namespace):: is no parameter list */
		if (text[i] == '(' && strncmp(text + i, "(anonymous", 10) == 0)
			depth++;
		else if (text[i] == ')' && depth > 0)
			depth--;
		else if (text[i] == '(' && depth <= 0)
			break;
	}
	return i;
}

static void split(const char *text, struct parts *ret)
{
	int depth = 0;

	*ret = (struct parts){ .end = parameters_at(text) };
	for (size_t i = 0; i < ret->end; i++) {
		depth += text[i] == '<' || text[i] == '(';
		depth -= text[i] == '>' || text[i] == ')';
		if (depth == 0 && text[i] == ' ')
			ret->scope = ret->name = i + 1;
		if (depth == 0 && text[i] == ':')
			ret->name = i + 1;
	}
	/* name<T> */
	for (size_t i = ret->name; i < ret->end; i++) {
		if (text[i] == '<' && i > ret->name && !is_operator(text + ret->name))
			ret->end = i;
	}
}

void assigned_name_short(const char *function, char name[ASSIGNED_NAME_BYTES])
{
	struct parts parts;
	size_t bytes;

	name[0] = '\0';
	if (!function)
		return;
	split(function, &parts);
	if (function[parts.name] == '~')
		parts.name++;
	/* f.constprop.0, f.part.2, f@plt */
	for (size_t i = parts.name; i < parts.end; i++) {
		if (function[i] == '.' || function[i] == '@')
			parts.end = i;
	}
	bytes = parts.end > parts.name ? parts.end - parts.name : 0;
	if (bytes >= ASSIGNED_NAME_BYTES)
		return;
	memcpy(name, function + parts.name, bytes);
	name[bytes] = '\0';
}

bool assigned_name_is_constructor(const char *function)
{
	char name[ASSIGNED_NAME_BYTES], outer[ASSIGNED_NAME_BYTES], scope[256];
	struct parts parts;

	split(function, &parts);
	if (parts.name < parts.scope + 3 || parts.name - parts.scope - 2 >= sizeof(scope))
		return false;
	memcpy(scope, function + parts.scope, parts.name - parts.scope - 2);
	scope[parts.name - parts.scope - 2] = '\0';
	assigned_name_short(function, name);
	assigned_name_short(scope, outer);
	return name[0] && strcmp(name, outer) == 0;
}

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool assigned_name_is_library(const struct symbol_frame *frame)
{
	struct parts parts;

	if (frame->file &&
	    (strstr(frame->file, "/c++/") || starts_with(frame->file, "/usr/include/") ||
	     starts_with(frame->file, "/usr/lib/")))
		return true;
	if (!frame->function)
		return false;
	split(frame->function, &parts);
	return starts_with(frame->function + parts.scope, "std::") ||
	       starts_with(frame->function + parts.scope, "__gnu_cxx::") ||
	       starts_with(frame->function + parts.name, "operator new");
}

/* ---- variables ---- */

/* The last word outside of brackets: "buf" of "s->buf[i]". */
static size_t last_word(const char *text, const char **ret)
{
	size_t bytes = 0;
	int depth = 0;

	*ret = text;
	for (size_t i = 0; text[i]; i++) {
		bool word = (text[i] >= 'a' && text[i] <= 'z') ||
			    (text[i] >= 'A' && text[i] <= 'Z') ||
			    (text[i] >= '0' && text[i] <= '9') || text[i] == '_';

		depth += text[i] == '[';
		depth -= text[i] == ']';
		if (!word || depth > 0)
			continue;
		if (text + i != *ret + bytes || bytes == 0) {
			*ret = text + i;
			bytes = 0;
		}
		bytes++;
	}
	return bytes;
}

bool assigned_name_same(const char *a, const char *b)
{
	const char *word_a, *word_b;
	size_t bytes_a = last_word(a, &word_a), bytes_b = last_word(b, &word_b);

	return bytes_a == bytes_b && memcmp(word_a, word_b, bytes_a) == 0;
}

/* ---- types ---- */

/* One step along the text: ->name, .name, [..]. *i is moved behind it, if it is one. */
static bool type_step(const struct tokens *tokens, size_t *i, Dwarf_Die *type)
{
	const struct token *name = &tokens->token[*i + 1];
	bool arrow = assigned_token_is(tokens, *i, "->");

	if (expr_mark(tokens, *i) == '[') {
		if (tokens->token[*i].mate < 0)
			return false;
		*i = (size_t)tokens->token[*i].mate + 1;
		return type_element(type, type) || type_pointee(type, type);
	}
	if ((!arrow && expr_mark(tokens, *i) != '.') || !expr_is_word(tokens, *i + 1))
		return false;
	*i += 2;
	/* A reference is a pointer that is written like what it refers to. */
	if (type_is_pointer(type) && !type_pointee(type, type))
		return false;
	return type_member(type, name->text, name->bytes, type);
}

/* The object of a C++ method: members are named without it. */
static bool member_of_this(const struct debug_scopes *scopes, unsigned int level,
			   const struct token *name, Dwarf_Die *ret)
{
	Dwarf_Die this, type;
	bool is_static;

	return debug_scopes_local(scopes, level, "this", 4, &this, &is_static) &&
	       type_of_entry(&this, &type) && type_pointee(&type, &type) &&
	       type_member(&type, name->text, name->bytes, ret);
}

static bool root_type(const struct debug_scopes *scopes, unsigned int level,
		      const struct token *name, Dwarf_Die *ret)
{
	bool is_static;
	Dwarf_Die die;

	if (debug_scopes_local(scopes, level, name->text, name->bytes, &die, &is_static))
		return type_of_entry(&die, ret);
	if (member_of_this(scopes, level, name, ret))
		return true;
	return debug_scopes_named(scopes, name->text, name->bytes, &die) &&
	       type_of_entry(&die, ret);
}

/* Takes the stars at *i off the type that follows. */
static size_t skip_stars(const struct tokens *tokens, size_t *i)
{
	size_t first = *i;

	while (expr_mark(tokens, *i) == '*')
		(*i)++;
	return *i - first;
}

static bool apply_stars(size_t stars, Dwarf_Die *type)
{
	while (stars-- > 0) {
		if (!type_pointee(type, type))
			return false;
	}
	return true;
}

static bool type_steps(const struct tokens *tokens, size_t *i, size_t end, Dwarf_Die *type)
{
	while (*i < end) {
		if (!type_step(tokens, i, type))
			return false;
	}
	return true;
}

/* "*(*p)->x[i].y": one pair of parentheses at the most. */
static bool read_type(const struct debug_scopes *scopes, unsigned int level,
		      const struct tokens *tokens, Dwarf_Die *ret)
{
	size_t i = 0, outer = skip_stars(tokens, &i), inner = 0, close = 0;
	Dwarf_Die type;

	if (expr_mark(tokens, i) == '(' && tokens->token[i].mate > 0) {
		close = (size_t)tokens->token[i++].mate;
		inner = skip_stars(tokens, &i);
	}
	while (expr_is_word(tokens, i) && assigned_token_is(tokens, i + 1, "::"))
		i += 2;
	if (!expr_is_word(tokens, i) || !root_type(scopes, level, &tokens->token[i], &type))
		return false;
	i++;
	if (close && (!type_steps(tokens, &i, close, &type) || i != close ||
		      !apply_stars(inner, &type)))
		return false;
	i += close ? 1 : 0;
	if (!type_steps(tokens, &i, tokens->count, &type) || !apply_stars(outer, &type))
		return false;
	*ret = type;
	return true;
}

bool assigned_name_type(const struct debug_scopes *scopes, unsigned int level, const char *text,
			Dwarf_Die *ret)
{
	const struct lexer_input input = { .text = text, .bytes = strlen(text), .line = 1,
					   .wanted = 1, .most = 64 };
	_cleanup_(assigned_tokens_done) struct tokens tokens = { 0 };

	return assigned_lex(&input, &tokens) == 0 && read_type(scopes, level, &tokens, ret);
}
