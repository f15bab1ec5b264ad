/* SPDX-License-Identifier: MIT */
/*
 * fuzz_figures.c - what an analyst that was taken over could send to memattachd, in pieces: figures
 * that are kept are numbers, no room is held between messages, and nonsense ends it.
 *
 * The input is what comes through the socket: a byte for the length of a piece, then the piece.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "src/daemon/figures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct figures *figures)
{
	const struct screen_state *state = &figures->state;

	if (!isfinite(state->time) || !isfinite(state->interval) || !isfinite(state->alloc_rate) ||
	    !isfinite(state->free_rate) || !isfinite(state->byte_rate) ||
	    !isfinite(state->overhead_percent) || !isfinite(state->analyst_cpu) ||
	    !isfinite(state->blocked_seconds) || !isfinite(state->gap_seconds))
		abort();
	if (figures->growing > state->site_count || state->site_count > SCREEN_MAX_SITES)
		abort();
	if (figures->socket < 0 && figures->in.bytes)
		abort();
	if (figures->asked.there && (!figures->asked.id || figures->asked.error > 0 ||
				     (!figures->asked.error && figures->asked.file < 0)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	struct figures figures;
	int analyst;

	if (figures_open(&figures, &analyst))
		return 0;
	/* The same input answers a question, of either kind, or comes unasked. */
	if (size % 3 == 1 && figures_ask_leaks(&figures, 1))
		abort();
	if (size % 3 == 2 && figures_ask_snapshot(&figures, 1, memfd_create("fuzz", MFD_CLOEXEC)))
		abort();
	while (data < end) {
		size_t bytes = *data++ + 1u;

		if (bytes > (size_t)(end - data))
			bytes = (size_t)(end - data);
		if (send(analyst, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)bytes)
			break;
		data += bytes;
		(void)figures_take(&figures, 1);
		check(&figures);
	}
	cleanup_fd(&analyst);
	(void)figures_take(&figures, 2);
	check(&figures);
	figures_close(&figures);
	figures_asked_done(&figures);
	return 0;
}
