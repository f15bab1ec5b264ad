/* SPDX-License-Identifier: MIT */
/*
 * wrong_frees.c - frees what it must not, in every way that glibc notices or does not.
 *
 *	wrong_frees [--plug=PATH]	plug_a.so, for legal frees of a library's blocks
 *
 * Commands, each a case: those in small letters survive and answer "done ok", those in
 * capitals are the process's end (SIGABRT by glibc, SIGSEGV where there is no memory).
 * Those of older blocks (j, J, k, K, n, N, m, P) can be told only by who has walked the heap.
 * A comment "@name" marks the line of a call that the test looks for in a stack.
 * 'q' ends at once: heaps are broken by then. All lines are written without stdio.
 */
#include "tests/victims/plug.h"
#include "tests/victims/victim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define TCACHE_COUNT	7	/* blocks of one size that a thread's cache takes */
#define OLD_BLOCKS	8
#define OLD_LARGE	4
#define DEAD_BLOCKS	4

/* ---- another thread, which stays: what it frees lies in a cache of its own ---- */

static sem_t wanted, finished;
static void (*task)(void *argument);
static void *task_argument;

static void *other_thread(void *unused)
{
	for (;;) {
		while (sem_wait(&wanted) != 0)
			;
		task(task_argument);
		sem_post(&finished);
	}
	return unused;
}

static void on_other_thread(void (*run)(void *argument), void *argument)
{
	task = run;
	task_argument = argument;
	sem_post(&wanted);
	while (sem_wait(&finished) != 0)
		;
}

/* ---- small functions whose names and lines the test looks for ---- */

static void *old_block[OLD_BLOCKS];	/* allocated before anybody attaches */
static uint64_t *old_large[OLD_LARGE];	/* of 4096 bytes */
static void *dead_block[DEAD_BLOCKS];	/* and freed before that, too */
static char global_bytes[128] __attribute__((aligned(16)));

/* What the compiler knows to be wrong it would warn of, or leave out. */
static void *hide(void *p)
{
	return victim_seen(p);
}

VICTIM_FRAME static void *make_block(size_t size)
{
	void *p = malloc(victim_size(size));	/* @make */

	return victim_seen(p);
}

VICTIM_FRAME static void drop_block(void *p)
{
	free(hide(p));	/* @drop */
	victim_seen(NULL);
}

VICTIM_FRAME static void drop_again(void *p)
{
	free(hide(p));	/* @again */
	victim_seen(NULL);
}

VICTIM_FRAME static void *grow_dropped(void *p)
{
	p = realloc(hide(p), victim_size(24));	/* @grow */
	return victim_seen(p);
}

VICTIM_FRAME static void *grow_again(void *p)
{
	p = realloc(hide(p), victim_size(5000));	/* @grow-again */
	return victim_seen(p);
}

static void drop_on_thread(void *p)
{
	drop_block(p);
	victim_seen(NULL);
}

/* ---- double frees ---- */

/* victim_seen(NULL) behind a last call: it stays a call, and its caller a frame. */
VICTIM_FRAME static void double_caught(void)
{
	void *p = make_block(40);	/* @caught-make */

	drop_block(p);	/* @caught-drop */
	drop_again(p);	/* @caught-again */
	victim_seen(NULL);
}

/* a, b, a: only the last one freed is compared with. */
VICTIM_FRAME static void double_fastbin(void)
{
	void *fill[TCACHE_COUNT], *a, *b;

	for (int i = 0; i < TCACHE_COUNT; i++)
		fill[i] = make_block(56);
	a = make_block(56);	/* @fastbin-make */
	b = make_block(56);
	for (int i = 0; i < TCACHE_COUNT; i++)
		free(fill[i]);
	drop_block(a);	/* @fastbin-drop */
	drop_block(b);
	drop_again(a);	/* @fastbin-again */
	victim_seen(NULL);
}

/* Two blocks became one, and a third lies over both. */
VICTIM_FRAME static void double_consolidated(void)
{
	void *a = make_block(3000), *b = make_block(3000), *guard = make_block(3000), *over;

	free(a);
	drop_block(b);	/* @consolidated-drop */
	over = make_block(6000);
	drop_again(b);	/* @consolidated-again */
	victim_seen(over);
	victim_seen(guard);
}

