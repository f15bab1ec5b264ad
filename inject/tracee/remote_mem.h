/* SPDX-License-Identifier: MIT */
/* remote_mem.h - reading and writing a target's memory while it runs. */
#ifndef MEMATTACH_REMOTE_MEM_H
#define MEMATTACH_REMOTE_MEM_H

#include "inject/tracee/target.h"

/*
 * Exactly bytes, or -errno (-EFAULT: part of it is not mapped, or no longer, -ESRCH: target gone,
 * else why the kernel refused).
 */
int remote_read(const struct target *target, uint64_t address, void *buffer, size_t bytes)
	_must_check_;
/*
 * 0: these bytes, 64 at the most, lie there; -ESTALE: others, or it became another program; else as
 * remote_read.
 */
int remote_expect(const struct target *target, uint64_t address, const void *expected,
		  size_t bytes) _must_check_;
/*
 * Has the address space ended, by exec or with its last thread? A read there then finds the end of
 * a file; what is not mapped, or can't be read now, is an error instead.
 */
bool remote_is_gone(const struct target *target, uint64_t address) _must_check_;
/* As much as is mapped from address on, up to bytes; the count, 0 if nothing. */
size_t remote_read_some(const struct target *target, uint64_t address, void *buffer, size_t bytes);
/* Ordinary writable memory of the target. */
int remote_write(const struct target *target, uint64_t address, const void *buffer, size_t bytes)
	_must_check_;
/*
 * One 8-byte word, also in read-only text (the kernel then makes a private copy of the page), in
 * one piece, as far as our own end may come between: no call on its way writes a part. Running
 * threads see one piece only if address is 8-aligned. pre: all of it lies in one page.
 */
int remote_write_word(const struct target *target, uint64_t address, uint64_t word) _must_check_;
/*
 * 1 when the page that holds address is the mapped file's own, 0 when it is a private copy, or
 * where pagemap may not be opened; -errno: that can't be read now.
 */
int remote_page_is_file(const struct target *target, uint64_t address) _must_check_;

#endif
