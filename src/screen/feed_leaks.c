/* SPDX-License-Identifier: MIT */
/*
 * feed_leaks.c - what a search for leaks found, for the screen.
 *
 * A process of its own searched (session/check.h), and puts the answer into the form in which
 * the screen takes it; the analyst hands it on without a look at it. Sites are named as all others
 * are: the screen asks for them when it shows them.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "src/screen/feed_private.h"

#define TEXT_BYTES 1024u	/* of one text: all groups fit into a message */

static int put_cut(struct apart_answer *to, const char *text)
{
	char cut[TEXT_BYTES];

	if (!text)
		return apart_put_text(to, NULL);
	(void)snprintf(cut, sizeof(cut), "%s", text);
	return apart_put_text(to, cut);
}

static int put_group(struct apart_answer *to, const struct leak_group *from)
{
	struct screen_group group = {
		.verdict = (uint32_t)from->verdict, .site = from->site,
		.likely_site = from->likely_site, .count = from->count, .bytes = from->bytes,
		.indirect_count = from->indirect_count, .indirect_bytes = from->indirect_bytes,
		.size = from->size, .oldest = isfinite(from->oldest) ? from->oldest : -1,
	};
	int error;

	for (; group.address_count < from->address_count &&
	       group.address_count < SCREEN_GROUP_ADDRESSES; group.address_count++)
		group.address[group.address_count] = from->address[group.address_count];
	error = apart_put(to, &group, sizeof(group));
	return error ? error : put_cut(to, from->type) ?: put_cut(to, from->variable) ?:
	       put_cut(to, from->held_by) ?: put_cut(to, from->last_held_by);
}

/* The first allocator whose older blocks are not known, and why. */
static int put_uncovered(struct apart_answer *to, const struct leak_report *report)
{
	char text[256] = "";

	if (report->heap_count == 0)
		(void)snprintf(text, sizeof(text), "no allocator was found: only blocks seen since "
			       "the attach");
	for (uint32_t i = 0; i < report->heap_count && i < LEAK_MAX_HEAPS && !text[0]; i++)
		if (!report->heap[i].covered)
			(void)snprintf(text, sizeof(text), "blocks of %.15s from before the "
				       "attach are not covered: %.150s", report->heap[i].allocator,
				       report->heap[i].why);
	return apart_put_text(to, text);
}

/* They come first. */
static uint32_t count_suspects(const struct leak_report *report)
{
	uint32_t count = 0;

	while (count < report->group_count && report->group[count].verdict < LEAK_REACHABLE)
		count++;
	return count;
}

static void put_sum(struct screen_leaks *to, enum screen_leak_kind kind, const struct leak_sum *sum)
{
	to->kind[kind].count = sum->count;
	to->kind[kind].bytes = sum->bytes;
}

_Static_assert((int)SCREEN_LOST == LEAK_DEFINITELY_LOST && (int)SCREEN_MAYBE_LOST ==
	       LEAK_POSSIBLY_LOST && (int)SCREEN_STUCK == LEAK_STUCK && (int)SCREEN_GROWING ==
	       LEAK_GROWING && (int)SCREEN_OLD == LEAK_OLD && (int)SCREEN_VERDICTS ==
	       LEAK_REACHABLE, "verdicts cross as they are");

int feed_put_leaks(struct apart_answer *to, const struct leak_report *report, double time)
{
	struct screen_leaks head = {
		.time = time, .seconds = report->seconds, .pause_us = report->pause_us,
		.scanned_bytes = report->scanned_bytes, .groups_total = count_suspects(report),
		.early = (uint32_t)report->early_count,
	};
	int error;

	put_sum(&head, SCREEN_DEFINITELY, &report->kind[BLOCK_DEFINITELY_LOST]);
	put_sum(&head, SCREEN_INDIRECTLY, &report->kind[BLOCK_INDIRECTLY_LOST]);
	put_sum(&head, SCREEN_POSSIBLY, &report->kind[BLOCK_POSSIBLY_LOST]);
	put_sum(&head, SCREEN_REACHABLE, &report->kind[BLOCK_REACHABLE]);
	put_sum(&head, SCREEN_SUPPRESSED, &report->suppressed);
	head.group_count = head.groups_total < SCREEN_MAX_GROUPS ? head.groups_total :
								   SCREEN_MAX_GROUPS;
	error = apart_put(to, &head, sizeof(head));
	if (!error)
		error = put_uncovered(to, report);
	for (uint32_t i = 0; !error && i < head.group_count; i++)
		error = put_group(to, &report->group[i]);
	return error;
}

bool feed_wants_leaks(struct feed *feed)
{
	bool wanted = feed->leaks_wanted;

	feed->leaks_wanted = false;
	return wanted;
}

void feed_leaks(struct feed *feed, const void *bytes, size_t count)
{
	int error = screen_outbox_begin(&feed->out, SCREEN_LEAKS_FOUND);

	if (!error)
		error = apart_put(&feed->out.bytes, bytes, count);
	if (screen_outbox_end(&feed->out, error))
		feed_no_leaks(feed, strerror(ENOMEM));
}

void feed_no_leaks(struct feed *feed, const char *why)
{
	feed_text(feed, SCREEN_LEAKS_NONE, why);
}
