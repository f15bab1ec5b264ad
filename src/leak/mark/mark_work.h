/* SPDX-License-Identifier: MIT */
/*
 * mark_work.h - what the files of the marking share: the marker, its workers, their steps.
 *
 * The heap is read once, in order, chunk by chunk (mark_stream.c): blocks that are known to be
 * reachable by then are followed at once, of the others a record of where they lead is kept,
 * as long as there is memory for it; so following pointers (mark_flow.c) hardly ever has to read.
 * Large blocks are read when they are reached, in pieces, by all workers (mark_large.c); small ones
 * without a record wait with their neighbours (mark_pending.c). Marks are set by atomic or, each
 * kind of mark only ever grows to the one fixed point, so neither order nor workers matter.
 */
#ifndef MEMATTACH_LEAK_MARK_WORK_H
#define MEMATTACH_LEAK_MARK_WORK_H

#include <pthread.h>

#include "src/leak/blocks/block_map.h"
#include "src/leak/blocks/mark_cliques.h"
#include "src/leak/mark/mark.h"
#include "src/leak/mark/mark_index.h"

#define CHUNK_LINES	256u
#define CHUNK_GRANULES	(CHUNK_LINES * LINE_GRANULES)
#define SMALL_GRANULES	256u		/* a block of more is large */
#define SMALL_BYTES	4096u		/* so this is the most that a small one can have */
#define BUFFER_BYTES	(256u << 10)	/* read at once; holds SMALL_BYTES many times */
#define STACK_ROOM	16384u
#define BATCH_ROOM	256u
#define RUN_ROOM	2048u
#define VTABLE_SLOTS	1024u
#define RECORDS_ROOM	(64u << 10)	/* of a chunk at most */
#define MARK_MAX_WORKERS 64u
#define NO_SOURCE	(BLOCK_NONE - 1)	/* of root words */

struct chunk {
	uint8_t *records;	/* in those of the marker; NULL: none */
	uint32_t bytes;		/* of records, with LINK_MAX behind the last */
	uint32_t pending;	/* atomic: its pending bits */
	uint8_t streamed;	/* atomic: unread and records of its lines count */
	uint8_t hits;		/* atomic: there may be interior pointers to judge */
	bool incomplete;	/* lost blocks without a record are in it */
};
enum mark_mode {
	MARK_REACHABLE,
	MARK_POSSIBLE,	/* whatever is met becomes possibly lost */
	MARK_LOST,	/* whatever is met is claimed by the leader; one worker */
};
/* Blocks, or the roots' ranges, to be read in pieces. */
struct large {
	pthread_mutex_t lock;
	uint64_t *index;	/* starts of blocks still to be taken */
	size_t count, room;
	uint64_t at, end;	/* what is left of the one that was taken last */
	uint64_t source;	/* its start */
	size_t root;		/* the next root, and what is left of the last one */
	uint64_t root_at, root_end;
};
struct marker {
	const struct mark_input *input;
	struct blocks *map;
	struct mark_index index;
	struct chunk *chunk;
	uint64_t chunk_count;
	enum mark_mode mode;
	unsigned int workers;
	struct large large;
	struct worker *worker;		/* workers of them */
	uint8_t *records;		/* mapped; filled from its start on */
	size_t records_room, records_peak;
	uint64_t lost_leader;		/* from which everything is claimed just now */
	int error;			/* of the lost phase */
	/* atomic */
	size_t records_used;		/* may run above the room, then it is full */
	uint64_t next_chunk;		/* for the jobs that go through all chunks once */
	uint64_t pending;		/* of all chunks */
	uint64_t hits;			/* chunks with hits set */
	unsigned int busy;		/* workers that may still make work */
};

struct candidate {
	uint64_t place, source;		/* where a word points, the block that holds it */
};
/* A small block that is being read. */
struct extent {
	uint64_t index, address;
	uint32_t bytes;
};
struct vtable_verdict {
	uint64_t address;
	bool is;
};
/* The records of the chunk that is being read. */
struct records_builder {
	uint64_t first_line;
	uint64_t source;		/* of the record that is open */
	size_t record;			/* where it begins; SIZE_MAX: none is open */
	size_t last;			/* its last link; SIZE_MAX: none yet */
	size_t count;			/* bytes so far */
	bool direct;			/* source is marked: follow its pointers instead */
	bool overflow;			/* of the open record */
	uint64_t keep[CHUNK_LINES];	/* blocks that are left to be followed */
	uint64_t large[CHUNK_LINES];
	uint32_t offset[CHUNK_LINES];	/* as in struct line */
	uint8_t byte[RECORDS_ROOM + LINE_GRANULES];
};
struct worker {
	struct marker *marker;
	uint64_t stack[STACK_ROOM];	/* marked blocks to follow */
	size_t stack_count;
	struct candidate batch[BATCH_ROOM];	/* their lines are being fetched */
	size_t batch_count;
	bool recording;			/* the batch goes to builder */
	bool lost_only;			/* builder: of lost blocks to lost ones */
	struct records_builder builder;
	struct extent run[RUN_ROOM];
	size_t run_count;
	uint64_t buffer_low, buffer_high;	/* what buffer holds of the picture */
	struct vtable_verdict vtable[VTABLE_SLOTS];
	struct mark_sums sums;
	uint64_t search, judged;	/* where pending bits, and hits, were found last */
	uint8_t buffer[BUFFER_BYTES];
};

