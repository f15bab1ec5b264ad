/* SPDX-License-Identifier: MIT */
/*
 * leak_roots.c - places for pointers, and of what kind each is.
 *
 * leak_roots SEED [PLUGIN]: makes threads on every kind of stack, then writes one line a
 * place, "KIND TID ADDRESS NAME", and "ready"; then nothing moves any more. KIND: globals,
 * stacks, tls (TID 0: of no live thread), none (no root), heap (a heap block, no root), dynamic (a
 * heap block that a thread's dtv holds). "thread TID KNOWN" says whether the bounds of
 * the stack it runs on can be known; "block", "exclude": what the reader must be told.
 * Ends with its parent. LEAK_ROOTS_STATIC: built without dlopen.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef LEAK_ROOTS_STATIC
#include <dlfcn.h>
#endif
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#include "tests/victims/victim.h"

#define PLAIN_THREADS	12
#define ENDED_THREADS	3
#define SPECIFIC	0x5bec1f1cul
#define RESULT		0x4e5017a1ul

static long data_word = 1, bss_word, excluded_zone[64];
static long *const relro_word[] = { &data_word, &bss_word };
static const long rodata_word = 5;
static __thread long tls_data = 3, tls_bss[100];
static char static_signal_stack[64 << 10] __attribute__((aligned(16)));
static pthread_key_t key;
static sem_t settled;
static long *(*plug_tls)(void);
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;

static int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

static void say_for(int tid, const char *kind, const volatile void *place, const char *name)
{
	pthread_mutex_lock(&saying);
	dprintf(1, "%s %d %lx %s\n", kind, tid, (unsigned long)place, name);
	pthread_mutex_unlock(&saying);
}

static void say(const char *kind, const volatile void *place, const char *name)
{
	say_for(thread_id(), kind, place, name);
}

static void say_global(const char *kind, const volatile void *place, const char *name)
{
	say_for(0, kind, place, name);
}

static void say_block(const void *block, size_t bytes)
{
	dprintf(1, "block %zu %lx -\n", bytes, (unsigned long)block);
}

static void say_running(const char *known)
{
	dprintf(1, "thread %d 0 %s\n", thread_id(), known);
}

/* Says that this thread (on the stack of the caller) is where it will stay, and stays. */
static void stay(const char *known)
{
	say_running(known);
	sem_post(&settled);
	for (;;)
		pause();
}

static void *mapping(size_t bytes, int prot, int flags, int fd)
{
	void *result = mmap(NULL, bytes, prot, flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (result == MAP_FAILED) {
		perror("mmap");
		exit(3);
	}
	return result;
}

/* A place deep below whatever is called later at the same depth. */
VICTIM_FRAME static void say_stale(const char *kind, const char *name)
{
	volatile char deep[12 << 10];

	deep[0] = 1;
	say(kind, &deep[(16 - (uintptr_t)deep % 8) % 8], name);
	(void)deep[0];
}

VICTIM_FRAME static long *dynamic_tls(void)
{
	return plug_tls ? plug_tls() : NULL;
}

/* Looks for word in this thread's control block. */
static const long *find_in_control_block(pthread_t thread, unsigned long word)
{
	const unsigned long *at = (const unsigned long *)thread;

	for (size_t i = 0; i < 0x900 / 8; i++) {
		if (at[i] == word)
			return (const long *)&at[i];
	}
	return NULL;
}

static void say_thread_data(void)
{
	const long *found;

	say("tls", &tls_data, "tls_data");
	say("tls", &tls_bss[99], "tls_bss");
	say("tls", (const void *)pthread_self(), "tcb");
	pthread_setspecific(key, (void *)SPECIFIC);
	found = find_in_control_block(pthread_self(), SPECIFIC);
	if (found)
		say("tls", found, "specific");
	if (dynamic_tls())
		say("dynamic", dynamic_tls(), "dynamic_tls");
}

/* --- threads on their own stacks --------------------------------------------- */

static void *plain_thread(void *unused)
{
	volatile long local = 1;

	(void)unused;
	say_thread_data();
	say_stale("none", "stale");
	say("stacks", &local, "local");
	stay("known");
	return NULL;
}

static void start(void *(*run)(void *), void *argument, const pthread_attr_t *attributes)
{
	pthread_t thread;

	if (pthread_create(&thread, attributes, run, argument) != 0) {
		fputs("pthread_create failed\n", stderr);
		exit(3);
	}
	while (sem_wait(&settled) != 0)
		;
}

static void start_plain_threads(void)
{
	for (int i = 0; i < PLAIN_THREADS; i++) {
		pthread_attr_t attributes;

		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes,
					  (size_t)(64 << 10) + (size_t)(rand() % 2000 * 512));
		if (rand() % 3 == 0)
			pthread_attr_setguardsize(&attributes, (size_t)(rand() % 3) * 4096);
		start(plain_thread, NULL, &attributes);
	}
}

