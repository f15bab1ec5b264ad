/* SPDX-License-Identifier: MIT */
/*
 * events.h - what memattachd has to say of a process, for people and for programs: one message of
 * the journal each, with fields (memattachd(8)), or a line of the log where there is no journal.
 */
#ifndef MEMATTACH_DAEMON_EVENTS_H
#define MEMATTACH_DAEMON_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

/* Names and MESSAGE_IDs are for good: programs look for them. New ones go to the end. */
enum event_kind {
	EVENT_WATCHED = 0,	/* its session has begun */
	EVENT_LEFT,		/* it was left as it was */
	EVENT_ENDED,		/* it has ended, or become another program */
	EVENT_REFUSED,		/* it can't be watched; nothing was touched */
	EVENT_DORMANT,		/* something of ours is left in it */
	EVENT_FAILED,		/* its session has ended for another reason */
	EVENT_CLEANED,		/* what a killed session had left in it is out */
	EVENT_GROWTH,		/* of its figures: docs/EVENTS.md */
	EVENT_PLATEAU,
	EVENT_LEAK,
	EVENT_BUDGET,
	EVENT_LOSS,
	EVENT_KINDS
};

#define EVENT_NUMBERS	6u

/* Said as the field, and in the environment, MEMATTACH_NAME=value. */
struct event_number {
	const char *name;
	uint64_t value;
};

struct daemon_event {
	enum event_kind kind;
	pid_t pid;
	const char *name;	/* the process's */
	const char *rule;
	const char *recording;	/* path; NULL: there is none */
	const char *text;	/* one line for people, without pid and name */
	const struct event_number *number;
	size_t numbers;		/* EVENT_NUMBERS at the most */
};

/* "watched", "refused", ... */
const char *event_name(enum event_kind kind);
/* 32 hexadecimal digits. */
const char *event_message_id(enum event_kind kind);
/* To the journal, if that is where stderr goes; else to stderr. */
void event_tell(const struct daemon_event *event);

#endif
