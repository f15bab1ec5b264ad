/* SPDX-License-Identifier: MIT */
/*
 * preflight.h - may this process be entered? Asked before anything is touched.
 *
 * Everything is read from /proc; no thread is stopped, traced or written to, so
 * a refusal leaves nothing to undo. What can only be seen with more knowledge
 * (allocators, entry bytes, seccomp filters, a sanitizer linked statically into
 * a program without its usual mappings) is for later steps.
 */
#ifndef MEMATTACH_PREFLIGHT_H
#define MEMATTACH_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cleanup.h"
#include "src/base/pidref.h"

/* Stable: tests, --json and the daemon's protocol use preflight_code_name() of them. */
enum preflight_code {
	PREFLIGHT_OK = 0,
	PREFLIGHT_NO_SUCH_PROCESS, /* also: ended meanwhile */
	PREFLIGHT_THREAD_ID,       /* a thread of another process id */
	PREFLIGHT_KERNEL_THREAD,
	PREFLIGHT_ZOMBIE,
	PREFLIGHT_DUMPING, /* its core */
	PREFLIGHT_SELF,          /* memattach or what started it */
	PREFLIGHT_TRACED,        /* by another tracer */
	PREFLIGHT_NO_CAPABILITY, /* another user's, or not dumpable, without CAP_SYS_PTRACE */
	PREFLIGHT_YAMA,          /* kernel.yama.ptrace_scope */
	PREFLIGHT_USER_NAMESPACE,
	PREFLIGHT_LSM, /* AppArmor, SELinux, ... */
	PREFLIGHT_STOPPED,
	PREFLIGHT_FROZEN, /* by its control group */
	PREFLIGHT_ARCHITECTURE,
	PREFLIGHT_INSTRUMENTED, /* sanitizer, valgrind, rr, an emulator */
	PREFLIGHT_GO,           /* goroutines' stacks, from which nothing follows */
	PREFLIGHT_SHADOW_STACK,
	PREFLIGHT_SECCOMP_STRICT,
	PREFLIGHT_ATTACHED,      /* memattach is in it already, or was left dormant */
	PREFLIGHT_VFORK,         /* a thread waits for a vfork child */
	PREFLIGHT_MEMORY,        /* some limit is smaller than what would be added */
	PREFLIGHT_LOCKED_MEMORY, /* mlockall and RLIMIT_MEMLOCK */
	PREFLIGHT_DESCRIPTORS,   /* RLIMIT_NOFILE */
	PREFLIGHT_CODES
};

struct preflight_options {
	uint64_t memory_bytes; /* what the target will be charged with: ring, shim, islands; 0: */
			       /* nothing will be mapped in it */
	uint64_t descriptors;  /* numbers of files that are to be left to it; 0: any */
	bool expect_attached;  /* cleanup and adoption: memattach in the target is no refusal */
	const pid_t *own;      /* further processes of ours (analyst), refused like ourselves */
	size_t own_count;
};

struct preflight_report {
	enum preflight_code code;
	char reason[256];        /* one line, no newline: "process 7 (x) is a zombie"; "" when OK */
	char remedy[256];        /* one line: what the user can do */
	bool needs_filter_check; /* a thread has seccomp filters: evaluate them before any call */
	bool attached;           /* memattach's mappings are in it (with expect_attached) */
	uint32_t threads;
};

/*
 * Runs the checks in order and stops at the first refusal. 0: *ret says what was
 * found; -errno: could not be checked (-ENOMEM, -EMFILE, ...), *ret is untouched.
 */
int preflight_check(const struct pidref *target, const struct preflight_options *options,
		    struct preflight_report *ret) _must_check_;
/*
 * Opens pid as pidref_open does and explains a failure (no such process, a thread
 * of another one). 0: ret_ref is the caller's; -ESRCH: *ret holds the refusal; -errno.
 */
int preflight_open(pid_t pid, struct pidref *ret_ref, struct preflight_report *ret) _must_check_;
/*
 * Fills code, reason and remedy with the gate that most likely refused a trace
 * of target with EPERM or EACCES. 0 or -errno.
 */
int preflight_explain_denied(const struct pidref *target,
			     struct preflight_report *ret) _must_check_;
/*
 * Is there room for a second process that may come to own copies of bytes of the target's
 * memory? Control groups (memory, processes) and the machine's free memory. 0: *ret
 * says what was found; -errno.
 */
int preflight_check_copy(const struct pidref *target, uint64_t bytes,
			 struct preflight_report *ret) _must_check_;
/* "kernel-thread"; "ok" for PREFLIGHT_OK. Never NULL. */
const char *preflight_code_name(enum preflight_code code);

#endif
