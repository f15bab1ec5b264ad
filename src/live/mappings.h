/* SPDX-License-Identifier: MIT */
/*
 * mappings.h - which mapped bytes belong to which mapping call.
 *
 * Mappings are cut, overmapped and moved in parts, so they are kept as disjoint
 * pieces of address space. A piece knows its origin: the call that made it.
 */
#ifndef MEMATTACH_MAPPINGS_H
#define MEMATTACH_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

/* One mapping call, for as long as a byte of it is mapped or somebody holds it. */
struct mapping_origin {
	uint64_t time;		/* TSC of the call */
	uint64_t bytes;		/* still mapped */
	uint32_t site;
	uint32_t holds;		/* see mappings_hold */
};
struct mapping_piece {
	uint64_t low, high;	/* high exclusive */
	uint32_t origin;
};

struct mappings;
int mappings_new(struct mappings **ret) _must_check_;
void mappings_free(struct mappings *mappings);
/*
 * Unmaps [low, high): each() gets every piece that lay there, ascending, after
 * its bytes were taken off its origin (bytes == 0: that was the last piece; the
 * origin is gone after each() unless it is held). 0 or -ENOMEM (nothing changed).
 */
int mappings_cut(struct mappings *mappings, uint64_t low, uint64_t high,
		 void (*each)(void *context, const struct mapping_piece *piece), void *context);
/* True and *ret_piece set when address is in one. */
bool mappings_find(const struct mappings *mappings, uint64_t address,
		   struct mapping_piece *ret_piece);
/* A new origin without bytes, held once. 0 or -ENOMEM. */
int mappings_add_origin(struct mappings *mappings, uint64_t time, uint32_t site,
			uint32_t *ret_origin) _must_check_;
/* Maps piece. pre: nothing lies there (mappings_cut first). 0 or -ENOMEM. */
int mappings_put(struct mappings *mappings, const struct mapping_piece *piece) _must_check_;
/* Valid until the next mappings_add_origin. */
const struct mapping_origin *mappings_origin(const struct mappings *mappings, uint32_t origin);
/* Every origin's site becomes what heir() says of it. */
void mappings_rename_sites(struct mappings *mappings,
			   uint32_t (*heir)(const void *context, uint32_t site),
			   const void *context);
/* Memory that they take. */
size_t mappings_bytes(const struct mappings *mappings);
/* Keeps an origin without bytes from being forgotten; drop takes that back. */
void mappings_hold(struct mappings *mappings, uint32_t origin);
void mappings_drop(struct mappings *mappings, uint32_t origin);

#endif
