/* SPDX-License-Identifier: MIT */
/* snapshot_text.c - see snapshot_text.h. Nothing of the document is believed to be there. */
#include "cli/cmd/snapshot_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cleanup.h"
#include "src/report/human.h"
#include "src/report/printable.h"

#define DOCUMENT_BYTES	(1u << 30)
#define FRAMES		12u

struct source {
	int file;
	off_t at;
};

static size_t snapshot_text_take(void *buffer, size_t bytes, void *context)
{
	struct source *source = context;
	ssize_t n = source->at < DOCUMENT_BYTES ? pread(source->file, buffer, bytes, source->at) :
						  -1;

	if (n < 0)
		return (size_t)-1;
	source->at += n;
	return (size_t)n;
}

json_t *snapshot_text_read(int file)
{
	struct source source = { file, 0 };
	json_t *document = json_load_callback(snapshot_text_take, &source, 0, NULL);

	if (!json_is_object(document)) {
		json_decref(document);
		return NULL;
	}
	return document;
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void put_printable(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));
	char *shown = printable_copy(text ? text : otherwise, PRINTABLE_TERMINAL);

	fputs(shown ? shown : otherwise, stdout);
	free(shown);
}

static void put_frame(const json_t *frame)
{
	double line = number(frame, "line");

	fputs("      ", stdout);
	put_printable(frame, "function", "?");
	if (json_string_value(json_object_get(frame, "file"))) {
		fputs("  ", stdout);
		put_printable(frame, "file", "");
		if (line > 0)
			printf(":%.0f", line);
	} else {
		fputs("  ", stdout);
		put_printable(frame, "module", "");
	}
	putchar('\n');
}

static void put_frames(const json_t *site)
{
	const json_t *frames = json_object_get(site, "frames");
	size_t count = json_array_size(frames);

	for (size_t i = 0; i < count && i < FRAMES; i++)
		put_frame(json_array_get(frames, i));
	if (count > FRAMES)
		printf("      and %zu more\n", count - FRAMES);
}

static void put_site(const json_t *site)
{
	printf("%10s in %s blocks, %s allocations", human_bytes(number(site, "live_bytes")).text,
	       human_count(number(site, "live_count")).text,
	       human_count(number(site, "alloc_count")).text);
	if (json_string_value(json_object_get(site, "verdict"))) {
		fputs(", ", stdout);
		put_printable(site, "verdict", "");
	}
	printf(" (site %.0f)\n", number(site, "id"));
	put_frames(site);
}

void snapshot_text_put(const json_t *document, uint32_t top)
{
	const json_t *target = json_object_get(document, "target");
	const json_t *totals = json_object_get(document, "totals");
	const json_t *sites = json_object_get(document, "sites");
	const json_t *session = json_object_get(document, "session");

	printf("%.0f ", number(target, "pid"));
	put_printable(target, "cmdline", "");
	printf("\nwatched %s, ", human_seconds(number(session, "duration")).text);
	put_printable(session, "mode", "?");
	printf("\nlive %s in %s blocks, peak %s, RSS %s; %s allocations, %s frees; %zu sites\n\n",
	       human_bytes(number(totals, "live_bytes")).text,
	       human_count(number(totals, "live_count")).text,
	       human_bytes(number(totals, "peak_live_bytes")).text,
	       human_bytes(number(target, "rss_bytes")).text,
	       human_count(number(totals, "alloc_count")).text,
	       human_count(number(totals, "free_count")).text, json_array_size(sites));
	for (size_t i = 0; i < json_array_size(sites) && i < top; i++)
		put_site(json_array_get(sites, i));
}

bool snapshot_text_put_site(const json_t *document, uint32_t id)
{
	const json_t *sites = json_object_get(document, "sites");

	for (size_t i = 0; i < json_array_size(sites); i++) {
		const json_t *site = json_array_get(sites, i);

		if (number(site, "id") == (double)id) {
			put_frames(site);
			return true;
		}
	}
	return false;
}
