/* SPDX-License-Identifier: MIT */
/*
 * shim_arch.h - what the shim needs of the processor and of the kernel's call
 * convention: x86-64. aarch64 will have a file of the same name.
 */
#ifndef MEMATTACH_SHIM_ARCH_H
#define MEMATTACH_SHIM_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/abi/ring_abi.h"

#define SHIM_PAGE 4096ull	/* smallest page: what one step of a probe may assume */

/*
 * One hooked call, as shim_hooks.S lays it out on the caller's stack: the only
 * thing that lies there while the original runs. &call->caller is the stack
 * pointer as the hooked function found it.
 */
struct shim_call {
	uint64_t argument[6];	/* rdi, rsi, rdx, rcx, r8, r9 */
	uint64_t rax;		/* at entry: the number of vector arguments of a variadic call */
	uint64_t original;	/* r11: what to call for the real function */
	uint64_t result, result_high;	/* rax and rdx after it */
	uint64_t rbp, rbx, r12, r13, r14, r15;
	uint64_t carried;	/* from begin to end: sampling interval; brk: the break before */
	uint32_t state;		/* enum shim_call_state */
	uint16_t entry;		/* index in control.entry */
	uint16_t span;		/* enum shim_span */
	uint64_t thread;	/* thread pointer */
	uint64_t begin, end;	/* TSC around the original, with SHIM_TRACED; with SHIM_SAMPLED */
				/* begin: cycles that were spent before it */
	uint64_t caller;	/* return address */
};

/* Index word of the island entry that led here: in front of the original. */
static inline uint32_t arch_island_index(const struct shim_call *call)
{
	return *(const uint32_t *)(call->original - 8);
}

/* The registers that unwinding from call's caller needs. */
static inline void arch_stack_fill(struct ring_stack *stack, const struct shim_call *call)
{
	stack->rsp = (uint64_t)&call->caller;
	stack->rbp = call->rbp;
	stack->rbx = call->rbx;
	stack->r12 = call->r12;
	stack->r13 = call->r13;
	stack->r14 = call->r14;
	stack->r15 = call->r15;
}

/*
 * What Linux says in the limit of this segment (its vDSO's getcpu reads it): node << 12 | cpu.
 * 17 ns where rdtscp takes 20 for both; virtual machines may be without that.
 */
static inline uint32_t arch_segment_cpu(void)
{
	uint32_t limit = 0;

	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(0x7b) : "cc");
	return limit;
}

/*
 * TSC and CPU number, by one instruction where there is one. It waits for all earlier loads, as
 * lfence does, so a block's address was known before its time: frees and reuses stay in order.
 * Linux keeps node << 12 | cpu in TSC_AUX. The number is a hint.
 */
static inline uint64_t arch_clock(const struct ring_control *control, uint32_t *ret_cpu)
{
	uint32_t low, high, aux;

	if (__builtin_expect(control->clock == RING_CLOCK_RDTSCP, 1)) {
		__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux) : : "memory");
	} else {
		aux = arch_segment_cpu();
		__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	}
	*ret_cpu = aux & 0xfff;
	return (uint64_t)high << 32 | low;
}

/*
 * *p == expected ? (*p = desired, true) : false, for a word that no other thread writes: one
 * instruction, so that this thread's signal handlers see it done or not begun.
 */
static inline bool arch_exchange_if_own(uint64_t *p, uint64_t expected, uint64_t desired)
{
	bool done;

	__asm__ volatile("cmpxchg %3, %1"
			 : "=@ccz"(done), "+m"(*p), "+a"(expected) : "r"(desired) : "memory");
	return done;
}

/*
 * address will be written soon: its line, which is some other CPU's now, comes here meanwhile.
 * Never faults. (Each 64-bit processor knows it, if only as no operation.)
 */
static inline void arch_fetch_to_write(const void *address)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
}

/*
 * *p += v in one instruction, without a lock: for words that one thread alone adds to. A signal
 * handler of that thread comes before or after it, never in between.
 */
static inline void arch_add(uint64_t *p, uint64_t v)
{
	__asm__ volatile("addq %1, %0" : "+m"(*p) : "er"(v) : "cc");
}

static inline void arch_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}

/*
 * fs_base of this thread: the TCB's pointer to itself, where the island's index says that there is
 * a TCB. Else rdfsbase, if the keeper saw that the kernel allows it (it cannot fault, whatever
 * fs_base is).
 */
static inline uint64_t arch_thread_pointer(const struct ring_control *control, uint32_t index)
{
	uint64_t thread;

	if (!(index & RING_ISLAND_TLS) &&
	    control->thread_pointer == RING_THREAD_POINTER_FSBASE)
		__asm__ volatile("rdfsbase %0" : "=r"(thread));
	else
		__asm__ volatile("mov %%fs:0, %0" : "=r"(thread));
	return thread;
}

/* The direction flag is clear at every function entry (psABI 3.2.1). */
static inline void arch_copy_words(void *to, const void *from, uint64_t words)
{
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

/* (high:low) / divisor. pre: high < divisor. (Without libgcc's __udivti3.) */
static inline uint64_t arch_divide(uint64_t high, uint64_t low, uint64_t divisor)
{
	uint64_t quotient, remainder;

	__asm__("div %4" : "=a"(quotient), "=d"(remainder) : "0"(low), "1"(high), "r"(divisor)
		: "cc");
	return quotient;
}

/* A system call as the kernel sees it: no errno, -errno comes back as it is. */
static inline long arch_syscall(long number, const uint64_t argument[static 6])
{
	register uint64_t r10 __asm__("r10") = argument[3];
	register uint64_t r8 __asm__("r8") = argument[4];
	register uint64_t r9 __asm__("r9") = argument[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(argument[0]), "S"(argument[1]), "d"(argument[2]),
			   "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
