/* SPDX-License-Identifier: MIT */
/*
 * leaky_threads.c - kinds of leaky (leaky.h) with threads and libraries: roots of other threads,
 * five arenas, threads at work inside malloc, threads that have ended, dlopen.
 */
#include "tests/victims/leaky_kinds.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not static: stores to what nobody reads would be left out. */
__thread void *of_thread;
static volatile uintptr_t mask = 0x5a5a5a5a5a5a5a5a;

/* Its stack and its thread-local storage hold blocks. */
static void hold(int number)
{
	void *volatile held = LEAKY(LEAKY_REACHED, 1304, malloc(1304));

	of_thread = LEAKY(LEAKY_REACHED, 1320, malloc(1320));
	LEAKY(LEAKY_LOST, 1336, malloc(1336));
	victim_seen((void *)&held);
	(void)number;
	leaky_wipe();
	leaky_stay();
}

static void build_threads(void)
{
	for (int i = 0; i < 3; i++)
		leaky_thread(hold, i);
}

VICTIM_FRAME static uintptr_t make_masked(void)
{
	return (uintptr_t)LEAKY(LEAKY_REACHED, 1352, malloc(1352)) ^ mask;
}

/* Reveals the pointer in r13 alone and sleeps; no instruction ever stores it. */
static void hold_register(int number)
{
	register uintptr_t masked __asm__("r13") = make_masked();

	(void)number;
	__asm__ volatile("" : "+r"(masked));
	leaky_wipe();
	leaky_built();
	leaky_wipe();
	__asm__ volatile("xor %[mask], %[masked]\n"
			 "1:	mov %[pause], %%eax\n\t"
			 "syscall\n\t"
			 "jmp 1b"
			 : [masked] "+r"(masked)
			 : [mask] "b"(mask), [pause] "i"(SYS_pause)
			 : "rax", "rcx", "r11", "memory");
}

static void build_register(void)
{
	leaky_thread(hold_register, 0);
	/* It may still be on its way to its sleep. */
	usleep(20000);
}

/* --- thread-specific data --------------------------------------------------------- */

static pthread_key_t low_key, high_key;

static void set_specific(int number)
{
	void *low = LEAKY(LEAKY_REACHED, 1368, malloc(1368));
	void *high = LEAKY(LEAKY_REACHED, 1384, malloc(1384));

	(void)number;
	if (pthread_setspecific(low_key, low) || pthread_setspecific(high_key, high))
		victim_fail("pthread_setspecific");
}

/* Keys of the first level, in the thread itself, and of the second, in a block of libc's. */
static void build_specific(void)
{
	leaky_others(LEAKY_MANY);
	if (pthread_key_create(&low_key, NULL))
		victim_fail("pthread_key_create");
	do {
		if (pthread_key_create(&high_key, NULL))
			victim_fail("pthread_key_create");
	} while (high_key < 40);
	set_specific(0);
	leaky_thread(set_specific, 1);
}

/* --- threads that ended -------------------------------------------------------------- */

/* A frame as deep as any, so that its words are not overwritten by the end of the thread. */
static void *end(void *unused)
{
	void *volatile held[64];

	(void)unused;
	memset((void *)held, 0, sizeof(held));
	held[32] = LEAKY(LEAKY_LOST, 1384, malloc(1384));
	of_thread = LEAKY(LEAKY_LOST, 1400, malloc(1400));
	victim_seen((void *)held);
	return NULL;
}

static void build_ended(void)
{
	pthread_t thread[4];

	leaky_others(LEAKY_MANY);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, end, NULL))
			victim_fail("pthread_create");
	for (int i = 0; i < 4; i++)
		(void)pthread_join(thread[i], NULL);
}

/* --- arenas --------------------------------------------------------------------------- */

void *of_arena[5][100];

