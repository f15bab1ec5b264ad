/* SPDX-License-Identifier: MIT */
/*
 * recognition.h - stacks that the shim knows by name: what the analyst does for it
 * (docs/RECOGNITION.md). Rules out, paths in, and an audit for ever.
 */
#ifndef MEMATTACH_RECOGNITION_H
#define MEMATTACH_RECOGNITION_H

#include "src/recognition/rule_table.h"
#include "src/ring/event.h"
#include "src/modules/stacks.h"
#include "src/unwind/unwind.h"

#define RECOGNITION_VERIFY 65536u	/* one in so many is audited, if nothing else is said */

struct recognition_input {
	struct ring_control *control;
	size_t mapped_bytes;		/* of the shared memory */
	struct stacks *stacks;		/* all borrowed */
	struct modules *modules;
	struct unwinder *unwinder;
	uint64_t verify;		/* every so many stacks; 0: none */
	/* Reads the maps once more: 0 nothing changed, 1 something did, -errno. */
	int (*look_again)(void *context);
	void *context;
};
struct recognition_stats {
	uint64_t recognised;	/* events whose stack was known by name */
	uint64_t truncated;	/* of these, paths that do not reach the thread's start */
	uint64_t unknown;	/* whose name was never told: its stack is lost */
	uint64_t audited, mismatched;
	uint64_t copied[RING_COPIED_COUNT];	/* events whose stack came as a copy, and why */
	struct rule_table_stats rules;
};

struct recognition;
/* 0; -ENOTSUP the shared memory has no room for it; -EBADMSG; -ENOMEM. */
int recognition_new(const struct recognition_input *input, struct recognition **ret) _must_check_;
void recognition_free(struct recognition *r);
/* From now on stacks may be known by name. */
void recognition_begin(struct recognition *r);
/* Are those that were published no longer for the modules that are mapped now? */
bool recognition_wants_rules(const struct recognition *r);
/*
 * Publishes the rules of the modules. pre: they were read while control.module_generation was
 * generation. 0, -EAGAIN the target changes: soon again,
 * -ENOMEM.
 */
int recognition_publish(struct recognition *r, uint64_t generation);
/* A path is told (RING_PATH). 0 or -ENOMEM. */
int recognition_tell(struct recognition *r, const struct event *event) _must_check_;
/* The stack of an event with RING_F_PATH; 0: not known, and counted as that. */
uint32_t recognition_find(struct recognition *r, const struct event *event);
/*
 * An event with that path's name will come soon. stage: 0 first, then, some events later each,
 * 1 and 2, which return its stack, 0: not known yet.
 */
uint32_t recognition_foresee(const struct recognition *r, unsigned int stage, uint64_t path);
/* An event without a name, whose stack is a copy: counted by the reason that the shim gives. */
void recognition_copied(struct recognition *r, const struct event *event);
/* Says, where MEMATTACH_DEBUG is set, how many were recognised and copied up to now, and why. */
void recognition_say(const struct recognition *r, const char *when);
/* The stack of that path, for those who only ask; 0: not known. */
uint32_t recognition_stack(const struct recognition *r, uint64_t path);
/*
 * The same event came with its copy: input. Walks it, without any memory of earlier walks, and
 * compares. A difference is counted and told, and recognition ends for good.
 */
void recognition_audit(struct recognition *r, const struct unwind_input *input, bool whole,
		       uint32_t stack);
/* So many names at a time, and those that come before they could begin anew. */
void recognition_set_most(struct recognition *r, uint64_t names);
/* Names begin anew, soon: paths whose stacks were dropped are told again when they come. */
void recognition_forget(struct recognition *r);
/* Memory that the names take. */
size_t recognition_bytes(const struct recognition *r);
void recognition_stats(const struct recognition *r, struct recognition_stats *ret);

#endif
