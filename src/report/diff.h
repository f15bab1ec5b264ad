/* SPDX-License-Identifier: MIT */
/*
 * diff.h - two snapshots (JSON documents, moments of recordings), and what became of leaks and
 * sites in between.
 *
 * Groups and sites have no names that outlive a session: they are matched by their stacks
 * (function, module, line of every frame; its code, where both have the same file), groups without
 * one by type, else by size.
 */
#ifndef MEMATTACH_REPORT_DIFF_H
#define MEMATTACH_REPORT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define DIFF_MAX_BYTES (1ull << 30)	/* of a document */

enum diff_side { DIFF_OLD = 0, DIFF_NEW, DIFF_SIDES };
enum diff_change { DIFF_ADDED = 0, DIFF_GREW, DIFF_SHRANK, DIFF_GONE, DIFF_CHANGES, DIFF_SAME };
/* As in the JSON document: "new", "grew", "shrank", "gone". */
const char *diff_change_name(enum diff_change change);

enum diff_part { DIFF_LEAKS = 0, DIFF_SITES, DIFF_PARTS };

/* Texts are the diff's; NULL: unknown. Equal texts are one. */
struct diff_frame {
	const char *function, *file, *module;
	uint64_t offset;
	uint32_t line, column;
	bool inlined;
	/* Of a file that both sides have: what the frame is matched by. NULL: by its names. */
	const char *build_id;
	uint64_t code;			/* the machine frame's offset in its module; 0: unknown */
};
struct diff_amount {
	uint64_t count, bytes;			/* live, lost */
	uint64_t indirect_count, indirect_bytes;	/* leaks: lost because these are */
	uint64_t bytes_low, bytes_high;		/* sites: 95 % interval */
	/* sites: too few samples to judge; leaks: the verdict rests on such a site */
	bool too_few;
};
struct diff_entry {
	enum diff_change change;
	const char *verdict;		/* leaks: the newer one; sites: the kind */
	const char *type, *variable, *held_by, *address;	/* leaks */
	uint64_t size;			/* leaks: of each block; 0: they differ */
	struct diff_amount amount[DIFF_SIDES];
	bool estimate;			/* a site: changed if the intervals do not overlap */
	bool within;			/* the difference lies within the intervals of both */
	bool too_few;			/* a site: on either side; leaks: the verdict shown */
	int64_t growth;			/* bytes, indirect ones included */
	uint32_t frame_count;		/* 0: from before the attach, or left out by --top */
	struct diff_frame *frame;	/* innermost first */
};
struct diff_sum {
	uint64_t count, bytes;
	uint64_t low, high;	/* of bytes */
};
/* Sums of a document, in the order of diff_sum_name. */
#define DIFF_SUMS 5u
const char *diff_sum_name(size_t index);	/* "live", "definitely_lost", ... */

struct diff_document {
	const char *exe;
	int64_t pid;
	double start_time;		/* of the process */
	double time;			/* of the picture, seconds since 1970; NAN: unknown */
	bool searched;			/* memory was searched for leaks */
	bool covers_older_blocks;
	struct diff_sum sum[DIFF_SUMS];	/* all but the first: only if searched */
	uint64_t unseen;		/* bytes that a site without a sample may hold; 0: exact */
};
struct diff_list {
	size_t count;
	struct diff_entry **entry;	/* those that changed, by growth, descending */
};
struct diff_tables;
struct diff {
	struct diff_document document[DIFF_SIDES];
	/* From here on: set by diff_compare. */
	bool same_process;
	bool leaks_compared;		/* both were searched */
	bool lost_grew;			/* definitely lost memory is new or more */
	double hours;			/* between the pictures; NAN: unknown, or two processes */
	size_t sites_within;		/* differ within their intervals: not in the list */
	struct diff_list part[DIFF_PARTS];
	struct diff_tables *tables;	/* diff.c's */
};
int diff_new(struct diff **ret) _must_check_;
void diff_free(struct diff *diff);
/* A text of diff's own, one for equal texts. NULL: text is, or no memory (told by diff_compare). */
const char *diff_text(struct diff *diff, const char *text);
/*
 * Books what one side has of a group or a site, whose texts are diff_text's; frames are
 * borrowed. What has the same stack (type, size) is added up. 0 or -ENOMEM.
 */
int diff_add(struct diff *diff, enum diff_part part, enum diff_side side,
	     const struct diff_entry *like, const struct diff_amount *amount) _must_check_;
/* Once both sides are there. 0 or -ENOMEM. */
int diff_compare(struct diff *diff) _must_check_;
/*
 * Sets unseen of document: no sample in interval bytes (0: every allocation was recorded) leaves
 * room for so much. pre: its sums are there.
 */
void diff_set_unseen(struct diff_document *document, uint64_t interval);
/* Do the intervals of a sum overlap, and its figures differ? */
bool diff_sum_within(const struct diff *diff, size_t index);
/* Does a site rest on too few samples, by its verdict (NULL: unknown)? */
bool diff_is_too_few(const char *verdict);
/* Bytes an hour; NAN unknown. */
double diff_rate(const struct diff *diff, int64_t growth);

#define DIFF_PROBLEM_BYTES 512u
/*
 * Reads the document at path as one side. 0; -EBADMSG it is no document of ours, -EFBIG larger
 * than DIFF_MAX_BYTES, -ENOMEM, -errno: ret_problem says what, with file and byte.
 */
int diff_read(struct diff *diff, enum diff_side side, const char *path,
	      char ret_problem[DIFF_PROBLEM_BYTES]) _must_check_;

#endif
