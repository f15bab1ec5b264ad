/* SPDX-License-Identifier: MIT */
/*
 * leak_assigned_bench.h - a program's allocation sites, without a process.
 *
 * For test_leak_assigned and tests/leak/assigned_survey.
 */
#ifndef MEMATTACH_TESTS_LEAK_ASSIGNED_BENCH_H
#define MEMATTACH_TESTS_LEAK_ASSIGNED_BENCH_H

#include "src/leak/variable/assigned.h"

struct bench {
	struct modules *modules;	/* one module, number 1 */
	struct symbolizer *symbolizer;
};
/* Opens the ELF file at path as if it were mapped. 0 or -errno. */
int bench_begin(const char *path, struct bench *ret) _must_check_;
void bench_end(struct bench *bench);

/* A direct call of a named function. */
struct bench_call {
	char function[128], callee[128];	/* symbols; without @plt, .part.0 and the like */
	uint64_t return_address;
};
struct bench_calls {
	struct bench_call *call;
	size_t count, room;
};
/* All of them in the file's .text, as objdump sees it. 0 or -errno. */
int bench_calls_read(const char *path, struct bench_calls *ret) _must_check_;
void bench_calls_done(struct bench_calls *calls);
/* True if name is one of the comma-separated names. */
bool bench_is_named(const char *names, const char *name);

#endif