/* A stack in the middle of other memory, at an odd place. */
static void start_on_given_stacks(void)
{
	const size_t bytes = 128 << 10;
	char *pool = mapping(1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);
	char *block = malloc(bytes);
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, pool + 4096 * 5 + 64, bytes);
	say_global("globals", pool + 4096 * 5 + 56, "below_given_stack");
	say_global("globals", pool + 4096 * 5 + 64 + bytes, "above_given_stack");
	start(plain_thread, NULL, &attributes);
	memset(block, 0, bytes);
	say_block(block, bytes);
	pthread_attr_setstack(&attributes, block + (-(uintptr_t)block & 63), bytes - 128);
	start(plain_thread, NULL, &attributes);
}

/* --- threads off their own stacks -------------------------------------------- */

static void inner_handler(int number)
{
	volatile long local = number;

	say_stale("none", "stale_on_signal_stack");
	say("stacks", &local, "inner_handler");
	stay("known");
}

static void outer_handler(int number)
{
	volatile long local = number;

	say("stacks", &local, "outer_handler");
	raise(SIGUSR2);
	(void)local;
}

static void *signal_thread(void *signal_stack)
{
	volatile long local = 1;
	stack_t stack = { .ss_sp = signal_stack, .ss_size = 64 << 10 };

	say_stale("none", "stale_before_signal");
	say("stacks", &local, "interrupted");
	sigaltstack(&stack, NULL);
	raise(SIGUSR1);
	return (void *)local;
}

static void start_signal_threads(void)
{
	struct sigaction action = { .sa_flags = SA_ONSTACK };
	char *block = malloc(64 << 10);
	char *pool = mapping(1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);

	action.sa_handler = outer_handler;
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = inner_handler;
	sigaction(SIGUSR2, &action, NULL);
	say_block(block, 64 << 10);
	start(signal_thread, block, NULL);
	start(signal_thread, static_signal_stack, NULL);
	start(signal_thread, pool + 8192, NULL);
	say_global("globals", pool + 8184, "below_signal_stack");
	say_global("globals", pool + 8192 + (64 << 10), "above_signal_stack");
}

#ifdef __GLIBC__
static ucontext_t thread_context, coroutine_context;

static void coroutine(void)
{
	volatile long local = 1;

	say("stacks", &local, "coroutine");
	stay("guessed");
}

static void *coroutine_thread(void *stack)
{
	volatile long local = 1;

	say("stacks", &local, "left_for_coroutine");
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = 64 << 10;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&thread_context, &coroutine_context);
	return (void *)local;
}

static void start_coroutines(void)
{
	char *block = malloc(64 << 10);

	say_block(block, 64 << 10);
	say_global("heap", block, "below_coroutine");
	start(coroutine_thread, block, NULL);
	start(coroutine_thread, mapping(64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1), NULL);
}

/* A thread that libc does not know, with another's control block. */
static int bare_thread(void *unused)
{
	volatile long local = 1;

	(void)unused;
	say("stacks", &local, "bare_thread");
	stay("guessed");
	return 0;
}

static void start_bare_thread(void)
{
	char *stack = mapping(64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);

	clone(bare_thread, stack + (64 << 10),
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
	      NULL);
	while (sem_wait(&settled) != 0)
		;
}
#else
static void start_coroutines(void)
{
}

static void start_bare_thread(void)
{
}
#endif

/* --- threads that ended ------------------------------------------------------ */

struct ended {
	pthread_t thread;
	volatile long *local, *tls;
	int tid;
	sem_t go;
};

static void *ended_thread(void *argument)
{
	volatile long local = 1;
	struct ended *ended = argument;

	ended->local = &local;
	ended->tls = &tls_bss[1];
	ended->tid = thread_id();
	tls_bss[1] = local;
	sem_post(&settled);
	while (sem_wait(&ended->go) != 0)
		;
	return (void *)RESULT;
}

