/* SPDX-License-Identifier: MIT */
/*
 * orphan.c - what was patched, without a journal.
 *
 * A forked process has no ring (it is not copied), so nothing in it says which
 * words are ours. But only private pages of its text can hold any, the mapped
 * file has the bytes from before, and ours can be recognised: a five-byte jump
 * to the very start of a thunk in an island, or a short jump to such a jump.
 * Bytes that differ for any other reason (somebody else's patches) stay as they
 * are, also in the same word. The islands are what the kernel names as our
 * memfd, mapped shared and executable. Nothing is guessed: a file that can't
 * be opened, or a shim that is not this program's, is an error. So is a jump
 * into an island for which there is no file to compare with: the program may
 * have moved its text to anonymous memory, as "text on huge pages" does.
 */
#include "inject/attach/orphan.h"

#include <errno.h>
#include <string.h>

#include "inject/abi/memfd_names.h"
#include "inject/attach/island_jumps.h"
#include "inject/attach/journal.h"
#include "inject/attach/load.h"
#include "inject/attach/mapped_file.h"
#include "inject/attach/shim_image.h"
#include "inject/tracee/remote_mem.h"

#define PAGE 4096ull
#define ENTRIES 512u		/* of pagemap, read at once */
#define PAGEMAP_THERE (3ull << 62)	/* present or swapped */
#define PAGEMAP_FILE (1ull << 61)

enum { LONG_BYTES = ISLAND_JUMP_BYTES, SHORT_BYTES = ISLAND_HOP_BYTES,
       MAX_JUMPS = 2 * RING_MAX_ENTRIES, MAX_PAGES = 64 };

/* One of our jumps, and what the file has in its place. */
struct jump {
	uint64_t address;
	unsigned int bytes;
	bool gap;		/* only a short jump leads there */
	bool page_is_file;	/* its pages differ from the file by our jumps only */
	uint8_t live[LONG_BYTES], file[LONG_BYTES];
};
struct orphan {
	const struct attachment *a;
	const struct procmap *map;	/* being searched, and its file */
	const struct procmap *next;	/* that file goes on there, under other protections */
	int fd;
	size_t count;
	struct jump jump[MAX_JUMPS];
	uint32_t page_count;		/* private, and yet the same as the file: reverted before */
	uint64_t page[MAX_PAGES];
};
/* A page and the bytes after it that a jump from its end may cover. */
struct page {
	uint64_t address;
	size_t bytes;
	bool is_private;	/* known to be so */
	uint8_t live[PAGE + LONG_BYTES], file[PAGE + LONG_BYTES];
};

static bool is_shim(const struct procmap *map)
{
	return strcmp(map->path, MEMFD_SHIM_PATH) == 0;
}

static int list_islands(struct ring_journal *j, const struct procmaps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct procmap *map = &maps->map[i];

		if (!island_is_ours(map))
			continue;
		if (j->island_count >= RING_MAX_ISLANDS)
			return -ENOSPC;
		j->island[j->island_count++] =
			(struct ring_island){ map->start, map->end - map->start };
	}
	return 0;
}

/* Only the dynamic loader maps more of the file than its code and the islands. */
static uint32_t loader_of(const struct procmaps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (is_shim(&maps->map[i]) && !island_is_ours(&maps->map[i]) &&
		    maps->map[i].offset && maps->map[i].prot & PROCMAP_R)
			return LOADER_DLOPEN;
	return LOADER_MAP;
}

/* How much is to be unmapped is this version's knowledge. */
static bool is_our_version(const struct attachment *a, const struct procmaps *maps)
{
	size_t bytes = shim_image_bytes() < a->layout.text_bytes ? shim_image_bytes() :
								   (size_t)a->layout.text_bytes;
	_cleanup_free_ uint8_t *live = malloc(bytes);

	for (size_t i = 0; live && i < maps->count; i++)
		if (is_shim(&maps->map[i]) && maps->map[i].offset == 0)
			return remote_read(&a->target, maps->map[i].start, live, bytes) == 0 &&
			       memcmp(live, shim_image_start, bytes) == 0;
	return live != NULL;	/* it is not there, and need not be unmapped */
}

static struct islands islands_of(const struct orphan *o)
{
	return (struct islands){ o->a->journal.island, o->a->journal.island_count };
}

