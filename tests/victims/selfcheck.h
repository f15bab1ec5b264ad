/* SPDX-License-Identifier: MIT */
/*
 * selfcheck.h - the victim that notices when anything about it was changed.
 *
 * A supervisor process (selfcheck.c) forks the victim proper, so that the
 * victim's threads do nothing but their kind of work: no thread of it waits on
 * a command pipe, where memattach would find an easy one to borrow. They share one
 * page. The kinds are in selfcheck_kinds.c, system calls that wait in selfcheck_waits.c, the
 * register test in selfcheck_regs.S, fibers in selfcheck_fiber.c.
 */
#ifndef MEMATTACH_TESTS_SELFCHECK_H
#define MEMATTACH_TESTS_SELFCHECK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SELFCHECK_THREADS	128

/* What selfcheck_spin_*() loads and stores. Offsets are known to selfcheck_regs.S. */
struct selfcheck_regs {
	uint64_t gpr[13];	/* rbx rbp rdx rsi rdi r8..r15 */
	uint64_t flags;		/* ah as by lahf in bits 8..15, overflow in bit 0 */
	uint32_t mxcsr, pad[3];
	uint64_t red_zone[16];
	uint8_t x87[16];
	uint16_t mask[24];	/* k1..k7 in 1..7 */
	uint8_t vector[32][64];
};
_Static_assert(offsetof(struct selfcheck_regs, vector) == 320, "known to the assembly");
_Static_assert(offsetof(struct selfcheck_regs, mask) == 272, "known to the assembly");

/* How wide the vector registers of this processor are. */
enum selfcheck_width { SELFCHECK_SSE, SELFCHECK_AVX, SELFCHECK_AVX512 };

/* Shared between supervisor and victim. */
struct selfcheck_page {
	atomic_int stop;			/* supervisor: finish your round and end */
	atomic_int eintr;			/* EINTR returned without a handler of ours */
	atomic_int handlers;			/* runs of signal handlers */
	atomic_int jumps;			/* runs of them that jumped */
	_Atomic uint32_t wake;			/* futex word, bumped by the supervisor */
	char failure[256];			/* the first failure, as text */
	atomic_int failed;
	atomic_ulong rounds[SELFCHECK_THREADS];	/* of each thread */
	int pipe_read, pipe_write;		/* the supervisor writes a byte now and then */
	char missing[128];			/* calls that this kernel does not have */
};

/* One thread of the victim. */
struct selfcheck_thread {
	struct selfcheck_page *page;
	int index;
	unsigned random;
	uint64_t fs_base;	/* as at its start */
	void *altstack;
	uint64_t mask;		/* signal mask as at its start */
};

struct selfcheck_kind {
	const char *name;
	void (*round)(struct selfcheck_thread *self);	/* ends by itself or by a kick */
	int signals;		/* N > 0: wants SIGRTMIN + N - 1 from the supervisor */
	int insistent;		/* wants it at each turn, not once for a round */
	int kept;		/* a wait whose time-out goes on over a stop */
};

/* Each ends with a kind whose name is NULL. The first are a mix, the second waits and kept. */
extern const struct selfcheck_kind selfcheck_kinds[], selfcheck_waits[];

/* What waits need, before the fork; what ends some of them; what must not stay behind. */
void selfcheck_waits_prepare(int wait_ms);
void selfcheck_waits_kick(void);
void selfcheck_waits_end(void);

/* function(thread) on a fiber, which it may rest from after each round. Of one thread only. */
void selfcheck_fiber_run(struct selfcheck_thread *thread, void *(*function)(void *));
void selfcheck_fiber_rest(const struct selfcheck_thread *self);

/* Notes the first failure and aborts the victim. */
void selfcheck_failed(struct selfcheck_thread *self, const char *what, long value)
	__attribute__((noreturn));

/* Installs altstack and notes what must stay as it is. Once in every thread. */
void selfcheck_thread_init(struct selfcheck_thread *self);

/* Fails unless thread pointer, altstack and signal mask are as at the start. */
void selfcheck_thread_verify(struct selfcheck_thread *self);

/* How many handlers have run in this thread. */
int selfcheck_handled(void);

/* Installs the handlers for the signal kinds, blocks SIGRTMIN. Once, before any thread. */
void selfcheck_handlers_install(void);

void selfcheck_spin_sse(const struct selfcheck_regs *in, struct selfcheck_regs *out,
			uint64_t spins);
void selfcheck_spin_avx(const struct selfcheck_regs *in, struct selfcheck_regs *out,
			uint64_t spins);
void selfcheck_spin_avx512(const struct selfcheck_regs *in, struct selfcheck_regs *out,
			   uint64_t spins);

/*
 * Calls allocate(size) with values of ours in the registers that a call must preserve.
 * *ret_wrong is 0 if they survived. Returns what allocate returned.
 */
void *selfcheck_call_preserving(void *(*allocate)(size_t), size_t size, uint64_t *ret_wrong);

#endif
