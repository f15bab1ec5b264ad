/* SPDX-License-Identifier: MIT */
/*
 * fuzz_process.h - a small well-formed process for the fuzzers of what is read in a picture.
 *
 * Three threads of glibc's (one of them ended), a library with call frame information,
 * thread-local storage and two C++ classes. The input overwrites pieces of it.
 */
#ifndef MEMATTACH_TESTS_FUZZ_PROCESS_H
#define MEMATTACH_TESTS_FUZZ_PROCESS_H

#include "tests/unit/leak_heap_lab.h"

#define PROCESS_LIBRARY		0x10000000ull	/* code, then data */
#define PROCESS_DATA		0x10002000ull
#define PROCESS_THREADS		0x30000000ull	/* stacks, control blocks, dtvs */
#define PROCESS_STACK		0x50000000ull	/* the main thread's */
#define PROCESS_OBJECTS		0x10005000ull	/* 4 of 64 bytes, with vtable pointers */
#define PROCESS_TLS		0x30006400ull	/* the library's block in the main thread */
#define PROCESS_FRAMES		4u		/* of the main thread */
#define PROCESS_ENDED		1u		/* threads */

struct process {
	struct lab lab;
	uint8_t library[0x6000];
	uint8_t threads[0x8000];
	uint8_t stack[0x1000];
};

/* The process, overwritten by the input, and its picture with two threads. It can be closed. */
void process_open(struct process *process, const uint8_t *data, size_t size);
void process_close(struct process *process);

#endif
