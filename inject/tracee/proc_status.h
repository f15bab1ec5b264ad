/* SPDX-License-Identifier: MIT */
/*
 * proc_status.h - small readers of what the kernel tells about a process and its threads.
 *
 * All take numbers, so a caller that holds a pidref checks it again afterwards.
 * None stops or changes anything. Those marked [no heap] use bounded buffers on
 * the stack and may be called while something is stopped. A process or thread
 * that is gone is -ESRCH everywhere.
 */
#ifndef MEMATTACH_PROC_STATUS_H
#define MEMATTACH_PROC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

#define PROC_NAME_BYTES 64

/* From /proc/PID/task/TID/status. What the running kernel does not print stays 0. */
struct proc_thread_status {
	char name[PROC_NAME_BYTES];    /* comm, \n and \\ escaped by the kernel */
	char state;                    /* R S D T t Z X I */
	bool kernel_thread;            /* Kthread (6.9); see has_memory for older kernels */
	bool has_memory;               /* prints VmSize: no kernel thread, not ended */
	bool core_dumping;             /* CoreDumping (4.15) */
	bool shadow_stack;             /* x86_Thread_features names shstk (6.6) */
	pid_t process, parent, tracer; /* Tgid, PPid, TracerPid (0: none) */
	pid_t ns_pid;                  /* the id in its own pid namespace */
	uint32_t ns_levels;            /* 1: in ours */
	uint32_t uid[3], gid[3];       /* real, effective, saved */
	uint32_t threads;
	uint32_t seccomp; /* 0 none, 1 strict, 2 filter */
	uint32_t seccomp_filters; /* so many (5.9) */
	uint64_t sig_pending, shared_pending, sig_blocked, sig_ignored, sig_caught;
	uint64_t capabilities; /* CapPrm */
	uint64_t vm_bytes, rss_bytes, locked_bytes;
	uint64_t voluntary_switches, involuntary_switches;
};
/* The thread tid of process pid. 0, -ESRCH, -errno. [no heap] */
int proc_read_thread_status(pid_t pid, pid_t tid, struct proc_thread_status *ret) _must_check_;
/* The leader of process pid (a zombie when it called pthread_exit). 0, -ESRCH, -errno. [no heap] */
int proc_read_status(pid_t pid, struct proc_thread_status *ret) _must_check_;

/* From /proc/PID/task/TID/syscall. */
struct proc_thread_syscall {
	bool running; /* on a CPU or about to be: the rest is 0 */
	long number;  /* -1: blocked, but not in a system call (a fault, a signal stop) */
	uint64_t argument[6];
	uint64_t sp, pc;
};
/* 0, -ESRCH, -EPERM no right to trace it, -errno. [no heap] */
int proc_read_thread_syscall(pid_t pid, pid_t tid, struct proc_thread_syscall *ret) _must_check_;

/*
 * How often tid was put on a CPU, from schedstat; unchanged between two reads:
 * it did not run. 0, -ESRCH, -ENODATA the kernel does not count, -errno. [no heap]
 */
int proc_read_run_count(pid_t pid, pid_t tid, uint64_t *ret) _must_check_;
/* How long tid has waited for a processor in its life, from there, too. As proc_read_run_count. */
int proc_read_run_delay(pid_t pid, pid_t tid, uint64_t *ret_ns) _must_check_;

/* A worker of the kernel (io_uring's, vhost's, KVM's): a thread that can't be traced. [no heap] */
bool proc_is_worker(pid_t pid, pid_t tid);
/* True for a task that never runs the process's code again: that, or it has ended. [no heap] */
bool proc_runs_no_code(pid_t pid, pid_t tid);

/*
 * Does the kernel keep tid where it is, for its control group (docker pause, systemctl freeze) or
 * for a machine that goes to sleep? Such a thread stops for a tracer at best, and executes
 * nothing. By the name of the kernel's function that it waits in; false where that is not
 * told. [no heap]
 */
bool proc_thread_is_frozen(pid_t pid, pid_t tid);

/*
 * Every thread of pid, in ascending order; read until a pass finds nothing new,
 * so some may have ended since. *ret_tids is the caller's to free. The number
 * (at least 1), -ESRCH, -ENOMEM, -errno.
 */
int proc_list_threads(pid_t pid, pid_t **ret_tids) _must_check_;
/*
 * One pass over the directory /proc/PID/task into tids. The number that there
 * were, which may exceed room; -ESRCH, -errno. [no heap]
 */
int proc_list_task(int task_fd, pid_t *tids, size_t room) _must_check_;
/*
 * A thread of pid that has not ended: the leader if it lives, whose /proc files
 * then speak for the process. The id or -ESRCH, -errno. [no heap]
 */
pid_t proc_live_thread(pid_t pid) _must_check_;
/* A thread of pid that is frozen, any of them; 0: there is none. */
pid_t proc_find_frozen(pid_t pid) _must_check_;
/*
 * Of a process or thread, to be read. 0: *ret is -1 where the kernel has none or it may not be
 * opened; -errno: it can't be opened now.
 */
int proc_open_pagemap(pid_t pid, int *ret) _must_check_;

/* The soft limit of that row of /proc/PID/limits ("Max address space"), UINT64_MAX: none. [no heap]
 */
int proc_read_limit(pid_t pid, const char *row, uint64_t *ret) _must_check_;
/*
 * The number after "key" at the start of a line of a small text file of the
 * kernel ("MemAvailable:"); the first number of all for key "". 0, -ENODATA, -errno. [no heap]
 */
int proc_read_number(const char *path, const char *key, uint64_t *ret) _must_check_;

/* A file read line by line from a fixed buffer; lines over 4 KiB are cut to 2 KiB. */
struct proc_lines {
	int fd;
	size_t at, used;
	char buffer[4096];
};
/* 0, -ESRCH for a /proc path that is gone, -errno. [no heap] */
int proc_lines_open(const char *path, struct proc_lines *ret) _must_check_;
/* 1 and *ret_line (valid until the next call), 0 at the end, -errno. [no heap] */
int proc_lines_next(struct proc_lines *lines, const char **ret_line) _must_check_;
void proc_lines_close(struct proc_lines *lines);

#endif