/* The jump at address, or NULL. */
static struct jump *find_jump(struct orphan *o, uint64_t address)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->jump[i].address == address && o->jump[i].bytes == LONG_BYTES)
			return &o->jump[i];
	return NULL;
}

static int add_jump(struct orphan *o, const struct page *p, size_t at, unsigned int bytes)
{
	struct jump *jump = &o->jump[o->count];

	if (o->count == MAX_JUMPS)
		return -ENOSPC;
	*jump = (struct jump){ .address = p->address + at, .bytes = bytes, .page_is_file = true };
	memcpy(jump->live, p->live + at, bytes);
	memcpy(jump->file, p->file + at, bytes);
	o->count++;
	return 0;
}

static bool differs(const struct page *p, size_t at, unsigned int bytes)
{
	return at + bytes <= p->bytes && memcmp(p->live + at, p->file + at, bytes) != 0;
}

static int find_long_jumps(struct orphan *o, const struct page *p)
{
	const struct islands islands = islands_of(o);
	int error = 0;

	for (size_t at = 0; !error && at < PAGE; at++) {
		if (p->live[at] != ISLAND_JUMP || !differs(p, at, LONG_BYTES))
			continue;
		if (island_starts_at(&islands, island_jump_to(p->live + at, p->address + at)))
			error = add_jump(o, p, at, LONG_BYTES);
	}
	return error;
}

static int find_short_jumps(struct orphan *o, const struct page *p)
{
	int error = 0;

	for (size_t at = 0; !error && at < PAGE; at++) {
		struct jump *gap;

		if (p->live[at] != ISLAND_HOP || !differs(p, at, SHORT_BYTES))
			continue;
		gap = find_jump(o, island_hop_to(p->live + at, p->address + at));
		if (!gap)
			continue;
		gap->gap = true;
		error = add_jump(o, p, at, SHORT_BYTES);
	}
	return error;
}

static bool touches(const struct jump *jump, const struct page *p)
{
	return jump->address < p->address + PAGE && p->address < jump->address + jump->bytes;
}

/* Is the page the file's but for our jumps? Then its copy can be dropped afterwards. */
static int judge_page(struct orphan *o, const struct page *p)
{
	uint8_t clean[PAGE];
	bool same, ours = false;

	memcpy(clean, p->live, sizeof(clean));
	for (size_t i = 0; i < o->count; i++)
		for (unsigned int k = 0; k < o->jump[i].bytes; k++)
			if (o->jump[i].address + k - p->address < PAGE)
				clean[o->jump[i].address + k - p->address] = o->jump[i].file[k];
	same = memcmp(clean, p->file, sizeof(clean)) == 0;
	for (size_t i = 0; i < o->count; i++)
		if (touches(&o->jump[i], p)) {
			o->jump[i].page_is_file &= same;
			ours = true;
		}
	if (same && !ours && p->is_private && o->page_count < MAX_PAGES)
		o->page[o->page_count++] = p->address;
	return 0;
}

/*
 * What is beyond the end of the file reads as zeroes in both. 0 or -errno: a page that could not be
 * read may hold a jump, and what the file could not be read for is not zero.
 */
static int read_page(const struct orphan *o, uint64_t address, struct page *p)
{
	uint64_t end = o->next ? o->next->end : o->map->end;
	size_t bytes = address + sizeof(p->live) <= end ? sizeof(p->live) : (size_t)PAGE;
	ssize_t got;

	memset(p, 0, sizeof(*p));
	p->address = address;
	got = pread(o->fd, p->file, bytes, (off_t)(address - o->map->start + o->map->offset));
	if (got < 0)
		return -errno;
	p->bytes = remote_read_some(&o->a->target, address, p->live, bytes);
	return p->bytes < (size_t)got ? -EIO : 0;
}

/* Visits the mapping's private pages; all pages where the kernel does not tell. */
static int each_page(struct orphan *o, int (*visit)(struct orphan *o, const struct page *p))
{
	uint64_t entry[ENTRIES];
	struct page page;
	int error = 0;

	for (uint64_t at = o->map->start; !error && at < o->map->end; at += ENTRIES * PAGE) {
		uint64_t left = (o->map->end - at) / PAGE, count = left < ENTRIES ? left : ENTRIES;
		ssize_t got = pread(o->a->target.pagemap, entry, count * 8, (off_t)(at / PAGE * 8));

		for (uint64_t i = 0; !error && i < count; i++) {
			bool told = got == (ssize_t)(count * 8);

			if (told && (!(entry[i] & PAGEMAP_THERE) || (entry[i] & PAGEMAP_FILE)))
				continue;
			error = read_page(o, at + i * PAGE, &page);
			page.is_private = told;
			if (!error)
				error = visit(o, &page);
		}
	}
	return error;
}

