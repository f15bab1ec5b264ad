/* SPDX-License-Identifier: MIT */
/*
 * selfcheck_kinds.c - what the threads of the self-checking victim do.
 *
 * Each kind is one round of something that an attach could disturb: registers and
 * red zone in a loop without calls, the heap, or one blocking system call whose result,
 * errno and duration are checked. A round that blocks ends by a time-out or by a
 * kick of the supervisor, never by a signal, so that an EINTR in a kind without
 * handlers can only come from outside; it is counted, not fatal, since the contract allows one.
 * Signal handlers count themselves; a wait that a handler ran in must end soon
 * after it, else the wake-up was lost.
 */
#include "tests/victims/selfcheck.h"
#include "tests/victims/victim.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ERRNO_CANARY	4242
#define BLOCKS		64
#define ALTSTACK_BYTES	65536
#define LOST_WAKEUP_MS	1500

static __thread struct selfcheck_thread *current;
static __thread sigjmp_buf jump_target;
static __thread volatile sig_atomic_t jump_armed;
static __thread volatile int64_t handler_ms;	/* when a handler last ran; 0: not */
static __thread volatile sig_atomic_t handled;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static unsigned next_random(struct selfcheck_thread *self)
{
	self->random = self->random * 1103515245u + 12345u;
	return self->random >> 8;
}

void selfcheck_failed(struct selfcheck_thread *self, const char *what, long value)
{
	int error = errno;

	if (atomic_fetch_add(&self->page->failed, 1) == 0)
		snprintf(self->page->failure, sizeof(self->page->failure),
			 "thread %d: %s: %ld (errno %d)", self->index, what, value, error);
	abort();
}

static uint64_t thread_pointer(void)
{
	uint64_t fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	return fs;
}

static uint64_t signal_mask(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	return mask;
}

