/* SPDX-License-Identifier: MIT */
/* hooks_check.c - the numbers in shim_offsets.h, held against the structures. */
#include "inject/abi/marks_abi.h"
#include "inject/arch/x86_64/shim_offsets.h"
#include "inject/shim/custom.h"

#include <asm/unistd.h>
#include <linux/prctl.h>

#define SAME(number, truth) \
	_Static_assert((number) == (truth), #number " does not match " #truth)

SAME(CONTROL_THREAD_MASK, offsetof(struct ring_control, thread_mask));
SAME(CONTROL_TABLE_OFFSET, offsetof(struct ring_control, table_offset));
SAME(CONTROL_TABLE_MASK, offsetof(struct ring_control, table_mask));
SAME(CONTROL_LOST_OFFSET, offsetof(struct ring_control, lost_offset));
SAME(CONTROL_LOST_MASK, offsetof(struct ring_control, lost_mask));
SAME(CONTROL_EPOCH, offsetof(struct ring_control, epoch));
SAME(CONTROL_LAPSED, offsetof(struct ring_control, lapsed));
SAME(CONTROL_OUTERS, offsetof(struct ring_control, outers));
SAME(CONTROL_PRESSED, offsetof(struct ring_control, pressed));
SAME(CONTROL_CALLERS, offsetof(struct ring_control, callers[RING_CLASS_HEAP]));
SAME(CONTROL_LANES, offsetof(struct ring_control, lane));
SAME(LANES, RING_LANES);
SAME(LANE_OWNER, offsetof(struct ring_lane, owner));
SAME(LANE_LOST_ALLOC, offsetof(struct ring_lane, lost_alloc));
SAME(LANE_LOST_ALLOC_BYTES, offsetof(struct ring_lane, lost_alloc_bytes));
SAME(LANE_LOST_FREE, offsetof(struct ring_lane, lost_free));
SAME(sizeof(struct ring_lane), RING_LINE);
SAME(ROOT_SHIM_LOW, offsetof(struct shim_root, shim_low));
SAME(ROOT_SHIM_HIGH, offsetof(struct shim_root, shim_high));
SAME(CONTROL_DEADLINE, offsetof(struct ring_control, deadline));
SAME(CONTROL_MODE, offsetof(struct ring_control, mode));
SAME(CONTROL_INTERVAL, offsetof(struct ring_control, interval));
SAME(CONTROL_THREAD_POINTER, offsetof(struct ring_control, thread_pointer));
SAME(CONTROL_CALLS, offsetof(struct ring_control, calls));
SAME(CONTROL_MARKS, RING_CONTROL_BYTES);
SAME(CONTROL_THREADS, RING_CONTROL_BYTES + MARKS_BYTES);
SAME(MARK_SHIFT, MARKS_SHIFT);
SAME(MARKS_BYTES, 1u << 16);
SAME(MARK_PRINT, MARKS_PRINT);
SAME(MARK_PRINT_SHIFT, MARKS_HASH_SHIFT);
SAME(MARKS_HASH_FACTOR, SHIM_GOLDEN);
SAME(MARKS_MANY, 0x80);	/* the sign of a byte */
SAME(THREAD_OWNER, offsetof(struct ring_thread, owner));
SAME(THREAD_COUNTDOWN, offsetof(struct ring_thread, countdown));
SAME(THREAD_INTERVAL, offsetof(struct ring_thread, interval));
SAME(THREAD_USED, offsetof(struct ring_thread, used));
SAME(CALL_ARGUMENT, offsetof(struct shim_call, argument));
SAME(CALL_GIVEN_BYTES, sizeof(((struct shim_call *)0)->argument) + 2 * sizeof(uint64_t));
SAME(CUSTOM_STACK_BYTES, SHIM_CUSTOM_STACK_WORDS * 8);
SAME((CUSTOM_STACK_BYTES + CALL_GIVEN_BYTES + KEEP_REGISTER_BYTES + CALL_FRAME_BYTES) % 16, 8);
SAME(CALL_RAX, offsetof(struct shim_call, rax));
SAME(CALL_ORIGINAL, offsetof(struct shim_call, original));
SAME(CALL_RESULT, offsetof(struct shim_call, result));
SAME(CALL_RESULT_HIGH, offsetof(struct shim_call, result_high));
SAME(CALL_RBP, offsetof(struct shim_call, rbp));
SAME(CALL_RBX, offsetof(struct shim_call, rbx));
SAME(CALL_R12, offsetof(struct shim_call, r12));
SAME(CALL_R13, offsetof(struct shim_call, r13));
SAME(CALL_R14, offsetof(struct shim_call, r14));
SAME(CALL_R15, offsetof(struct shim_call, r15));
SAME(CALL_FRAME_BYTES, offsetof(struct shim_call, caller));
SAME(MODE_ALL, RING_MODE_ALL);
SAME(PRESSED, RING_PRESSED);
SAME(MODE_SAMPLE, RING_MODE_SAMPLE);
SAME(MODE_COUNT, RING_MODE_COUNT);
SAME(ISLAND_INDEX, (int)offsetof(struct ring_island_entry, index) -
			   (int)offsetof(struct ring_island_entry, original));
SAME(ISLAND_TLS, RING_ISLAND_TLS);
SAME(SHAPE_MALLOC, RING_SHAPE_MALLOC);
SAME(SHAPE_CALLOC, RING_SHAPE_CALLOC);
SAME(SHAPE_MEMALIGN, RING_SHAPE_MEMALIGN);
SAME(SHAPE_NEW_ALIGNED, RING_SHAPE_NEW_ALIGNED);
SAME(SHAPE_POSIX_MEMALIGN, RING_SHAPE_POSIX_MEMALIGN);
SAME(SHAPE_REALLOC, RING_SHAPE_REALLOC);
SAME(SHAPE_REALLOCARRAY, RING_SHAPE_REALLOCARRAY);
SAME(SHAPE_FREE, RING_SHAPE_FREE);
SAME(SHAPE_MMAP, RING_SHAPE_MMAP);
SAME(SHAPE_MUNMAP, RING_SHAPE_MUNMAP);
SAME(SHAPE_MREMAP, RING_SHAPE_MREMAP);
SAME(SHAPE_BRK, RING_SHAPE_BRK);
SAME(SHAPE_SBRK, RING_SHAPE_SBRK);
SAME(SHAPE_DL_STATE, RING_SHAPE_DL_STATE);
SAME(SHAPE_PRCTL, RING_SHAPE_PRCTL);
SAME(SHAPE_SYSCALL, RING_SHAPE_SYSCALL);
SAME(NUMBER_PRCTL, __NR_prctl);
SAME(NUMBER_SECCOMP, __NR_seccomp);
SAME(OPTION_SECCOMP, PR_SET_SECCOMP);
SAME(OPTION_TSC, PR_SET_TSC);
SAME(SHAPE_CUSTOM_ALLOC, RING_SHAPE_CUSTOM_ALLOC);
SAME(SHAPE_CUSTOM_REALLOC, RING_SHAPE_CUSTOM_REALLOC);
SAME(SHAPE_CUSTOM_FREE, RING_SHAPE_CUSTOM_FREE);
/* Lines of threads and buckets are addressed by a hash that is shifted by 6 less, and masked. */
SAME(RING_THREAD_SLOT_BYTES, 64);
SAME(HASH_FACTOR, SHIM_GOLDEN);
SAME(HASH_SHIFT, SHIM_HASH_SHIFT);
SAME(HASH_LINE_SHIFT, SHIM_HASH_SHIFT - 6);
