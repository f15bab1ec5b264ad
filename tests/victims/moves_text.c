/* SPDX-License-Identifier: MIT */
/*
 * moves_text.c - a program that changes where and how its libc's code is mapped, as it runs.
 *
 * 'w' makes all of that code writable, 'p' the page malloc() begins in; 'a' moves a copy that no
 * file has to its place, as "text on huge pages" does; 'u' makes what may be written read-only
 * again. 'j' does what others that patch do: it takes the jump that malloc() begins with to a
 * place of its own, and allocates by that as well; 'J' gives it up. 's' has a system call filter
 * end the process if it makes a file in memory, as attaching does; 'm' makes mappings until the
 * kernel refuses, 'M' takes them away. 'f' forks a child that works until SIGTERM. It works
 * whenever it waits for a command. Answers: "code ok", "jump ok", "filter ok", "full ok",
 * "free ok", "fork ok PID"; a child's last word is "child ok PID".
 */
#include "tests/victims/victim.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WORK_MS = 2, CHILD_SECONDS = 600, MANY = 1 << 20 };

static uintptr_t low, high;	/* of libc's code */
static char *many;		/* every second page of them is a mapping of its own */
static void *(*jump)(size_t);	/* a jump to where malloc() led */
static volatile sig_atomic_t ending;

static void on_end(int signal)
{
	(void)signal;
	ending = 1;
}

static void work(void)
{
	unsigned char *block[24];

	for (size_t i = 0; i < 24; i++) {
		block[i] = victim_seen(calloc(1, victim_size(40 + 40 * i)));
		block[i] = victim_seen(realloc(block[i], victim_size(60 + 60 * i)));
		if (!block[i] || block[i][39 + 40 * i])
			victim_fail("calloc");
	}
	for (size_t i = 0; i < 24; i++)
		free(block[i]);
	if (jump)
		free(victim_seen(jump(victim_size(100))));
}

/* The mappings of that code, however many there are by now. */
static void find_code(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512], prot[5];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/libc.so") && strchr(line, 'x') &&
		    sscanf(line, "%lx-%lx %4s", &start, &end, prot) == 3 && prot[2] == 'x') {
			low = low ? low : start;
			high = end;
		}
	if (!maps || fclose(maps) || !low)
		victim_fail("libc's code");
}

static void protect(uintptr_t from, uintptr_t to, int prot)
{
	if (mprotect((void *)from, to - from, prot))
		victim_fail("mprotect");
	victim_say("code ok\n");
}

/* No call of libc's between: its own code is what moves. */
static void move_to(const void *copy)
{
	size_t bytes = high - low;
	register long flags __asm__("r10") = MREMAP_MAYMOVE | MREMAP_FIXED;
	register uintptr_t place __asm__("r8") = low;
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "0"(SYS_mremap), "D"(copy), "S"(bytes), "d"(bytes), "r"(flags),
			   "r"(place)
			 : "rcx", "r11", "memory");
	if ((uintptr_t)result != low)
		victim_fail("mremap");
}

static void make_anonymous(void)
{
	size_t bytes = high - low;
	void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		victim_fail("mmap");
	memcpy(copy, (const void *)low, bytes);
	if (mprotect(copy, bytes, PROT_READ | PROT_EXEC))
		victim_fail("mprotect");
	move_to(copy);
	victim_say("code ok\n");
}

static void make_jump(void)
{
	const unsigned char *from = (const unsigned char *)(uintptr_t)malloc;
	unsigned char *to = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t distance;

	if (to == MAP_FAILED)
		victim_fail("mmap");
	if (from[0] == 0xeb)
		from += 2 + (signed char)from[1];
	if (from[0] != 0xe9)
		victim_fail("malloc() begins with no jump");
	memcpy(&distance, from + 1, sizeof(distance));
	distance += (int32_t)(from - to);
	to[0] = 0xe9;
	memcpy(to + 1, &distance, sizeof(distance));
	jump = (void *(*)(size_t))(uintptr_t)to;
	victim_say("jump ok\n");
}

static void give_up_jump(void)
{
	if (munmap((void *)(uintptr_t)jump, PAGE))
		victim_fail("munmap");
	jump = NULL;
	victim_say("free ok\n");
}

static void filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		victim_fail("seccomp");
	victim_say("filter ok\n");
}

static void fill_mappings(void)
{
	size_t i = 0;

	many = mmap(NULL, (size_t)MANY * PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (many == MAP_FAILED)
		victim_fail("mmap");
	while (i < MANY && mprotect(many + i * PAGE, PAGE, PROT_READ) == 0)
		i += 2;
	victim_say(i < MANY ? "full ok\n" : "full no\n");
}

static void free_mappings(void)
{
	if (munmap(many, (size_t)MANY * PAGE))
		victim_fail("munmap");
	victim_say("free ok\n");
}

static void fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		victim_fail("fork");
	if (pid) {
		victim_say("fork ok %d\n", (int)pid);
		return;
	}
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	(void)alarm(CHILD_SECONDS);
	while (!ending) {
		work();
		(void)poll(NULL, 0, WORK_MS);
	}
	victim_say("child ok %d\n", (int)getpid());
	_exit(0);
}

static void obey(char command)
{
	switch (command) {
	case 'w': protect(low, high, PROT_READ | PROT_WRITE | PROT_EXEC); break;
	case 'u': protect(low, high, PROT_READ | PROT_EXEC); break;
	case 'p':
		protect((uintptr_t)malloc & ~(uintptr_t)(PAGE - 1),
			((uintptr_t)malloc & ~(uintptr_t)(PAGE - 1)) + PAGE,
			PROT_READ | PROT_WRITE | PROT_EXEC);
		break;
	case 'a': make_anonymous(); break;
	case 'j': make_jump(); break;
	case 'J': give_up_jump(); break;
	case 's': filter_calls(); break;
	case 'm': fill_mappings(); break;
	case 'M': free_mappings(); break;
	case 'f': fork_child(); break;
	default: break;
	}
}

int main(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char command = 0;

	victim_setup();
	(void)signal(SIGCHLD, SIG_IGN);
	if (signal(SIGTERM, on_end) == SIG_ERR)
		victim_fail("signal");
	find_code();
	victim_ready();
	while (command != 'q') {
		work();
		if (poll(&input, 1, WORK_MS) <= 0)
			continue;
		command = victim_await();
		obey(command);
	}
	return victim_interrupts() ? 1 : 0;
}