VICTIM_FRAME static void realloc_dropped(void)
{
	void *p = make_block(24);

	drop_block(p);	/* @realloc-drop */
	p = grow_dropped(p);	/* @realloc-again */
	victim_seen(p);
}

/* Each thread has a cache of its own, and looks for double frees in that. */
VICTIM_FRAME static void double_across_threads(void)
{
	for (int i = 0; i < 3; i++) {
		void *p = make_block(72);

		on_other_thread(drop_on_thread, p);
		drop_again(p);	/* @threads-again */
	}
}

VICTIM_FRAME static void double_older(void)
{
	on_other_thread(drop_on_thread, old_block[0]);
	drop_again(old_block[0]);	/* @older-again */
	victim_seen(NULL);
}

/* ---- illegal ones ---- */

/* With what looks like a chunk's size before it, so that glibc takes it. */
VICTIM_FRAME static void inside_accepted(void)
{
	uint64_t *p = make_block(4096);	/* @inside-make */

	p[127] = 0x41;
	drop_again(p + 128);	/* @inside-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void inside_caught(void)
{
	char *p = make_block(640);

	memset(p, 0, 640);
	drop_again(p + 320);	/* @inside-caught-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void of_stack(void)
{
	char bytes[128] __attribute__((aligned(16)));

	memset(bytes, 0, sizeof(bytes));
	victim_seen(bytes);
	drop_again(bytes + 64);	/* @stack-again */
	victim_seen(NULL);
}

static void of_thread_stack(void *unused)
{
	(void)unused;
	of_stack();
	victim_seen(NULL);
}

VICTIM_FRAME static void of_global(void)
{
	drop_again(global_bytes + 64);	/* @global-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void of_mapping(void)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	drop_again(p + 64);	/* @mapping-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void of_nothing(void)
{
	drop_again((void *)(uintptr_t)0x7000);	/* @nothing-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void of_garbage(void)
{
	drop_again((void *)(uintptr_t)0xdeadbeefdeadbeefull);	/* @garbage-again */
	victim_seen(NULL);
}

/* ---- of blocks from before the attach ---- */

VICTIM_FRAME static void older_inside_accepted(void)
{
	old_large[0][127] = 0x41;
	drop_again(old_large[0] + 128);	/* @older-inside-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void older_inside_caught(void)
{
	memset(old_large[1], 0, 4096);
	drop_again(old_large[1] + 128);	/* @older-inside-caught-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void older_realloc_inside(void)
{
	old_large[2][127] = old_large[2][135] = 0x41;
	victim_seen(grow_dropped(old_large[2] + 128));	/* @older-realloc-again */
}

VICTIM_FRAME static void older_realloc_caught(void)
{
	memset(old_large[3], 0, 4096);
	victim_seen(grow_dropped(old_large[3] + 128));	/* @older-realloc-caught-again */
}

/* It lies in the other thread's cache. */
VICTIM_FRAME static void dead_accepted(void)
{
	drop_again(dead_block[0]);	/* @dead-again */
	victim_seen(NULL);
}

/* It lies in the cache of this thread, which looks. */
VICTIM_FRAME static void dead_caught(void)
{
	drop_again(dead_block[1]);	/* @dead-caught-again */
	victim_seen(NULL);
}

VICTIM_FRAME static void dead_realloc(void)
{
	victim_seen(grow_dropped(dead_block[2]));	/* @dead-realloc-again */
}

VICTIM_FRAME static void dead_realloc_caught(void)
{
	victim_seen(grow_again(dead_block[3]));	/* @dead-realloc-caught-again */
}

static void make_older(void)
{
	for (size_t i = 0; i < OLD_BLOCKS; i++)
		old_block[i] = make_block(i == 5 ? 1 << 20 : 200);
	free(old_block[6]);
	old_block[6] = aligned_alloc(4096, 4096);
	for (size_t i = 0; i < OLD_LARGE; i++)
		old_large[i] = make_block(4096);
	for (size_t i = 0; i < DEAD_BLOCKS; i++)
		dead_block[i] = make_block(328 + 16 * i);
}

static void make_dead(void)
{
	for (size_t i = 0; i < DEAD_BLOCKS; i++) {
		if (i % 2)
			drop_block(dead_block[i]);
		else
			on_other_thread(drop_on_thread, dead_block[i]);
	}
}

