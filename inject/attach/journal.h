/* SPDX-License-Identifier: MIT */
/*
 * journal.h - the write-ahead list of patched words, kept inside the target.
 *
 * It lies in the shared memory that stays mapped when we die, so that a later
 * `memattach cleanup -p PID` finds it. Then it is the target's word against
 * ours: journal_check compares it with the target's own files before use.
 */
#ifndef MEMATTACH_JOURNAL_H
#define MEMATTACH_JOURNAL_H

#include "inject/abi/ring_abi.h"
#include "inject/tracee/target.h"

/*
 * Notes that the word patch->address is about to change (state is set here), first
 * in journal, then in mirror, which lies where the target could write to it and
 * is never read again by us. 0 or -ENOSPC.
 */
int journal_intend(struct ring_journal *journal, struct ring_journal *mirror,
		   const struct ring_patch *patch) _must_check_;
/*
 * Where the word begins that a patch of so many bytes of an entry is written by: aligned if they
 * lie in one, else at address itself.
 */
static inline uint64_t journal_word_at(uint64_t address, unsigned int bytes)
{
	return address % 8 + bytes <= 8 ? address & ~7ull : address;
}
/* Does the word lie in one page, as a word must that is written in one piece? */
static inline bool journal_word_fits(uint64_t word)
{
	return word % 4096 <= 4096 - 8;
}
/*
 * Only the bytes that a patch changes are ours, whichever else are in its word: those of another
 * patch, or of somebody else. The others, as a mask.
 */
static inline uint64_t journal_others_bytes(const struct ring_patch *patch)
{
	uint64_t changed = patch->original ^ patch->patched, others = ~0ull;

	for (uint64_t byte = 0xff; byte; byte <<= 8)
		if (changed & byte)
			others &= ~byte;
	return others;
}
/* Is live, which was read at patch->address, that word in the bytes that the patch changes? */
static inline bool journal_is(const struct ring_patch *patch, uint64_t live, uint64_t word)
{
	return ((live ^ word) & ~journal_others_bytes(patch)) == 0;
}
/* Is one of the patches [first, last) still in a word that a running thread might see half of? */
bool journal_needs_stop(const struct ring_journal *journal, uint32_t first, uint32_t last);
/* Makes count bytes, which were read at address, what they were when all patches were in place. */
void journal_lay_over(const struct ring_journal *journal, uint64_t address, uint8_t *bytes,
		      size_t count);
/*
 * Reverts patches [first, last) in reverse order, or those of them whose words are aligned. Bytes
 * that are neither patched nor original are left alone. 0, -EEXIST when there were such
 * (all others are reverted), -errno of the first write that failed (likewise).
 */
int journal_revert(const struct target *target, struct ring_journal *journal, uint32_t first,
		   uint32_t last, bool aligned_only);
/*
 * For a journal read from a target after its keeper died: counts in bounds,
 * addresses in private code, what reverting would write equal to the mapped file;
 * where there is none any more, instead of a jump into an island that the kernel
 * confirms. What was in libraries that are closed meanwhile is forgotten.
 * 0 or -EBADMSG.
 */
int journal_check(const struct target *target, struct ring_journal *journal) _must_check_;
/*
 * The text pages that were patched and are the file's own again once their private copy is dropped
 * (text_pages.h), room of them at the most, each once; the number.
 */
unsigned int journal_pages(const struct ring_journal *journal, uint64_t *page, unsigned int room);

#endif
