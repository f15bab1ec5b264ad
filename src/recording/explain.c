/* SPDX-License-Identifier: MIT */
/* explain.c - why a recording can't be read, in words: a table of {error, why}. */
#include "src/base/why.h"
#include "src/recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/recording/damage.h"

static void explain_damage(const char *path, char *to, size_t room)
{
	const char *cause = recording_damage_cause();

	(void)snprintf(to, room, "%.250s is not a recording, or is damaged%s%s%s; make one with "
		       "`memattach -p PID -o FILE`", path, cause[0] ? " (" : "", cause,
		       cause[0] ? ")" : "");
}

void recording_explain(const char *path, int error, char *to, size_t room)
{
	static const struct {
		int error;
		const char *why;
	} known[] = {
		{ -EUCLEAN, "was being changed by a process that was killed; run `memattach "
			    "symbolize FILE`, which undoes the half of it first" },
		{ -ENODATA, "ends before its first interval: nothing to report; record for "
			    "longer, or with a shorter --interval" },
		{ -EPROTONOSUPPORT, "was made by a newer memattach; use that one" },
		{ -EINVAL, "names no moment; write FILE@120s (or 2m, 1h), FILE@50%, FILE@peak or "
			   "FILE@end" },
		{ -ERANGE, "is a moment after the recording's end; FILE@end is its last" },
		{ -EOPNOTSUPP, "can't be had: this recording has no figures of its moments; it "
			       "was made by an older memattach" },
	};

	if (error == -EBADMSG) {
		explain_damage(path, to, room);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (error != known[i].error)
			continue;
		(void)snprintf(to, room, "%.300s %s", path, known[i].why);
		return;
	}
	(void)snprintf(to, room, "%.300s: %s", path, why_file(error).text);
}

void recording_explain_close(const char *path, int error, char *to, size_t room)
{
	(void)snprintf(to, room, "%.300s: %s; nothing is lost, but a part of it is in %.300s-wal: "
		       "keep both, and open it where there is room", path,
		       error == -EFBIG ? RECORDING_FILE_LIMIT : strerror(-error), path);
}
