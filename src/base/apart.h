/* SPDX-License-Identifier: MIT */
/*
 * apart.h - questions that only a child may answer, because to find the answer may kill it.
 *
 * For what hands hostile files to libraries that trust them. The child is forked at the first
 * question, answers until it dies or is no longer wanted, and is made anew when it died.
 */
#ifndef MEMATTACH_APART_H
#define MEMATTACH_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cleanup.h"

#define APART_MAX_BYTES (8u << 20)	/* of a question, of an answer */

/* What the child answers; grows as it is written. */
struct apart_answer {
	char *bytes;
	size_t count, room;
};
int apart_put(struct apart_answer *answer, const void *bytes, size_t count) _must_check_;
/* A string with its end; NULL is told from "". Cut after 16 KiB. */
int apart_put_text(struct apart_answer *answer, const char *text) _must_check_;

/* What is left of an answer. The child may have been taken over: nothing in it is believed. */
struct apart_reader {
	const char *at;
	size_t left;
};
/* 0 or -EBADMSG. */
int apart_get(struct apart_reader *reader, void *bytes, size_t count) _must_check_;
/* *ret is in the answer, ended; NULL if NULL was put. 0 or -EBADMSG. */
int apart_get_text(struct apart_reader *reader, const char **ret) _must_check_;

struct apart_work {
	/* In the child: 0, or what apart_ask shall return. */
	int (*answer)(void *context, const void *question, size_t bytes,
		      struct apart_answer *ret);
	/*
	 * In the parent, when the child died over a question ("crashed", "took too long"): has the
	 * next one leave out what is to blame. False: there is nothing left to leave out.
	 */
	bool (*blame)(void *context, const char *how);
	void *context;
	unsigned int seconds;	/* of processor time that one question may take */
};

/*
 * No child from now on has this descriptor: through it, one could do what this process can. Of up
 * to 8 of them, which stay open as long as children are made; -1: of none any more.
 */
void apart_withhold(int fd);

struct apart;
/* work is copied. 0 or -ENOMEM. */
int apart_new(const struct apart_work *work, struct apart **ret) _must_check_;
/* Ends the child, also one that has not answered yet. NULL is ignored. */
void apart_free(struct apart *apart);
/* The next question is answered by a child that knows what this process knows then. */
void apart_renew(struct apart *apart);
/*
 * Nothing is waited for beyond that time (CLOCK_MONOTONIC, seconds; 0: as long as it takes): who is
 * asked for too long answers -EAGAIN to that and all else, until he has done with it.
 */
void apart_until(struct apart *apart, double time);
/*
 * Asks. The answer is borrowed until the next question. 0; -EAGAIN not in time; -ECHILD every child
 * died, or none can be made; what answer returned; -ENOMEM.
 */
int apart_ask(struct apart *apart, const void *question, size_t bytes,
	      struct apart_reader *ret) _must_check_;
/*
 * Asks a new child, which knows what this process knows now, and does not wait. No other is asked
 * should it die. 0, -ECHILD none can be made, -E2BIG.
 */
int apart_begin(struct apart *apart, const void *question, size_t bytes) _must_check_;
/*
 * Is the answer to that there? As apart_ask, but -EAGAIN not yet; of -ECHILD *ret_how ("crashed",
 * "took too long") says more. pre: apart_begin, and no answer yet.
 */
int apart_finish(struct apart *apart, struct apart_reader *ret, const char **ret_how) _must_check_;

#endif
