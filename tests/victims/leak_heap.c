/* SPDX-License-Identifier: MIT */
/*
 * leak_heap.c - fills its heap in a chosen manner, and says exactly what is live in it.
 *
 *	leak_heap SCENARIO [SEED]
 *
 * The malloc family is wrapped, so that what libc and the loader allocate is in the book
 * as well (not with -DLEAK_HEAP_PLAIN, for static programs, where only this file's own
 * calls are). Then prints "BLOCK address usable-bytes" for each live block, "process PID" (the one
 * to look at) and "ready", and stands still until it is killed. In scenario busy it never
 * stands still: it prints "BOOK address room threads", and whoever stops it reads the book, which
 * has every live block but those that each thread is just about to book or to free.
 *
 * To run on a libc older or newer than the one it is compiled for it uses little of it: no
 * stdio, no pthread functions but create and join.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOOK_ROOM	(1u << 22)
#define SLOTS		4096u
#define MAX_THREADS	32u
#define BUSY_THREADS	6u

/* The book: an open hash of addresses, in memory of its own. */
static _Atomic(uintptr_t) *book;
static atomic_flag book_lock = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set(&book_lock))
		syscall(SYS_sched_yield);
}

static void unlock(void)
{
	atomic_flag_clear(&book_lock);
}

static size_t book_place(uintptr_t p)
{
	return (size_t)((p >> 4) * 0x9e3779b97f4a7c15u >> 42);
}

static void book_make(void)
{
	long p = syscall(SYS_mmap, NULL, BOOK_ROOM * sizeof(*book), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	book = (_Atomic(uintptr_t) *)p;
}

/* Stored inverted: the book itself must not hold a pointer to any block. */
static void *book_add(void *p)
{
	size_t i = book_place((uintptr_t)p);

	if (!p)
		return p;
	lock();
	if (!book)
		book_make();
	/* Taken places that were given back are 1. */
	while (book[i] > 1)
		i = (i + 1) % BOOK_ROOM;
	book[i] = ~(uintptr_t)p;
	unlock();
	return p;
}

static void book_remove(void *p)
{
	size_t i = book_place((uintptr_t)p);

	if (!p)
		return;
	lock();
	while (book && book[i] != 0 && book[i] != ~(uintptr_t)p)
		i = (i + 1) % BOOK_ROOM;
	if (book && book[i] != 0)
		book[i] = 1;
	unlock();
}

#ifdef LEAK_HEAP_PLAIN
static void *take(size_t n) { return book_add(malloc(n)); }
static void *take_zeroed(size_t n) { return book_add(calloc(1, n)); }
static void *take_aligned(size_t a, size_t n) { return book_add(memalign(a, n)); }
static void give(void *p) { book_remove(p); free(p); }
static void *change(void *p, size_t n) { book_remove(p); return book_add(realloc(p, n)); }
#else
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t m, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t a, size_t n);
void __libc_free(void *p);

void *malloc(size_t n)
{
	return book_add(__libc_malloc(n));
}

void *calloc(size_t m, size_t n)
{
	return book_add(__libc_calloc(m, n));
}

void free(void *p)
{
	book_remove(p);
	__libc_free(p);
}

void *realloc(void *p, size_t n)
{
	void *q;

	book_remove(p);
	q = book_add(__libc_realloc(p, n));
	if (!q && n != 0)
		book_add(p);
	return q;
}

void *memalign(size_t a, size_t n)
{
	return book_add(__libc_memalign(a, n));
}

void *aligned_alloc(size_t a, size_t n)
{
	return memalign(a, n);
}

int posix_memalign(void **ret, size_t a, size_t n)
{
	*ret = memalign(a, n);
	return *ret ? 0 : ENOMEM;
}

/* A compiler that knows malloc leaves out what nobody uses. */
static void *used(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static void *take(size_t n) { return used(malloc(n)); }
static void *take_zeroed(size_t n) { return used(calloc(1, n)); }
static void *take_aligned(size_t a, size_t n) { return used(memalign(a, n)); }
static void give(void *p) { free(used(p)); }
static void *change(void *p, size_t n) { return used(realloc(p, n)); }
#endif

/* xorshift; each thread has its own. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t draw_size(uint64_t *state)
{
	switch (draw(state) % 64) {
	case 0:
		return 100000 + draw(state) % 2000000;
	case 1: case 2: case 3:
		return draw(state) % 100000;
	case 4: case 5: case 6: case 7: case 8: case 9:
		return draw(state) % 4096;
	case 10:
		return 640;	/* as large as a tcache */
	default:
		return draw(state) % 300;
	}
}

