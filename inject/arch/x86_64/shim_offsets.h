/* SPDX-License-Identifier: MIT */
/*
 * shim_offsets.h - the numbers that the shim's assembly shares with C.
 *
 * Plain macros, so that shim_hooks.S can include them; hooks_check.c holds each
 * of them against the structure it stands for.
 */
#ifndef MEMATTACH_SHIM_OFFSETS_H
#define MEMATTACH_SHIM_OFFSETS_H

/* struct ring_control */
#define CONTROL_TABLE_OFFSET	64
#define CONTROL_THREAD_MASK	80
#define CONTROL_TABLE_MASK	88
#define CONTROL_LOST_OFFSET	176
#define CONTROL_LOST_MASK	184
#define CONTROL_DEADLINE	192
#define CONTROL_EPOCH		200
#define CONTROL_MODE		208
#define CONTROL_INTERVAL	216
#define CONTROL_THREAD_POINTER	248
#define CONTROL_CALLS		312
#define CONTROL_OUTERS		364
#define CONTROL_LAPSED		384
#define CONTROL_PRESSED		444
#define CONTROL_CALLERS		480
#define CONTROL_LANES		107392

/* marks_abi.h: of an address, MARK_SHIFT bits are dropped and 16 taken */
#define CONTROL_MARKS		163840
#define CONTROL_THREADS		229376	/* where control.threads_offset is: behind them */
#define MARK_SHIFT		6
#define MARK_PRINT		0x40	/* of one address: the bits below are of its hash */
#define MARK_PRINT_SHIFT	58

/* struct ring_thread */
#define THREAD_OWNER		0
#define THREAD_COUNTDOWN	16
#define THREAD_INTERVAL		24
#define THREAD_USED		40

/* struct ring_lane */
#define LANES			256
#define LANE_OWNER		0
#define LANE_LOST_ALLOC		8
#define LANE_LOST_FREE		16
#define LANE_LOST_ALLOC_BYTES	24
#define LOSSES_A_LOOK		1024	/* loss.c: at the clock */

/* lost_bits.c */
#define GRANULE_SHIFT		4	/* malloc's alignment: no two blocks share a granule */
#define GROUP_SHIFT		9	/* 32 of them have a word */
#define ARENA_SHIFT		26	/* glibc's arenas all begin at multiples of that */
#define PLACE_SHIFT		6	/* the low bits of a group's number are in its place */
#define ADDRESS_BITS		47	/* beyond, 32 bits would not tell groups apart */

/* struct shim_root */
#define ROOT_SHIM_LOW		8
#define ROOT_SHIM_HIGH		16

/* struct shim_call; its last word is the hook's return address */
#define CALL_ARGUMENT		0
#define CALL_RAX		48
#define CALL_ORIGINAL		56
#define CALL_RESULT		64
#define CALL_RESULT_HIGH	72
#define CALL_RBP		80
#define CALL_RBX		88
#define CALL_R12		96
#define CALL_R13		104
#define CALL_R14		112
#define CALL_R15		120
#define CALL_FRAME_BYTES	168
/*
 * How far below a hook's frame is wiped: on the short ways, down to where what is called from
 * there wipes for itself (exact.c); and on the long ones (test_shim_leave).
 */
#define WIPE_SHORT		320
#define WIPE_LONG		1024
#define CALL_GIVEN_BYTES	64	/* what SAVE_ARGUMENTS saves */
#define CUSTOM_STACK_BYTES	128	/* of arguments on the stack, KEEPING_HOOK */
#define KEEP_REGISTER_BYTES	32	/* of r10, r11, the flags; and a word for the alignment */
/* Below rsp, where a slot that keeps all registers puts these two; and for the way back. */
#define ISLAND_R10		(-8)
#define ISLAND_R11		(-16)
#define ISLAND_ORIGINAL		(-24)

#define MODE_ALL		1	/* RING_MODE_ALL */
#define PRESSED			1	/* RING_PRESSED */
#define MODE_SAMPLE		2	/* RING_MODE_SAMPLE */
#define MODE_COUNT		3	/* RING_MODE_COUNT */
#define ISLAND_INDEX		(-8)	/* of the index, from the original */
#define ISLAND_TLS		0x40000000	/* RING_ISLAND_TLS */

/* enum ring_shape */
#define SHAPE_MALLOC		1
#define SHAPE_CALLOC		2
#define SHAPE_MEMALIGN		3
#define SHAPE_NEW_ALIGNED	4
#define SHAPE_POSIX_MEMALIGN	5
#define SHAPE_REALLOC		6
#define SHAPE_REALLOCARRAY	7
#define SHAPE_FREE		8
#define SHAPE_MMAP		9
#define SHAPE_MUNMAP		10
#define SHAPE_MREMAP		11
#define SHAPE_BRK		12
#define SHAPE_SBRK		13
#define SHAPE_DL_STATE		14
#define SHAPE_CUSTOM_ALLOC	15
#define SHAPE_CUSTOM_REALLOC	16
#define SHAPE_CUSTOM_FREE	17
#define SHAPE_PRCTL		18
#define SHAPE_SYSCALL		19

/* What may confine the program, of all that goes through prctl() and syscall(): confine.c */
#define NUMBER_PRCTL		157
#define NUMBER_SECCOMP		317
#define OPTION_SECCOMP		22
#define OPTION_TSC		26
#define OPTION_DISPATCH		59

/* shim_hash(): 2^64 / golden ratio; the top 24 bits of the product, times the 64 bytes of a line */
#define HASH_FACTOR		0x9e3779b97f4a7c15
#define HASH_LINE_SHIFT		34
#define HASH_SHIFT		40
#define LINE_SHIFT		6

#endif
