/* SPDX-License-Identifier: MIT */
/*
 * vectors.c - see vectors.h.
 *
 * Where which register lies behind the header differs from processor to processor, and is not
 * asked: every word up to the end of AVX-512's counts that may be an address. What is
 * there besides are small numbers. Left out: what lies behind (AMX's tiles hold no pointers).
 */
#include "inject/quiesce/vectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/tracee/tracee.h"

enum {
	LEGACY_LOW = 32,	/* of FXSAVE: x87 or MMX, and the low halves of 16 registers */
	LEGACY_HIGH = 416,
	EXTENDED_LOW = 576,	/* behind the header */
	EXTENDED_HIGH = 2688,	/* the largest end of AVX-512's state */
};
#define LOWEST_ADDRESS	4096u
#define ADDRESS_BITS	47

static bool may_be_address(uint64_t value)
{
	return value >= LOWEST_ADDRESS && value >> ADDRESS_BITS == 0;
}

/* Not twice for the same thread: copies of one pointer are what there is most. */
static int insert_value(struct vectors *v, size_t first, pid_t tid, uint64_t value)
{
	struct vector_word *grown = v->word;

	for (size_t i = first; i < v->count; i++)
		if (v->word[i].value == value)
			return 0;
	if ((v->count & (v->count - 1)) == 0)	/* full at every power of two */
		grown = reallocarray(grown, v->count ? v->count * 2 : 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	v->word = grown;
	v->word[v->count++] = (struct vector_word){ .tid = tid, .value = value };
	return 0;
}

int vectors_add(struct vectors *vectors, pid_t tid, const void *xstate, size_t bytes)
{
	size_t first = vectors->count;
	int error = 0;

	for (size_t at = LEGACY_LOW; !error && at < EXTENDED_HIGH; at += sizeof(uint64_t)) {
		uint64_t value;

		if (at == LEGACY_HIGH)
			at = EXTENDED_LOW;
		if (at + sizeof(value) > bytes)
			break;
		memcpy(&value, (const uint8_t *)xstate + at, sizeof(value));
		if (may_be_address(value))
			error = insert_value(vectors, first, tid, value);
	}
	return error;
}

int vectors_add_all(struct vectors *vectors, const struct stop_thread *thread, size_t count,
		    pid_t without)
{
	static uint8_t xstate[TRACEE_XSTATE_MAX];
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		size_t bytes = sizeof(xstate);

		if (thread[i].tid == without || (long)thread[i].registers.orig_rax >= 0 ||
		    tracee_get_xstate(thread[i].tid, xstate, &bytes))
			continue;
		error = vectors_add(vectors, thread[i].tid, xstate, bytes);
	}
	return error;
}

void vectors_done(struct vectors *vectors)
{
	free(vectors->word);
	*vectors = (struct vectors){ 0 };
}
