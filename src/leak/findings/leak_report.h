/* SPDX-License-Identifier: MIT */
/*
 * leak_report.h - what is lost and what is suspect, as it is shown, recorded and compared.
 *
 * An immutable value that owns all it points to. Bytes are usable bytes.
 */
#ifndef MEMATTACH_LEAK_REPORT_H
#define MEMATTACH_LEAK_REPORT_H

#include "src/leak/blocks/blocks.h"
#include "src/leak/findings/leak_access.h"

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

/* What a block holds at its begin; read only where the user asks for it (--show-bytes). */
enum leak_text {
	LEAK_TEXT_NONE = 0,
	LEAK_TEXT_C,		/* the block begins with a string of C */
	LEAK_TEXT_STD,		/* the block begins with a std::string */
};
struct leak_content {
	uint64_t address, size;		/* of the block, in bytes */
	uint32_t count;			/* of byte; fewer than asked for where there are no more */
	uint8_t *byte;
	enum leak_text kind;
	bool text_cut;			/* the string is longer */
	char *text;			/* valid UTF-8, control characters in it; NULL: none */
};
void leak_content_done(const struct leak_content *content);

#define LEAK_MAX_ADDRESSES 16u
/* What is known of an example; all 0: nothing. */
struct leak_example {
	uint64_t bytes;
	uint64_t indirect_count, indirect_bytes;	/* lost because it is; it counts for them */
};
struct leak_group {
	enum leak_verdict verdict;
	uint32_t site;			/* of the session's sites; 0: allocated before the attach */
	uint64_t count, bytes;
	uint64_t indirect_count, indirect_bytes;	/* lost because these are */
	uint64_t size;			/* of each block; 0: they differ */
	uint64_t size_class;		/* none is larger; 0: not grouped by size */
	double growth;			/* bytes an hour; NAN unknown */
	double oldest;			/* seconds ago; NAN unknown: before the attach */
	char *type;			/* "struct node", "Session"; NULL unknown */
	char *variable;			/* assigned at the allocation site; NULL unknown */
	char *held_by;			/* what leads to the first example; NULL unknown */
	/* Memory that is not live and still names so many of them: a hint; NULL: none was found. */
	char *last_held_by;		/* "a freed block of 24 bytes, at +16" */
	uint64_t last_held_count;
	struct frame last_frame;	/* a call next to it in a stack; module 0: none */
	uint32_t likely_site;		/* the only one seen that allocates such blocks; 0: none */
	uint32_t address_count;
	uint64_t address[LEAK_MAX_ADDRESSES];	/* examples, ascending */
	uint32_t content_count;
	struct leak_content *content;	/* of examples, in their order; NULL: not asked for */
	struct leak_example example[LEAK_MAX_ADDRESSES];	/* as address */
	struct leak_access *access;	/* owned; NULL: not watched */
	bool by_history;		/* what was watched now would not be enough to say so */
};
/* A site with live blocks of which it can't be told yet whether somebody will free them. */
struct leak_early {
	uint32_t site;
	uint64_t count, bytes;
	double longest;			/* seconds that a freed one lived; 0: none was freed */
	double needs;			/* seconds to be watched at a stretch, to tell */
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
#define LEAK_MAX_PROTECTED 4u
struct leak_report {
	bool unsearched;		/* memory was not: suspects alone, by their survival */
	double watched;			/* seconds, for suspects; NAN unknown */
	uint64_t looks;			/* unsearched: snapshots */
	double history;			/* of an earlier recording; 0: none was given */
	uint32_t history_sites;		/* sites with live blocks that it knows */
	bool covers_older_blocks;	/* every allocator found was covered */
	uint64_t pause_us, scanned_bytes;
	uint64_t unread_shared_bytes;	/* writable shared memory: not searched for pointers */
	/*
	 * Kept from children (MADV_DONTFORK), so read from the running process after all else: what
	 * is lost is called possibly lost at the most. Not in recordings.
	 */
	uint64_t late_bytes;
	/*
	 * Blocks of which the process may not read some part (mprotect); their contents are read
	 * all the same. Not in recordings.
	 */
	struct leak_sum protected;
	uint64_t protected_address[LEAK_MAX_PROTECTED];	/* the first of them */
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
	struct leak_group *group;	/* see leak_report_sort; bytes are with indirect_bytes */
	size_t early_count;
	struct leak_early *early;	/* see leak_report_sort */
	struct leak_access_run access;	/* --access */
};
int leak_report_new(struct leak_report **ret) _must_check_;
void leak_report_free(struct leak_report *report);
/* Frees its strings. */
void leak_group_done(const struct leak_group *group);
/* Blocks of a group no word of which was watched; 0 where --access did not come to the group. */
uint64_t leak_group_unwatched(const struct leak_group *group);
/* Adds a group; its strings become the report's. 0 or -ENOMEM (they are freed). */
int leak_report_add(struct leak_report *report, const struct leak_group *group) _must_check_;
/* 0 or -ENOMEM. */
int leak_report_add_early(struct leak_report *report, const struct leak_early *early) _must_check_;
/* Every heap that the search met is walked: what is lost in it is known. */
bool leak_report_walked_all(const struct leak_report *report) _must_check_;
/*
 * Puts the groups in order: by verdict, then by bytes (with indirect ones); and by bytes the sites
 * of which it is too early to tell.
 */
void leak_report_sort(struct leak_report *report);

#endif
