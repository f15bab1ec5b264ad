/* SPDX-License-Identifier: MIT */
/*
 * text_pages.h - whose a page of text is that we have written to: its file's, or the program's.
 *
 * The program may write to its text while we are in it (live patching, inline hooks), also to a
 * page that we have patched. A private copy is dropped only if that changes no byte of it.
 */
#ifndef MEMATTACH_TEXT_PAGES_H
#define MEMATTACH_TEXT_PAGES_H

#include "inject/abi/ring_abi.h"
#include "inject/tracee/target.h"

/*
 * Before a word at address is written: the word as it is into patch->original, whether its page is
 * its file's own into page_is_file (COPY or FILE), what is in the page into page_hash. 0; -errno as
 * remote_read and remote_page_is_file.
 */
int text_page_note(const struct target *target, uint64_t address, struct ring_patch *patch)
	_must_check_;
/*
 * After the revert: looks at each patched page that was its file's own, in the target (maps: its
 * mappings) and in the file, and sets its patches' page_is_file: FILE, all bytes are equal, and
 * page_hash is theirs; OWN, some differ, the file has no such page any more, or the program may
 * write to it just now. A file that an ordinary user can't open any more (deleted) has had the
 * bytes that were noted in page_hash when the page was its own. 0; -errno: what could not be read
 * just now is not judged.
 */
int text_pages_judge(const struct target *target, const struct procmaps *maps,
		     struct ring_journal *journal) _must_check_;
/*
 * Right before the copy of page is dropped: 1, it holds what it did when it was judged to be FILE.
 * 0: it is another's now; page_is_file is set to OWN. -errno: it can't be read just now.
 */
int text_page_confirm(const struct target *target, struct ring_journal *journal, uint64_t page)
	_must_check_;
/*
 * After the copies were dropped: how many pages still are copies that differ in nothing from their
 * file. What others wrote to since is theirs.
 */
unsigned int text_pages_left(const struct target *target, const struct ring_journal *journal);

#endif
