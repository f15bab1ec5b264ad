/* SPDX-License-Identifier: MIT */
/*
 * shadow.h - what a thread remembers of its last walk (shadow.c), in the shared mapping.
 *
 * Frames lie outermost first, so that the inner ones change at the end. A frame is a return
 * address and the slot that holds it, with rsp, rbp and rbx as they are after that return.
 */
#ifndef MEMATTACH_SHADOW_H
#define MEMATTACH_SHADOW_H

#include "inject/abi/rules_abi.h"
#include "inject/shim/paths.h"

#define SHADOW_FRAMES	1024u	/* as many as the analyst's walk shows */
#define SHADOW_CHECKS	192u
#define SHADOW_KNOWN	128u	/* places for paths known to be told */
#define SHADOW_MEMOS	128u	/* walks remembered as a whole (recall.c), */
#define SHADOW_WAYS	4u	/* each in one of so many places */
#define MEMO_FRAMES	56u
#define MEMO_GROUP	4u	/* frames that are compared at a time */
#define MEMO_CHECKS	6u

struct shadow_frame {
	uint64_t slot;		/* address of the return address */
	uint64_t ra;
};
/* The rest of a frame: what is looked at only where a walk joins. */
struct shadow_state {
	uint64_t rbp, rbx;
	uint64_t name;		/* of the path from the outermost frame to this one */
	uint16_t checks;	/* of check[], those that this frame and its callers need */
	uint8_t live_rbp;	/* the walk from here on depends on rbp; on rbx */
	uint8_t live_rbx;
	uint32_t reserved;
};
/* A word, other than a return address, that the walk from a frame outwards depends on. */
struct shadow_check {
	uint64_t address, value;
};
/* A frame of the walk at work, innermost first. */
struct shadow_new {
	uint64_t slot, ra, rbp, rbx;
	struct rules_rule rule;
};

RING_ASSERT(MEMO_FRAMES % MEMO_GROUP == 0, "groups are filled up");

/* Return addresses, and bytes from sp to each. Compared at a time (recall.c). */
struct shadow_group {
	uint64_t ra[MEMO_GROUP];
	uint32_t at[MEMO_GROUP];
};

/* A whole walk: what it found, and all that it depended on. */
struct shadow_memo {
	uint64_t generation, epoch;	/* as below */
	uint64_t name;
	uint64_t rbp, rbx;		/* at the call; they matter if live */
	uint32_t groups, checks;
	bool live_rbp, live_rbx;
	uint64_t sp;
	uint64_t reach;			/* bytes from it to the end of the outermost one */
	/* Innermost first; the outermost one again fills the last group. */
	struct shadow_group group[MEMO_FRAMES / MEMO_GROUP];
	struct shadow_check check[MEMO_CHECKS];
};

struct shadow {
	uint64_t owner;		/* thread pointer, + SHADOW_BUSY while it is at work; 0: free */
	uint64_t used;		/* control.deadline when last used */
	uint64_t generation;	/* of the rules that all below was made with */
	uint64_t epoch;		/* control.path_epoch, likewise */
	uint64_t verify;	/* calls to the next one that goes with its copy */
	uint32_t frames, checks;
	bool truncated;		/* the outermost frame is not the thread's start, */
	bool deep;		/* but only the last one that there is room for */
	struct shadow_frame frame[SHADOW_FRAMES];
	struct shadow_state state[SHADOW_FRAMES];
	struct shadow_check check[SHADOW_CHECKS];
	uint64_t known[SHADOW_KNOWN];
	uint64_t last;		/* name of the last path; 0: none */
	uint32_t recall_fails;	/* in a row, of late */
	uint32_t recall_rest;	/* calls until one is tried again */
	uint64_t memo_key[SHADOW_MEMOS];
	uint32_t memo_turn;
};
#define SHADOW_BUSY 1ull

/* For the walk at work there is no room on the thread's stack; it lies behind the shadow. */
struct shadow_place {
	struct shadow shadow;
	struct shadow_new work[SHADOW_FRAMES];
	struct shadow_memo memo[SHADOW_MEMOS];
};
RING_ASSERT(sizeof(struct shadow_place) <= RING_SHADOW_BYTES, "a shadow fits its place");

/*
 * This thread's shadow, its own until shadow_close; NULL: there is none free near its place, or
 * it is at work already (this is a signal handler on top of it, or one that left it by longjmp).
 */
struct shadow_place *shadow_open(struct ring_control *control, uint64_t thread);
void shadow_close(struct shadow_place *place, uint64_t thread);

/*
 * The walk that a call at sp with return address ra most likely repeats: by what came after the
 * thread's last path before. 0: where so few walks come again that none is looked for.
 */
uint64_t shim_recall_key(struct shadow *shadow, uint64_t sp, uint64_t ra);
/*
 * The name of a told path that is all of call's stack, which may be read up to high; 0: none is
 * known to be.
 */
uint64_t shim_recall(const struct ring_control *control, struct shadow_place *place,
		     const struct shim_call *call, uint64_t high, uint64_t generation,
		     uint64_t key);
/* The walk that the shadow holds now, of a told path, may come again. */
void shim_recall_add(struct shadow_place *place, uint64_t key, uint64_t name);

/* The published generation that holds for the modules that are mapped now; 0: none. */
uint64_t shim_rules_generation(const struct ring_control *control);
/*
 * The rule for return address ra, RULES_COPY if there is none. Stays inside the published memory
 * whatever it holds.
 */
const struct rules_rule *shim_rule_find(struct ring_control *control, uint64_t generation,
					uint64_t ra);

/*
 * Makes path, which shadow's frames are, known to the reader, if it is not yet. NOT_TOLD: there
 * was no room for its record.
 */
enum shim_tell { SHIM_NOT_TOLD, SHIM_TOLD_NOW, SHIM_TOLD_BEFORE };
enum shim_tell shim_path_tell(struct ring_control *control, const struct shim_call *call,
			      struct shadow *shadow, uint64_t path, bool truncated);

#endif
