/* SPDX-License-Identifier: MIT */
/* assigned_lexer.h - C and C++ text as words and marks, good enough to read one statement. */
#ifndef MEMATTACH_LEAK_ASSIGNED_LEXER_H
#define MEMATTACH_LEAK_ASSIGNED_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

enum token_kind {
	TOKEN_WORD,	/* identifier or keyword */
	TOKEN_NUMBER,
	TOKEN_STRING,	/* "..." or '...', with its prefix */
	TOKEN_MARK,	/* operator or punctuation, the longest that fits; a template's >> is two */
};
struct token {
	const char *text;	/* in the text that was lexed, not terminated */
	uint32_t bytes;
	uint32_t line, column;	/* from 1; columns count bytes, as compilers do */
	enum token_kind kind;
	int32_t mate;		/* index of the matching bracket; -1: none, or no bracket */
};
struct tokens {
	struct token *token;	/* owned */
	size_t count, room;
};
struct lexer_input {
	const char *text;	/* begins at the start of a line, outside of comments and strings */
	size_t bytes;
	uint32_t line;		/* number of the first line */
	uint32_t wanted;	/* of #if ... #else, the branch with this line; else the first */
	size_t most;		/* tokens */
};

/*
 * Adds the tokens of the input to ret (zeroed, or from an earlier call, whose room is used
 * again). Preprocessor lines and comments are left out. Any bytes are accepted. 0 or -ENOMEM.
 */
int assigned_lex(const struct lexer_input *input, struct tokens *ret) _must_check_;
void assigned_tokens_done(struct tokens *tokens);
/* True if token i exists and is exactly text. */
bool assigned_token_is(const struct tokens *tokens, size_t i, const char *text);
/*
 * Where the text is at the end of a line that began in this state. For finding places
 * from which assigned_lex may start: only at LEXER_CODE.
 */
enum lexer_state { LEXER_CODE = 0, LEXER_COMMENT, LEXER_CONTINUED };
enum lexer_state assigned_lex_line(enum lexer_state state, const char *line, size_t bytes);

#endif
