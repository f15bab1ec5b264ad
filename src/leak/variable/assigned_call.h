/* SPDX-License-Identifier: MIT */
/* assigned_call.h - which call in the text of a statement a line and column mean. */
#ifndef MEMATTACH_LEAK_ASSIGNED_CALL_H
#define MEMATTACH_LEAK_ASSIGNED_CALL_H

#include "src/leak/variable/assigned_expr.h"
#include "src/leak/variable/assigned_source.h"

/* The first token of line or of a later one; the count of tokens if there is none. */
size_t assigned_call_line(const struct tokens *tokens, uint32_t line);
/* The token at exactly line and column, EXPR_NONE. */
size_t assigned_call_token(const struct tokens *tokens, uint32_t line, uint32_t column);
/* The name of the call whose ( is at open, without template arguments, or EXPR_NONE. */
size_t assigned_call_name(const struct tokens *tokens, size_t open);
/* Whether the name at i is callee, or, with NULL, an allocator's. */
bool assigned_call_is(const struct tokens *tokens, size_t i, const char *callee);
/*
 * The name of the call at place; "new" is a name, too. EXPR_NONE: there is none.
 * *ret_by_place: it is at exactly the line and column.
 */
size_t assigned_call_find(const struct tokens *tokens, const struct source_place *place,
			  bool *ret_by_place);
/* The same, only at exactly the line and column. */
size_t assigned_call_exact(const struct tokens *tokens, const struct source_place *place);

#endif
