/* SPDX-License-Identifier: MIT */
/*
 * assigned_expr.h - pieces of C and C++ expressions, read from right to left.
 *
 * Positions are indices into the tokens; "none" is EXPR_NONE. All of it is guesswork without
 * a parser's knowledge of types, made to fail towards "none".
 */
#ifndef MEMATTACH_LEAK_ASSIGNED_EXPR_H
#define MEMATTACH_LEAK_ASSIGNED_EXPR_H

#include "src/leak/variable/assigned_lexer.h"

#define EXPR_NONE	SIZE_MAX

/* What stands at i: the token's character if it is a mark of one, else 0. */
char expr_mark(const struct tokens *tokens, size_t i);
/* True if token i is a mark of one character, one of those in set. */
bool expr_is_mark(const struct tokens *tokens, size_t i, const char *set);
/* True if token i is a word; keywords are words too. */
bool expr_is_word(const struct tokens *tokens, size_t i);
/* True if token i is one of the NULL-terminated words. */
bool expr_is_one_of(const struct tokens *tokens, size_t i, const char *const *words);
/* A word that can't be a name or a type: return, if, else, ... */
bool expr_is_statement_word(const struct tokens *tokens, size_t i);
/* The operator new, not a variable of that name. */
bool expr_is_new(const struct tokens *tokens, size_t i);
/* The < of the template arguments that end with the > at close, or EXPR_NONE. */
size_t expr_template_open(const struct tokens *tokens, size_t close);
/* The > of the template arguments that begin with the < at open, or EXPR_NONE. */
size_t expr_template_close(const struct tokens *tokens, size_t open);
/* The innermost bracket that is open before i, or EXPR_NONE when a statement begins first. */
size_t expr_enclosing(const struct tokens *tokens, size_t i);
/*
 * Where the name whose last word is at last begins: a.b->c::d(x)[y].e gives a. last may also
 * be a closing bracket.
 */
size_t expr_begin(const struct tokens *tokens, size_t last);
/* True if the parentheses that end at close are a cast. */
bool expr_is_cast(const struct tokens *tokens, size_t close);
struct expr_target {
	char text[128];		/* "*s->p", "a[i]" */
	char type[128];		/* of a declaration: "struct node *", else "" */
	size_t begin;
	bool declared;
	bool plain;		/* a single word */
};
/* What stands left of the = (or += ...) at assign; false: no lvalue. */
bool expr_target(const struct tokens *tokens, size_t assign, struct expr_target *ret);
/* The same for the name at last of a declaration that is initialized by brackets: T name(...). */
bool expr_declared(const struct tokens *tokens, size_t last, struct expr_target *ret);
/* Tokens [begin, end) as people write them, cut to bytes. */
void expr_text(const struct tokens *tokens, size_t begin, size_t end, char *text, size_t bytes);

#endif
