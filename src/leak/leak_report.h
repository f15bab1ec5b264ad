/* SPDX-License-Identifier: MIT */
/*
 * leak_report.h - what is lost and what is suspect, as it is shown, recorded and compared.
 *
 * An immutable value that owns all it points to. Bytes are usable bytes.
 */
#ifndef MEMATTACH_LEAK_REPORT_H
#define MEMATTACH_LEAK_REPORT_H

#include "src/leak/blocks.h"

/* Strongest first: the order of groups. */
enum leak_verdict {
	LEAK_DEFINITELY_LOST = 0,
	LEAK_POSSIBLY_LOST,
	LEAK_STUCK,	/* reachable; outlived everything its site ever freed */
	LEAK_GROWING,
	LEAK_OLD,
	LEAK_REACHABLE,	/* nothing to say against it */
	LEAK_VERDICTS
};
/* As in the JSON document: "definitely-lost", ... */
const char *leak_verdict_name(enum leak_verdict verdict);

#define LEAK_MAX_ADDRESSES 16u
struct leak_group {
	enum leak_verdict verdict;
	uint32_t site;			/* of the session's sites; 0: allocated before the attach */
	uint64_t count, bytes;
	uint64_t indirect_count, indirect_bytes;	/* lost because these are */
	uint64_t size;			/* of each block; 0: they differ */
	double growth;			/* bytes an hour; NAN unknown */
	double oldest;			/* seconds ago; NAN unknown: before the attach */
	char *type;			/* "struct node", "Session"; NULL unknown */
	char *variable;			/* assigned at the allocation site; NULL unknown */
	char *held_by;			/* what leads to the first example; NULL unknown */
	uint32_t address_count;
	uint64_t address[LEAK_MAX_ADDRESSES];	/* examples, ascending */
};
struct leak_sum {
	uint64_t count, bytes;
};
/* One allocator that was found, and whether blocks from before the attach are known. */
struct leak_heap {
	char allocator[16], version[32];
	bool covered;
	char why[160];			/* when not covered */
	uint64_t live_count, live_bytes;
};
#define LEAK_MAX_HEAPS 8u
struct leak_report {
	bool covers_older_blocks;	/* every allocator found was covered */
	uint64_t pause_us, scanned_bytes;
	uint64_t unread_shared_bytes;	/* writable shared memory: not searched for pointers */
	double seconds;			/* that the analysis took */
	struct leak_sum kind[BLOCK_KINDS];	/* by enum block_kind */
	struct leak_sum suppressed;
	uint32_t heap_count;
	struct leak_heap heap[LEAK_MAX_HEAPS];
	bool traced;			/* a block was asked about */
	bool trace_cut;			/* there may be more chains */
	enum block_kind trace_kind;	/* of that block */
	struct block trace_block;	/* bytes 0: no block is there */
	size_t trace_count;
	char **trace;			/* a chain each, shortest first */
	size_t group_count;
	struct leak_group *group;	/* by verdict, then bytes + indirect_bytes, descending */
};
int leak_report_new(struct leak_report **ret) _must_check_;
void leak_report_free(struct leak_report *report);
/* Frees its strings. */
void leak_group_done(const struct leak_group *group);
/* Adds a group; its strings become the report's. 0 or -ENOMEM (they are freed). */
int leak_report_add(struct leak_report *report, const struct leak_group *group) _must_check_;
/* Puts the groups in order. */
void leak_report_sort(struct leak_report *report);

#endif
