/* SPDX-License-Identifier: MIT */
/* safe_thread.h - finding a thread that may call dlopen or dlclose for us, by proof. */
#ifndef MEMATTACH_SAFE_THREAD_H
#define MEMATTACH_SAFE_THREAD_H

#include "inject/attach/hook_plan.h"
#include "src/target/target_view.h"
#include "src/unwind/unwind.h"

/*
 * What was found last, and those of before that turned out to have a stack too small, or not their
 * own, when they were to be borrowed: where a blocked thread's own stack begins is not seen from
 * outside. They are passed over as long as there is another.
 */
struct safe_threads {
	pid_t found;
	pid_t unfit[16];
	unsigned int unfit_count;
	pid_t holder;	/* was seen to hold a lock that dlopen needs, 0 */
};
struct safe_thread_input {
	struct target_view *view;
	struct unwinder *unwinder;
	const struct hook_plan *plan;	/* the allocators' entries */
	bool keep;			/* what is found stands until the keeper's next request */
	bool running;			/* with keep: one that runs will do, see below */
	bool files;			/* it will make descriptors: they must be the process's */
	struct safe_threads *threads;	/* of this session; only to find one */
};
/*
 * Looks for a thread blocked in a system call whose whole stack was unwound and
 * holds no frame of the dynamic loader, an allocator, fork or a signal handler,
 * while no other thread is inside the loader. On success the keeper still holds
 * that thread's sample: the next load or unload "on the sampled thread" uses it.
 * Where none is blocked a running one may do: one that is in no code of a module with an
 * allocator, but for where threads begin.
 * 0; -ENOENT no such thread (ret_why says what was in the way); -errno.
 */
int safe_thread_find(const struct safe_thread_input *input, char ret_why[128]) _must_check_;

/* The one that was found last could not be borrowed (-ENOTSUP). */
void safe_thread_is_unfit(struct safe_threads *threads);

/*
 * Unwinds tid and looks whether any frame lies in the shim. 0: none does, it is
 * outside, on the stack that place says: its stack pointer and thread pointer then.
 * -EBUSY it is inside, -ENOENT its stack can't be explained; -errno.
 */
struct safe_thread_place {
	uint64_t sp, thread_pointer;
};
int safe_thread_is_outside_shim(const struct safe_thread_input *input, pid_t tid,
				struct safe_thread_place *ret) _must_check_;

#endif