/* ---- what must never be called wrong ---- */

static const char *plug_path;

static void *short_thread(void *p)
{
	void *own = make_block(100);

	drop_block(p);
	drop_block(own);
	return make_block(333);
}

VICTIM_FRAME static void legal_reuse(void)
{
	for (int i = 0; i < 5000; i++) {
		void *p = make_block(16 + (size_t)i % 900), *q = make_block(40);

		drop_block(p);
		p = realloc(q, 40 + (size_t)i);
		drop_block(victim_seen(p));
	}
}

VICTIM_FRAME static void legal_older(void)
{
	old_block[1] = realloc(old_block[1], 100000);
	drop_block(victim_seen(old_block[1]));
	old_block[2] = realloc(old_block[2], 32);
	drop_block(victim_seen(old_block[2]));
	drop_block(old_block[3]);
	on_other_thread(drop_on_thread, old_block[4]);
	drop_block(old_block[5]);	/* has a mapping of its own */
	drop_block(old_block[6]);	/* aligned */
}

VICTIM_FRAME static void legal_aligned(void)
{
	void *p = NULL;

	for (size_t align = 16; align <= 65536; align *= 2) {
		if (posix_memalign(&p, align, 100) != 0)
			victim_fail("posix_memalign");
		drop_block(p);
		p = aligned_alloc(align, align);
		p = realloc(p, 3 * align);
		on_other_thread(drop_on_thread, victim_seen(p));
	}
	drop_block(valloc(10));
	drop_block(make_block(1 << 20));
	drop_block(calloc(3, 1 << 18));
}

/* Threads' ends free what lies in their caches, again, and the caches themselves. */
VICTIM_FRAME static void legal_threads(void)
{
	for (int i = 0; i < 30; i++) {
		pthread_t thread;
		void *p = make_block(64);

		if (pthread_create(&thread, NULL, short_thread, p) != 0 ||
		    pthread_join(thread, &p) != 0)
			victim_fail("threads");
		drop_block(p);
	}
}

VICTIM_FRAME static void legal_plug(void)
{
	plug_allocate_fn *allocate;
	void *handle, *p;
	int line;

	for (int i = 0; i < 5 && plug_path; i++) {
		handle = dlopen(plug_path, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			victim_fail("dlopen");
		*(void **)&allocate = dlsym(handle, "plug_allocate_a");
		p = allocate(500, &line);
		dlclose(handle);
		drop_block(p);
	}
}

VICTIM_FRAME static void legal(void)
{
	legal_reuse();
	legal_older();
	legal_aligned();
	legal_threads();
	legal_plug();
}

static void of_other_stack(void)
{
	on_other_thread(of_thread_stack, NULL);
}

static void run(char command)
{
	static const struct {
		char command;
		void (*run)(void);
	} cases[] = {
		{ 'D', double_caught }, { 'f', double_fastbin }, { 'C', double_consolidated },
		{ 'r', realloc_dropped }, { 'x', double_across_threads }, { 'o', double_older },
		{ 'i', inside_accepted }, { 'I', inside_caught }, { 'S', of_stack },
		{ 'T', of_other_stack }, { 'G', of_global }, { 'M', of_mapping },
		{ 'U', of_nothing }, { 'B', of_garbage }, { 'l', legal },
		{ 'j', older_inside_accepted }, { 'J', older_inside_caught },
		{ 'k', older_realloc_inside }, { 'K', older_realloc_caught },
		{ 'n', dead_accepted }, { 'N', dead_caught },
		{ 'm', dead_realloc }, { 'P', dead_realloc_caught },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].command == command) {
			cases[i].run();
			victim_say("done ok\n");
		}
	}
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = { 0, 0 };
	pthread_t thread;
	char command;

	(void)argc;
	victim_setup();
	(void)setrlimit(RLIMIT_CORE, &no_core);
	plug_path = victim_option(argv, "plug", NULL);
	make_older();
	if (sem_init(&wanted, 0, 0) != 0 || sem_init(&finished, 0, 0) != 0 ||
	    pthread_create(&thread, NULL, other_thread, NULL) != 0)
		victim_fail("thread");
	make_dead();
	victim_ready();
	while ((command = victim_await()) != 'q')
		run(command);
	_exit(0);
}
