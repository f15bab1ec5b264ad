/* SPDX-License-Identifier: MIT */
/* feed_private.h - what feed.c (figures), feed_names.c and feed_save.c share. */
#ifndef MEMATTACH_SCREEN_FEED_PRIVATE_H
#define MEMATTACH_SCREEN_FEED_PRIVATE_H

#include "src/screen/feed.h"
#include "src/screen/wire.h"

/* A snapshot on its way into a file: all its names are found first, bit by bit. */
struct feed_saving {
	int file;			/* -1: none is asked for */
	struct snapshot *snapshot;	/* NULL: not taken yet */
	size_t site;			/* the next to be named */
	double give_up;			/* CLOCK_MONOTONIC: then names may be missing */
};
struct feed {
	int socket;			/* -1: the screen is gone, */
	int lost;			/* and this was it: stays open, see apart_withhold */
	struct feed_names names;
	struct screen_outbox out;
	struct screen_inbox in;
	int received;			/* a descriptor that came, or -1 */
	struct screen_want want;
	bool leaks_wanted;
	double budget;			/* percent that was asked for, 0: nothing was */
	bool names_wanted;		/* in the recording */
	uint32_t stack_sent;		/* of this site */
	bool names_late;		/* some are still to be found */
	double next_slice;		/* CLOCK_MONOTONIC: names are asked for again then */
	uint8_t *named;			/* a bit for each site that was named */
	uint32_t named_room;		/* sites */
	uint32_t named_count;
	uint32_t cursor;		/* sites up to this id are named */
	double cpu_seconds, at;		/* at the last figures */
	struct feed_saving saving;
};

#define FEED_SLICE_SECONDS 0.002	/* for names, between two drains of the rings */

/* A message that is one text. Without memory it is left out. */
void feed_text(struct feed *feed, enum screen_type type, const char *text);
/* CLOCK_MONOTONIC, seconds. */
double feed_now(void);
/* At most SCREEN_MAX_THREADS of the target's threads, by what they allocated. 0 or -ENOMEM. */
int feed_put_threads(struct apart_answer *to, const struct feed_figures *figures, uint32_t count)
	_must_check_;
/*
 * Finds names for a slice, first those that can be seen. 0, -EAGAIN one takes longer, -ENOMEM.
 */
int feed_name_some(struct feed *feed, const struct sites *sites, const struct stacks *stacks);
/* Sites that are wanted are named once more. */
void feed_name_anew(struct feed *feed);
/*
 * The frames of one machine frame as symbolizer_frame gives them; NULL: not known yet, and the
 * time is over.
 */
const struct symbol_frame *feed_frame(struct feed *feed, const struct frame *frame,
				      size_t *ret_count);
/* Goes on with a snapshot that is to be written, if there is one. As feed_name_some. */
int feed_save_some(struct feed *feed, const struct stacks *stacks);
/* The file came. */
void feed_save_begin(struct feed *feed, int file_take);
void feed_saving_done(struct feed_saving *saving);

#endif
