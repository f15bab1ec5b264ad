/* SPDX-License-Identifier: MIT */
/*
 * signal_stack.c - see signal_stack.h.
 *
 * The kernel writes a struct ucontext to the new stack: uc_flags, uc_link (0), uc_stack (the
 * alternate stack's base, flags, size), then the interrupted registers with cs = 0x33.
 * A handler interrupted by another on the same stack leaves several; the one whose
 * interrupted stack pointer lies outside is wanted. Rejected: asking the kernel (sigaltstack
 * can only be called by the thread itself), and unwinding (needs tables for every frame).
 */
#include "src/leak/roots/signal_stack.h"

#include <errno.h>

#define SCAN_BYTES	(256u << 10)
#define CHUNK_WORDS	512u
/* Words of struct ucontext. */
enum { UC_FLAGS = 0, UC_LINK, UC_SP, UC_STACK_FLAGS, UC_SIZE, UC_GREGS };
#define UC_RSP		(UC_GREGS + 15)
#define UC_RIP		(UC_GREGS + 16)
#define UC_CS		(UC_GREGS + 18)
#define UC_WORDS	(UC_CS + 1)
#define USER_CS		0x33u
#define STACK_FLAGS	0x80000003u	/* SS_ONSTACK, SS_DISABLE, SS_AUTODISARM */

/* A ucontext at address that tells of a stack which holds both rsp and itself? */
static bool fits(const uint64_t *word, uint64_t address, uint64_t rsp)
{
	uint64_t low = word[UC_SP], bytes = word[UC_SIZE];

	return word[UC_FLAGS] < 0x100 && word[UC_LINK] == 0 && low <= rsp && bytes >= 2048 &&
	       bytes < 1ull << 40 && address + UC_WORDS * 8 <= low + bytes &&
	       ((uint32_t)word[UC_STACK_FLAGS] & ~STACK_FLAGS) == 0 &&
	       (word[UC_CS] & 0xffff) == USER_CS && word[UC_RIP] != 0;
}

static bool leads_out(const uint64_t *word)
{
	return word[UC_RSP] < word[UC_SP] || word[UC_RSP] - word[UC_SP] > word[UC_SIZE];
}

int signal_stack_find(const struct picture *picture, uint64_t rsp, struct signal_stack *ret)
{
	uint64_t words[CHUNK_WORDS + UC_WORDS];
	uint64_t first = (rsp + 7) & ~7ull;

	for (uint64_t at = first; at - first < SCAN_BYTES; at += CHUNK_WORDS * 8) {
		size_t got = picture_read_some(picture, at, words, sizeof(words)) / 8;

		for (size_t i = 0; i < CHUNK_WORDS && i + UC_WORDS <= got; i++) {
			const uint64_t *word = &words[i];

			if (!fits(word, at + i * 8, rsp) || !leads_out(word))
				continue;
			*ret = (struct signal_stack){ word[UC_SP], word[UC_SP] + word[UC_SIZE],
						      word[UC_RSP] };
			return 0;
		}
		if (got < CHUNK_WORDS + UC_WORDS)
			return -ENOENT;
	}
	return -ENOENT;
}
