/* SPDX-License-Identifier: MIT */
/*
 * fuzz_assigned_source.c - any text as the source of a call, and as a macro's definition.
 *
 * The first bytes give the line, the column, and how it is asked; a zero byte ends the text, and
 * what follows it is the definition of every macro. Tokens must lie in the text, in order,
 * with brackets that name each other; answers must be terminated and point nowhere.
 */
#include <string.h>

#include "src/leak/variable/assigned_expr.h"
#include "src/leak/variable/assigned_macro.h"
#include "src/leak/variable/assigned_name.h"
#include "src/leak/variable/assigned_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct definition {
	const char *text;
	size_t bytes;
};

static const char *find_definition(void *context, const char *name, size_t bytes,
				   size_t *ret_bytes)
{
	const struct definition *definition = context;

	(void)name;
	if (bytes == 0)
		abort();
	*ret_bytes = definition->bytes;
	return definition->text;
}

static void check_tokens(const struct tokens *tokens, const char *text, size_t bytes)
{
	const char *end = text;

	for (size_t i = 0; i < tokens->count; i++) {
		const struct token *token = &tokens->token[i];
		int32_t mate = token->mate;

		if (token->text < end || token->bytes == 0 ||
		    token->bytes > (size_t)(text + bytes - token->text) || token->line == 0 ||
		    token->column == 0)
			abort();
		if (mate != -1 && (mate < 0 || (size_t)mate >= tokens->count ||
				   tokens->token[mate].mate != (int32_t)i))
			abort();
		end = token->text + token->bytes;
	}
}

static void check_answer(const struct source_answer *answer)
{
	char name[ASSIGNED_NAME_BYTES];

	if (strlen(answer->text) >= sizeof(answer->text) ||
	    strlen(answer->type) >= sizeof(answer->type) ||
	    strlen(answer->outer) >= sizeof(answer->outer))
		abort();
	assigned_name_short(answer->text, name);
	(void)assigned_name_is_constructor(answer->text);
	(void)assigned_name_same(answer->text, answer->type);
}

static void ask(const struct tokens *tokens, struct source_place *place,
		const struct macro_source *macros)
{
	struct source_answer answer;

	if (assigned_source_read(tokens, place, &answer) == 0) {
		check_answer(&answer);
		(void)assigned_source_returns(tokens, 1, place->line, answer.text);
	}
	if (assigned_macro_read(tokens, place, macros, &answer) == 0)
		check_answer(&answer);
	(void)assigned_source_has_word(tokens, place->line, "malloc");
}

static void check_lines(const char *text, size_t bytes)
{
	enum lexer_state state = LEXER_CODE;

	while (bytes > 0) {
		const char *newline = memchr(text, '\n', bytes);
		size_t line = newline ? (size_t)(newline - text) : bytes;

		state = assigned_lex_line(state, text, line);
		text += line + (newline != NULL);
		bytes -= line + (newline != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(assigned_tokens_done) struct tokens tokens = { 0 };
	const char *text = (const char *)data + 4;
	struct source_place place = { .line = 1 };
	struct lexer_input input = { .line = 1, .most = 4096 };
	struct definition definition;
	struct macro_source macros = { find_definition, &definition };
	const char *zero;

	if (size < 4)
		return 0;
	place.line = data[0];
	place.column = data[1];
	place.callee = data[2] & 1 ? "make" : NULL;
	place.container = data[2] & 2;
	place.anywhere = data[2] & 4;
	input.text = text;
	input.bytes = size - 4;
	input.wanted = data[3];
	zero = memchr(text, '\0', input.bytes);
	definition.text = zero ? zero + 1 : text;
	definition.bytes = (size_t)((const char *)data + size - definition.text);
	if (zero)
		input.bytes = (size_t)(zero - text);
	if (assigned_lex(&input, &tokens) < 0)
		return 0;
	check_tokens(&tokens, text, input.bytes);
	check_lines(text, input.bytes);
	ask(&tokens, &place, &macros);
	return 0;
}
