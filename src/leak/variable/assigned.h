/* SPDX-License-Identifier: MIT */
/*
 * assigned.h - the variable, and its type, that an allocation is assigned to.
 *
 * From the stack of the allocation alone: from the source text of the call where there is
 * any, else from the instructions after it and debug information, else from symbols.
 */
#ifndef MEMATTACH_LEAK_ASSIGNED_H
#define MEMATTACH_LEAK_ASSIGNED_H

#include "src/modules/modules.h"
#include "src/modules/stacks.h"
#include "src/symbolize/symbolize.h"

enum assigned_how {
	ASSIGNED_UNKNOWN = 0,
	ASSIGNED_BY_SOURCE,	/* the text of the statement */
	ASSIGNED_BY_CODE,	/* the instructions and debug information */
	ASSIGNED_BY_SYMBOL,	/* the instructions and the symbol of static data */
};
enum assigned_kind {
	ASSIGNED_NOTHING = 0,
	ASSIGNED_VARIABLE,	/* "s->buf", "table[i].next", "g_cache" */
	ASSIGNED_RETURN,	/* "return value of make_node": what its caller does is not known */
	ASSIGNED_ARGUMENT,	/* "argument of push_back" */
};
struct assigned {
	enum assigned_how how;
	enum assigned_kind kind;
	uint32_t frame;		/* index in the frames that were asked about */
	uint32_t level;		/* index in symbolizer_frame()'s list for it */
	char variable[160];	/* as a person would write it, "" unknown */
	char type[128];		/* of the variable: "struct node *", "" unknown */
	uint64_t element_bytes;	/* size of what it points to; 0: unknown, or void */
};
/*
 * False when a block of these bytes (as they were asked for) is no whole number of what the
 * variable points to: then the type is a guess.
 */
bool assigned_fits(const struct assigned *assigned, uint64_t bytes);

struct assigned_options {
	const char *source_root;	/* where to look for source files, too; copied; NULL */
	bool no_source, no_code;	/* leave this way out */
};
struct assigned_stats {
	uint64_t asked, named;
	uint64_t by_source, by_code, by_symbol;	/* of the named ones */
	uint64_t both, disagreed;	/* source and code had a name; they were not the same */
	uint64_t stale;		/* a source file was there, and not what was compiled */
};

struct assigned_finder;
/* Borrows modules and symbolizer; options may be NULL. 0 or -ENOMEM. */
int assigned_finder_new(struct modules *modules, struct symbolizer *symbolizer,
			const struct assigned_options *options,
			struct assigned_finder **ret) _must_check_;
void assigned_finder_free(struct assigned_finder *finder);
/*
 * Frames: innermost first, the allocator's own left out. Through wrappers that return what they
 * allocate it goes up to the first caller that keeps it. 0 (ret->how says whether anything was
 * found) or -ENOMEM. Some ms the first time for each compile unit.
 */
int assigned_find(struct assigned_finder *finder, const struct frame *frame, uint32_t count,
		  struct assigned *ret) _must_check_;
void assigned_finder_stats(const struct assigned_finder *finder, struct assigned_stats *ret);

#endif
