/* SPDX-License-Identifier: MIT */
/*
 * wire.h - what analyst and screen say to each other, over one stream socket.
 *
 * Both are the same program, so structs cross as they are; neither believes the other. Figures
 * are estimates already scaled; bytes, blocks, seconds.
 */
#ifndef MEMATTACH_SCREEN_WIRE_H
#define MEMATTACH_SCREEN_WIRE_H

#include <stdint.h>

#include "src/base/apart.h"

#define SCREEN_MAX_BYTES	(4u << 20)	/* of one message */
#define SCREEN_MAX_SITES	16384u
#define SCREEN_MAX_POINTS	256u
#define SCREEN_MAX_THREADS	1024u
#define SCREEN_MAX_FRAMES	128u
#define SCREEN_MAX_WANTED	256u
#define SCREEN_MAX_GROUPS	512u
#define SCREEN_GROUP_TEXTS	4u
#define SCREEN_GROUP_ADDRESSES	4u

enum screen_type {
	SCREEN_TARGET = 1,	/* int32_t pid; texts: command line, program, version */
	SCREEN_STATE,		/* struct screen_state and its arrays */
	SCREEN_NAMES,		/* for each: uint32_t site; texts: function, place */
	SCREEN_STACK,		/* uint32_t site, count, left out; texts: function, place */
	SCREEN_NOTE,		/* text for the last line; from the front, too */
	SCREEN_SAVED,		/* struct screen_saved */
	/* from the screen: */
	SCREEN_WANT,		/* struct screen_want */
	SCREEN_SAVE,		/* to the front: open a file; to the analyst, with a descriptor:
				   the next snapshot is to be written there */
	SCREEN_LEAKS,		/* search for leaks, and go on */
	SCREEN_BUDGET,		/* double: percent of the target's time that may be spent */
	SCREEN_UNSAVED,		/* to the front: the last file was not written, or not whole */
	/* from the front: */
	SCREEN_FILE,		/* text: a new file's name; its descriptor comes with it */
	/* from the analyst, an answer to SCREEN_LEAKS: */
	SCREEN_LEAKS_FOUND,	/* struct screen_leaks, a text, its groups */
	SCREEN_LEAKS_NONE,	/* text: why there is no answer */
	/* from memattachd: */
	SCREEN_NAME_RECORDING,	/* somebody reads the recording: it is to have names by now */
};
struct screen_header {
	uint32_t type, bytes;	/* enum screen_type; of what follows */
};

enum screen_mode { SCREEN_ADAPTIVE = 0, SCREEN_SAMPLED, SCREEN_EXACT, SCREEN_COUNTS };

/* Followed by point_count, site_count, thread_count of the structs below. */
struct screen_state {
	double time;			/* seconds watched */
	double interval;		/* seconds from one of these to the next */
	double alloc_rate, free_rate, byte_rate;	/* a second, in the last interval */
	double alloc_rate_low, alloc_rate_high;		/* 95 %; equal: exact */
	double byte_rate_low, byte_rate_high;
	double alloc_rate_average;			/* since the session began */
	double overhead_percent;	/* negative: not measured */
	double analyst_cpu;		/* share of one CPU; negative: not known yet */
	double blocked_seconds, gap_seconds;
	uint64_t live_bytes, live_count, peak_bytes, rss_bytes;
	uint64_t live_low, live_high;	/* 95 %; equal: exact */
	uint64_t alloc_count, alloc_bytes, free_count;
	uint64_t alloc_count_low, alloc_count_high;	/* 95 %; equal: exact */
	uint64_t alloc_bytes_low, alloc_bytes_high;
	uint64_t free_count_low, free_count_high;
	uint64_t sample_interval;	/* bytes; 0: every event */
	uint64_t attach_stop_us;
	uint64_t lost_alloc, lost_free, lost_stack, lost_map, corrupt, gaps;
	uint64_t sites_total;		/* those without a row included */
	uint32_t mode;			/* enum screen_mode */
	uint32_t every_alloc;		/* temporary blocks are known */
	uint32_t point_count, site_count, thread_count;
	uint32_t threads_total;		/* those without a row included */
	uint32_t partial;		/* 1: functions of an allocator are not hooked */
	uint32_t reserved;
};
struct screen_point {
	double time;
	uint64_t live_bytes, rss_bytes;
};
struct screen_site {
	uint32_t id;
	uint32_t growing;		/* and not by chance; or, */
	uint32_t too_few;		/* samples, to say whether it does */
	uint64_t live_bytes, live_count, alloc_bytes, alloc_count, temporary_count;
	uint64_t live_low, live_high;	/* 95 %; equal: exact */
	double growth;			/* bytes a second */
	double first_time, last_time;	/* of its events, seconds since the session began */
};
struct screen_thread {
	uint32_t number;		/* as they were first seen */
	uint32_t tid;			/* 0: not known */
	uint64_t alloc_count, alloc_bytes, free_count;
	uint64_t freed_others;		/* blocks that another thread allocated */
	double last_time;
};
struct screen_want {
	uint32_t stack;			/* of this site; 0: none */
	uint32_t count;
	uint32_t site[SCREEN_MAX_WANTED];	/* that are to be seen: named first */
};

