/* SPDX-License-Identifier: MIT */
/* explain.c - why a recording can't be read, in words: a table of {error, why}. */
#include "src/recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void recording_explain(const char *path, int error, char *to, size_t room)
{
	static const struct {
		int error;
		const char *why;
	} known[] = {
		{ -EBADMSG, "is not a recording, or is damaged; make one with "
			    "`memattach -p PID -o FILE`" },
		{ -ENODATA, "ends before its first interval: nothing to report" },
		{ -EPROTONOSUPPORT, "was made by a newer memattach; use that one" },
		{ -EINVAL, "names no moment; write FILE@120s (or 2m, 1h), FILE@50%, FILE@peak or "
			   "FILE@end" },
		{ -ERANGE, "is a moment after the recording's end; FILE@end is its last" },
		{ -EOPNOTSUPP, "can't be had: this recording has no figures of its moments; it "
			       "was made by an older memattach" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (error != known[i].error)
			continue;
		(void)snprintf(to, room, "%.300s %s", path, known[i].why);
		return;
	}
	(void)snprintf(to, room, "%.300s: %s", path, strerror(-error));
}
