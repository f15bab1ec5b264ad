/* SPDX-License-Identifier: MIT */
/*
 * chain_text.c - a chain of references as a person would write it.
 *
 * What is written for one pointer is a piece; equal pieces in a row become one with their
 * number, so that the end of a long list stays readable: "g_list->next{4711}->data".
 * Members of libstdc++'s own classes (their names begin with _M_, which programs may not use)
 * are left out: unique_ptr and vector then read as they are used, p->name and v[3].name.
 * Links between the nodes of a list, tree or hash table read as "[...]": some element.
 */
#include "src/leak/holders/chain_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define WRITTEN_OUT 3u	/* as many equal pieces */

static void append(struct chain_text *chain, const char *text)
{
	size_t length = strlen(text);

	if (chain->full || length >= CHAIN_TEXT_BYTES - chain->length) {
		chain->full = true;
		return;
	}
	memcpy(chain->text + chain->length, text, length + 1);
	chain->length += length;
}

static void flush(struct chain_text *chain)
{
	char times[32];

	if (chain->run > WRITTEN_OUT) {
		append(chain, chain->last);
		snprintf(times, sizeof(times), "{%" PRIu64 "}", chain->run);
		append(chain, times);
	} else {
		for (uint64_t i = 0; i < chain->run; i++)
			append(chain, chain->last);
	}
	chain->run = 0;
}

static void take_piece(struct chain_text *chain, const char *piece)
{
	if (chain->run > 0 && strcmp(chain->last, piece) == 0) {
		chain->run++;
		return;
	}
	flush(chain);
	memcpy(chain->last, piece, strlen(piece) + 1);
	chain->run = piece[0] != '\0';
}

static void _printf_(2, 3) chain_text_add(char piece[CHAIN_PIECE_BYTES], const char *format, ...)
{
	size_t length = strlen(piece);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(piece + length, CHAIN_PIECE_BYTES - length, format, arguments);
	va_end(arguments);
}

static const char *joint(const struct chain_text *chain)
{
	static const char *const joints[] = { "", ".", "->" };

	return joints[chain->join];
}

void chain_text_begin(struct chain_text *chain, const char *root)
{
	append(chain, root);
	chain->join = CHAIN_DOT;
}

/* What a member of libstdc++'s leads to, if that is other parts of the same container. */
static unsigned int link_of(const char *name)
{
	static const struct {
		const char *name;
		unsigned int element;
	} links[] = {
		{ "_M_parent", CHAIN_NODES }, { "_M_left", CHAIN_NODES },
		{ "_M_right", CHAIN_NODES }, { "_M_next", CHAIN_NODES },
		{ "_M_prev", CHAIN_NODES }, { "_M_nxt", CHAIN_NODES },
		{ "_M_buckets", CHAIN_NODES }, { "_M_single_bucket", CHAIN_NODES },
		{ "_M_map", CHAIN_TABLE }, { "_M_node", CHAIN_TABLE }, { "_M_cur", CHAIN_BUFFER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (strcmp(name, links[i].name) == 0)
			return links[i].element;
	return CHAIN_NO_ELEMENT;
}

static void add_internal(struct chain_text *chain, const char *name, char *piece)
{
	unsigned int element = link_of(name);

	if (strcmp(name, "_M_storage") == 0) {
		chain->element = CHAIN_NO_ELEMENT;
	} else if (element && !chain->element) {
		chain_text_add(piece, "[...]");
		chain->element = element;
		chain->join = CHAIN_DOT;
	}
}

static void add_step(struct chain_text *chain, const struct field_step *step, char *piece)
{
	if (step->name && strncmp(step->name, "_M_", 3) == 0) {
		add_internal(chain, step->name, piece);
		return;
	}
	if (step->name) {
		chain_text_add(piece, "%s%s", joint(chain), step->name);
		chain->element = CHAIN_NO_ELEMENT;
	} else if (!chain->element) {
		chain_text_add(piece, "[%" PRId64 "]", step->index);
	} else if (chain->element == CHAIN_VALUES) {
		chain->element = CHAIN_NO_ELEMENT;
	}
	chain->join = CHAIN_DOT;
}

static void end_piece(struct chain_text *chain, const char *piece, const char **ret_piece)
{
	take_piece(chain, piece);
	chain->join = chain->element ? CHAIN_DOT : CHAIN_ARROW;
	if (chain->element > CHAIN_NODES)
		chain->element = chain->element < CHAIN_VALUES ? chain->element + 1 :
								  CHAIN_NO_ELEMENT;
	if (ret_piece)
		*ret_piece = piece[0] ? chain->last : "";
}

void chain_text_path(struct chain_text *chain, const struct field_path *path,
		     const char **ret_piece)
{
	char piece[CHAIN_PIECE_BYTES] = "";

	for (unsigned int i = 0; i < path->count; i++)
		add_step(chain, &path->step[i], piece);
	end_piece(chain, piece, ret_piece);
}

void chain_text_offset(struct chain_text *chain, const char *class, int64_t offset,
		       const char **ret_piece)
{
	char piece[CHAIN_PIECE_BYTES] = "";

	chain->element = CHAIN_NO_ELEMENT;
	if (class)
		chain_text_add(piece, "->(%s)", class);
	else if (chain->join == CHAIN_ARROW)
		chain_text_add(piece, "->");
	if (class || offset != 0 || chain->join == CHAIN_ARROW)
		chain_text_add(piece, "%+" PRId64, offset);
	end_piece(chain, piece, ret_piece);
}

void chain_text_skip(struct chain_text *chain, uint64_t count)
{
	char text[64];

	flush(chain);
	snprintf(text, sizeof(text), "->...%" PRIu64 " more...", count);
	append(chain, text);
	chain->element = CHAIN_NO_ELEMENT;
	chain->join = CHAIN_ARROW;
}

void chain_text_end(struct chain_text *chain, const char *where)
{
	static const char more[] = "...";

	flush(chain);
	if (chain->full && chain->length + sizeof(more) > CHAIN_TEXT_BYTES)
		chain->length = CHAIN_TEXT_BYTES - sizeof(more);
	if (chain->full)
		memcpy(chain->text + chain->length, more, sizeof(more));
	chain->length = strlen(chain->text);
	chain->full = false;
	if (where && strlen(where) + 4 < CHAIN_TEXT_BYTES - chain->length) {
		append(chain, " (");
		append(chain, where);
		append(chain, ")");
	}
}