void selfcheck_thread_init(struct selfcheck_thread *self)
{
	stack_t stack = { .ss_size = ALTSTACK_BYTES };

	self->altstack = mmap(NULL, ALTSTACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack.ss_sp = self->altstack;
	if (self->altstack == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
		selfcheck_failed(self, "sigaltstack", 0);
	current = self;
	self->random = (unsigned)self->index * 7919u + 1;
	self->fs_base = thread_pointer();
	self->mask = signal_mask();
}

void selfcheck_thread_verify(struct selfcheck_thread *self)
{
	stack_t stack;

	if (thread_pointer() != self->fs_base || current != self)
		selfcheck_failed(self, "thread pointer", 0);
	if (signal_mask() != self->mask)
		selfcheck_failed(self, "signal mask", (long)signal_mask());
	if (sigaltstack(NULL, &stack) < 0 || stack.ss_sp != self->altstack ||
	    stack.ss_size != ALTSTACK_BYTES || stack.ss_flags != 0)
		selfcheck_failed(self, "sigaltstack changed", stack.ss_flags);
}

/* A failed call: EINTR is counted (a handler of ours may explain it), all else is fatal. */
static void call_failed(struct selfcheck_thread *self, const char *what)
{
	if (errno != EINTR)
		selfcheck_failed(self, what, -1);
	if (!handler_ms)
		atomic_fetch_add(&self->page->eintr, 1);
}

/* errno survives calls that succeed. */
static void errno_verify(struct selfcheck_thread *self, const char *what)
{
	if (errno != ERRNO_CANARY)
		selfcheck_failed(self, what, errno);
}

/* --- registers -------------------------------------------------------------- */

static enum selfcheck_width vector_width(void)
{
	if (__builtin_cpu_supports("avx512f"))
		return SELFCHECK_AVX512;
	return __builtin_cpu_supports("avx2") ? SELFCHECK_AVX : SELFCHECK_SSE;
}

static void regs_fill(struct selfcheck_thread *self, struct selfcheck_regs *regs)
{
	unsigned char *bytes = (unsigned char *)regs;
	static const long double pi = 3.14159265358979323846L;

	for (size_t i = 0; i < sizeof(*regs); i++)
		bytes[i] = (unsigned char)next_random(self);
	/* Sign, zero, parity, carry at random; bit 1 is always set; al 1 makes an overflow. */
	regs->flags = (regs->flags & 0xd500) | 0x0200 | 1;
	regs->mxcsr = 0x3f80;	/* round up, all exceptions masked */
	memset(regs->pad, 0, sizeof(regs->pad));
	memset(regs->x87, 0, sizeof(regs->x87));
	memcpy(regs->x87, &pi, 10);
	regs->mask[0] = 0;
	memset(regs->mask + 8, 0, sizeof(regs->mask) - 16);
}

/* Bytes of each vector register that the width leaves alone are not compared. */
static void regs_narrow(struct selfcheck_regs *regs, enum selfcheck_width width)
{
	static const size_t bytes[] = { 16, 32, 64 }, count[] = { 16, 16, 32 };

	for (size_t i = 0; i < 32; i++) {
		size_t kept = i < count[width] ? bytes[width] : 0;

		memset(regs->vector[i] + kept, 0, 64 - kept);
	}
	if (width != SELFCHECK_AVX512)
		memset(regs->mask, 0, sizeof(regs->mask));
}

static void regs_compare(struct selfcheck_thread *self, const struct selfcheck_regs *in,
			 const struct selfcheck_regs *out)
{
	if (memcmp(in->gpr, out->gpr, sizeof(in->gpr)) != 0)
		selfcheck_failed(self, "general registers", 0);
	if (in->flags != out->flags)
		selfcheck_failed(self, "flags", (long)(in->flags ^ out->flags));
	if (memcmp(in->red_zone, out->red_zone, sizeof(in->red_zone)) != 0)
		selfcheck_failed(self, "red zone", 0);
	if (in->mxcsr != out->mxcsr || memcmp(in->x87, out->x87, 10) != 0)
		selfcheck_failed(self, "mxcsr or x87", (long)out->mxcsr);
	if (memcmp(in->mask, out->mask, sizeof(in->mask)) != 0)
		selfcheck_failed(self, "mask registers", 0);
	if (memcmp(in->vector, out->vector, sizeof(in->vector)) != 0)
		selfcheck_failed(self, "vector registers", 0);
}

static void round_regs(struct selfcheck_thread *self)
{
	static void (*const spin[])(const struct selfcheck_regs *, struct selfcheck_regs *,
				    uint64_t) = { selfcheck_spin_sse, selfcheck_spin_avx,
						  selfcheck_spin_avx512 };
	struct selfcheck_regs in, out;
	enum selfcheck_width width = vector_width();

	regs_fill(self, &in);
	out = in;
	memset(out.red_zone, 0, sizeof(out.red_zone));
	spin[width](&in, &out, 300000);
	regs_narrow(&in, width);
	regs_narrow(&out, width);
	regs_compare(self, &in, &out);
}

/* --- the heap --------------------------------------------------------------- */

static void *malloc_preserving(struct selfcheck_thread *self, size_t size)
{
	uint64_t wrong = 0;
	void *p = selfcheck_call_preserving(malloc, size, &wrong);

	if (wrong)
		selfcheck_failed(self, "callee-saved registers", (long)wrong);
	return p;
}

struct heap {
	unsigned char *block[BLOCKS];
	size_t size[BLOCKS];
};

static void heap_release(struct selfcheck_thread *self, struct heap *heap, unsigned i)
{
	for (size_t at = 0; at < heap->size[i]; at++) {
		if (heap->block[i][at] != (unsigned char)(i + 1))
			selfcheck_failed(self, "heap canary", (long)at);
	}
	free(heap->block[i]);
	heap->block[i] = NULL;
}

static void heap_fill(struct selfcheck_thread *self, struct heap *heap, unsigned i)
{
	heap->size[i] = 1 + next_random(self) % 2000;
	heap->block[i] = malloc_preserving(self, heap->size[i]);
	if (!heap->block[i])
		selfcheck_failed(self, "malloc", (long)heap->size[i]);
	memset(heap->block[i], (int)i + 1, heap->size[i]);
}

/*
 * Tight: at least 1000 calls without a system call. free() keeps errno only
 * from glibc 2.33 on, so the canary is laid before each malloc alone.
 */
static void round_malloc(struct selfcheck_thread *self)
{
	static __thread struct heap heap;

	for (int i = 0; i < 1000; i++) {
		unsigned slot = next_random(self) % BLOCKS;

		errno = ERRNO_CANARY;
		if (heap.block[slot])
			heap_release(self, &heap, slot);
		else
			heap_fill(self, &heap, slot);
		errno_verify(self, "errno after malloc");
	}
}

/* --- blocking calls --------------------------------------------------------- */

static void round_sleep(struct selfcheck_thread *self)
{
	struct timespec time = { .tv_nsec = 20000000 };
	int64_t began = now_ms();

	errno = ERRNO_CANARY;
	if (nanosleep(&time, NULL) < 0) {
		call_failed(self, "nanosleep");
		return;
	}
	errno_verify(self, "errno after nanosleep");
	if (now_ms() - began < 19)
		selfcheck_failed(self, "nanosleep ended early", now_ms() - began);
}

static void round_poll(struct selfcheck_thread *self)
{
	int64_t began = now_ms();
	int ready;

	errno = ERRNO_CANARY;
	ready = poll(NULL, 0, 30);
	if (ready < 0) {
		call_failed(self, "poll");
		return;
	}
	errno_verify(self, "errno after poll");
	if (ready != 0 || now_ms() - began < 29)
		selfcheck_failed(self, "poll ended early", now_ms() - began);
}

static void round_select(struct selfcheck_thread *self)
{
	struct timeval time = { .tv_usec = 25000 };

	errno = ERRNO_CANARY;
	if (select(0, NULL, NULL, NULL, &time) < 0)
		call_failed(self, "select");
	else
		errno_verify(self, "errno after select");
}

static void round_epoll(struct selfcheck_thread *self)
{
	static __thread int epoll = -1;
	struct epoll_event event;
	int ready;

	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	errno = ERRNO_CANARY;
	ready = epoll_wait(epoll, &event, 1, 50);
	if (ready < 0)
		call_failed(self, "epoll_wait");
	else if (ready > 0)
		selfcheck_failed(self, "epoll_wait invented an event", ready);
	else
		errno_verify(self, "errno after epoll_wait");
}

/* Blocks for ever as far as it knows: the supervisor writes. */
static void round_read(struct selfcheck_thread *self)
{
	unsigned char byte = 0;
	ssize_t got;

	errno = ERRNO_CANARY;
	got = read(self->page->pipe_read, &byte, 1);
	if (got < 0) {
		call_failed(self, "read");
		return;
	}
	errno_verify(self, "errno after read");
	if (got != 1 || byte != 42)
		selfcheck_failed(self, "read a wrong byte", byte);
}

static void round_futex(struct selfcheck_thread *self)
{
	uint32_t seen = atomic_load(&self->page->wake);

	errno = ERRNO_CANARY;
	if (syscall(SYS_futex, &self->page->wake, FUTEX_WAIT, seen, NULL, NULL, 0) == 0)
		errno_verify(self, "errno after futex");
	else if (errno != EAGAIN)
		call_failed(self, "futex");
}

/* --- signals ---------------------------------------------------------------- */

static void on_count(int number)
{
	int error = errno;

	(void)number;
	if (!current)
		abort();
	handler_ms = now_ms();
	handled = handled + 1;
	atomic_fetch_add(&current->page->handlers, 1);
	errno = error;
}

static void on_jump(int number)
{
	on_count(number);
	if (jump_armed) {
		jump_armed = 0;
		atomic_fetch_add(&current->page->jumps, 1);
		siglongjmp(jump_target, 1);
	}
}

int selfcheck_handled(void)
{
	return handled;
}

/* SIGRTMIN + 2 to 4 are those of selfcheck_waits.c. */
void selfcheck_handlers_install(void)
{
	struct sigaction counting = { .sa_handler = on_count, .sa_flags = SA_ONSTACK };
	struct sigaction jumping = { .sa_handler = on_jump, .sa_flags = SA_RESTART };
	sigset_t blocked;

	if (sigaction(SIGRTMIN, &counting, NULL) < 0 ||
	    sigaction(SIGRTMIN + 1, &jumping, NULL) < 0 ||
	    sigaction(SIGRTMIN + 3, &counting, NULL) < 0 ||
	    sigaction(SIGRTMIN + 4, &counting, NULL) < 0)
		victim_fail("sigaction");
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	sigaddset(&blocked, SIGRTMIN + 2);
	sigaddset(&blocked, SIGRTMIN + 4);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
}

/*
 * The signal is blocked but in here, so each handler run must end one wait. The
 * supervisor sends the next one only after that: a lost wake-up is not covered up.
 */
static void round_signals(struct selfcheck_thread *self)
{
	static __thread int epoll = -1;
	struct epoll_event event;
	int64_t late;
	sigset_t none;
	int ready;

	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&none);
	handler_ms = 0;
	ready = epoll_pwait(epoll, &event, 1, 3000, &none);
	late = handler_ms ? now_ms() - handler_ms : 0;
	if (ready < 0)
		call_failed(self, "epoll_pwait");
	if (late > LOST_WAKEUP_MS)
		selfcheck_failed(self, "a signal's wake-up was lost, ms", late);
	handler_ms = 0;
}

/* The handler jumps out of the wait; everything must be as before it. */
static void round_siglongjmp(struct selfcheck_thread *self)
{
	struct timespec time = { .tv_nsec = 100000000 };

	if (sigsetjmp(jump_target, 1) == 0) {
		jump_armed = 1;
		if (nanosleep(&time, NULL) < 0)
			call_failed(self, "nanosleep");
		jump_armed = 0;
	}
	handler_ms = 0;
	selfcheck_thread_verify(self);
}

/* A socket on which waiting ends after 50 ms, with nothing to receive and no room to send. */
static int timed_socket(void)
{
	static __thread int pair[2] = { -1, -1 };
	struct timeval limit = { .tv_usec = 50000 };
	char fill[4096] = "";

	if (pair[0] >= 0)
		return pair[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(pair[1], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		_exit(9);
	while (send(pair[1], fill, sizeof(fill), MSG_DONTWAIT) > 0)
		;
	while (send(pair[1], fill, 1, MSG_DONTWAIT) > 0)
		;
	return pair[1];
}

static void timed_out(struct selfcheck_thread *self, const char *call, long result)
{
	if (result >= 0)
		selfcheck_failed(self, call, result);
	if (errno != EAGAIN)
		call_failed(self, call);
}

static void round_send(struct selfcheck_thread *self)
{
	char fill[4096] = "";

	timed_out(self, "send", send(timed_socket(), fill, sizeof(fill), 0));
}

static void round_recvmmsg(struct selfcheck_thread *self)
{
	char byte;
	struct iovec vector = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &vector, .msg_iovlen = 1 } };

	timed_out(self, "recvmmsg", recvmmsg(timed_socket(), &message, 1, 0, NULL));
}

const struct selfcheck_kind selfcheck_kinds[] = {
	{ .name = "regs", .round = round_regs },
	{ .name = "malloc-loop", .round = round_malloc },
	{ .name = "sleep", .round = round_sleep },
	{ .name = "poll", .round = round_poll },
	{ .name = "select", .round = round_select },
	{ .name = "epoll", .round = round_epoll },
	{ .name = "read", .round = round_read },
	{ .name = "send", .round = round_send },
	{ .name = "recvmmsg", .round = round_recvmmsg },
	{ .name = "futex", .round = round_futex },
	{ .name = "signals", .round = round_signals, .signals = 1 },
	{ .name = "siglongjmp", .round = round_siglongjmp, .signals = 2 },
	{ .name = NULL },
};
