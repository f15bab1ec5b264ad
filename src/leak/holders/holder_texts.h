/* SPDX-License-Identifier: MIT */
/*
 * holder_texts.h - holders.h in a child (src/base/apart.h), which debug information may kill:
 * what comes back are the chains as text.
 */
#ifndef MEMATTACH_LEAK_HOLDER_TEXTS_H
#define MEMATTACH_LEAK_HOLDER_TEXTS_H

#include "src/leak/holders/holders.h"

#define HOLDER_TEXTS_MAX 64u	/* addresses, chains */

struct holder_texts {
	size_t count;
	char *text[HOLDER_TEXTS_MAX];	/* NULL: nothing holds it, or it can't be told */
	bool cut;			/* there may be more */
};
/* One for each address, at most HOLDER_TEXTS_MAX of them. 0 or -ENOMEM. */
int holder_texts_find(const struct holders_input *input, const uint64_t *address, size_t count,
		      struct holder_texts *ret) _must_check_;
/* All chains to the block that holds address. 0, -ENOENT no block does, -ENOMEM. */
int holder_texts_trace(const struct holders_input *input, uint64_t address,
		       struct holder_texts *ret) _must_check_;
void holder_texts_done(struct holder_texts *texts);

#endif
