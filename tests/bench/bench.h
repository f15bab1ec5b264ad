/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the benchmark's programs share: calls 13 frames deep, a random
 * sequence that is the same in every run, threads that begin and end their work together,
 * and the protocol with measure.py and programs.py.
 *
 * A program is run as PROGRAM UNITS RESULT [THREADS] [wait]. With wait it says "ready" once
 * its threads stand, works after a byte on its standard input, says "done", and stays until
 * the next byte: so that a tool can be attached before the work and detached after it.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_FRAMES 13		/* from the thread's loop to malloc's caller, both counted */
#define BENCH_THREADS 64	/* at the most */

/* One run of a program, filled by bench_begin. */
struct bench {
	const char *result;	/* file for the figures */
	bool wait;		/* for a tool to be attached */
	double wall, cpu;	/* at the start of the work, in seconds */
	uint64_t units;		/* how much work */
	unsigned int threads;	/* 1 if none are given */
	double threads_cpu;	/* of the work of bench_run, in seconds */
};

/* What a program, or a thread of it, knows of its own calls. */
struct bench_truth {
	uint64_t allocs, frees;
	uint64_t alloc_bytes, free_bytes;	/* as asked for */
};

/* A thread of bench_run, on cache lines of its own. */
struct bench_worker {
	const struct bench *bench;
	unsigned int number;		/* from 0 */
	uint64_t state;			/* for bench_random, another in each thread */
	struct bench_truth truth;	/* kept by the work */
	double cpu;			/* that the work took, in seconds */
	void (*work)(struct bench_worker *w);
	pthread_t thread;
} __attribute__((aligned(128)));

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

/* As bench_finish, with the bytes. */
int bench_finish_truth(const struct bench *b, const struct bench_truth *truth);

/*
 * Runs work in b->threads threads, which begin together once the word to begin was given and
 * are timed until the last is done; all their allocations have the function bench_thread on
 * their stack. Returns the program's exit status, as bench_finish, with the truth of them all.
 */
int bench_run(struct bench *b, void (*work)(struct bench_worker *w));

/* The thread's share of the units: they differ by one at the most. */
uint64_t bench_share(const struct bench_worker *w);

/* The next number of the sequence whose state is *state (not 0). */
uint64_t bench_random(uint64_t *state);

/* A multiple of 16 from 16 to 4080 bytes; each power of two to the next is as likely. */
size_t bench_size(uint64_t *state);

/* malloc(size), called BENCH_FRAMES frames deep on one of 64 paths: the low bits of path. */
void *bench_alloc(size_t size, unsigned int path);

/* malloc and free that keep the truth. The block is written to, or both could be left out. */
static inline void *bench_malloc(struct bench_truth *truth, size_t size)
{
	void *block = malloc(size);

	if (!block)
		_exit(4);
	*(volatile char *)block = (char)size;
	truth->allocs++;
	truth->alloc_bytes += size;
	return block;
}

/* size: what the block was asked for with. */
static inline void bench_free(struct bench_truth *truth, void *block, size_t size)
{
	truth->frees++;
	truth->free_bytes += size;
	free(block);
}

#ifdef __cplusplus
}
#endif
#endif
