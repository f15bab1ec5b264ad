/* SPDX-License-Identifier: MIT */
/*
 * wrapper.c - allocators to preload that hand every call on to the next one; the tests build it.
 *
 * WRAPPER_JUMPS: by jumps through pointers (at -O2), for nothing but a count of the calls.
 * WRAPPER_CALLS: from a helper that calls through pointers, which the entries jump to.
 * WRAPPER_HEADER: a header in front of each block, aligned ones too; notes of its own, which it
 * asks the next allocator for and gives back while a call is under way.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define APART __attribute__((noinline, noclone))

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void (*next_free)(void *);
static char early[65536] __attribute__((aligned(64)));
static size_t early_used;
long wrapper_calls;

static APART void find_next(void)
{
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
}

__attribute__((constructor)) static void wrapper_init(void)
{
	find_next();
}

/* Before the constructor has run, for the dynamic loader. */
static APART void *take_early(size_t size)
{
	void *block = early + early_used;

	early_used += (size + 63) & ~(size_t)63;
	return block;
}

static int is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

#ifdef WRAPPER_HEADER

struct header {
	void *start;
	size_t size;
};

static __thread void *note;

/* One note a thread: the last one goes when the next call comes. */
static APART void take_note(void)
{
	next_free(note);
	note = next_malloc(200);
}

static APART void *take(size_t align, size_t size)
{
	size_t room = align > sizeof(struct header) ? align : sizeof(struct header);
	struct header *header;
	char *start = NULL;

	wrapper_calls++;
	if (!next_malloc)
		return take_early(size);
	take_note();
	if (align <= 16)
		start = next_malloc(size + room);
	else if (next_posix_memalign((void **)&start, align, size + room) != 0)
		start = NULL;
	if (!start)
		return NULL;
	header = (struct header *)(start + room) - 1;
	*header = (struct header){ start, size };
	return start + room;
}

static APART void give(void *block)
{
	wrapper_calls++;
	if (block && !is_early(block)) {
		take_note();
		next_free(((struct header *)block - 1)->start);
	}
}

EXPORTED void *malloc(size_t size)
{
	return take(16, size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	void *block = take(16, count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

EXPORTED void *realloc(void *old, size_t size)
{
	void *block = take(16, size);
	size_t had = old && block ? ((struct header *)old - 1)->size : 0;

	if (old && block) {
		memcpy(block, old, had < size ? had : size);
		give(old);
	}
	return block;
}

static APART void *take_aligned(size_t align, size_t size)
{
	return take(align, size);
}

EXPORTED void free(void *block)
{
	give(block);
}

#else

#ifdef WRAPPER_CALLS
#define HANDED_ON(call) \
	do { \
		__typeof__(call) done = (call); \
		wrapper_calls++; \
		return done; \
	} while (0)
#else
#define HANDED_ON(call) do { wrapper_calls++; return (call); } while (0)
#endif

static APART void *hand_malloc(size_t size)
{
	HANDED_ON(next_malloc(size));
}

EXPORTED void *malloc(size_t size)
{
	return next_malloc ? hand_malloc(size) : take_early(size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	if (!next_malloc)
		return take_early(count * size);
	HANDED_ON(next_calloc(count, size));
}

EXPORTED void *realloc(void *old, size_t size)
{
	HANDED_ON(next_realloc(old, size));
}

static APART void *take_aligned(size_t align, size_t size)
{
	HANDED_ON(next_memalign(align, size));
}

EXPORTED void free(void *block)
{
	if (is_early(block) || !next_free)
		return;
	wrapper_calls++;
	next_free(block);
#ifdef WRAPPER_CALLS
	wrapper_calls++;
#endif
}

#endif

/* By no name that the first wrapper would be called by. */
EXPORTED void *memalign(size_t align, size_t size)
{
	return take_aligned(align, size);
}

EXPORTED void *aligned_alloc(size_t align, size_t size)
{
	return take_aligned(align, size);
}

EXPORTED int posix_memalign(void **ret, size_t align, size_t size)
{
	*ret = take_aligned(align, size);
	return *ret ? 0 : ENOMEM;
}
