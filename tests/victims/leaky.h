/* SPDX-License-Identifier: MIT */
/*
 * leaky.h - victims that know which of their blocks are lost, and how.
 *
 * A kind is a function that builds one shape of memory. Every block is booked with what a
 * search for leaks must say of it; the book hides addresses, so that it holds nothing.
 * Builders run from leaky_main() one after another; what they leave on the stack and in
 * registers is wiped behind each. Blocks that must stay referenced are named by the builder's
 * own variables, or by those in struct leaky_frame, which lies in the frame of leaky_main().
 *
 * Commands: 'b' builds the kinds of --kind=A,B,... (without it all but those marked so),
 * prints a line "block {JSON}" for each block and "built ok"; 'v' lets the checker search that
 * the victim runs under or is linked with (memcheck, LeakSanitizer), and says "searched ok";
 * 'l' prints a line "kind NAME" for each, "alone NAME" for those so marked, and "listed ok";
 * 'q' ends.
 */
#ifndef MEMATTACH_TESTS_LEAKY_H
#define MEMATTACH_TESTS_LEAKY_H

#include <stddef.h>
#include <stdint.h>

#include "tests/victims/victim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The verdict on a block. RING: one of those that were booked by the same line with the same
 * ring number is definitely lost, whichever, and the others indirectly. */
enum leaky_verdict {
	LEAKY_SAME = 0,		/* of an oracle: what memattach says */
	LEAKY_REACHABLE,
	LEAKY_POSSIBLE,
	LEAKY_INDIRECT,
	LEAKY_DEFINITE,
	LEAKY_RING,
};
/* What the checkers say where they are known to differ (docs/LEAKS.md tells why). */
struct leaky_expected {
	enum leaky_verdict verdict, memcheck, lsan;
	unsigned int ring;
};
#define LEAKY_REACHED	((struct leaky_expected){ LEAKY_REACHABLE, LEAKY_SAME, LEAKY_SAME, 0 })
#define LEAKY_LOST	((struct leaky_expected){ LEAKY_DEFINITE, LEAKY_SAME, LEAKY_SAME, 0 })
#define LEAKY_BELOW	((struct leaky_expected){ LEAKY_INDIRECT, LEAKY_SAME, LEAKY_SAME, 0 })
/* LeakSanitizer takes any interior pointer for a pointer. */
#define LEAKY_MAYBE	((struct leaky_expected){ LEAKY_POSSIBLE, LEAKY_SAME, LEAKY_REACHABLE, 0 })
/* LeakSanitizer calls all of a cycle indirectly lost. */
#define LEAKY_CYCLE(number) \
	((struct leaky_expected){ LEAKY_RING, LEAKY_SAME, LEAKY_INDIRECT, (number) })
#define LEAKY_EXPECT(verdict, memcheck, lsan) \
	((struct leaky_expected){ (verdict), (memcheck), (lsan), 0 })

/* Books p, for which size bytes were asked for at this line, and clears it. Value: p. */
#define LEAKY(expected, size, p) \
	leaky_book((p), (size), (expected), __func__, __LINE__)

/* As it is; and cleared, so that what the memory held before can't hold other blocks now. */
void *leaky_note(void *p, size_t requested, struct leaky_expected expected, const char *function,
		 int line);
void *leaky_book(void *p, size_t requested, struct leaky_expected expected, const char *function,
		 int line);
/* The block is free again: out of the book. */
void leaky_free(void *p);
/* Out of the book, and not freed: the block is about to be given to realloc, or to delete. */
void *leaky_forget(void *p);

struct leaky_frame {
	void *volatile slot[8];
};
/* In the frame of leaky_main(): what is put here is held by the stack of the first thread. */
extern struct leaky_frame *leaky_frame;

/* Libraries allocate count more blocks, all of them reachable; LEAKY_MANY: nobody knows. */
enum { LEAKY_MANY = 1000000 };
void leaky_others(int count);

/* An address that no search may find; and back. */
static inline uintptr_t leaky_hide(const void *p)
{
	return ~(uintptr_t)p;
}

static inline void *leaky_reveal(uintptr_t hidden)
{
	return (void *)~hidden;
}

/* Wipes the stack below, and the registers that a call may change. */
void leaky_wipe(void);

/*
 * Starts a thread that runs build(number), wipes its stack and stays; unless build itself
 * says leaky_built(), and stays as it likes. Returns when it has built.
 */
void leaky_thread(void (*build)(int number), int number);
/* The calling thread has built. */
void leaky_built(void);
/* Clears what calls may leave in vector registers: while a thread runs it may be a pointer. */
void leaky_forget_vectors(void);
/* ... and stays for ever. */
void leaky_stay(void) __attribute__((noreturn));

struct leaky_kind {
	const char *name;
	void (*build)(void);
	int alone;	/* only when named: it would disturb others, or they it */
};
/* The whole of a victim: kinds ends with a name NULL. */
int leaky_main(char *argv[], const struct leaky_kind *kinds, const struct leaky_kind *more);

#ifdef __cplusplus
}
#endif
#endif