/* The kernel is done with it. */
static void await_end(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (access(path, F_OK) == 0)
		sched_yield();
}

static void start_ended(struct ended *ended, bool detached)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)(64 << 10) + (size_t)(rand() % 50 * 4096));
	if (detached)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sem_init(&ended->go, 0, 0);
	if (pthread_create(&ended->thread, &attributes, ended_thread, ended) != 0)
		exit(3);
	while (sem_wait(&settled) != 0)
		;
}

/* Joined, detached, and ended but not joined; all at once, so that none takes another's stack. */
static void make_ended_threads(void)
{
	static struct ended ended[3 * ENDED_THREADS];

	for (int i = 0; i < 3 * ENDED_THREADS; i++)
		start_ended(&ended[i], i % 3 == 1);
	for (int i = 0; i < 3 * ENDED_THREADS; i++)
		sem_post(&ended[i].go);
	for (int i = 0; i < 3 * ENDED_THREADS; i++) {
		if (i % 3 == 0)
			pthread_join(ended[i].thread, NULL);
		await_end(ended[i].tid);
		say_global("none", ended[i].local, "ended_local");
		say_global("none", ended[i].tls, "ended_tls");
		if (i % 3 == 2 && find_in_control_block(ended[i].thread, RESULT))
			say_global("tls", find_in_control_block(ended[i].thread, RESULT), "result");
	}
}

/* --- globals ------------------------------------------------------------------ */

static void say_globals(void)
{
	long *pool = mapping(64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);

	say_global("globals", &data_word, "data");
	say_global("globals", &bss_word, "bss");
	say_global("globals", &relro_word[1], "relro");
	say_global("none", &rodata_word, "rodata");
	say_global("globals", pool, "pool");
	say_global("globals", pool + 8191, "pool_end");
	say_for(sizeof(excluded_zone), "exclude", excluded_zone, "zone");
	say_global("none", &excluded_zone[63], "excluded");
	say_global("heap", malloc(100), "malloc");
}

static void say_mappings(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	int file = memfd_create("pool", 0), ours = memfd_create("memattach-test", 0);
	long *frozen = mapping(4096, rw, MAP_PRIVATE, -1);
	long *closed = mapping(8192, rw, MAP_PRIVATE, -1);

	if (ftruncate(file, 8192) != 0 || ftruncate(ours, 4096) != 0)
		exit(3);
	frozen[0] = closed[0] = 1;
	mprotect(frozen, 4096, PROT_READ);
	mprotect(closed, 4096, PROT_NONE);
	say_global("globals", frozen, "frozen");
	say_global("none", closed, "closed");
	say_global("globals", mapping(4096, rw, MAP_SHARED, -1), "shared");
	say_global("globals", mapping(8192, rw, MAP_SHARED, file), "shared_file");
	say_global("globals", mapping(8192, rw, MAP_PRIVATE, file), "private_file");
	say_global("none", mapping(8192, PROT_READ, MAP_PRIVATE, file), "read_only_file");
	say_global("none", mapping(4096, rw, MAP_SHARED, ours), "memattach");
	say_global("globals", mapping(4096, rw, MAP_PRIVATE, open("/dev/zero", O_RDWR)), "zero");
}

static void open_plugin(const char *path)
{
#ifndef LEAK_ROOTS_STATIC
	void *handle = path ? dlopen(path, RTLD_NOW) : NULL;

	if (path && !handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	if (handle)
		*(void **)&plug_tls = dlsym(handle, "plug_tls");
#else
	(void)path;
#endif
}

static void set_up(const char *seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srand((unsigned int)atoi(seed));
#ifdef __GLIBC__
	/* All of the heap in [heap], so that the reader knows it without walking it. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
	sem_init(&settled, 0, 0);
	pthread_key_create(&key, NULL);
}

int main(int argc, char **argv)
{
	volatile long local = argc;

	set_up(argc > 1 ? argv[1] : "1");
	open_plugin(argc > 2 ? argv[2] : NULL);
	start_plain_threads();
	start_on_given_stacks();
	start_signal_threads();
	start_coroutines();
	start_bare_thread();
	make_ended_threads();
	say_globals();
	say_mappings();
	say_thread_data();
	say("stacks", &local, "main_local");
	say_stale("none", "main_stale");
	say_running("known");
	dprintf(1, "ready 0 0 -\n");
	for (;;)
		pause();
}
