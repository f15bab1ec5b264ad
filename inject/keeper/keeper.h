/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the privileged process: serves the analyst's requests, keeps the
 * shim's deadline fresh, and leaves the target clean whatever happens to the analyst.
 */
#ifndef MEMATTACH_KEEPER_H
#define MEMATTACH_KEEPER_H

#include "inject/attach/children.h"
#include "inject/tracee/target.h"

struct keeper_options {
	int socket;			/* to the analyst; borrowed */
	pid_t front;			/* our parent; when it is gone nobody waits for a report */
	bool unhurried;			/* nobody waits: ticks are far between */
	bool alone;			/* what else has copies of the same is somebody else's */
	/* Starts an analyst that finishes a detach; a socket to it, or -errno. NULL: none. */
	int (*respawn)(void *context);
	/* The one that answers now; NULL, 0: not known. */
	pid_t (*analyst)(void *context);
	/* Ends an analyst that does not answer any more. */
	void (*end_analyst)(void *context);
	/*
	 * Starts, beside the first, an analyst that finishes the detach of one process
	 * that the target forked, and ends it. A socket to it, or -errno.
	 */
	int (*begin_child)(void *context);
	void (*end_child)(void *context);
	/* pid was forked by the target meanwhile, and is restored now. May be NULL. */
	void (*tell_child)(void *context, pid_t pid);
	void *context;
};

/* How it ended, for the exit status of the program. */
struct keeper_result {
	int status;		/* what the analyst asked for; -1 it never did */
	bool dormant;		/* something of ours is still in the target */
	bool analyst_died;	/* it ended, or was ended, before it had finished: */
	bool analyst_hung;	/* since it took too long */
	struct children_left left;	/* unless the analyst was told: it has said so */
	char problem[512];
};

/*
 * Runs until the analyst has finished or died and the target is left. Takes
 * ownership of target. SIGINT, SIGTERM, SIGHUP ask for a detach.
 */
int keeper_run(struct target *target, const struct keeper_options *options,
	       struct keeper_result *ret);

#endif
