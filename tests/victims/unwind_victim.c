/* SPDX-License-Identifier: MIT */
/*
 * unwind_victim.c - stops in a known place with a known stack.
 *
 * unwind_victim SCENE: the function names below are what a test of the unwinder
 * expects to see. The stop is a SIGWINCH to itself, which nobody but a tracer
 * notices. The same source is also built without .eh_frame_hdr and with .debug_frame only.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/victims/frame.h"

#define KEEP(p)	__asm__ volatile("" : : "r"(p) : "memory")

static volatile int sink;

static inline __attribute__((always_inline)) long raw_syscall(long number, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

/* kill(gettid(), SIGWINCH) without any libc frame, and without one of its own. */
FRAME void victim_stop(void)
{
	raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid, 0, 0, 0),
		    raw_syscall(SYS_gettid, 0, 0, 0), SIGWINCH);
}

FRAME int victim_leaf(int n)
{
	victim_stop();
	return n + sink;
}

static inline __attribute__((always_inline)) int victim_inlined(int n)
{
	int r = victim_leaf(n * 3);

	return r + sink;
}

FRAME int victim_alloca(int n)
{
	char *p = alloca((size_t)n * 16 + 16);

	KEEP(p);
	p[0] = (char)n;
	return victim_inlined(n) + p[0];
}

FRAME int victim_aligned(int n)
{
	char buffer[64] __attribute__((aligned(64)));
	char *p = alloca((size_t)n * 32 + 8);

	KEEP(p);
	KEEP(buffer);
	buffer[0] = (char)n;
	return victim_alloca(n) + buffer[0];
}

FRAME int victim_pushes(int a, int b, int c, int d, int e, int f, int g, int h)
{
	int r = victim_aligned(a + h);

	return r + a * b + c * d + e * f + g + h;
}

FRAME int victim_outer(int n)
{
	return victim_pushes(n, 2, 3, 4, 5, 6, 7, 8) + sink;
}

FRAME int victim_deep(int n)
{
	if (n == 0)
		return victim_leaf(1);
	return victim_deep(n - 1) + sink;
}

static void handler(int number)
{
	victim_leaf(number);
	sink++;
}

FRAME void victim_raise(int on_stack)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = on_stack ? SA_ONSTACK : 0 };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	if (on_stack)
		sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	sink++;
}

static void *thread_main(void *argument)
{
	return (void *)(long)victim_outer((int)(long)argument);
}

static int scene_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, (void *)1);
	pthread_join(thread, NULL);
	return 0;
}

/* Announces itself with a byte on stdout, then blocks in read(). */
FRAME int victim_blocked(int fd)
{
	char byte;
	ssize_t n;

	if (write(1, "r", 1) != 1)
		return 1;
	n = read(fd, &byte, 1);
	return (int)n + sink;
}

static int scene_blocked(void)
{
	int fd[2];

	return pipe(fd) == 0 ? victim_blocked(fd[0]) + sink : 1;
}

FRAME int victim_clock(void)
{
	struct timespec now;

	for (int i = 0; i < 100000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		KEEP(&now);
		sink++;
	}
	return sink;
}

static int scene_vdso(void)
{
	victim_stop();
	return victim_clock() + sink;
}

static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 3 && sink < 1000) {
		sink = 1000;
		victim_leaf(1);
	}
	return *(const int *)a - *(const int *)b;
}

FRAME int victim_sort(void)
{
	int values[] = { 5, 3, 9, 1, 7 };

	qsort(values, 5, sizeof(values[0]), compare);
	return values[0] + sink;
}

#ifndef UNWIND_STATIC	/* where the linker warns of dlopen */
/*
 * Calls the plug-ins one after the other; both end up at the same address. Each
 * calls back through the pointer that it is given.
 */
static int call_plug(const char *directory, const char *name)
{
	char path[4096];
	int (*call)(int (*)(int), int);
	void *handle;
	int r;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		return 1;
	call = (int (*)(int (*)(int), int))dlsym(handle, "unwind_plug");
	r = call ? call(victim_leaf, 4) : 1;
	dlclose(handle);
	return r;
}

static int scene_plug(const char *directory)
{
	int r = call_plug(directory, "unwind_plug_a.so");

	return r + call_plug(directory, "unwind_plug_b.so") + sink;
}
#endif

/* push %rbp; mov %rsp,%rbp; sub $64,%rsp; movabs $target,%rax; call *%rax; leave; ret */
static void *make_jit(void *target)
{
	static const unsigned char code[] = {
		0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
		0xff, 0xd0, 0xc9, 0xc3,
	};
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof(code));
	memcpy(page + 10, &target, sizeof(target));
	return page;
}

FRAME int victim_jit(void)
{
	int (*code)(int) = (int (*)(int))make_jit((void *)victim_leaf);
	char line[64];
	int n = snprintf(line, sizeof(line), "%lx %x jitted_code\n", (unsigned long)code, 22);

	if (write(1, line, (size_t)n) != n)
		return 1;
	return code(1) + sink;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "plain";

	if (!strcmp(scene, "plain"))
		return victim_outer(argc) + sink;
	if (!strcmp(scene, "deep"))
		return victim_deep(argc > 2 ? atoi(argv[2]) : 100) + sink;
	if (!strcmp(scene, "signal"))
		return victim_raise(0), sink;
	if (!strcmp(scene, "altstack"))
		return victim_raise(1), sink;
	if (!strcmp(scene, "thread"))
		return scene_thread() + sink;
	if (!strcmp(scene, "blocked"))
		return scene_blocked() + sink;
	if (!strcmp(scene, "vdso"))
		return scene_vdso() + sink;
	if (!strcmp(scene, "sort"))
		return victim_sort() + sink;
#ifndef UNWIND_STATIC
	if (!strcmp(scene, "plug"))
		return scene_plug(argc > 2 ? argv[2] : ".") + sink;
#endif
	if (!strcmp(scene, "jit"))
		return victim_jit() + sink;
	return 2;
}
