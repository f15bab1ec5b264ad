/* SPDX-License-Identifier: MIT */
/*
 * nameless.h - allocators that a module has inside, whose functions have no names any more.
 *
 * A stripped Rust program, or a module of Python's, brings a jemalloc or mimalloc of its own. None
 * of its functions can be hooked, and no block of it is seen: nothing may be said as if all were.
 * CPython (3.13 and later) has a mimalloc inside that only its builds without the global lock use.
 */
#ifndef MEMATTACH_SESSION_NAMELESS_H
#define MEMATTACH_SESSION_NAMELESS_H

#include "inject/attach/hook_plan.h"
#include "src/modules/modules.h"

enum { NAMELESS_MOST = 4 };

struct nameless {
	uint32_t looked;	/* at the modules of these ids, from 1 */
	uint32_t count;
	uint64_t read;		/* bytes of files: there is a limit for all, and one for each */
	struct {
		const char *family;	/* a constant */
		uint32_t module;	/* id */
	} found[NAMELESS_MOST];
};

/*
 * Looks through the constants of those modules that plan hooks no allocator of, each once, for the
 * texts that allocators have; what is found becomes a family of plan without entries, with a
 * reason among what is skipped.
 */
void nameless_add(struct nameless *nameless, const struct modules *modules,
		  struct hook_plan *plan);

#endif