static atomic_uintptr_t slot[SLOTS];	/* shared: blocks are freed by other threads, too */
static uint64_t seed = 1;

static void fill(void *p, size_t n, uint64_t with)
{
	for (size_t i = 0; p && i + 8 <= n && i < 4096; i += 8)
		memcpy((char *)p + i, &with, sizeof(with));
}

static void *draw_block(uint64_t *state)
{
	size_t n = draw_size(state), align = (size_t)32 << draw(state) % 17;
	void *p;

	switch (draw(state) % 16) {
	case 0:
		p = take_aligned(align, n);
		break;
	case 1: case 2:
		return take_zeroed(n);
	default:
		p = take(n);
	}
	fill(p, n, draw(state));
	return p;
}

static void churn(uint64_t *state, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		atomic_uintptr_t *s = &slot[draw(state) % SLOTS];
		void *p = (void *)atomic_exchange(s, 0);

		if (!p) {
			p = draw_block(state);
		} else if (draw(state) % 4 == 0) {
			p = change(p, 1 + draw_size(state));
		} else {
			give(p);
			p = NULL;
		}
		/* Someone else may have been here meanwhile. */
		give((void *)atomic_exchange(s, (uintptr_t)p));
	}
}

static atomic_uint churned;

static void stand_still(void)
{
	for (;;)
		syscall(SYS_pause);
}

static void *churner(void *index)
{
	uint64_t state = seed * 77 + (uintptr_t)index * 1000003 + 1;
	void *mine = take(40);

	churn(&state, 20000);
	give(take(24));
	atomic_fetch_add(&churned, 1);
	/* Every third ends, and its caches with it. */
	if ((uintptr_t)index % 3 == 2)
		return NULL;
	stand_still();
	return mine;
}

static void start(unsigned int threads, void *(*run)(void *))
{
	pthread_t thread[MAX_THREADS];

	for (uintptr_t i = 0; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, run, (void *)i) != 0)
			_exit(99);
	}
	for (uintptr_t i = 0; run == churner && i < threads; i++) {
		if (i % 3 == 2)
			pthread_join(thread[i], NULL);
	}
	while (atomic_load(&churned) < threads)
		syscall(SYS_sched_yield);
}

static void mix(void)
{
	uint64_t state = seed * 31 + 7;

	churn(&state, 30000);
	start(9, churner);
}

static void single(void)
{
	uint64_t state = seed * 31 + 7;

	churn(&state, 100000);
}

static void arenas(void)
{
	mallopt(M_ARENA_MAX, 5);
	mix();
}

