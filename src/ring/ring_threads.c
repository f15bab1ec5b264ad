/* SPDX-License-Identifier: MIT */
/*
 * ring_threads.c - see ring_threads.h.
 *
 * The bytes that passed cost the target nothing to count: each thread counts them down anyway, and
 * the shim adds up only what count-downs begin with, when one is drawn. Rejected: to estimate them
 * from the samples. Where none is drawn, nothing seems to have been allocated, however much it was.
 */
#include "src/ring/ring_threads.h"

#include <stdbool.h>
#include <sys/mman.h>

#define PAGE		4096u
#define PASSED_MOST	(1ull << 62)

/* Has anyone written there? Who reads a page of a shared memory that was not there makes it be. */
static bool is_made(const void *at)
{
	unsigned char state = 1;

	return mincore((void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, &state) != 0 ||
	       (state & 1);
}

void ring_threads_each(const struct ring_control *control, size_t control_bytes,
		       void (*each)(void *context, const struct ring_thread *thread),
		       void *context)
{
	uint64_t at = control->threads_offset, slots = control->thread_slots;
	const struct ring_thread *thread;
	bool made = false;

	/* The target can write to control at any time. */
	if (at % RING_LINE || at > control_bytes || slots > (control_bytes - at) / sizeof(*thread))
		return;
	thread = (const struct ring_thread *)((const uint8_t *)control + at);
	for (uint64_t i = 0; i < slots; i++) {
		if (i == 0 || (uintptr_t)&thread[i] % PAGE == 0)
			made = is_made(&thread[i]);
		if (made)
			each(context, &thread[i]);
	}
}

static void take_left(void *context, const struct ring_thread *thread)
{
	uint64_t *left = context;

	*left += (uint64_t)__atomic_load_n(&thread->countdown, __ATOMIC_RELAXED);
}

uint64_t ring_threads_passed(const struct ring_control *control, size_t control_bytes)
{
	uint64_t given = __atomic_load_n(&control->given_bytes, __ATOMIC_RELAXED), left = 0;

	if (given == 0)
		return 0;
	ring_threads_each(control, control_bytes, take_left, &left);
	/* Between two words of one thread's the difference may be less than nothing. */
	if ((int64_t)(given - left) < 0)
		return 0;
	return given - left < PASSED_MOST ? given - left : PASSED_MOST;
}
