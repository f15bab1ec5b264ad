/* SPDX-License-Identifier: MIT */
/*
 * books_model.h - what books of an exact session must say, by a model with none of their means: an
 * array of addresses, one of pages, and the rules of docs/NUMBERS.md.
 *
 * Addresses, pages and stacks are small numbers here; fuzz_books.c makes events of them.
 */
#ifndef MEMATTACH_TESTS_BOOKS_MODEL_H
#define MEMATTACH_TESTS_BOOKS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "src/live/sites.h"

enum {
	MODEL_ADDRESSES = 256,	/* of each kind of block */
	MODEL_PAGES = 64,
	MODEL_THREADS = 4,
	MODEL_STACKS = 1024,
	MODEL_MAPPINGS = 4096,	/* model_map() takes no more */
	MODEL_KINDS = SITE_CUSTOM + 1,
};

struct model_sum {
	uint64_t alloc_count, alloc_bytes, live_count, live_bytes;
};
struct model_block {
	uint64_t size;
	uint32_t stack;
	bool lives;
};
/* A realloc that was announced: its old block is off its address, and lives still. */
struct model_call {
	bool pending, to_zero;
	uint32_t address;
	struct model_block block;
};
/* cut: of its last munmap, the mapping + 1 that each page was of. */
struct model_thread {
	struct model_call call[MODEL_KINDS];
	uint16_t cut[MODEL_PAGES];
	uint64_t cut_unknown;
};
struct model_mapping {
	uint32_t stack, pages;
};
struct model {
	struct model_block block[MODEL_KINDS][MODEL_ADDRESSES];
	struct model_thread thread[MODEL_THREADS];
	uint16_t page[MODEL_PAGES];	/* mapping + 1 */
	struct model_mapping mapping[MODEL_MAPPINGS];
	uint32_t mappings;
	struct model_sum total[MODEL_KINDS], at[MODEL_KINDS][MODEL_STACKS];
	uint64_t peak_bytes[MODEL_KINDS];
	uint64_t unknown_bytes;		/* unmapped, and not mapped before our eyes */
};

/* One call of a thread; kind: SITE_MALLOC or SITE_CUSTOM. */
struct model_event {
	enum site_kind kind;
	uint32_t thread, address, stack;
	uint64_t size;
};
/* untracked: its end will not be seen. */
void model_alloc(struct model *model, const struct model_event *event, bool untracked);
void model_free(struct model *model, const struct model_event *event);
void model_realloc_begin(struct model *model, const struct model_event *event);
/* untracked: the old block lives on, and its end will not be seen. */
void model_undo(struct model *model, const struct model_event *event, bool untracked);
/* Pages [low, high); false: nothing happened, there are too many mappings. */
bool model_map(struct model *model, uint32_t thread, uint32_t stack, uint32_t low, uint32_t high);
void model_unmap(struct model *model, uint32_t thread, uint32_t low, uint32_t high);
void model_unmap_undo(struct model *model, uint32_t thread);
/* What is announced still was freed. */
void model_finish(struct model *model);

#endif
