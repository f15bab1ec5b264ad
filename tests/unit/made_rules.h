/* SPDX-License-Identifier: MIT */
/*
 * made_rules.h - made-up code with made-up rules, published as the analyst publishes those of
 * real modules (inject/abi/rules_abi.h), and calls from made-up stacks.
 */
#ifndef MEMATTACH_TESTS_MADE_RULES_H
#define MEMATTACH_TESTS_MADE_RULES_H

#include "inject/abi/rules_abi.h"
#include "tests/unit/shim_host.h"

/*
 * call_on(function, top, rbp, rbx): calls function(16) with rsp at top, so that its return
 * address, call_on_return, lies at top - 8.
 */
void call_on(void *function, uint64_t *top, uint64_t rbp, uint64_t rbx);
extern const char call_on_return[];

#define MADE_PLACES 48u
#define MADE_CODE 0x10000000ull
#define MADE_JIT 0x20000000ull
#define MADE_JIT_BYTES 4096u
/* Code of other functions, of 256 bytes each: those with an odd number have a larger frame. */
#define MADE_WIDE 0x30000000ull
#define MADE_WIDE_PLACES 16000u
#define MADE_WIDE_PLACE(i) (MADE_WIDE + 256u * (uint64_t)(i) + 8u + (i) / 2 % 8)
#define MADE_PLACE(i) (MADE_CODE + 16u * (uint64_t)(i) + 8u)	/* a return address with rule i */

struct made_rules {
	struct rules_rule rule[MADE_PLACES];
	const uint64_t *low, *high;	/* no code: the walk ends there */
	uint64_t generation;		/* published last */
};
/* The rule of MADE_JIT, which is said to keep a frame pointer, and those of MADE_WIDE. */
extern const struct rules_rule made_guess, made_wide[2];

/* Publishes them, with one that leaves call_on. pre: host was opened with recognise. */
void made_rules_publish(struct made_rules *made, struct ring_control *control);

#endif
