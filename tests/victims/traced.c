/* SPDX-License-Identifier: MIT */
/*
 * traced.c - calls of every kind, written down one by one: what a log of calls must say.
 *
 *	traced [--threads=N] [--rounds=N]
 *
 * The main thread goes through every allocator call of C and the mapping calls, failures and
 * free(NULL) included; then threads allocate, grow and free each other's blocks, which they
 * exchange through a table. Each call is noted with its arguments, result and line, by thread, in
 * the order in which that thread made them; what is noted lies in static memory.
 * Commands: 'g' does all of it and prints "truth {...}", 'b' does the threads' part and prints
 * "busy ok CALLS NANOSECONDS", 'q' ends.
 */
#include "tests/victims/victim.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS	8
#define MAX_CALLS	20000
#define EXCHANGED	64
#define HUGE_SIZE	(victim_size(PTRDIFF_MAX / 2))

struct call {
	const char *name;
	int line, arguments;
	uint64_t argument[6], result;
};
static struct book {
	long tid;
	unsigned long count;	/* of all calls; the first MAX_CALLS are noted */
	struct call call[MAX_CALLS];
} books[MAX_THREADS + 1];
static __thread struct book *book;

static void note(const struct call *call)
{
	if (book->count < MAX_CALLS)
		book->call[book->count] = *call;
	book->count++;
}

/* The call stands on the line before. */
#define CALL(function, returned, ...) \
	note(&(struct call){ function, __LINE__ - 1, \
			     sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), \
			     { __VA_ARGS__ }, (uint64_t)(returned) })
#define NUMBER(pointer) ((uint64_t)(uintptr_t)(pointer))

VICTIM_FRAME static void give_back(void *p)
{
	note(&(struct call){ "free", __LINE__ + 1, 1, { NUMBER(p) }, 0 });
	free(p);
	victim_seen(NULL);	/* so that it is a call and no jump */
}

/* Up to release 2.37 glibc has one function of both names. */
static const char *aligned_alloc_name(void)
{
	return dlsym(RTLD_DEFAULT, "aligned_alloc") == dlsym(RTLD_DEFAULT, "memalign") ?
	       "memalign" : "aligned_alloc";
}

VICTIM_FRAME static void plain_calls(void)
{
	void *p, *q;

	p = victim_seen(malloc(100));
	CALL("malloc", NUMBER(p), 100);
	q = victim_seen(calloc(victim_size(12), 34));
	CALL("calloc", NUMBER(q), 12, 34);
	give_back(p);
	give_back(q);
	p = victim_seen(malloc(victim_size(0)));
	CALL("malloc", NUMBER(p), 0);
	give_back(p);
	give_back(NULL);
	p = victim_seen(memalign(victim_size(256), 300));
	CALL("memalign", NUMBER(p), 256, 300);
	give_back(p);
	p = victim_seen(aligned_alloc(64, victim_size(640)));
	CALL(aligned_alloc_name(), NUMBER(p), 64, 640);
	give_back(p);
	p = victim_seen(valloc(victim_size(5000)));
	CALL("valloc", NUMBER(p), 5000);
	give_back(p);
}

/* By a pointer: of what it knows, gcc passes the address of a variable of its own. */
static int (*volatile align)(void **block, size_t align, size_t size) = posix_memalign;

VICTIM_FRAME static void posix_calls(void)
{
	uint64_t at = 0;
	void *p = NULL;
	int error;

	error = align(&p, 64, victim_size(700));
	CALL("posix_memalign", error, NUMBER(&p), 64, 700);
	at = NUMBER(&p);
	give_back(p);
	p = NULL;
	error = align(&p, victim_size(24), 700);
	CALL("posix_memalign", error, at, 24, 700);
	error = align(&p, 64, HUGE_SIZE);
	CALL("posix_memalign", error, at, 64, PTRDIFF_MAX / 2);
	if (p)
		victim_fail("posix_memalign");
}

VICTIM_FRAME static void realloc_calls(void)
{
	uint64_t old = 0;
	void *p, *q;

	p = victim_seen(realloc(victim_seen(NULL), 50));
	CALL("realloc", NUMBER(p), 0, 50);
	old = NUMBER(p);
	p = victim_seen(realloc(p, victim_size(90000)));
	CALL("realloc", NUMBER(p), old, 90000);
	old = NUMBER(p);
	q = realloc(p, HUGE_SIZE);
	CALL("realloc", NUMBER(q), old, PTRDIFF_MAX / 2);
	if (q)
		victim_fail("realloc");
	p = victim_seen(reallocarray(p, 30, victim_size(50)));
	CALL("reallocarray", NUMBER(p), old, 30, 50);
	old = NUMBER(p);
	q = realloc(p, victim_size(0));
	CALL("realloc", NUMBER(q), old, 0);
}

VICTIM_FRAME static void failing_calls(void)
{
	void *p;

	p = victim_seen(malloc(HUGE_SIZE));
	CALL("malloc", NUMBER(p), PTRDIFF_MAX / 2);
	p = victim_seen(calloc(victim_size(SIZE_MAX / 4), 8));
	CALL("calloc", NUMBER(p), SIZE_MAX / 4, 8);
	p = victim_seen(memalign(4096, HUGE_SIZE));
	CALL("memalign", NUMBER(p), 4096, PTRDIFF_MAX / 2);
}

