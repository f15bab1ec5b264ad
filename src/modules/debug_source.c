/* SPDX-License-Identifier: MIT */
/* debug_source.c - see debug_source.h. */
#include "src/modules/debug_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void debug_source_read(const struct debug_source *source, uint64_t offset, void *buffer,
		       size_t bytes)
{
	size_t done = 0;

	memset(buffer, 0, bytes);
	if (source->fd < 0) {
		if (offset < source->size)
			memcpy(buffer, source->bytes + offset, bytes < source->size - offset ?
			       bytes : (size_t)(source->size - offset));
		return;
	}
	while (done < bytes) {
		ssize_t n = pread(source->fd, (char *)buffer + done, bytes - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

bool debug_source_has(const struct debug_source *source, uint64_t offset, uint64_t bytes)
{
	return offset <= source->size && bytes <= source->size - offset;
}
