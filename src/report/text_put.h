/* SPDX-License-Identifier: MIT */
/* text_put.h - lines that several reports for people share. Not for callers of reports. */
#ifndef MEMATTACH_REPORT_TEXT_PUT_H
#define MEMATTACH_REPORT_TEXT_PUT_H

#include "src/report/report.h"
#include "src/report/style.h"

#define TEXT_DEFAULT_TOP 10u

/* "  label     ", so that what follows lines up. label comes from us. */
void text_put_label(FILE *out, const char *label);
/* A function's name, no longer than a line can take (frame_name_fit); and in place. */
void text_put_name(FILE *out, const char *name);
void text_fit_name(char *name);
/* Any bytes, made harmless for a terminal. */
void text_put_printable(FILE *out, const char *text);
/* Text of the target between quotes, after words of ours. NULL: nothing. */
void text_put_quoted(FILE *out, const char *words, const char *text);
/* "s" unless count is 1. */
const char *text_plural(uint64_t count);
/*
 * When that was allocated which nobody saw: "before the attach", or of a program that was started
 * to be watched "before the program began", by its dynamic loader.
 */
const char *text_before(const struct snapshot *snapshot);
/* What one thing of a site of that kind is called. */
const char *text_kind(enum site_kind kind);
/* "3.20 MiB in 1,024 blocks" */
void text_put_blocks(FILE *out, uint64_t bytes, uint64_t count);
/* Of count things: as many as options.top says, or TEXT_DEFAULT_TOP. */
size_t text_shown(const struct report_options *options, size_t count);
/* The function, or what is known instead. To be freed; NULL: out of memory. */
char *text_frame_title(const struct symbol_frame *symbol, const struct frame *frame);
/* A path without its folders: a part of it. */
const char *text_base_name(const char *path);
/* file:line:column, or the module without its folders, or both. */
void text_put_location(FILE *out, const struct symbol_frame *symbol);
/* A line of a stack. */
void text_put_frame(FILE *out, const struct style *style, const struct symbol_frame *symbol,
		    const struct frame *frame);
/* A line a frame, innermost first, and whether that is all of it. */
void text_put_stack(FILE *out, const struct report_input *input, const struct snapshot_site *site);
/* NULL: not among the snapshot's. */
const struct snapshot_site *text_site_by_id(const struct snapshot *snapshot, uint32_t id);

#endif
