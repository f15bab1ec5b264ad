/* SPDX-License-Identifier: MIT */
/* keeper_clock.c - the keeper's ticks: how often, and an analyst that is silent for too many. */
#include "inject/keeper/keeper_private.h"

#include <sys/timerfd.h>

enum { SLOW_TICK_MS = KEEPER_SLOW_TICKS * KEEPER_TICK_MS };	/* while nobody waits */
enum { HANG_TICKS = 13, SLOW_HANG_TICKS = 3, LEAVING_TICKS = 130 };

int keeper_set_clock(int timer, long ms)
{
	struct timespec period = { ms / 1000, ms % 1000 * 1000000l };
	struct itimerspec every = { period, period };

	return timerfd_settime(timer, 0, &every, NULL);
}

void keeper_pace_clock(struct keeper *k)
{
	bool slow = k->options && k->options->unhurried && k->in.done > INJECT_ENTRIES &&
		    !k->stop_wanted && !k->gone && !k->freeze.child && !k->freeze.stop &&
		    !k->access.count && !k->abandoned &&
		    keeper_kept_left_ms(k) < 0 && k->rest_due > KEEPER_FIRST_REST_TICKS;

	if (slow == k->slow || keeper_set_clock(k->timer, slow ? SLOW_TICK_MS : KEEPER_TICK_MS) < 0)
		return;
	k->slow = slow;
	k->silence.total = 0;
}

int keeper_open_clock(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		(void)keeper_set_clock(fd, KEEPER_TICK_MS);
	return fd;
}

/* Ticks. Where nobody looks on it may sleep for long, until it is told to leave. */
static unsigned int most_silent(const struct keeper *k)
{
	if (k->slow)
		return SLOW_HANG_TICKS;
	return k->options && k->options->unhurried && !k->stop_noted ?
		       SLOW_HANG_TICKS * KEEPER_SLOW_TICKS : HANG_TICKS;
}

static pid_t analyst_of(const struct keeper *k)
{
	return k->options && k->options->analyst ? k->options->analyst(k->options->context) : 0;
}

/* A large picture takes minutes to search, so a tick hardly counts while there is one. */
static void count_tick(struct keeper *k)
{
	uint32_t beat = k->in.at.control ? k->in.at.control->beat : 0;
	unsigned int part =
		keeper_silence_tick(&k->silence, analyst_of(k),
				    beat != k->beat || k->in.done <= INJECT_ENTRIES || k->gone ||
					    k->ending_noted);

	k->beat = beat;
	if (k->stop_noted && k->in.done > INJECT_LOAD)
		k->leaving += k->freeze.child ? 1 : part;
}

bool keeper_analyst_hangs(struct keeper *k, bool ticked)
{
	if (ticked)
		count_tick(k);
	return k->silence.total > most_silent(k) * SILENCE_TICK ||
	       k->leaving > LEAVING_TICKS * SILENCE_TICK;
}
