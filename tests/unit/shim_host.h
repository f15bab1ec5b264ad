/* SPDX-License-Identifier: MIT */
/*
 * shim_host.h - the shim in the test's own process: what keeper and reader do
 * to a target, as little of it as the shim's tests need.
 */
#ifndef MEMATTACH_SHIM_HOST_H
#define MEMATTACH_SHIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/abi/counts_abi.h"

struct shim_host_options {
	uint32_t ring_count;		/* 0: 1 */
	uint64_t ring_bytes;		/* of each, a power of two; 0: 256 KiB */
	uint64_t thread_slots;		/* 0: 64 */
	uint64_t table_slots;		/* 0: no table */
	enum ring_mode mode;		/* 0: RING_MODE_ALL */
	uint64_t interval, seed;
	uint32_t stack_limit;
	bool recognise;			/* with room for rules, paths and shadows */
	uint32_t counts;		/* enum counts_kind: with counters, */
	uint64_t counts_slots;		/* for so many threads; 0: 64 */
};

struct shim_host {
	void *handle;			/* of dlopen */
	struct shim_root *root;
	struct ring_control *control;
	size_t bytes;			/* of the shared memory */
	struct ring_island_entry *island, *island_write;	/* the same page, r-x and rw- */
};

/*
 * Loads the shim (file $SHIM, else as compiled in), makes the shared memory.
 * Nothing is armed yet. Fails the test on any error.
 */
void shim_host_open(struct shim_host *host, const struct shim_host_options *options);
void shim_host_close(struct shim_host *host);
/*
 * A patched entry point whose original function is `original`: call what it
 * returns. [low, high): code that counts as the function's own.
 */
void *shim_host_hook(struct shim_host *host, enum ring_shape shape, const void *original,
		     uint64_t low, uint64_t high, uint32_t index_flags);
/* The deadline far away, callers published, [stack] published, control set. */
void shim_host_arm(struct shim_host *host);
/* Back to not armed; the ring stays. */
void shim_host_disarm(struct shim_host *host);

/* One record, in place. */
typedef void (*shim_host_fn)(void *context, const struct ring_record *record,
			     const struct ring_stack *stack, const uint8_t *bytes);
/*
 * Hands over the committed records of ring and frees their room. Every commit
 * word, length, kind and flag is checked. Stops at the first record that is
 * still being made. Returns how many (PAD included in *ret_pads if not NULL).
 */
unsigned int shim_host_drain(struct shim_host *host, uint32_t ring, shim_host_fn fn, void *context,
			     unsigned int *ret_pads);

/* What the last drains saw, for tests that look at a few records. */
#define SHIM_HOST_MAX 64
struct shim_host_log {
	unsigned int count;
	struct ring_record record[SHIM_HOST_MAX];
	struct ring_stack stack[SHIM_HOST_MAX];		/* or struct ring_call; zero without */
	uint64_t first_word[SHIM_HOST_MAX];		/* of the stack bytes, 0 without */
};
/* Drains all rings into log, which is emptied first. */
void shim_host_log(struct shim_host *host, struct shim_host_log *log);

/* Publishes the stacks of threads that the shim has met. 0 or as ring_publish_stacks(). */
int shim_host_publish_stacks(struct shim_host *host);
uint64_t shim_host_clock(void);

#endif
