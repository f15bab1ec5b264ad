/* SPDX-License-Identifier: MIT */
/*
 * unwind_harness.h - runs a victim to its stop and takes what the unwinder needs.
 *
 * For the tests of modules, unwind and symbolize. Fails the test (cmocka) where
 * the system does not do what it should.
 */
#ifndef MEMATTACH_TESTS_UNWIND_HARNESS_H
#define MEMATTACH_TESTS_UNWIND_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/modules/modules.h"
#include "src/unwind/unwind.h"

#define HARNESS_MAX_STACK	(1u << 20)

struct harness {
	pid_t pid;		/* the process */
	pid_t tid;		/* the thread that stopped */
	int output;		/* its stdout */
	int memory;		/* its /proc/PID/mem, for module_source.read_memory */
	struct modules *modules;
	uint8_t *stack;
	struct unwind_input input;	/* stack: from 128 bytes below rsp to its mapping's end */
	bool refuse_files;	/* module_source.open_file fails */
};

/* Directory where the victims are. */
const char *harness_directory(void);
/* Path of a victim in that directory; static buffer. */
const char *harness_path(const char *name);
/* Starts argv (argv[0]: a path) traced; it has not run yet. */
void harness_start(struct harness *harness, const char *const *argv);
/* Lets it run to its next stop; false when it ended instead. */
bool harness_run_to_stop(struct harness *harness);
/* The same, by a SIGWINCH from outside once its main thread blocks in system call number. */
void harness_run_to_syscall(struct harness *harness, long number);
/* One instruction; false when it ended. */
bool harness_single_step(struct harness *harness);
/* Registers only. */
void harness_take_registers(struct harness *harness);
/* Registers, stack, and modules brought up to date. */
void harness_take(struct harness *harness);
/* Kills the process, frees everything. */
void harness_end(struct harness *harness);
/* The addresses that libunwind-ptrace finds; how many. */
size_t harness_oracle(const struct harness *harness, uint64_t *address, size_t max);
/* The line that its stdout has next, without newline. */
void harness_read_line(struct harness *harness, char *line, size_t bytes);

#endif
