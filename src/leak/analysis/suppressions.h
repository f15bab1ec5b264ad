/* SPDX-License-Identifier: MIT */
/*
 * suppressions.h - leaks that the user knows of and does not want to hear about.
 *
 * Files in LeakSanitizer's syntax: a line is leak:PATTERN, empty, or a comment (#). PATTERN may
 * stand anywhere in the name of a function, source file or module of any frame; * stands for
 * anything, ^ at its beginning and $ hold it to the ends of the name.
 */
#ifndef MEMATTACH_LEAK_SUPPRESSIONS_H
#define MEMATTACH_LEAK_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"
#include "src/symbolize/symbolize.h"

#define SUPPRESSIONS_MAX_BYTES	(4u << 20)	/* of one file */
#define SUPPRESSIONS_MAX_RULES	65536u

/* What is wrong with a file, for people. */
struct suppressions_error {
	uint32_t line;		/* from 1; 0: the file as a whole */
	char text[120];
};
struct suppression {
	const char *pattern;	/* as in the file, without "leak:" */
	uint32_t file, line;	/* file: number of the suppressions_read that brought it, from 0 */
	uint64_t count, bytes;	/* see suppressions_hit */
};

struct suppressions;
/* 0 or -ENOMEM. */
int suppressions_new(struct suppressions **ret) _must_check_;
void suppressions_free(struct suppressions *suppressions);
/*
 * Adds the rules of a file, behind those that are there. fd is read from where it stands to
 * its end and stays the caller's. All of the file or nothing: 0; -EINVAL (a bad line), -EFBIG,
 * -ENOMEM, -errno, with *ret_error (may be NULL) set.
 */
int suppressions_read(struct suppressions *suppressions, int fd,
		      struct suppressions_error *ret_error) _must_check_;
/* The same from length bytes of text. */
int suppressions_parse(struct suppressions *suppressions, const char *text, size_t length,
		       struct suppressions_error *ret_error) _must_check_;
/*
 * The number (from 1) of the rule that suppresses a leak with this stack, 0: none. frames:
 * innermost first, inline frames included; each machine frame is tried by its module,
 * then by function and file of its source frames, each against all rules in their order.
 */
size_t suppressions_match(const struct suppressions *suppressions,
			  const struct symbol_frame *frame, size_t count);
/* Books count leaks of together bytes under the rule; 0 is ignored. */
void suppressions_hit(struct suppressions *suppressions, size_t rule, uint64_t count,
		      uint64_t bytes);
/* Every rule in order, unused ones too, until each returns not 0, which is then the result. */
int suppressions_each(const struct suppressions *suppressions,
		      int (*each)(void *context, const struct suppression *rule), void *context);
/* Sum over all rules: what was suppressed. *ret_bytes may be NULL. */
uint64_t suppressions_sum(const struct suppressions *suppressions, uint64_t *ret_bytes);
/* Does text match pattern? An empty or missing text matches nothing. */
bool suppressions_matches(const char *pattern, const char *text);

#endif