static void fill_arena(int number)
{
	for (int i = 0; i < 100; i++) {
		void **lost = LEAKY(LEAKY_LOST, 1416, calloc(1, 1416));

		lost[i] = LEAKY(LEAKY_BELOW, 1432, malloc(1432));
		of_arena[number][i] = LEAKY(LEAKY_REACHED, 1448, malloc(1448));
	}
	LEAKY(LEAKY_LOST, 120000, malloc(120000));
}

static void build_arenas(void)
{
	for (int i = 0; i < 5; i++)
		leaky_thread(fill_arena, i);
}

/* --- threads at work in malloc ---------------------------------------------------------- */

enum { BUSY_SLOTS = 64 };
static __thread void *busy_slot[BUSY_SLOTS];

/* Each block is held by a slot from the moment that malloc returns it until it is free. */
static void stay_busy(int number)
{
	unsigned int random = (unsigned int)number * 2654435761u + 1;

	leaky_built();
	leaky_forget_vectors();	/* its creator's; it has no use for them */
	for (;;) {
		unsigned int i;

		random = random * 1664525u + 1013904223u;
		i = random >> 24 & (BUSY_SLOTS - 1);
		free(busy_slot[i]);
		busy_slot[i] = malloc((random >> 8 & 1023) + (random & 0x30000 ? 1 : 4000));
	}
}

static void build_busy(void)
{
	for (int i = 0; i < 50; i++) {
		void **lost = LEAKY(LEAKY_LOST, 1464, calloc(1, 1464));

		*lost = LEAKY(LEAKY_BELOW, 1480, malloc(1480));
	}
	for (int i = 0; i < 3; i++)
		leaky_thread(stay_busy, i);
}

/* --- libraries ----------------------------------------------------------------------------- */

/* The folder of the victim has leaky_plug.so. */
static void *open_plug(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 20);
	void *library;

	if (length < 0)
		victim_fail("/proc/self/exe");
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "leaky_plug.so");
	library = dlopen(path, RTLD_NOW);
	if (!library)
		victim_fail(dlerror());
	return library;
}

static void use_plug(int number)
{
	static void *library;
	void (*keep)(void *p, void *q);
	/* memcheck sees that a thread holds its list of such storage by the middle. */
	struct leaky_expected expected = LEAKY_EXPECT(LEAKY_REACHABLE, number ? LEAKY_POSSIBLE :
						      LEAKY_SAME, LEAKY_SAME);
	void *p = NULL, *q = LEAKY(expected, 1496, malloc(1496));

	if (!number)
		library = open_plug();
	keep = (void (*)(void *, void *))dlsym(library, "leaky_plug_keep");
	if (!keep)
		victim_fail("leaky_plug_keep");
	/* The first of the two is the library's, of which there is but one. */
	if (!number)
		p = LEAKY(LEAKY_REACHED, 1512, malloc(1512));
	keep(p, q);
}

/* Its data holds a block, and its thread-local storage one a thread, which ld.so allocated. */
static void build_dlopen(void)
{
	leaky_others(LEAKY_MANY);
	use_plug(0);
	leaky_thread(use_plug, 1);
}

const struct leaky_kind leaky_more_kinds[] = {
	{ "freed", leaky_build_freed, 0 },
	{ "freed_holder", leaky_build_freed_holder, 1 },
	{ "allocators", leaky_build_allocators, 0 },
	{ "pvalloc", leaky_build_pvalloc, 1 },
	{ "realloc", leaky_build_realloc, 1 },
	{ "mapped", leaky_build_mapped, 0 },
	{ "huge", leaky_build_huge, 1 },
	{ "library", leaky_build_library, 0 },
	{ "threads", build_threads, 0 },
	{ "register", build_register, 0 },
	{ "specific", build_specific, 0 },
	{ "ended", build_ended, 0 },
	{ "arenas", build_arenas, 0 },
	{ "dlopen", build_dlopen, 0 },
	{ "busy", build_busy, 1 },
	{ NULL, NULL, 0 },
};
