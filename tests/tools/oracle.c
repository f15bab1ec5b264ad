/* SPDX-License-Identifier: MIT */
/*
 * oracle.c - an LD_PRELOAD library that counts what the allocator was asked for.
 *
 * A second opinion on the victims' own books, made by other means: it sees each
 * call at the symbol, not at the source line. The window is that of the victim's
 * protocol: from the command byte 'g' read from descriptor 0 to the line
 * "truth ..." written to descriptor 1. The figures go to descriptor 2 as
 * one line "oracle {JSON}". Not a memattach part, and not fast: one lock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS		(1u << 16)
#define EARLY_BYTES	4096

struct block {
	uintptr_t address;	/* 0: unused, 1: deleted */
	size_t size;
};

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*write)(int, const void *, size_t);
} real;

static struct block blocks[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long allocs, alloc_bytes, frees, free_bytes, unknown, live, peak;
static int counting;
static char early[EARLY_BYTES];	/* for dlsym, which may call calloc */
static size_t early_used;

static void resolve(void)
{
	static int resolving;

	if (real.write || resolving)
		return;
	resolving = 1;
	*(void **)&real.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&real.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&real.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&real.free = dlsym(RTLD_NEXT, "free");
	*(void **)&real.memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&real.valloc = dlsym(RTLD_NEXT, "valloc");
	*(void **)&real.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	*(void **)&real.read = dlsym(RTLD_NEXT, "read");
	*(void **)&real.write = dlsym(RTLD_NEXT, "write");
	resolving = 0;
}

static struct block *find(uintptr_t address)
{
	size_t slot = (address >> 4) * 0x9e3779b97f4a7c15u % SLOTS;

	for (size_t i = 0; i < SLOTS; i++) {
		struct block *block = &blocks[(slot + i) % SLOTS];

		if (block->address == address)
			return block;
		if (block->address == 0)
			return NULL;
	}
	return NULL;
}

static void insert(uintptr_t address, size_t size)
{
	size_t slot = (address >> 4) * 0x9e3779b97f4a7c15u % SLOTS;

	for (size_t i = 0; i < SLOTS; i++) {
		struct block *block = &blocks[(slot + i) % SLOTS];

		if (block->address <= 1) {
			*block = (struct block){ address, size };
			return;
		}
	}
	abort();
}

static void book_alloc_locked(void *p, size_t size)
{
	if (!p || !counting)
		return;
	insert((uintptr_t)p, size);
	allocs++;
	alloc_bytes += size;
	live += size;
	if (live > peak)
		peak = live;
}

static void book_free_locked(uintptr_t address)
{
	struct block *block;

	if (!address || !counting)
		return;
	block = find(address);
	if (!block) {
		unknown++;
		return;
	}
	frees++;
	free_bytes += block->size;
	live -= block->size;
	block->address = 1;
}

static void book_alloc(void *p, size_t size)
{
	pthread_mutex_lock(&lock);
	book_alloc_locked(p, size);
	pthread_mutex_unlock(&lock);
}

static void book_free(const void *p)
{
	pthread_mutex_lock(&lock);
	book_free_locked((uintptr_t)p);
	pthread_mutex_unlock(&lock);
}

void *malloc(size_t size)
{
	void *p;

	resolve();
	p = real.malloc(size);
	book_alloc(p, size);
	return p;
}

void *calloc(size_t count, size_t size)
{
	void *p;

	resolve();
	if (!real.calloc) {
		p = early + early_used;
		early_used += (count * size + 15) / 16 * 16;
		return early_used <= sizeof(early) ? p : NULL;
	}
	p = real.calloc(count, size);
	book_alloc(p, count * size);
	return p;
}

void free(void *p)
{
	resolve();
	if ((char *)p >= early && (char *)p < early + sizeof(early))
		return;
	book_free(p);
	real.free(p);
}

/* The lock covers call and books: nobody may book the old address again in between. */
void *realloc(void *old, size_t size)
{
	uintptr_t before = (uintptr_t)old;
	void *p;

	resolve();
	pthread_mutex_lock(&lock);
	p = real.realloc(old, size);
	if (p || (size == 0 && before)) {
		book_free_locked(before);
		book_alloc_locked(p, size);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *memalign(size_t alignment, size_t size)
{
	void *p;

	resolve();
	p = real.memalign(alignment, size);
	book_alloc(p, size);
	return p;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	int (*call)(void **, size_t, size_t);
	int error;

	*(void **)&call = dlsym(RTLD_NEXT, "posix_memalign");
	error = call(ret_p, alignment, size);
	if (!error)
		book_alloc(*ret_p, size);
	return error;
}

void *valloc(size_t size)
{
	void *p;

	resolve();
	p = real.valloc(size);
	book_alloc(p, size);
	return p;
}

void *pvalloc(size_t size)
{
	void *p;

	resolve();
	p = real.pvalloc(size);
	book_alloc(p, size);
	return p;
}

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t got;

	resolve();
	got = real.read(fd, buffer, size);
	if (fd == STDIN_FILENO && got == 1 && *(char *)buffer == 'g')
		counting = 1;
	return got;
}

static void report(void)
{
	char line[512];
	int length = snprintf(line, sizeof(line),
			      "oracle {\"alloc_count\":%lu,\"alloc_bytes\":%lu,\"free_count\":%lu,"
			      "\"free_bytes\":%lu,\"live_count\":%lu,\"live_bytes\":%lu,"
			      "\"peak_live_bytes\":%lu,\"free_unknown_count\":%lu}\n",
			      allocs, alloc_bytes, frees, free_bytes, allocs - frees, live, peak,
			      unknown);

	if (real.write(STDERR_FILENO, line, (size_t)length) != length)
		_exit(3);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	resolve();
	if (counting && fd == STDOUT_FILENO && size > 6 && memcmp(buffer, "truth ", 6) == 0) {
		counting = 0;
		report();
	}
	return real.write(fd, buffer, size);
}