/* Does map's file go on behind it? Where one page's protection was changed it is cut in three. */
static bool goes_on(const struct procmap *map, const struct procmap *next)
{
	return next->start == map->end && next->inode == map->inode &&
	       next->dev_major == map->dev_major && next->dev_minor == map->dev_minor &&
	       next->offset == map->offset + (map->end - map->start) &&
	       !(next->prot & PROCMAP_SHARED);
}

/*
 * Can its bytes be compared with nothing? Then see_all_are_known() looks what they are. Of code
 * that nobody may write to it is an error that there is a file and it is not to be had.
 */
static bool is_without_file(const struct procmap *map, int error)
{
	if (error == -EINVAL)
		return true;
	return (map->prot & PROCMAP_W) && error != -ENOMEM && error != -EMFILE && error != -ENFILE;
}

static int search(struct orphan *o, const struct procmaps *maps, size_t i,
		  int (*visit)(struct orphan *o, const struct page *p))
{
	const struct procmap *map = &maps->map[i];
	_cleanup_fd_ int fd = mapped_file_open(&o->a->target, map->start, map->end);

	if (fd < 0)
		return is_without_file(map, fd) ? 0 : fd;
	o->map = map;
	o->next = i + 1 < maps->count && goes_on(map, map + 1) ? map + 1 : NULL;
	o->fd = fd;
	return each_page(o, visit);
}

/* Text of a module within reach of an island, the program may write to it or not. */
static bool may_be_patched(const struct islands *islands, const struct procmap *map)
{
	return map->inode && !is_shim(map) &&
	       (map->prot & (PROCMAP_X | PROCMAP_SHARED)) == PROCMAP_X &&
	       island_in_reach(islands, map);
}

static int search_all(struct orphan *o, const struct procmaps *maps)
{
	static int (*const visits[])(struct orphan *o, const struct page *p) = {
		find_long_jumps, find_short_jumps, judge_page
	};
	const struct islands islands = islands_of(o);
	int error = 0;

	for (size_t v = 0; v < ARRAY_SIZE(visits); v++)
		for (size_t i = 0; !error && i < maps->count; i++)
			if (may_be_patched(&islands, &maps->map[i]))
				error = search(o, maps, i, visits[v]);
	return error;
}

static bool is_known(const struct orphan *o, uint64_t address)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->jump[i].address == address)
			return true;
	return false;
}

/*
 * Is what its file has in its place what it was made of? No entry begins with zeroes: the file of
 * huge pages has them, whatever the program has copied there.
 */
static bool is_of_file(const struct jump *jump)
{
	static const uint8_t zeroes[LONG_BYTES];

	return jump->gap || memcmp(jump->file, zeroes, jump->bytes) != 0;
}

/* Were the bytes at address compared with a file's? */
static bool is_compared(const struct orphan *o, const struct procmaps *maps, uint64_t address)
{
	const struct islands islands = islands_of(o);
	const struct procmap *map = procmaps_find(maps, address);
	_cleanup_fd_ int fd = map && may_be_patched(&islands, map) ?
			      mapped_file_open(&o->a->target, map->start, map->end) : -1;

	return fd >= 0;
}

/*
 * -ETXTBSY where something leads to an island, or to a gap from where it goes on to one, and no
 * file says what was there before. Two bytes that a file has as well may be anything's.
 */
static int see_all_are_known(const struct orphan *o, const struct procmaps *maps)
{
	const struct islands islands = islands_of(o);
	uint64_t jump[MAX_JUMPS], hop[MAX_JUMPS];
	size_t jumps, hops;
	int error = island_jumps_find(&o->a->target, &islands, jump, MAX_JUMPS, &jumps);

	for (size_t i = 0; !error && i < jumps; i++)
		if (i == MAX_JUMPS || !is_known(o, jump[i]))
			error = -ETXTBSY;
	if (!error)
		error = island_hops_find(&o->a->target, &islands, jump, jumps, hop, MAX_JUMPS,
					 &hops);
	for (size_t i = 0; !error && i < hops; i++)
		if (i == MAX_JUMPS || (!is_known(o, hop[i]) && !is_compared(o, maps, hop[i])))
			error = -ETXTBSY;
	for (size_t i = 0; !error && i < o->count; i++)
		if (!is_of_file(&o->jump[i]))
			error = -ETXTBSY;
	return error;
}

