/* SPDX-License-Identifier: MIT */
/*
 * caller.h - the one frame that stands for a stack where there is room for one: the innermost
 * function that does not merely allocate for its own caller.
 *
 * This is the only place that knows such functions: lines of the plain screen, columns of the live
 * one, blocks, the log of calls, leak groups, comparisons, metrics, documents and exports ask here.
 * Stacks that are shown whole keep all their frames.
 */
#ifndef MEMATTACH_VIEW_CALLER_H
#define MEMATTACH_VIEW_CALLER_H

#include "src/report/report.h"

/* A function as some list of frames has it. Texts are borrowed; NULL or "": unknown. */
struct caller_function {
	const char *function;		/* demangled or not, with or without parameters */
	const char *module, *file;	/* path; file: of the source, or of the symbol (line 0) */
	uint32_t line;
};
struct caller_function caller_function_of(const struct symbol_frame *symbol);

/*
 * True for each form of operator new, of a class too, and for functions of the C library that
 * return memory which they allocate: strdup, asprintf, getline, realpath and their like.
 */
bool caller_is_helper(const struct caller_function *function);

/* True for the C library's file and the C++ runtime's, where such functions lie. */
bool caller_is_library(const char *module);

/* A walk along the frames of one stack, innermost first. Zeroed at the beginning. */
struct caller_search {
	uint32_t seen;
	uint32_t found;		/* the index of the frame that stands for those seen so far */
	bool ended;		/* frames farther out change nothing any more */
};
/* Takes the next frame. False: the search has ended, found stays. */
bool caller_search_next(struct caller_search *search, const struct caller_function *function);
/* Takes the next count frames, those of one machine frame, until the search has ended. */
void caller_search_frames(struct caller_search *search, const struct symbol_frame *symbol,
			  size_t count);
/* The index of the frame that stands for them all; 0 if all of them are helpers. */
uint32_t caller_search_found(const struct caller_search *search);

/* A frame with the machine frame that it is of. */
struct caller {
	const struct symbol_frame *symbol;	/* NULL: the stack has no frame from there on */
	const struct frame *machine;
};
/* The caller among the frames of stack from machine frame `from` on. Borrowed as names->frame's. */
struct caller caller_of_stack(const struct report_names *names, const struct stack *stack,
			      uint32_t from);

#endif
