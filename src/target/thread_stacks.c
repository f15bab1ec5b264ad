/* SPDX-License-Identifier: MIT */
/*
 * thread_stacks.c - see thread_stacks.h.
 *
 * glibc has stackblock and stackblock_size in struct pthread, musl map_base and map_size: two words
 * of the control block, begin and size, that add up to the area's end, right beyond the block.
 * They are found by that shape (as in inject/tracee/own_stack.c): their place differs between
 * versions. What the first thread says cannot look so, nor can a block in a mapping beside a pool.
 */
#include "src/target/thread_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/ring/ring_threads.h"

enum { PAGE = 4096, BLOCK_WORDS = 280, BEYOND_BLOCK = 8192, SMALLEST_STACK = 16384 };
/* glibc's header and list, the head of musl's block: no stack is named in there. */
enum { GLIBC_BODY = 0x2c0 / 8, MUSL_BODY = 0x30 / 8 };

/* Private memory; a file's page may lie beyond the file's end. */
static bool is_memory(const struct procmap *map)
{
	uint32_t prot = map->prot & (PROCMAP_R | PROCMAP_W | PROCMAP_SHARED);

	return prot == (PROCMAP_R | PROCMAP_W) && !map->inode;
}

/* May all be read and written from where a guard at low ends, up to high? */
static bool is_mapped(const struct procmaps *maps, uint64_t low, uint64_t high)
{
	const uint32_t access = PROCMAP_R | PROCMAP_W | PROCMAP_X;
	const struct procmap *map = procmaps_find(maps, low);
	const struct procmap *end = maps->map + maps->count;
	uint64_t at = low;

	for (; map && map < end && map->start <= at && !(map->prot & access); map++)
		at = map->end;
	for (; map && map < end && map->start <= at && at <= high && is_memory(map); map++)
		at = map->end;
	return at > high;
}

/* Where the word is that holds the stack's begin, 0: nothing looks like it. */
static size_t find_word(const struct procmaps *maps, uint64_t block, const uint64_t *word,
			size_t count)
{
	size_t i = MUSL_BODY;

	if (count <= MUSL_BODY || word[0] != block)
		return 0;
	/* musl has its neighbours there, which are itself in a thread that is the only one. */
	if (word[2] == block && word[3] != block)
		i = GLIBC_BODY;
	for (; i + 1 < count; i++) {
		uint64_t beyond = word[i] + word[i + 1] - block;

		if (word[i] && word[i] % 8 == 0 && word[i] < block && beyond > 0 &&
		    beyond <= BEYOND_BLOCK && word[i + 1] >= SMALLEST_STACK &&
		    is_mapped(maps, word[i], block))
			return i;
	}
	return 0;
}

static void see_block(const struct thread_stacks_input *input, uint64_t block,
		      const uint64_t *word, size_t count, struct thread_stacks *ret)
{
	size_t at = find_word(input->maps, block, word, count);

	/* One libc has it at one place. */
	if (!at || ret->count == RING_MAX_STACKS || (ret->count && ret->word != at * 8))
		return;
	ret->word = (uint32_t)at * 8;
	ret->range[ret->count++] = (struct ring_range){ word[at], block };
}

static int by_high(const void *a, const void *b)
{
	const struct ring_range *left = a, *right = b;

	return left->high < right->high ? -1 : left->high > right->high;
}

/* Who reads what is not there may wait for ever for somebody to bring it (userfaultfd). */
static bool is_present(int pagemap, uint64_t page)
{
	uint64_t entry;

	return pagemap < 0 ||
	       (pread(pagemap, &entry, sizeof(entry), (off_t)(page / PAGE * 8)) == sizeof(entry) &&
		entry >> 63);
}

/* Who has come by: from now on that is known wherever its stack lies. */
static void see_thread(const struct thread_stacks_input *input, uint64_t block,
		       struct thread_stacks *ret)
{
	uint64_t word[BLOCK_WORDS], next = (block / PAGE + 1) * PAGE;
	size_t bytes = is_present(input->pagemap, next) ? sizeof(word) : next - block;
	ssize_t got = 0;

	if (bytes > sizeof(word))
		bytes = sizeof(word);
	if (is_present(input->pagemap, next - PAGE))	/* that thread may have ended long ago */
		got = pread(input->mem, word, bytes, (off_t)block);
	if (got > 0)
		see_block(input, block, word, (size_t)got / 8, ret);
}

/*
 * Who has not come by yet. Else each thread's first stacks, which are many where all is sampled for
 * a moment, would be copied through the kernel. libc's block is in the last page of its mapping,
 * unless neighbours were joined. known: the first ones of ret, sorted.
 */
static void see_mapping(const struct thread_stacks_input *input, const struct procmap *map,
			uint32_t known, struct thread_stacks *ret)
{
	uint64_t word[PAGE / 8], page = map->end - PAGE;

	if (!is_memory(map) || map->end - map->start < SMALLEST_STACK ||
	    !is_present(input->pagemap, page) ||
	    pread(input->mem, word, sizeof(word), (off_t)page) != sizeof(word))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(word); i++) {
		struct ring_range key = { .high = page + i * 8 };

		if (word[i] == key.high &&
		    !bsearch(&key, ret->range, known, sizeof(key), by_high))
			see_block(input, key.high, &word[i], ARRAY_SIZE(word) - i, ret);
	}
}

struct seeing {
	const struct thread_stacks_input *input;
	struct thread_stacks *ret;
};

static void see_slot(void *context, const struct ring_thread *thread)
{
	const struct seeing *seeing = context;
	uint64_t owner = __atomic_load_n(&thread->owner, __ATOMIC_RELAXED);

	if (owner && owner % 8 == 0 && owner <= INT64_MAX)
		see_thread(seeing->input, owner, seeing->ret);
}

void thread_stacks_find(const struct thread_stacks_input *input, struct thread_stacks *ret)
{
	struct seeing seeing = { input, ret };
	uint32_t known;

	ret->count = ret->word = 0;
	ring_threads_each(input->control, input->control_bytes, see_slot, &seeing);
	qsort(ret->range, ret->count, sizeof(*ret->range), by_high);
	known = ret->count;
	for (size_t i = 0; i < input->maps->count && input->pagemap >= 0; i++)
		see_mapping(input, &input->maps->map[i], known, ret);
	qsort(ret->range, ret->count, sizeof(*ret->range), by_high);
}
