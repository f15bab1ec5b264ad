/* SPDX-License-Identifier: MIT */
/* preflight_checks.h - what the parts of preflight share; for preflight*.c only. */
#ifndef MEMATTACH_PREFLIGHT_CHECKS_H
#define MEMATTACH_PREFLIGHT_CHECKS_H

#include "inject/preflight/preflight.h"
#include "inject/tracee/proc_status.h"
#include "src/base/procmaps.h"

struct preflight {
	pid_t pid;
	const struct preflight_options *options;
	struct preflight_report *report;
	pid_t tid;                        /* a live thread: its /proc files speak for all */
	struct proc_thread_status status; /* of tid */
	struct procmaps maps;             /* from check_access on */
};

/* A check: 0 passed, 1 refused (code, reason and remedy set), -errno. */
typedef int preflight_check_fn(struct preflight *preflight);

/* Each sets its half of the refusal and returns 1, so that a check can end with it. */
int preflight_reason(struct preflight *preflight, enum preflight_code code, const char *format, ...)
	_printf_(3, 4);
int preflight_remedy(struct preflight *preflight, const char *format, ...) _printf_(2, 3);

/* Which gate refused? Always 1. (preflight_access.c) */
int preflight_refuse_access(struct preflight *preflight);
/* Sanitizers, emulators; Go. (preflight_runtimes.c) */
int preflight_check_instrumented(struct preflight *preflight);
int preflight_check_go(struct preflight *preflight);
/* Limits of address space, mappings, control group and machine. (preflight_memory.c) */
int preflight_check_memory(struct preflight *preflight);
int preflight_check_locked_memory(struct preflight *preflight);
int preflight_check_descriptors(struct preflight *preflight);	/* preflight_descriptors.c */

#endif
