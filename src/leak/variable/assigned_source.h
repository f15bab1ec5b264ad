/* SPDX-License-Identifier: MIT */
/* assigned_source.h - what a call's result is assigned to, from the text of its statement. */
#ifndef MEMATTACH_LEAK_ASSIGNED_SOURCE_H
#define MEMATTACH_LEAK_ASSIGNED_SOURCE_H

#include "src/leak/variable/assigned_lexer.h"

enum source_kind {
	SOURCE_UNUSED = 0,	/* the result goes nowhere that can be named */
	SOURCE_VARIABLE,	/* text: "s->buf" */
	SOURCE_RETURN,		/* it is what the function returns */
	SOURCE_ARGUMENT,	/* text: the function that gets it */
};
struct source_answer {
	enum source_kind kind;
	char text[128];
	char outer[128];	/* of "outer = text = call": the other variable; else "" */
	char type[128];		/* as far as the statement tells, "" unknown */
	bool plain;		/* text is a single word: maybe a local variable */
	bool by_name;		/* the statement calls the callee that was asked for */
	bool by_place;		/* there is a call at exactly the line and column asked for */
};
struct source_place {
	uint32_t line, column;	/* of the call; column 0: unknown */
	const char *callee;	/* name without its parameters and scope; NULL: an allocator, any */
	bool container;		/* a library's container allocates: the object is asked for */
	bool anywhere;		/* the callee is searched in all of the tokens */
};
/* 0, or -ENOENT: there is no call there (the text is not what was compiled, or a macro's). */
int assigned_source_read(const struct tokens *tokens, const struct source_place *place,
			 struct source_answer *ret) _must_check_;
/*
 * True if after token i of the function that begins at line first there is a
 * "return NAME;" before the function ends.
 */
bool assigned_source_returns(const struct tokens *tokens, uint32_t first, uint32_t line,
			     const char *name);
/* True if line has name as a word: a sign that text and binary belong together. */
bool assigned_source_has_word(const struct tokens *tokens, uint32_t line, const char *name);

#endif
