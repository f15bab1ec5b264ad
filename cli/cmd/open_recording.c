/* SPDX-License-Identifier: MIT */
/*
 * open_recording.c - see open_recording.h.
 *
 * A recording without an end (memattach was killed, the disk was full, or it is still being
 * written) is as good as its last interval: this is said, so that nobody takes it for the whole.
 */
#include "cli/cmd/open_recording.h"

#include <string.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/recording/recorded_candidates.h"
#include "src/report/human.h"
#include "src/session/session.h"

static void warn(const char *name, const struct recording_content *content)
{
	const struct snapshot_session *session = &content->snapshot->session;

	if (content->warning[0])
		log_warning("%s: %s", name, content->warning);
	if (session->recorded_seconds > 0 || session->detached != SNAPSHOT_ATTACHED)
		return;
	log_warning("%s has no end: memattach was killed, the disk was full, or it still writes; "
		    "figures are those of %s (names: `memattach symbolize`)", name,
		    human_seconds(session->duration).text);
}

int open_recording_failed(const char *name, int error)
{
	char text[512];

	recording_explain(name, error, text, sizeof(text));
	log_error("%s", text);
	return SESSION_USAGE;
}

int open_recording(const char *name, struct recording_content *ret)
{
	int error = recording_read_at(name, ret);

	if (error)
		return open_recording_failed(name, error);
	warn(name, ret);
	return SESSION_OK;
}

int open_recording_blocks(const char *name, const struct recording_content *content,
			  const char *what)
{
	if (content->snapshot->session.mode != SNAPSHOT_COUNTS)
		return SESSION_OK;
	log_error("%s: calls were only counted, and %s needs to know which blocks live: record "
		  "with --exact, or with samples", name, what);
	return SESSION_USAGE;
}

int open_recording_leaks(const char *name, struct recording_content *content)
{
	int error;

	if (content->leaks)
		return SESSION_OK;
	if (open_recording_blocks(name, content, "a search for leaks"))
		return SESSION_USAGE;
	if (content->snapshot->session.recorded_seconds > 0) {
		log_error("%s: leaks are judged at the end of a recording; leave out the moment",
			  name);
		return SESSION_USAGE;
	}
	if (!content->lives) {
		log_error("%s holds no lifetimes of blocks to find leaks by: it is damaged, "
			  "or was made by an older memattach", name);
		return SESSION_USAGE;
	}
	error = recording_suspects(content, &content->leaks);
	if (error)
		log_error("%s: no leaks can be looked for: %s", name, why_of(error).text);
	return error ? SESSION_FAILED : SESSION_OK;
}

int open_recording_names(struct recording_content *content, const struct name_shape *shape,
			 struct name_shaper **ret)
{
	int error = report_names_shape(&content->names, shape, ret);

	if (error)
		log_error("names can't be shaped as was asked for: %s", why_of(error).text);
	return error ? SESSION_FAILED : SESSION_OK;
}
