/* SPDX-License-Identifier: MIT */
/*
 * several.h - the recordings of several processes put together: sites that are the same (the same
 * code of the same file, else function, module and line) become one, with a column per process.
 *
 * The sums are a snapshot with stacks and names like that of one process, so that views of sites
 * show them as they show any other; what only one process has (a peak, a course, addresses) they
 * have not.
 */
#ifndef MEMATTACH_SEVERAL_H
#define MEMATTACH_SEVERAL_H

#include "src/recording/recording.h"

/* What came of one process. Borrowed for the life of what is made of it. */
struct several_input {
	const struct recording_content *content;	/* NULL: it was not watched, */
	int pid;					/* then this is its id, */
	const char *name;				/* what its program is called, */
	const char *problem;				/* and why; any bytes */
};

struct several_process {
	const struct recording_content *content;	/* NULL: not watched */
	int pid;
	char *name;			/* its program, without folders; owned; any bytes */
	const char *problem;		/* NULL: watched; borrowed */
	bool after_exec;		/* of the same process there is an earlier session */
};

/* Blocks or mappings of one process. */
struct several_part {
	uint32_t process;		/* index */
	uint64_t live_bytes, live_count, alloc_bytes, alloc_count, free_count;
};
struct several_site {
	uint32_t part_count;
	struct several_part *part;	/* ascending by process, only of those that have the site */
};

struct several_leak_part {
	uint32_t process;
	uint64_t count, bytes, indirect_count, indirect_bytes;
};
/* Leaks of one kind at one site; those without a site by type, else by size. */
struct several_group {
	const struct leak_group *like;	/* one of them, borrowed from a recording: verdict, type */
	uint32_t site;			/* id in snapshot; 0: from before the attach */
	uint64_t count, bytes, indirect_count, indirect_bytes;
	uint32_t part_count;
	struct several_leak_part *part;	/* as above */
};

struct several {
	size_t process_count, watched;
	uint32_t missed;			/* children not watched; set by the caller */
	struct several_process *process;	/* watched ones by live bytes, descending, first */
	struct snapshot *snapshot;		/* sums; target.pid 0; ids are 1, 2, 3 */
	struct several_site *site;		/* as snapshot->site */
	struct stacks *stacks;
	struct report_names names;
	bool judged;				/* some process has a leak report */
	bool partial;				/* one has functions that are not hooked */
	size_t searched;			/* processes whose memory was searched for it */
	bool unwalked;				/* in one of them a heap was not */
	size_t group_count;
	struct several_group *group;		/* by verdict, then bytes, descending */
	struct several_tables *tables;		/* private */
};

/*
 * 0, -ENOMEM; -EEXIST two of them are the same session (*ret_twice: the index of the second in
 * input). count is at least 1.
 */
int several_new(const struct several_input *input, size_t count, struct several **ret,
		size_t *ret_twice) _must_check_;
/* NULL is ignored. */
void several_free(struct several *several);
/* "postgres", "postgres after exec": what to call a process beside its id. To be freed; NULL. */
char *several_process_title(const struct several_process *process);

#endif
