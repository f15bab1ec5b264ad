/* SPDX-License-Identifier: MIT */
/*
 * victim.h - what the test programs that get attached to have in common.
 *
 * The protocol with the scripts (tests/e2e/lib.sh): a victim writes the line
 * "ready PID" on descriptor 1 once it may be attached to, then waits for single
 * command bytes on descriptor 0. All output goes through victim_say(), which
 * neither allocates nor touches stdio, so that a victim's own output is never
 * part of what it measures.
 */
#ifndef MEMATTACH_TESTS_VICTIM_H
#define MEMATTACH_TESTS_VICTIM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function that keeps its name and its own frame whatever the optimiser thinks. */
#if defined(__clang__)
#define VICTIM_FRAME __attribute__((noinline))
#else
#define VICTIM_FRAME __attribute__((noipa))
#endif
#define VICTIM_INLINED inline __attribute__((always_inline))

/* Makes the compiler believe that value was looked at (no malloc/free pair is elided). */
static inline void *victim_seen(void *value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value;
}

/* A size the compiler can't reason about. */
static inline size_t victim_size(size_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* Lets any process of the same user attach (yama), and ties our life to our parent's. */
void victim_setup(void);
/* The former alone: a forked child does not inherit it. */
void victim_allow_tracers(void);

/*
 * For those that are busy without an end: the process takes the processor's time that other tests
 * leave, and is as busy as before where there is some.
 */
void victim_yield(void);

/* Writes "ready PID". */
void victim_ready(void);

/* Waits for a command byte on descriptor 0; 'q' at its end. Counts EINTR: there should be none. */
char victim_await(void);

/* How many times victim_await() was interrupted. */
int victim_interrupts(void);

/* Formats into a static buffer and writes it to descriptor 1: one thread at a time. */
void victim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes the whole of text, size bytes, to descriptor 1. */
void victim_write(const char *text, size_t size);

/* Says why on descriptor 2 and ends the process with status 3: the victim itself is broken. */
void victim_fail(const char *why) __attribute__((noreturn));

/* Value of the argument --name=VALUE among argv, or fallback. Borrowed from argv. */
const char *victim_option(char *const argv[], const char *name, const char *fallback);

/* The same as a number. */
long victim_number(char *const argv[], const char *name, long fallback);

#ifdef __cplusplus
}
#endif
#endif
