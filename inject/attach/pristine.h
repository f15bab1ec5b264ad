/* SPDX-License-Identifier: MIT */
/*
 * pristine.h - is the target as it was? A snapshot before, one after, and the differences.
 *
 * A snapshot holds every mapping, the private pages of all code and read-only
 * data of modules (count and content), descriptors, threads with their signal
 * masks and tracers. It changes nothing and stops nothing.
 *
 * Of a busy target only that is a difference which it can't have done itself, or
 * which would be ours to undo: what of a file is mapped where, bytes or private copies
 * of code and read-only data (but for how many pages of a library's data the loader has
 * relocated), a tracer, anything named memattach. The rest it may have changed on its
 * own and is a note: the protection of a mapping, too, as memattach changes none. Of a
 * quiet target all of it is a difference. Where others may be at work in the target, a debugger
 * or the program itself, bytes and copies of code and another's tracing are notes as well.
 */
#ifndef MEMATTACH_PRISTINE_H
#define MEMATTACH_PRISTINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/base/cleanup.h"
#include "src/base/pidref.h"

struct pristine;

/* 0 and *ret (the caller's to free), -ESRCH target gone, -EACCES, -ENOMEM, -errno. */
int pristine_take(const struct pidref *target, struct pristine **ret) _must_check_;
/*
 * Likewise, but the count pages at the addresses in page count as the file's own whatever they are:
 * those that were when the snapshot before was taken, and that the target wrote to since.
 */
int pristine_take_without(const struct pidref *target, const uint64_t *page, size_t count,
			  struct pristine **ret) _must_check_;
/* Accepts NULL. */
void pristine_free(struct pristine *pristine);

struct pristine_diff {
	uint32_t differences, notes; /* all that were found, also those that text had no room for */
	char text[4096];             /* the differences on one line, "; " between them */
	char note_text[4096];        /* likewise the notes */
};
/* What counts as a difference, from the most on. */
enum pristine_strictness {
	PRISTINE_QUIET,		/* everything */
	PRISTINE_BUSY,		/* what the target can't have done itself */
	PRISTINE_SHARED,	/* what nobody but this process can have done */
};
/* 0: as before; 1: ret->differences. ret is always filled. */
int pristine_compare(const struct pristine *before, const struct pristine *after,
		     enum pristine_strictness strictness, struct pristine_diff *ret) _must_check_;

/* Writes it as text, one fact a line. 0 or -EIO. */
int pristine_write(const struct pristine *pristine, FILE *file) _must_check_;
/* Reads that back: 0 and *ret, -EBADMSG not such a file, -ENOMEM. */
int pristine_read(FILE *file, struct pristine **ret) _must_check_;

#endif
