/* SPDX-License-Identifier: MIT */
/* remote_poke.h - writing a target's memory without the right to write /proc/PID/mem. */
#ifndef MEMATTACH_REMOTE_POKE_H
#define MEMATTACH_REMOTE_POKE_H

#include "inject/tracee/target.h"

/*
 * Ordinary writable memory, while one thread stands still. 0; -EFAULT: it can't be written;
 * -ESRCH: the target is gone; -ETIME, -EAGAIN: no thread could be stopped.
 */
int remote_poke(const struct target *target, uint64_t address, const void *buffer, size_t bytes)
	_must_check_;
/* The same for one word, also in read-only text. pre: all of it lies in one page. */
int remote_poke_word(const struct target *target, uint64_t address, uint64_t word) _must_check_;

#endif
