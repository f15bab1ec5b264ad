/* SPDX-License-Identifier: MIT */
/* shim_user.h - a program that the shim of shim_host.h watches: its functions and what was read. */
#ifndef MEMATTACH_TESTS_SHIM_USER_H
#define MEMATTACH_TESTS_SHIM_USER_H

#include "tests/unit/shim_host.h"

struct shim_user {
	struct shim_host host;
	struct {
		void *(*malloc)(size_t);
		void *(*realloc)(void *, size_t);
		void (*free)(void *);
		void (*dl_state)(void);
	} hook;
	struct shim_host_log log;
};

/* Opens the host, hooks the functions above before the C library's, arms. */
void user_begin(struct shim_user *user, const struct shim_host_options *options);
/* Drains into the log; exactly count records must have come. */
void user_expect(struct shim_user *user, unsigned int count);
/* What found no room in the rings, and what was lost at once: the sums of lost_*. */
struct ring_head user_losses(const struct shim_user *user);

/* What was read: zero at first. */
struct shim_tally {
	uint64_t count, lines, last_address, bytes;
};
/* For shim_host_drain(); context is a struct shim_tally. */
void shim_tally_add(void *context, const struct ring_record *record,
		    const struct ring_stack *stack, const uint8_t *bytes);

#endif
