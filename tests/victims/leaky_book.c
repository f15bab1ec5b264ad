/* SPDX-License-Identifier: MIT */
/*
 * leaky_book.c - see leaky.h: the book, the wiping, threads that stay, and the commands.
 *
 * Nothing here allocates but pthread_create. Addresses are kept and compared inverted; those that
 * printing leaves on the stack are wiped as well.
 */
#include "tests/victims/leaky.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

/* Only there in a build under -fsanitize=leak. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* Its memory is searched, too: no larger than needed. */
#ifndef LEAKY_BLOCKS
#define LEAKY_BLOCKS 20000
#endif
enum { MAX_BLOCKS = LEAKY_BLOCKS };

struct entry {
	uintptr_t hidden;
	size_t bytes, requested;
	struct leaky_expected expected;
	const char *label, *function;
	int line;
};
static struct entry book[MAX_BLOCKS];
static int book_count;
static const char *label = "none";
static int others;
static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t built;
struct leaky_frame *leaky_frame;

/* musl's malloc(0) has no byte to use, and counts for one. */
static size_t usable(void *p)
{
	size_t bytes = malloc_usable_size(p);

	return bytes ? bytes : 1;
}

VICTIM_FRAME void *leaky_note(void *p, size_t requested, struct leaky_expected expected,
			      const char *function, int line)
{
	if (!p)
		victim_fail("out of memory");
	pthread_mutex_lock(&book_lock);
	if (book_count == MAX_BLOCKS)
		victim_fail("the book is full");
	book[book_count++] = (struct entry){ leaky_hide(p), usable(p), requested, expected,
					     label, function, line };
	pthread_mutex_unlock(&book_lock);
	return p;
}

VICTIM_FRAME void *leaky_book(void *p, size_t requested, struct leaky_expected expected,
			      const char *function, int line)
{
	leaky_note(p, requested, expected, function, line);
	memset(p, 0, malloc_usable_size(p));
	return victim_seen(p);
}

VICTIM_FRAME void *leaky_forget(void *p)
{
	pthread_mutex_lock(&book_lock);
	for (int i = book_count - 1; i >= 0; i--) {
		if (book[i].hidden == leaky_hide(p)) {
			book[i] = book[--book_count];
			break;
		}
	}
	pthread_mutex_unlock(&book_lock);
	return p;
}

VICTIM_FRAME void leaky_free(void *p)
{
	free(leaky_forget(p));
}

void leaky_others(int count)
{
	others += count;
}

/* ymm16 and so on have no instruction for all. */
static void forget_upper(void)
{
	__asm__ volatile("vpxorq %zmm16, %zmm16, %zmm16\n\tvpxorq %zmm17, %zmm17, %zmm17\n\t"
			 "vpxorq %zmm18, %zmm18, %zmm18\n\tvpxorq %zmm19, %zmm19, %zmm19\n\t"
			 "vpxorq %zmm20, %zmm20, %zmm20\n\tvpxorq %zmm21, %zmm21, %zmm21\n\t"
			 "vpxorq %zmm22, %zmm22, %zmm22\n\tvpxorq %zmm23, %zmm23, %zmm23\n\t"
			 "vpxorq %zmm24, %zmm24, %zmm24\n\tvpxorq %zmm25, %zmm25, %zmm25\n\t"
			 "vpxorq %zmm26, %zmm26, %zmm26\n\tvpxorq %zmm27, %zmm27, %zmm27\n\t"
			 "vpxorq %zmm28, %zmm28, %zmm28\n\tvpxorq %zmm29, %zmm29, %zmm29\n\t"
			 "vpxorq %zmm30, %zmm30, %zmm30\n\tvpxorq %zmm31, %zmm31, %zmm31");
}

void leaky_forget_vectors(void)
{
	if (__builtin_cpu_supports("avx512f"))
		forget_upper();
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall");
	else
		__asm__ volatile("pxor %xmm0, %xmm0\n\tpxor %xmm1, %xmm1\n\t"
				 "pxor %xmm2, %xmm2\n\tpxor %xmm3, %xmm3\n\t"
				 "pxor %xmm4, %xmm4\n\tpxor %xmm5, %xmm5\n\t"
				 "pxor %xmm6, %xmm6\n\tpxor %xmm7, %xmm7\n\t"
				 "pxor %xmm8, %xmm8\n\tpxor %xmm9, %xmm9\n\t"
				 "pxor %xmm10, %xmm10\n\tpxor %xmm11, %xmm11\n\t"
				 "pxor %xmm12, %xmm12\n\tpxor %xmm13, %xmm13\n\t"
				 "pxor %xmm14, %xmm14\n\tpxor %xmm15, %xmm15");
}