/* The word at address as it was before any jump of ours stood in it, or is after the last. */
static int word_before(const struct orphan *o, uint64_t address, uint64_t *ret)
{
	const struct ring_journal *j = &o->a->journal;
	int error = remote_read(&o->a->target, address, ret, sizeof(*ret));

	for (size_t i = 0; !error && i < o->count; i++)
		for (unsigned int k = 0; k < o->jump[i].bytes; k++)
			if (o->jump[i].address + k - address < sizeof(*ret))
				memcpy((uint8_t *)ret + (o->jump[i].address + k - address),
				       &o->jump[i].file[k], 1);
	if (!error)
		journal_lay_over(j, address, (uint8_t *)ret, sizeof(*ret));
	return error;
}

/* The words that jump lies in, as if it had just been written. */
static int note_jump(struct orphan *o, struct ring_journal *j, const struct jump *jump)
{
	uint64_t at = journal_word_at(jump->address, jump->bytes);

	if (jump->gap || !journal_word_fits(at))	/* nobody runs there, or not ours */
		at = jump->address & ~7ull;

	for (; at < jump->address + jump->bytes; at += 8) {
		struct ring_patch *p = &j->patch[j->patch_count];
		int error;

		if (j->patch_count == RING_MAX_PATCHES)
			return -ENOSPC;
		*p = (struct ring_patch){ .address = at, .state = RING_PATCH_INTENDED,
					  .page_is_file = jump->page_is_file };
		error = word_before(o, at, &p->original);
		if (error)
			return error;
		p->patched = p->original;
		for (unsigned int k = 0; k < jump->bytes; k++)
			if (jump->address + k - at < 8)
				memcpy((uint8_t *)&p->patched + (jump->address + k - at),
				       &jump->live[k], 1);
		j->patch_count++;
	}
	return 0;
}

/* A page whose words are the file's again, but which is still a copy: to be dropped. */
static int note_page(struct orphan *o, struct ring_journal *j, uint64_t page)
{
	struct ring_patch *p = &j->patch[j->patch_count];
	int error;

	if (j->patch_count == RING_MAX_PATCHES)
		return 0;	/* it stays a copy: nobody can see that */
	*p = (struct ring_patch){ .address = page, .state = RING_PATCH_INTENDED,
				  .page_is_file = true };
	error = remote_read(&o->a->target, page, &p->original, sizeof(p->original));
	p->patched = p->original;
	j->patch_count += !error;
	return error;
}

/* Gaps first, as they are applied; entries are reverted first. */
static int write_journal(struct orphan *o, struct ring_journal *j)
{
	int error = 0;

	for (int gaps = 1; gaps >= 0; gaps--) {
		for (size_t i = 0; !error && i < o->count; i++)
			if (o->jump[i].gap == gaps)
				error = note_jump(o, j, &o->jump[i]);
		if (gaps)
			j->gap_patches = j->patch_count;
	}
	for (uint32_t i = 0; !error && i < o->page_count; i++)
		error = note_page(o, j, o->page[i]);
	return error;
}

int orphan_rebuild(struct attachment *a, const struct procmaps *maps)
{
	static struct orphan orphan;	/* 8 KiB; one keeper, one thread */
	struct ring_journal *j = &a->journal;
	int error;

	memset(&orphan, 0, sizeof(orphan));
	memset(j, 0, sizeof(*j));
	orphan.a = a;
	j->loader = loader_of(maps);
	if (!is_our_version(a, maps))
		return -EBADMSG;
	j->hooks_low = a->layout.hooks_low;
	j->hooks_high = a->layout.hooks_high;
	j->hooks_suspended = (uint32_t)a->layout.hooks_custom;	/* for all that is known */
	error = list_islands(j, maps);
	if (!error)
		error = search_all(&orphan, maps);
	if (!error)
		error = see_all_are_known(&orphan, maps);
	return error ? error : write_journal(&orphan, j);
}
