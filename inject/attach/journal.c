/* SPDX-License-Identifier: MIT */
/*
 * journal.c - see journal.h. One struct ring_patch per word, written
 * before the word is. Reverting compares first: another instrumenter may have
 * patched on top of us, and its bytes are not ours to undo.
 */
#include "inject/attach/journal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "inject/attach/island_jumps.h"
#include "inject/attach/mapped_file.h"
#include "inject/attach/trap_on_top.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/steps.h"
#include "src/base/capability.h"

/* A page that we have patched before is no longer the file's, but was. */
static const struct ring_patch *first_of_page(const struct ring_journal *j,
					      const struct ring_patch *patch)
{
	for (uint32_t i = 0; i < j->patch_count; i++)
		if ((j->patch[i].address ^ patch->address) < 4096)
			return &j->patch[i];
	return patch;
}

int journal_intend(struct ring_journal *j, struct ring_journal *mirror,
		   const struct ring_patch *patch)
{
	const struct ring_patch *first = first_of_page(j, patch);
	uint32_t i = j->patch_count;

	if (i >= RING_MAX_PATCHES)
		return -ENOSPC;
	j->patch[i] = *patch;
	j->patch[i].page_is_file = first->page_is_file;
	j->patch[i].page_hash = first->page_hash;
	j->patch[i].state = RING_PATCH_INTENDED;
	j->patch_count = i + 1;
	mirror->patch[i] = j->patch[i];
	__atomic_store_n(&mirror->patch_count, i + 1, __ATOMIC_RELEASE);
	step_point();
	return 0;
}

/* The word of the file that is mapped at address; 0 or -errno. */
static int file_word(const struct target *target, const struct procmap *map, uint64_t address,
		     uint64_t *ret)
{
	_cleanup_fd_ int fd = mapped_file_open(target, map->start, map->end);

	if (fd < 0)
		return fd;
	if (pread(fd, ret, sizeof(*ret), (off_t)(address - map->start + map->offset)) !=
	    (ssize_t)sizeof(*ret))
		return -EIO;
	return 0;
}

/*
 * True when the text that p patched is no longer at its address: nothing is there, or something
 * else whose word (*live; NULL: it can't be read) is its file's own. Whoever patches on top of us
 * leaves a word that is no file's.
 */
static bool text_is_gone(const struct target *target, const struct ring_patch *p,
			 const uint64_t *live)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	const struct procmap *map;
	uint64_t word;

	if (procmaps_read(target->maps, &maps) || maps.count == 0)
		return false;
	map = procmaps_find(&maps, p->address);
	return !map || !map->inode ||
	       (live && file_word(target, map, p->address, &word) == 0 && word == *live);
}

static void forget(struct ring_patch *p)
{
	p->state = RING_PATCH_REVERTED;
	p->page_is_file = RING_PAGE_COPY;
}

/*
 * What is there now. 1: its library was closed, there is nothing to revert; not because a read
 * failed: that may be want of memory, and the jump would lead into a shim that is no longer there.
 */
static int read_live(const struct target *target, const struct ring_patch *p, uint64_t *ret)
{
	int error = remote_read(target, p->address, ret, sizeof(*ret));

	if (error ? text_is_gone(target, p, NULL) :
	    !journal_is(p, *ret, p->original) && !journal_is(p, *ret, p->patched) &&
	    text_is_gone(target, p, ret))
		return 1;
	return error;
}

static uint64_t reverted_word(const struct ring_patch *p, uint64_t live)
{
	uint64_t others = journal_others_bytes(p);

	return (live & others) | (p->original & ~others);
}

static int revert_one(const struct target *target, struct ring_patch *p)
{
	uint64_t live;
	int error;

	if (p->state != RING_PATCH_INTENDED)
		return 0;
	error = read_live(target, p, &live);
	if (error > 0) {
		forget(p);
		return 0;
	}
	if (!error && !journal_is(p, live, p->original))
		error = journal_is(p, live, p->patched) ?
			remote_write_word(target, p->address, reverted_word(p, live)) :
			trap_revert(target, p, live);
	if (!error)
		p->state = RING_PATCH_REVERTED;
	return error;
}

bool journal_needs_stop(const struct ring_journal *j, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++)
		if (j->patch[i].address % 8 && j->patch[i].state == RING_PATCH_INTENDED)
			return true;
	return false;
}

int journal_revert(const struct target *target, struct ring_journal *j, uint32_t first,
		   uint32_t last, bool aligned_only)
{
	int error = 0;

	for (uint32_t i = last; i > first; i--) {
		struct ring_patch *p = &j->patch[i - 1];
		int one = aligned_only && p->address % 8 ? 0 : revert_one(target, p);

		error = error ? error : one;
	}
	return error;
}

/* What the word must have been before patch i: an earlier patch's result, or the file's bytes. */
static int expected_original(const struct target *target, const struct procmap *map,
			     const struct ring_journal *j, uint32_t i, uint64_t *ret)
{
	for (uint32_t k = i; k > 0; k--)
		if (j->patch[k - 1].address == j->patch[i].address) {
			*ret = j->patch[k - 1].patched;
			return 0;
		}
	return file_word(target, map, j->patch[i].address, ret);
}

void journal_lay_over(const struct ring_journal *j, uint64_t address, uint8_t *bytes, size_t count)
{
	for (uint32_t i = 0; i < j->patch_count; i++)
		for (unsigned int k = 0; k < 8; k++)
			if (j->patch[i].address + k - address < count)
				memcpy(bytes + (j->patch[i].address + k - address),
				       (const uint8_t *)&j->patch[i].patched + k, 1);
}

