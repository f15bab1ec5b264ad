/* SPDX-License-Identifier: MIT */
/*
 * type_names.c - a hash of a type's name that does not depend on who wrote it.
 *
 * One pass over the text, token by token, into FNV-1a. Names that a hostile
 * file makes collide yield a wrong type for its own blocks, nothing more.
 * Rejected: taking both names apart into a tree; the hash needs no memory
 * and can be carried from a namespace to what lies in it.
 */
#include "src/debuginfo/type_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct hashing {
	uint64_t hash;
	unsigned int longs;		/* of the run of words of a built-in type, */
	bool is_unsigned, is_short, is_char, any;	/* which is hashed when it ends */
};

static void type_names_add(struct hashing *hashing, char c)
{
	hashing->hash = (hashing->hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
}

static void add_text(struct hashing *hashing, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		type_names_add(hashing, text[i]);
}

/* Takes the word if it belongs to the name of a built-in integer type. */
static bool take_builtin(struct hashing *hashing, const char *word, size_t length)
{
	if (length == 4 && memcmp(word, "long", 4) == 0)
		hashing->longs++;
	else if (length == 8 && memcmp(word, "unsigned", 8) == 0)
		hashing->is_unsigned = true;
	else if (length == 5 && memcmp(word, "short", 5) == 0)
		hashing->is_short = true;
	else if (length == 4 && memcmp(word, "char", 4) == 0)
		hashing->is_char = true;
	else if (length != 3 || memcmp(word, "int", 3) != 0)
		return false;
	hashing->any = true;
	return true;
}

static void end_builtin(struct hashing *hashing)
{
	if (!hashing->any)
		return;
	type_names_add(hashing, hashing->is_unsigned ? 'U' : 'S');
	type_names_add(hashing, hashing->is_char ? 'c' : hashing->is_short ? 's' : 'i');
	for (unsigned int i = 0; i < hashing->longs && i < 2; i++)
		type_names_add(hashing, 'l');
	*hashing = (struct hashing){ .hash = hashing->hash };
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_qualifier(const char *word, size_t length)
{
	return (length == 5 && memcmp(word, "const", 5) == 0) ||
	       (length == 8 && memcmp(word, "volatile", 8) == 0);
}

/* A number without its suffix: 5ul is 5. */
static size_t number_length(const char *word, size_t length)
{
	if (!isdigit((unsigned char)word[0]))
		return length;
	while (length > 1 && strchr("uUlL", word[length - 1]))
		length--;
	return length;
}

static void add_word(struct hashing *hashing, const char *word, size_t length)
{
	if (is_qualifier(word, length) || take_builtin(hashing, word, length))
		return;
	end_builtin(hashing);
	add_text(hashing, word, number_length(word, length));
}

uint64_t type_name_hash(uint64_t scope, const char *name)
{
	struct hashing hashing = { .hash = scope };

	if (scope != TYPE_NAME_EMPTY)
		add_text(&hashing, "::", 2);
	while (*name) {
		size_t length = 0;

		while (is_word(name[length]))
			length++;
		if (length > 0) {
			add_word(&hashing, name, length);
			name += length;
			continue;
		}
		if (*name != ' ') {
			end_builtin(&hashing);
			type_names_add(&hashing, *name);
		}
		name++;
	}
	end_builtin(&hashing);
	return hashing.hash;
}
