/* SPDX-License-Identifier: MIT */
/*
 * feed_save.c - a snapshot into a file that the user's process opened.
 *
 * It is a value: while names are found for all of its frames, a slice at each turn, the session
 * goes on. Then it is written in one go, with no name left to wait for.
 */
#include <errno.h>
#include <string.h>

#include "src/report/report.h"
#include "src/screen/feed_private.h"

#define NAMES_SECONDS	10

void feed_saving_done(struct feed_saving *saving)
{
	cleanup_fd(&saving->file);
	snapshot_free(saving->snapshot);
	*saving = (struct feed_saving){ .file = -1 };
}

static void answer(struct feed *feed, const struct screen_saved *saved)
{
	int error = screen_outbox_begin(&feed->out, SCREEN_SAVED);

	if (!error)
		error = apart_put(&feed->out.bytes, saved, sizeof(*saved));
	(void)screen_outbox_end(&feed->out, error);
}

void feed_save_begin(struct feed *feed, int file)
{
	if (file >= 0 && feed->saving.file < 0) {
		feed->saving.file = file;
		return;
	}
	cleanup_fd(&file);
	answer(feed, &(struct screen_saved){ .error = file < 0 ? -EBADF : -EBUSY });
}

bool feed_wants_snapshot(const struct feed *feed)
{
	return feed->saving.file >= 0 && !feed->saving.snapshot;
}

void feed_save(struct feed *feed, struct snapshot *snapshot)
{
	feed->saving.snapshot = snapshot;
	feed->saving.give_up = feed_now() + NAMES_SECONDS;
}

/* 0 all its frames have names. */
static int name_site(struct feed *feed, const struct stacks *stacks,
		     const struct snapshot_site *site)
{
	struct stack stack = stacks_get(stacks, site->stack);

	for (uint32_t i = 0; i < stack.frame_count; i++) {
		size_t count;

		if (!feed_frame(feed, &stack.frame[i], &count))
			return -EAGAIN;
	}
	return 0;
}

static int name_some(struct feed *feed, const struct stacks *stacks)
{
	struct feed_saving *saving = &feed->saving;
	double until = feed_now() + FEED_SLICE_SECONDS;

	int error = 0;

	session_names_until(feed->names.names, until);
	while (!error && saving->site < saving->snapshot->site_count && feed_now() < until) {
		error = name_site(feed, stacks, &saving->snapshot->site[saving->site]);
		saving->site += !error;
	}
	session_names_until(feed->names.names, 0);
	return error;
}

static int write_file(struct feed *feed, const struct stacks *stacks, uint64_t *ret_bytes)
{
	struct report_input input = {
		.snapshot = feed->saving.snapshot, .stacks = stacks,
		.names = name_shaper_names(feed->names.shaper,
					   report_names_symbolizer(feed->names.symbolizer)),
	};
	FILE *file = fdopen(feed->saving.file, "w");
	long bytes;
	int error;

	if (!file)
		return -errno;
	feed->saving.file = -1;
	/* what is late after all stays without a name: not a moment more for it */
	session_names_until(feed->names.names, feed_now());
	error = report_find("json")->write(file, &input);
	session_names_until(feed->names.names, 0);
	bytes = ftell(file);
	*ret_bytes = bytes > 0 ? (uint64_t)bytes : 0;
	if (fclose(file) != 0 && !error)
		error = -errno;
	return error;
}

int feed_save_some(struct feed *feed, const struct stacks *stacks)
{
	struct feed_saving *saving = &feed->saving;
	struct screen_saved saved = { .error = 0 };

	if (!saving->snapshot)
		return 0;
	if (saving->site < saving->snapshot->site_count && feed_now() < saving->give_up)
		return name_some(feed, stacks);
	saved.sites = (uint32_t)saving->snapshot->site_count;
	saved.error = write_file(feed, stacks, &saved.bytes);
	answer(feed, &saved);
	feed_saving_done(saving);
	return 0;
}
