/* SPDX-License-Identifier: MIT */
/*
 * unwind_locks.h - libunwind's locks without their system calls.
 *
 * libunwind blocks all signals while it holds one of its locks, so that a handler which unwinds,
 * too, does not wait for its own thread: two rt_sigprocmask for each, four for each row of call
 * frame information that it reads, a third of that reading's time. No handler of ours unwinds.
 * So the thread that walks says when it is in libunwind. sigprocmask() and pthread_sigmask(), by
 * which libunwind asks (its only use of them), answer that thread then without asking the kernel.
 */
#ifndef MEMATTACH_UNWIND_LOCKS_H
#define MEMATTACH_UNWIND_LOCKS_H

#include <stdbool.h>

/*
 * Until unwind_locks_end(), both functions change no signal mask in this thread, and say that no
 * signal is blocked. Only libunwind is to be called meanwhile. They don't nest.
 */
void unwind_locks_begin(void);
void unwind_locks_end(void);

#endif