/* A step of a phase: does some work and returns true, or false: there is none for it now. */
typedef bool mark_job(struct worker *worker);

/* mark_pool.c: runs jobs (NULL-terminated, most urgent first) by all workers until none works. */
void mark_pool_run(struct marker *marker, mark_job *const *jobs);
/* The next chunk for a job that goes through all of them; BLOCK_NONE: none is left. */
uint64_t mark_take_chunk(struct marker *marker);

/* mark_read.c: fills buffer; what can't be read is zeros. */
void mark_read(const struct picture *picture, uint64_t address, void *buffer, size_t bytes);

/* mark_scan.c */
/* Takes every word that may be a pointer into the batch. bytes: a multiple of 8. */
void mark_scan_words(struct worker *worker, const uint8_t *memory, size_t bytes, uint64_t source);
void mark_scan_word(struct worker *worker, uint64_t word, uint64_t source);
/* Empties the batch, into the builder or by mark_place. */
void mark_scan_flush(struct worker *worker);
/* Reads and scans [low, high) for pointers, piece by piece. */
void mark_scan_range(struct worker *worker, uint64_t low, uint64_t high, uint64_t source);
/* Where a word found in memory points to; BLOCK_NONE: nowhere. pre: mark_index_may(word). */
uint64_t mark_word_place(const struct marker *marker, uint64_t word);
/* The block that place lies in, by the byte; BLOCK_NONE. */
uint64_t mark_block_at(const struct blocks *map, uint64_t place);

/* mark_flow.c */
/* A pointer from a marked block (from a root) to place in the block at start. */
void mark_place(struct worker *worker, uint64_t start, uint64_t place);
/* Marks a block as reachable. */
void mark_reach(struct worker *worker, uint64_t start);
/* To be followed, now or later. pre: it was just marked, its chunk was streamed. */
void mark_push(struct worker *worker, uint64_t start);
/* Follows everything on the stack, and all that this leads to. */
void mark_flow(struct worker *worker);
/* Record of a block whose unread bit is set; NULL: none. */
const uint8_t *mark_record(const struct marker *marker, uint64_t start);

/* mark_stream.c: one chunk each. */
mark_job mark_stream_job;
/* Drops the records of a chunk in which nothing is lost, or sees whether they are complete. */
mark_job mark_prune_job;
/* Reads the lost blocks of an incomplete chunk again, now that only lost targets matter. */
mark_job mark_restream_job;
/* mark_records.c: the builder's side of a flush, and its ends. */
void mark_records_begin(struct worker *worker, uint64_t chunk);
void mark_records_add(struct worker *worker, struct candidate candidate);
void mark_records_add_large(struct worker *worker, uint64_t start, uint8_t kind);
void mark_records_publish(struct worker *worker, uint64_t chunk);
/* The marker's room for records. Without memory there is none, and blocks are read again. */
void mark_records_init(struct marker *marker, size_t bytes);
void mark_records_done(struct marker *marker);
/* If the room was not enough, moves together what is still of use. One worker. */
void mark_records_compact(struct marker *marker);

/* mark_large.c */
/* Queues a block to be read in pieces; without memory it becomes pending. */
void mark_large_add(struct worker *worker, uint64_t start);
/* As that; false: no memory. */
bool mark_large_queue(struct marker *marker, uint64_t start);
/* Reads a piece of the roots, or of a queued block: to follow it, or to see if it leads away. */
mark_job mark_root_job, mark_large_job, mark_probe_job;

/* mark_pending.c */
void mark_pending_add(struct marker *marker, uint64_t start);
mark_job mark_pending_job;

/* mark_heuristics.c */
void mark_hit(struct worker *worker, uint64_t place);
mark_job mark_judge_job;

/* mark_lost.c: everything that is left. */
void mark_lost(struct worker *worker);

#include "src/leak/mark/mark_inline.h"

#endif
