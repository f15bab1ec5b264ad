/* SPDX-License-Identifier: MIT */
/*
 * leak_registers.c - a block that only a callee-saved register holds, or (SAVED) the slot
 * that a callee has saved it in; see leak_holders.c.
 */
#include "leak_holders.h"

#include <sys/syscall.h>

struct node {
	struct node *next;
	long number[4];
};

static void __attribute__((noinline)) forget(void)
{
	char volatile waste[16384];

	memset((char *)waste, 0, sizeof(waste));
}

/* pause(), which may save registers itself: that of glibc 2.41 does. */
static inline void __attribute__((always_inline)) wait_in_kernel(void)
{
	long result = SYS_pause;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
}

/* Unlike wait_for_test, it could return: what comes after is not dead. */
static void __attribute__((noinline)) wait_once(void)
{
	printf("ready\n");
	fflush(stdout);
#ifdef SAVED	/* the caller's registers go to this frame, and others come */
	__asm__ volatile("xorl %%ebx, %%ebx\n\txorl %%r12d, %%r12d\n\txorl %%r13d, %%r13d\n\t"
			 "xorl %%r14d, %%r14d\n\txorl %%r15d, %%r15d"
			 : : : "rbx", "r12", "r13", "r14", "r15");
#endif
	wait_in_kernel();
	__asm__ volatile("");	/* not a jump into it */
}

static void __attribute__((noinline)) work(struct node *kept)
{
	forget();
	for (int i = 0; i < 3; i++) {
		wait_once();
		kept->number[i]++;
		kept = kept->next;
	}
}

static struct node *__attribute__((noinline)) build(void)
{
	struct node *kept = make("kept_block", sizeof(*kept));

	kept->next = make("kept_next", sizeof(*kept));
	kept->next->next = kept;
	return kept;
}

int main(void)
{
	work(build());
	return 0;
}