/* count bytes at address, with the words as we left them: those of a jump go one by one. */
static int view(const struct target *target, const struct ring_journal *j, uint64_t address,
		uint8_t *bytes, size_t count)
{
	int error = remote_read(target, address, bytes, count);

	if (!error)
		journal_lay_over(j, address, bytes, count);
	return error;
}

/* How many bytes a jump of ours has that begins at address; 0: none does. */
static unsigned int jump_bytes(const struct target *target, const struct islands *islands,
			       const struct ring_journal *j, uint64_t address)
{
	uint8_t bytes[ISLAND_JUMP_BYTES];
	uint64_t gap;

	if (!view(target, j, address, bytes, ISLAND_JUMP_BYTES) && bytes[0] == ISLAND_JUMP)
		return island_starts_at(islands, island_jump_to(bytes, address)) ?
			       ISLAND_JUMP_BYTES : 0;
	if (view(target, j, address, bytes, ISLAND_HOP_BYTES) || bytes[0] != ISLAND_HOP)
		return 0;
	gap = island_hop_to(bytes, address);
	return !view(target, j, gap, bytes, ISLAND_JUMP_BYTES) && bytes[0] == ISLAND_JUMP &&
	       island_starts_at(islands, island_jump_to(bytes, gap)) ? ISLAND_HOP_BYTES : 0;
}

/* Those of the journal's islands that the kernel confirms. */
static struct islands confirmed_islands(const struct procmaps *maps, const struct ring_journal *j,
					struct ring_island *island)
{
	struct islands islands = { island, 0 };

	for (uint32_t i = 0; i < j->island_count; i++) {
		const struct procmap *map = procmaps_find(maps, j->island[i].address);

		if (map && island_confirmed(map, &j->island[i]))
			island[islands.count++] = j->island[i];
	}
	return islands;
}

/* Are all the bytes that p changed those of jumps that lead into an island? Nobody else's do. */
static bool is_our_jump(const struct target *target, const struct procmaps *maps,
			const struct ring_journal *j, const struct ring_patch *p)
{
	struct ring_island island[RING_MAX_ISLANDS];
	const struct islands islands = confirmed_islands(maps, j, island);
	uint64_t left = ~journal_others_bytes(p);

	for (uint64_t at = p->address - ISLAND_JUMP_BYTES + 1; at < p->address + 8; at++) {
		unsigned int bytes = jump_bytes(target, &islands, j, at);

		for (unsigned int k = 0; k < bytes; k++)
			if (at + k - p->address < 8)
				left &= ~(0xffull << ((at + k - p->address) * 8));
	}
	return left == 0;
}

/*
 * Text that the program has moved to where no file says what was there before us. Only a jump of
 * ours that is there now is taken back; what is reverted already is not written again.
 */
static int check_moved(const struct target *target, const struct procmaps *maps,
		       const struct ring_journal *j, struct ring_patch *p, uint64_t live)
{
	if (journal_is(p, live, p->original)) {
		p->state = RING_PATCH_REVERTED;
		return 0;
	}
	return journal_is(p, live, p->patched) && is_our_jump(target, maps, j, p) ? 0 : -EBADMSG;
}

static int check_patch(const struct target *target, const struct procmaps *maps,
		       struct ring_journal *j, uint32_t i)
{
	struct ring_patch *p = &j->patch[i];
	const struct procmap *map = procmaps_find(maps, p->address);
	uint64_t word, live = 0;
	int error, unread;

	if (!journal_word_fits(p->address))
		return -EBADMSG;
	unread = read_live(target, p, &live);
	if (unread > 0) {
		forget(p);
		return 0;
	}
	if (!map || p->address + 8 > map->end ||
	    (map->prot & (PROCMAP_X | PROCMAP_SHARED)) != PROCMAP_X)
		return -EBADMSG;
	if (!map->inode)
		return unread ? -EBADMSG : check_moved(target, maps, j, p, live);
	error = expected_original(target, map, j, i, &word);
	if (geteuid() != 0 && !capability_held(CAP_SYS_PTRACE) && error && error != -EIO)
		return 0; /* an ordinary user can't open it; he can only harm his own process */
	if (error || journal_is(p, p->original, word))
		return error ? -EBADMSG : 0;
	/* its file may be a copy that was made while we were in it */
	return unread || !journal_is(p, p->patched, word) ? -EBADMSG :
	       check_moved(target, maps, j, p, live);
}

int journal_check(const struct target *target, struct ring_journal *j)
{
	_cleanup_(procmaps_done) struct procmaps maps = { 0 };
	int error;

	if (j->patch_count > RING_MAX_PATCHES || j->gap_patches > j->patch_count ||
	    j->island_count > RING_MAX_ISLANDS)
		return -EBADMSG;
	error = procmaps_read(target->maps, &maps);
	for (uint32_t i = 0; !error && i < j->patch_count; i++)
		error = check_patch(target, &maps, j, i);
	return error;
}

unsigned int journal_pages(const struct ring_journal *j, uint64_t *page, unsigned int room)
{
	unsigned int count = 0;

	for (uint32_t i = 0; i < j->patch_count && i < RING_MAX_PATCHES; i++) {
		uint64_t p = j->patch[i].address & ~4095ull;
		unsigned int k = 0;

		while (k < count && page[k] != p)
			k++;
		if (k == count && count < room && j->patch[i].page_is_file == RING_PAGE_FILE)
			page[count++] = p;
	}
	return count;
}
