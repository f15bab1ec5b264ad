/* SPDX-License-Identifier: MIT */
/*
 * out.c - see out.h.
 *
 * Rejected: O_NONBLOCK, which belongs to the open file and so to the user's shell as well; poll
 * before each write, which on a terminal does not say how much can be written.
 *
 * A writer that is stuck in a write when all ends is left behind: its thread ends with the
 * process, and what it still refers to is not freed.
 */
#include "src/trace/out.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define CHUNK 65536u

struct trace_out {
	int fd;
	size_t room;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	size_t first, count;	/* bytes[first ..] modulo room */
	int error;
	bool ending;
	bool flush;		/* until all is written */
	char bytes[];
};

/* The next stretch to write, or 0 when it is to end. Sleeps while there is none. */
static size_t await_bytes(struct trace_out *out, const char **ret)
{
	size_t count;

	pthread_mutex_lock(&out->lock);
	while ((out->count == 0 || (out->count < CHUNK && !out->flush)) && !out->ending &&
	       !out->error)
		pthread_cond_wait(&out->filled, &out->lock);
	count = out->error ? 0 : out->count < CHUNK ? out->count : CHUNK;
	if (count > out->room - out->first)
		count = out->room - out->first;
	*ret = out->bytes + out->first;
	pthread_mutex_unlock(&out->lock);
	return count;
}

static void took_bytes(struct trace_out *out, ssize_t written, int error)
{
	pthread_mutex_lock(&out->lock);
	if (written > 0) {
		out->first = (out->first + (size_t)written) % out->room;
		out->count -= (size_t)written;
		out->flush = out->flush && out->count > 0;
	} else if (error != EINTR && error != EAGAIN) {
		out->error = error ? -error : -EIO;
		out->count = 0;
	}
	pthread_cond_broadcast(&out->emptied);
	pthread_mutex_unlock(&out->lock);
}

/* Somebody made the descriptor one that does not wait. */
static void await_writable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };

	(void)poll(&wait, 1, 100);
}

static void *write_all(void *context)
{
	struct trace_out *out = context;
	const char *bytes;
	size_t count;

	while ((count = await_bytes(out, &bytes)) > 0) {
		ssize_t written = write(out->fd, bytes, count);
		int error = written < 0 ? errno : 0;

		if (error == EAGAIN)
			await_writable(out->fd);
		took_bytes(out, written, error);
	}
	return NULL;
}

int trace_out_new(int fd, size_t bytes, struct trace_out **ret)
{
	struct trace_out *out = calloc(1, sizeof(*out) + bytes);
	int error;

	if (!out)
		return -ENOMEM;
	out->fd = fd;
	out->room = bytes;
	pthread_mutex_init(&out->lock, NULL);
	pthread_cond_init(&out->filled, NULL);
	pthread_cond_init(&out->emptied, NULL);
	error = pthread_create(&out->thread, NULL, write_all, out);
	if (error) {
		free(out);
		return -error;
	}
	*ret = out;
	return 0;
}

void trace_out_free(struct trace_out *out)
{
	bool stuck;

	if (!out)
		return;
	pthread_mutex_lock(&out->lock);
	stuck = !out->error && out->count > 0;	/* or it is just about to write */
	out->ending = true;
	if (stuck)
		out->error = -ECANCELED;
	pthread_cond_broadcast(&out->filled);
	pthread_mutex_unlock(&out->lock);
	if (stuck) {
		(void)pthread_detach(out->thread);
		return;
	}
	(void)pthread_join(out->thread, NULL);
	pthread_mutex_destroy(&out->lock);
	pthread_cond_destroy(&out->filled);
	pthread_cond_destroy(&out->emptied);
	free(out);
}

static void copy_in(struct trace_out *out, const char *bytes, size_t count)
{
	size_t at = (out->first + out->count) % out->room;
	size_t before_end = count < out->room - at ? count : out->room - at;

	memcpy(out->bytes + at, bytes, before_end);
	memcpy(out->bytes, bytes + before_end, count - before_end);
	out->count += count;
}

int trace_out_put(struct trace_out *out, const void *bytes, size_t count)
{
	int error;

	if (count > out->room)
		return -E2BIG;
	pthread_mutex_lock(&out->lock);
	error = out->error ? out->error : out->room - out->count < count ? -EAGAIN : 0;
	if (!error && count) {
		bool woken = out->count >= CHUNK;

		copy_in(out, bytes, count);
		if (!woken && out->count >= CHUNK)
			pthread_cond_signal(&out->filled);
	}
	pthread_mutex_unlock(&out->lock);
	return error;
}

/* pre: the lock is held. */
static void flush(struct trace_out *out)
{
	if (out->count == 0 || out->flush)
		return;
	out->flush = true;
	pthread_cond_signal(&out->filled);
}

void trace_out_flush(struct trace_out *out)
{
	pthread_mutex_lock(&out->lock);
	flush(out);
	pthread_mutex_unlock(&out->lock);
}

int trace_out_error(struct trace_out *out)
{
	struct pollfd end = { .fd = out->fd };
	int error;

	pthread_mutex_lock(&out->lock);
	if (!out->error && poll(&end, 1, 0) > 0 && (end.revents & POLLERR))
		out->error = -EPIPE;
	error = out->error;
	pthread_mutex_unlock(&out->lock);
	return error;
}

void trace_out_wait(struct trace_out *out, unsigned int milliseconds)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)milliseconds % 1000 * 1000000;
	until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&out->lock);
	flush(out);
	while (!out->error && out->count > out->room / 4 * 3 &&
	       pthread_cond_timedwait(&out->emptied, &out->lock, &until) == 0)
		;
	pthread_mutex_unlock(&out->lock);
}

int trace_out_finish(struct trace_out *out)
{
	int error;

	pthread_mutex_lock(&out->lock);
	flush(out);
	while (!out->error && out->count > 0)
		pthread_cond_wait(&out->emptied, &out->lock);
	error = out->error;
	pthread_mutex_unlock(&out->lock);
	return error;
}