/* Deeper than any builder gets. */
VICTIM_FRAME void leaky_wipe(void)
{
	char volatile waste[128 << 10];

	for (size_t i = 0; i < sizeof(waste); i++)
		waste[i] = 0;
	__asm__ volatile("xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx\n\t"
			 "xor %%esi, %%esi; xor %%edi, %%edi; xor %%r8d, %%r8d\n\t"
			 "xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d"
			 : : : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			 "cc", "memory");
	leaky_forget_vectors();
}

/* --- threads ------------------------------------------------------------------ */

/* Threads are started one after the other: each takes its start before the next is written. */
struct start {
	void (*build)(int number);
	int number;
};
static struct start start;

void leaky_built(void)
{
	if (sem_post(&built))
		victim_fail("sem_post");
}

void leaky_stay(void)
{
	leaky_built();
	for (;;)
		pause();
}

static void *run(void *unused)
{
	struct start mine = start;

	(void)unused;
	mine.build(mine.number);
	leaky_wipe();
	leaky_stay();
}

VICTIM_FRAME void leaky_thread(void (*build)(int number), int number)
{
	pthread_t thread;

	leaky_others(LEAKY_MANY);
	start = (struct start){ build, number };
	if (pthread_create(&thread, NULL, run, NULL))
		victim_fail("pthread_create");
	while (sem_wait(&built))
		;
}

/* --- commands ----------------------------------------------------------------- */

static const char *verdict_name(enum leaky_verdict verdict)
{
	static const char *const name[] = { "same", "reachable", "possible", "indirect",
					    "definite", "ring" };

	return name[verdict];
}

VICTIM_FRAME static void print_book(void)
{
	for (int i = 0; i < book_count; i++) {
		const struct entry *e = &book[i];

		victim_say("block {\"label\":\"%s\",\"kind\":\"%s\",\"memcheck\":\"%s\","
			   "\"lsan\":\"%s\",\"ring\":%u,\"address\":\"0x%zx\",\"bytes\":%zu,"
			   "\"requested\":%zu,\"function\":\"%s\",\"line\":%d}\n", e->label,
			   verdict_name(e->expected.verdict), verdict_name(e->expected.memcheck),
			   verdict_name(e->expected.lsan), e->expected.ring, ~e->hidden, e->bytes,
			   e->requested, e->function, e->line);
	}
	victim_say("others %d\n", others);
}

/* Is name one of the comma-separated ones? */
static int named(const char *name, const char *list)
{
	size_t length = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
			return 1;
	return 0;
}

VICTIM_FRAME static void build(const struct leaky_kind *kinds, const char *list)
{
	for (; kinds && kinds->name; kinds++) {
		if (*list ? !named(kinds->name, list) : kinds->alone)
			continue;
		label = kinds->name;
		kinds->build();
		leaky_wipe();
	}
}

VICTIM_FRAME static void search(void)
{
#ifdef VALGRIND_DO_LEAK_CHECK
	VALGRIND_DO_LEAK_CHECK;
	/* Divides this search from that at the end, which comes in any case. */
	VALGRIND_PRINTF("searched\n");
#endif
	if (__lsan_do_recoverable_leak_check)
		(void)__lsan_do_recoverable_leak_check();
}

static void list(const struct leaky_kind *kinds)
{
	for (; kinds && kinds->name; kinds++)
		victim_say("%s %s\n", kinds->alone ? "alone" : "kind", kinds->name);
}

static void obey(char command, const struct leaky_kind *kinds, const struct leaky_kind *more,
		 const char *wanted)
{
	switch (command) {
	case 'l':
		list(kinds);
		list(more);
		victim_say("listed ok\n");
		break;
	case 'b':
		build(kinds, wanted);
		build(more, wanted);
		print_book();
		leaky_wipe();
		victim_say("built ok\n");
		break;
	case 'v':
		search();
		victim_say("searched ok\n");
		break;
	default:
		victim_fail("unknown command");
	}
	leaky_wipe();
}

int leaky_main(char *argv[], const struct leaky_kind *kinds, const struct leaky_kind *more)
{
	const char *list = victim_option(argv, "kind", "");
	struct leaky_frame frame = { { NULL } };
	char command;

	victim_setup();
	leaky_frame = victim_seen(&frame);
	if (sem_init(&built, 0, 0))
		victim_fail("sem_init");
	leaky_wipe();
	victim_ready();
	while ((command = victim_await()) != 'q')
		obey(command, kinds, more, list);
	victim_seen(&frame);
	/* What atexit would free, and other threads would still use, stays. */
	_exit(0);
}
