/* SPDX-License-Identifier: MIT */
/*
 * contents.h - what a block holds at its begin, for a user who asked to see it.
 *
 * Contents of memory are private: nothing here is called without --show-bytes.
 */
#ifndef MEMATTACH_LEAK_CONTENTS_H
#define MEMATTACH_LEAK_CONTENTS_H

#include "src/leak/findings/leak_report.h"
#include "src/memory/picture.h"

#define CONTENTS_MAX_BYTES 4096u

/*
 * The first limit bytes of the block at address, fewer if it has no more or they can't be read;
 * and the string that it begins with, of at most limit bytes: of C, or a libstdc++ std::string
 * with its text inside or elsewhere. limit: 1 to CONTENTS_MAX_BYTES. Release with
 * leak_content_done. 0 or -ENOMEM.
 */
int contents_read(const struct picture *picture, const struct block *block, uint32_t limit,
		  struct leak_content *ret) _must_check_;

#endif