struct screen_saved {
	int32_t error;			/* 0 or -errno */
	uint32_t sites;
	uint64_t bytes;
};

enum screen_leak_kind {
	SCREEN_DEFINITELY = 0, SCREEN_INDIRECTLY, SCREEN_POSSIBLY, SCREEN_REACHABLE,
	SCREEN_SUPPRESSED, SCREEN_LEAK_KINDS
};
enum screen_verdict {
	SCREEN_LOST = 0, SCREEN_MAYBE_LOST, SCREEN_STUCK, SCREEN_GROWING, SCREEN_OLD,
	SCREEN_VERDICTS
};
/*
 * What a search for leaks found. Followed by a text (what it does not cover, "" nothing), and
 * group_count of struct screen_group with SCREEN_GROUP_TEXTS texts each: type, variable, what
 * holds it, what named it last; NULL unknown.
 */
struct screen_leaks {
	double time;			/* of its picture: seconds watched */
	double seconds;			/* that the search took */
	uint64_t pause_us, scanned_bytes;
	struct { uint64_t count, bytes; } kind[SCREEN_LEAK_KINDS];
	uint32_t group_count;
	uint32_t groups_total;		/* those left out included */
	uint32_t early;			/* sites of which it is too early to tell */
	uint32_t reserved;
};
struct screen_group {
	uint32_t verdict;		/* enum screen_verdict */
	uint32_t site;			/* 0: allocated before the attach, or not sampled */
	uint32_t likely_site;		/* the only one that allocates such blocks; 0: none */
	uint32_t address_count;
	uint64_t count, bytes;
	uint64_t indirect_count, indirect_bytes;
	uint64_t size;			/* of each; 0: they differ */
	double oldest;			/* seconds ago; negative: not known */
	uint64_t address[SCREEN_GROUP_ADDRESSES];
};

/* What is being received: fed in pieces, as they come. */
struct screen_inbox {
	struct screen_header header;
	size_t got;			/* of header and bytes */
	char *bytes;			/* SCREEN_MAX_BYTES; allocated at the first message */
};
void screen_inbox_done(struct screen_inbox *inbox);
/*
 * Reads from socket without waiting, at the most to the end of a message. 1 one is there:
 * inbox->header and ->bytes until the next call; 0 not yet; -EPIPE the other side is gone;
 * -EBADMSG it speaks nonsense; -ENOMEM. ret_fd: a descriptor that came along (the caller's;
 * an earlier one is closed), may be NULL: then none is taken.
 */
int screen_receive(int socket, struct screen_inbox *inbox, int *ret_fd) _must_check_;

/* What waits to be sent. */
struct screen_outbox {
	struct apart_answer bytes;
	size_t sent, begun;		/* begun: of the message that is being put */
};
void screen_outbox_done(struct screen_outbox *outbox);
size_t screen_outbox_waiting(const struct screen_outbox *outbox);
/*
 * Begins a message; what is put into outbox->bytes until screen_outbox_end belongs to it, and is
 * taken back there if error is not 0. 0, error, -E2BIG, -ENOMEM.
 */
int screen_outbox_begin(struct screen_outbox *outbox, enum screen_type type) _must_check_;
int screen_outbox_end(struct screen_outbox *outbox, int error);
/* Sends what the other side has room for; never waits. 0 or -EPIPE. */
int screen_send(int socket, struct screen_outbox *outbox) _must_check_;
/* What waits, with a descriptor (borrowed). 0, -EAGAIN no room for all of it, -EPIPE. */
int screen_send_fd(int socket, struct screen_outbox *outbox, int fd) _must_check_;

#endif
