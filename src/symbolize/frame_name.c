/* SPDX-License-Identifier: MIT */
/*
 * frame_name.c - see frame_name.h.
 *
 * Works on the demangled text, because that is what a recording holds. A name may be anything
 * that a hostile file says: a bracket that nothing closes ends the attempt (to go on would take
 * time by the square), nothing is written behind the end, and what does not look like a C++ name
 * comes out as it went in. Asking libiberty for a shorter form was rejected:
 * it needs the mangled name, and has no option for either.
 */
#include "src/symbolize/frame_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/cleanup.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* Does the word "operator" end at text[at)? */
static bool after_operator(const char *text, size_t at)
{
	static const char word[] = "operator";
	const size_t length = sizeof(word) - 1;

	return at >= length && memcmp(text + at - length, word, length) == 0 &&
	       (at == length || !is_word(text[at - length - 1]));
}

/* Bytes of the operator's sign at text, 0: none with an angle bracket. */
static size_t operator_length(const char *text)
{
	static const char *const sign[] = { "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=",
					    "->", "<", ">" };

	for (size_t i = 0; i < sizeof(sign) / sizeof(sign[0]); i++)
		if (strncmp(text, sign[i], strlen(sign[i])) == 0)
			return strlen(sign[i]);
	return 0;
}

/* Does an operator's sign end at text[at), as in operator=<T>? */
static bool behind_operator(const char *text, size_t at)
{
	for (size_t length = 1; length <= 3 && length <= at; length++) {
		if (!strchr("=+-*/%^&|!~,<>()[]", text[at - length]))
			return false;
		if (after_operator(text, at - length))
			return true;
	}
	return false;
}

/* Behind the bracket that closes text[0], one of <([{; NULL: none does. */
static const char *behind_group(const char *text)
{
	static const char closing[] = "<>()[]{}";
	char open = text[0], close = strchr(closing, open)[1];
	size_t depth = 0, round = 0;

	for (; *text; text++) {
		/* Within angles, what stands in parentheses may compare. */
		if (open == '<' && *text == '(')
			round++;
		else if (open == '<' && *text == ')' && round > 0)
			round--;
		if (round > 0)
			continue;
		if (*text == open)
			depth++;
		else if (*text == close && (open != '<' || text[-1] != '-') && --depth == 0)
			return text + 1;
	}
	return NULL;
}

void frame_name_shorten_templates(char *name)
{
	const char *from = name, *behind;
	char *to = name;
	bool matching = true;
	size_t length;

	while (*from) {
		size_t seen = (size_t)(to - name);

		length = after_operator(name, seen) ? operator_length(from) : 0;
		/* Moving over itself: to never passes from. */
		if (length > 0) {
			memmove(to, from, length);
			to += length;
			from += length;
			continue;
		}
		behind = NULL;
		if (matching && *from == '<' && seen > 0 &&
		    (is_word(to[-1]) || to[-1] == ' ' || behind_operator(name, seen))) {
			behind = behind_group(from);
			matching = behind;
		}
		if (behind) {
			if (to[-1] == ' ')	/* operator<< <int> */
				to--;
			*to++ = '<';
			*to++ = '>';
			from = behind;
			continue;
		}
		*to++ = *from++;
	}
	*to = '\0';
}

/* Is what follows a list of parameters no more than that: "", " const", "&", " [clone .x]"? */
static bool ends_function(const char *text)
{
	static const char *const word[] = { " const", " volatile", " noexcept", " &", "&", " [" };

	if (*text == '\0')
		return true;
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strncmp(text, word[i], strlen(word[i])) == 0)
			return true;
	return *text == '.';	/* f(int).cold */
}

/* The bracket at which the function's parameters begin; NULL: it has none. */
static char *find_parameters(char *name)
{
	char *at = name;

	while (*at) {
		const char *behind = NULL;
		bool call = *at == '(' && after_operator(name, (size_t)(at - name));

		if (after_operator(name, (size_t)(at - name)) && operator_length(at)) {
			at += operator_length(at);
			continue;
		}
		if (*at == '(' || *at == '<' || *at == '{' || *at == '[') {
			behind = behind_group(at);
			if (!behind)
				return NULL;
		}
		if (*at == '(' && at > name && at[-1] != '.' && !call && ends_function(behind))
			return at;
		at = behind ? name + (behind - name) : at + 1;
	}
	return NULL;
}

/* Where the name begins, behind the return type. */
static char *find_name(char *name, const char *end)
{
	char *begin = name, *at = name;

	while (at < end) {
		const char *behind = NULL;

		if (after_operator(name, (size_t)(at - name)))
			break;	/* operator new, operator char const* */
		if (*at == '(' || *at == '<' || *at == '{' || *at == '[')
			behind = behind_group(at);
		if (*at == ' ')
			begin = at + 1;
		at = behind ? name + (behind - name) : at + 1;
	}
	while (begin < end && (*begin == '*' || *begin == '&'))
		begin++;
	return begin < end ? begin : name;
}

void frame_name_only(char *name)
{
	char *end = find_parameters(name), *begin;

	if (!end)
		return;
	begin = find_name(name, end);
	memmove(name, begin, (size_t)(end - begin));
	name[end - begin] = '\0';
}

/* ---- as long as it may be ---- */

#define LONGEST		(16u << 10)
#define DEEPEST		8u	/* lists within lists that are looked at */
#define SHORT_LIST	3u	/* what "..." would not make shorter */

/* Does a list of template arguments or of parameters begin at name[at]? */
static bool begins_list(const char *name, size_t at)
{
	static const char unnamed[] = "(anonymous namespace)";

	if (name[at] == '(')
		return strncmp(name + at, unnamed, sizeof(unnamed) - 1) != 0;
	return name[at] == '<' && at > 0 && is_word(name[at - 1]) && !after_operator(name, at);
}

/* Writes "..." for the contents of lists that are in keep others. Returns the length. */
static size_t leave_out(const char *name, char *to, unsigned int keep)
{
	const char *end[DEEPEST], *behind;
	unsigned int depth = 0;
	bool matching = true;	/* as above: each byte is looked at DEEPEST times at the most */
	size_t length = 0;

	for (size_t at = 0; name[at]; at++) {
		while (depth > 0 && name + at >= end[depth - 1])
			depth--;
		to[length++] = name[at];
		if (!matching || depth == DEEPEST || !begins_list(name, at))
			continue;
		behind = behind_group(name + at);
		matching = behind;
		if (!behind)
			continue;
		if (depth == keep && (size_t)(behind - name) - at > SHORT_LIST + 2) {
			memcpy(to + length, "...", 3);
			length += 3;
			at = (size_t)(behind - name) - 2;
		} else {
			end[depth++] = behind;
		}
	}
	to[length] = '\0';
	return length;
}

void frame_name_fit(char *name, size_t most)
{
	size_t length = strlen(name);
	_cleanup_free_ char *shorter = NULL;

	if (length <= most || length > LONGEST)
		return;
	shorter = malloc(length + 1);
	for (unsigned int keep = DEEPEST; shorter && keep-- > 0;)
		if (leave_out(name, shorter, keep) <= most || keep == 0)
			break;
	if (shorter)
		memcpy(name, shorter, strlen(shorter) + 1);
}