VICTIM_FRAME static void mapping_calls(void)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint64_t old;
	void *p;
	int error;

	p = mmap(NULL, 65536, prot, flags, -1, 0);
	CALL("mmap", NUMBER(p), 0, 65536, 3, 34, 0xffffffff, 0);
	old = NUMBER(p);
	p = mremap(p, 65536, 131072, MREMAP_MAYMOVE);
	CALL("mremap", NUMBER(p), old, 65536, 131072, 1);
	error = munmap(p, 131072);
	CALL("munmap", error, NUMBER(p), 131072);
	error = munmap((void *)1, 4096);
	CALL("munmap", (uint32_t)error, 1, 4096);
	p = mmap(NULL, 0, prot, flags, -1, 0);
	CALL("mmap", NUMBER(p), 0, 0, 3, 34, 0xffffffff, 0);
}

/* What stays: the unfreed blocks. */
static void *kept[3];
VICTIM_FRAME static void kept_calls(void)
{
	for (int i = 0; i < 3; i++) {
		kept[i] = malloc(1000 + (size_t)i);
		CALL("malloc", NUMBER(kept[i]), 1000 + i);
	}
}

static void *exchange[EXCHANGED];
static unsigned long rounds;

VICTIM_FRAME static void one_round(unsigned int *seed)
{
	unsigned int random = *seed = *seed * 1103515245u + 12345u;
	size_t bytes = 16 + random / 65536 % 2000;
	void *p, *other;
	uint64_t old;

	p = malloc(bytes);
	CALL("malloc", NUMBER(p), bytes);
	other = __atomic_exchange_n(&exchange[random / 4096 % EXCHANGED], p, __ATOMIC_ACQ_REL);
	if (other && random / 1024 % 4 == 0) {
		old = NUMBER(other);
		other = realloc(other, bytes * 2);
		CALL("realloc", NUMBER(other), old, bytes * 2);
	}
	if (other)
		give_back(other);
}

static void *thread_main(void *own)
{
	unsigned int seed = (unsigned int)((struct book *)own - books) * 7919u;

	book = own;
	book->tid = syscall(SYS_gettid);
	for (unsigned long i = 0; i < rounds; i++)
		one_round(&seed);
	return NULL;
}

static void run_threads(long count)
{
	pthread_t thread[MAX_THREADS];

	for (long i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, thread_main, &books[i + 1]) != 0)
			victim_fail("pthread_create");
	for (long i = 0; i < count; i++)
		(void)pthread_join(thread[i], NULL);
	book = &books[0];
	for (int i = 0; i < EXCHANGED; i++)
		if (exchange[i])
			give_back(exchange[i]);
	memset(exchange, 0, sizeof(exchange));
}

static void print_call(const struct call *call, bool first)
{
	victim_say("%s[\"%s\",%d,%llu,[", first ? "" : ",", call->name, call->line,
		   (unsigned long long)call->result);
	for (int i = 0; i < call->arguments; i++)
		victim_say("%s%llu", i ? "," : "", (unsigned long long)call->argument[i]);
	victim_say("]]");
}

static void print_truth(long threads)
{
	victim_say("truth {\"threads\":[");
	for (long i = 0; i <= threads; i++) {
		if (books[i].count > MAX_CALLS)
			victim_fail("too many rounds for a truth");
		victim_say("%s{\"tid\":%ld,\"calls\":[", i ? "," : "", books[i].tid);
		for (unsigned long at = 0; at < books[i].count; at++)
			print_call(&books[i].call[at], at == 0);
		victim_say("]}");
	}
	victim_say("]}\n");
}

static void print_busy(long threads, const struct timespec *begin)
{
	unsigned long calls = 0;
	struct timespec end;

	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	for (long i = 0; i <= threads; i++)
		calls += books[i].count;
	victim_say("busy ok %lu %lld\n", calls,
		   (long long)(end.tv_sec - begin->tv_sec) * 1000000000 + end.tv_nsec -
			   begin->tv_nsec);
}

int main(int argc, char **argv)
{
	long threads = victim_number(argv, "threads", 4);
	struct timespec begin;
	char command;

	(void)argc;
	rounds = (unsigned long)victim_number(argv, "rounds", 500);
	if (threads < 0 || threads > MAX_THREADS)
		victim_fail("0..8 threads");
	victim_setup();
	book = &books[0];
	book->tid = syscall(SYS_gettid);
	victim_ready();
	while ((command = victim_await()) != 'q') {
		(void)clock_gettime(CLOCK_MONOTONIC, &begin);
		if (command == 'g') {
			plain_calls();
			posix_calls();
			realloc_calls();
			failing_calls();
			mapping_calls();
			kept_calls();
		}
		run_threads(threads);
		if (command == 'g')
			print_truth(threads);
		else
			print_busy(threads, &begin);
	}
	return 0;
}
