/* SPDX-License-Identifier: MIT */
/*
 * holders.h - who holds a block: chains of references from a root to it.
 *
 * "g_cache->buckets[17]->next (thread 12)", and the same as a list of pointers. Names
 * come from debug information and symbols; types are carried along the chain from the
 * variable at its root, and C++ objects tell theirs.
 */
#ifndef MEMATTACH_LEAK_HOLDERS_H
#define MEMATTACH_LEAK_HOLDERS_H

#include "src/debuginfo/types.h"
#include "src/leak/blocks/blocks.h"
#include "src/leak/roots/roots.h"
#include "src/memory/picture.h"
#include "src/modules/modules.h"

enum holder_kind {
	HOLDER_GLOBAL,		/* writable data of a module */
	HOLDER_STACK,
	HOLDER_REGISTER,
	HOLDER_TLS,		/* thread-local variable, thread control block */
	HOLDER_MEMORY,		/* another writable mapping that is no heap */
	HOLDER_BLOCK,		/* a heap block */
};
/* One pointer of a chain: where it stands. Strings are the chain's; NULL: not known. */
struct holder_link {
	enum holder_kind kind;
	int32_t tid;			/* of stacks, registers, TLS; else 0 */
	uint64_t address;		/* of the pointer, 0: in a register or in libc's keeping */
	uint64_t base, bytes;		/* of the variable or block it stands in; 0 unknown */
	uint64_t pointer;		/* what it is; perhaps into the middle of the next block */
	char *name;			/* variable or register; of a block, its C++ class */
	char *function;			/* of a stack: whose frame that is */
	char *field;			/* in the variable or block: "buckets[17]", "+24" */
};
enum holder_end {
	HOLDER_ROOTED,		/* a root holds it */
	HOLDER_UNHELD,		/* nothing holds the first block of the chain: it is lost */
	HOLDER_CYCLE,		/* what holds it, it holds itself, and nothing else does */
	HOLDER_CUT,		/* not searched further, or not found within the limits */
};
struct holder_chain {
	enum holder_end end;
	uint64_t target;	/* the block that is held */
	size_t count;		/* of link, root first; 0: nothing holds it */
	struct holder_link *link;
	uint64_t left_out;	/* links behind the first HOLDERS_HEAD that are not in link */
	char *text;		/* the whole as one would write it; "" when count is 0 */
};
#define HOLDERS_HEAD 48u
#define HOLDERS_TAIL 16u

struct holders_input {
	const struct picture *picture;
	const struct modules *modules;
	struct blocks *blocks;
	const struct roots *roots;
	struct types *types;		/* NULL: C++ classes are not looked at */
	/* Whether a block may be a holder, as reachable ones alone in the end are. May be NULL. */
	bool (*usable)(void *context, const struct block *block);
	void *context;
	double seconds;			/* for one search, 0: 30 */
	unsigned int max_passes;	/* over memory for one search, 0: 24 */
};
struct holders;
/* input is copied, what it points to borrowed. 0 or -ENOMEM. */
int holders_new(const struct holders_input *input, struct holders **ret) _must_check_;
void holders_free(struct holders *holders);

struct holder_chains {
	size_t count;
	struct holder_chain *chain;	/* shortest first */
	bool cut;			/* a limit was met: there may be more */
	unsigned int passes;		/* over memory */
	uint64_t scanned_bytes;
	double seconds;
};
/*
 * Every chain from a root to the block that holds address, or if there is none, those from
 * blocks which nothing holds, or a piece of a cycle: no more than max_chains (0: 32), of no
 * more than max_links (0: 64) pointers, none of which comes by the same block twice. 0, -ENOENT
 * no block holds address, -ENOMEM. Release with holder_chains_done.
 */
int holders_trace(struct holders *holders, uint64_t address, size_t max_chains,
		  unsigned int max_links, struct holder_chains *ret) _must_check_;
/*
 * One chain, the shortest found, for each of count addresses, in a few passes over memory
 * for all of them: ret->chain[i] for address[i]. An address in no block has an
 * empty chain of end HOLDER_UNHELD. 0 or -ENOMEM.
 */
int holders_find(struct holders *holders, const uint64_t *address, size_t count,
		 struct holder_chains *ret) _must_check_;
void holder_chains_done(struct holder_chains *chains);
/* The name of a register of struct user_regs_struct, by its index there. */
const char *holder_register_name(uint32_t number);

#endif
