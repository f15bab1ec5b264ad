/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the benchmark's programs share: calls 13 frames deep, a random
 * sequence that is the same in every run, and the protocol with measure.py.
 *
 * A program is run as PROGRAM UNITS RESULT [wait]. With wait it says "ready" once its
 * threads stand, works after a byte on its standard input, says "done", and stays until
 * the next byte: so that a tool can be attached before the work and detached after it.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_FRAMES 13		/* from the thread's loop to malloc's caller, both counted */

/* One run of a program, filled by bench_begin. */
struct bench {
	const char *result;	/* file for the figures */
	bool wait;		/* for a tool to be attached */
	double wall, cpu;	/* at the start of the work, in seconds */
	uint64_t units;		/* how much work */
};

/* Reads the command line. Ends the program (status 2) if it is wrong. */
struct bench bench_begin(int argc, char **argv);

/* Waits for the word to begin, then takes the time. pre: all threads stand, none works. */
void bench_start(struct bench *b);

/*
 * Takes the time again and writes wall and CPU seconds of the work, CPU seconds since the
 * program's start, its peak resident memory in KiB and the number of calls to b->result;
 * then waits for leave to end.
 * Returns the program's exit status: 0, or 1 if the file could not be written.
 */
int bench_finish(const struct bench *b, uint64_t allocs, uint64_t frees);

/* The next number of the sequence whose state is *state (not 0). */
uint64_t bench_random(uint64_t *state);

/* A multiple of 16 from 16 to 4080 bytes; each power of two to the next is as likely. */
size_t bench_size(uint64_t *state);

/* malloc(size), called BENCH_FRAMES frames deep on one of 64 paths: the low bits of path. */
void *bench_alloc(size_t size, unsigned int path);

#ifdef __cplusplus
}
#endif
#endif
