/* SPDX-License-Identifier: MIT */
/*
 * feed.h - the analyst's side of the live screen: figures each interval, names as they become
 * known, snapshots into files that it is given. Nothing here waits for the screen.
 */
#ifndef MEMATTACH_SCREEN_FEED_H
#define MEMATTACH_SCREEN_FEED_H

#include "src/elf/elf_image.h"
#include "src/leak/findings/leak_report.h"
#include "src/base/apart.h"
#include "src/names/names.h"
#include "src/live/snapshot.h"
#include "src/report/name_shape.h"
#include "src/symbolize/symbolize.h"

/* Where names come from. Borrowed. */
struct feed_names {
	struct symbolizer *symbolizer;
	struct session_names *names;
	struct name_shaper *shaper;	/* before what is shown; NULL: none */
	bool only_wanted;		/* those asked for, anew each time; else all, once */
};

struct feed;
/* socket (taken) leads to the screen. 0 or -ENOMEM. */
int feed_new(int socket, const struct feed_names *names, struct feed **ret) _must_check_;
void feed_free(struct feed *feed);
/* Who is watched. */
void feed_begin(struct feed *feed, const struct snapshot_target *target, const char *version);
/*
 * Does what is to be done for the screen between two looks at the rings, in two milliseconds or so:
 * sends, hears, finds names. busy: the rings fill up; names are found now and then only.
 */
void feed_turn(struct feed *feed, const struct sites *sites, const struct stacks *stacks,
	       bool busy);
/* What the figures are made of. Borrowed. */
struct feed_figures {
	const struct snapshot *snapshot;
	double interval;		/* seconds */
	const struct live *live;	/* threads */
	const struct ticks *ticks;
	const struct elf_reader *memory;	/* of the target: says the threads' ids */
};
/* For the last line, until a key is pressed. */
void feed_note(struct feed *feed, const char *text);
/* The figures of an interval. Left out when the screen has not even taken the last ones. */
void feed_show(struct feed *feed, const struct feed_figures *figures);
/* True: the user wants a snapshot in a file; feed_save takes it over then. */
bool feed_wants_snapshot(const struct feed *feed);
void feed_save(struct feed *feed, struct snapshot *snapshot_take);
/* The budget that was asked for since the last call, in percent; 0: none was. */
double feed_budget(struct feed *feed);
/* True, once each time that somebody reads the recording: it is to have names. */
bool feed_wants_names(struct feed *feed);
/* True, once each time that the user asks for it: leaks are to be searched for. */
bool feed_wants_leaks(struct feed *feed);
/* What was found, as feed_put_leaks put it (bytes: it may be anything); */
void feed_leaks(struct feed *feed, const void *bytes, size_t count);
/* or why nothing was. */
void feed_no_leaks(struct feed *feed, const char *why);
/*
 * Puts report as the screen takes it; time: seconds watched at its picture. 0, -ENOMEM, -E2BIG.
 */
int feed_put_leaks(struct apart_answer *to, const struct leak_report *report, double time)
	_must_check_;
/* Nothing more comes: the screen leaves the terminal. */
void feed_end(struct feed *feed);
/* Until it has done so; two seconds at the most. pre: feed_end, and the target was left. */
void feed_await_end(struct feed *feed);

/* False: the screen is gone. */
bool feed_is_open(const struct feed *feed);
/* A snapshot is being written, names are late, or something is still to be sent. */
bool feed_is_busy(const struct feed *feed);

#endif