/* The brk area can't grow: mmap must do, and the main arena falls into pieces. */
static void pieces(void)
{
	uint64_t state = seed * 31 + 7;
	char *end;

	churn(&state, 2000);
	end = (char *)(((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095);
	if (mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
	    MAP_FAILED)
		_exit(98);
	churn(&state, 60000);
	start(4, churner);
}

/* Others call sbrk, too; their memory is not even aligned. */
static void gaps(void)
{
	uint64_t state = seed * 31 + 7;

	mallopt(M_MMAP_THRESHOLD, 30 << 20);
	for (int i = 0; i < 12; i++) {
		churn(&state, 3000);
		memset(sbrk(1000 + i * 1237), i % 3 ? 0x21 : 0, 1000);
		for (int k = 0; k < 40; k++)
			take(5000 + draw(&state) % 20000);
	}
}

/* Many blocks in fastbins. */
static void fast(void)
{
	static void *p[20000];

	mallopt(M_MXFAST, 160);
	for (unsigned int i = 0; i < 20000; i++)
		p[i] = take(i % 160);
	for (unsigned int i = 0; i < 20000; i++) {
		if (i % 5)
			give(p[i]);
	}
}

static void *hoarder(void *index)
{
	static void *p[3][4000];
	uint64_t state = seed + (uintptr_t)index + 5;

	/* Up to 200 MB: several heaps; the last of them are given back. */
	for (unsigned int i = 0; i < 4000; i++)
		p[(uintptr_t)index][i] = take(draw(&state) % 100000);
	for (unsigned int i = 0; i < 4000; i++) {
		if (i % 7 || i > 1000 * ((uintptr_t)index + 2))
			give(p[(uintptr_t)index][i]);
	}
	atomic_fetch_add(&churned, 1);
	stand_still();
	return NULL;
}

static void heaps(void)
{
	start(3, hoarder);
	malloc_trim(0);
}

/* Ends of heaps in all forms that they can take: the top's last bytes vary. */
static void *edger(void *index)
{
	(void)index;
	for (unsigned int i = 0; i < 40000; i++)
		take(5000 + i % 13 * 16);
	atomic_fetch_add(&churned, 1);
	stand_still();
	return NULL;
}

static void edges(void)
{
	start(2, edger);
}

static void mapped(void)
{
	static void *p[600];
	uint64_t state = seed + 3;

	for (unsigned int i = 0; i < 600; i++)
		p[i] = i % 3 ? take(140000 + draw(&state) % 300000)
			     : take_aligned((size_t)32 << i % 18, 200000 + draw(&state) % 9000);
	for (unsigned int i = 0; i < 600; i += 4)
		give(p[i]);
	for (unsigned int i = 1; i < 600; i += 8)
		change(p[i], 500000 + draw(&state) % 100000);
	for (unsigned int i = 3; i < 600; i += 24)
		change(p[i], 600000);
	/* Foreign memory, in part right below a block. */
	for (unsigned int i = 0; i < 20; i++)
		mmap(NULL, 4096 * (1 + i % 3), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void padded(void)
{
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_MMAP_MAX, 0);
	mix();
}

static void *busy_churner(void *index)
{
	uint64_t state = seed * 77 + (uintptr_t)index * 1000003 + 1;

	for (;;)
		churn(&state, 1000);
	return NULL;
}

static int still_busy;

static void busy(void)
{
	pthread_t thread;

	for (uintptr_t i = 1; i < BUSY_THREADS; i++) {
		if (pthread_create(&thread, NULL, busy_churner, (void *)i) != 0)
			_exit(99);
	}
	still_busy = 1;
}

/* The same on one thread, which takes no locks. */
static void lonely(void)
{
	still_busy = 1;
}

static int child_only;

/* The child has all arenas and the caches of threads that it has not. */
static void forked(void)
{
	mix();
	child_only = 1;
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "single", single }, { "mix", mix }, { "arenas", arenas }, { "pieces", pieces },
	{ "gaps", gaps }, { "fast", fast }, { "heaps", heaps }, { "edges", edges },
	{ "mapped", mapped }, { "padded", padded }, { "forked", forked },
	{ "busy", busy }, { "lonely", lonely },
};

static char out[65536];
static size_t out_bytes;

static void out_flush(void)
{
	size_t done = 0;

	while (done < out_bytes) {
		ssize_t n = write(1, out + done, out_bytes - done);

		if (n <= 0)
			_exit(97);
		done += (size_t)n;
	}
	out_bytes = 0;
}

static void out_text(const char *text)
{
	if (out_bytes + strlen(text) > sizeof(out))
		out_flush();
	memcpy(out + out_bytes, text, strlen(text));
	out_bytes += strlen(text);
}

static void out_number(uint64_t n, const char *after)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = 0;
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	out_text(at);
	out_text(after);
}

static void print_book(void)
{
	for (size_t i = 0; !still_busy && book && i < BOOK_ROOM; i++) {
		if (book[i] <= 1)
			continue;
		out_text("BLOCK ");
		out_number(~book[i], " ");
		out_number(malloc_usable_size((void *)~book[i]), "\n");
	}
	if (still_busy) {
		give(take(1));
		out_text("BOOK ");
		out_number((uintptr_t)book, " ");
		out_number(BOOK_ROOM, " ");
		out_number(BUSY_THREADS, "\n");
	}
	out_text("process ");
	out_number((uint64_t)getpid(), "\nready\n");
	out_flush();
}

int main(int argc, char **argv)
{
	size_t i = 0;

	while (i < sizeof(scenarios) / sizeof(scenarios[0]) &&
	       (argc < 2 || strcmp(scenarios[i].name, argv[1]) != 0))
		i++;
	if (i == sizeof(scenarios) / sizeof(scenarios[0]))
		return 2;
	seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	scenarios[i].run();
	if (!child_only || fork() == 0)
		print_book();
	if (still_busy)
		busy_churner(NULL);
	stand_still();
}
