/* SPDX-License-Identifier: MIT */
/*
 * ring_abi.h - what the shim inside a target and memattach outside agree on.
 *
 * The only header that both sides include. It is freestanding: no libc, no
 * pointers, only fixed-width fields and offsets, every layout pinned by a
 * static assertion. docs/RING.md explains the protocol; this file defines it.
 *
 * One memfd, mapped shared by target and memattach:
 *
 *	offset 0             struct ring_control (RING_CONTROL_BYTES)
 *	behind it            marks: where no sampled block begins (marks_abi.h)
 *	control.threads_offset  thread table (control.thread_slots * RING_THREAD_SLOT_BYTES)
 *	control.table_offset sampled-address table, or (exact) a bit for each 16 bytes of
 *	                     memory, folded (control.table_slots * 8 bytes)
 *	control.rings_offset control.ring_count rings of control.ring_bytes each
 *	control.rules_offset (exact, recognition) rules for leaving frames: rules_abi.h
 *	control.seen_offset  control.seen_slots * 8 bytes: call paths that were told
 *	control.shadows_offset control.shadow_slots * RING_SHADOW_BYTES: what threads remember
 *	                     of their last walk; only the shim's
 *	control.counts_offset (RING_MODE_COUNT) counters: counts_abi.h
 *
 * A ring is an array of 64-byte lines. A position is a line number that only
 * grows (64 bits); line = position & (ring_lines - 1). A record is a whole
 * number of lines, contiguous (a RING_PAD record fills the end of the ring
 * when the next record would wrap).
 */
#ifndef MEMATTACH_RING_ABI_H
#define MEMATTACH_RING_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAGIC		0x31474e4952414d4dull	/* "MMARING1" */
#define RING_VERSION		16u
#define RING_LINE		64u
#define RING_CONTROL_BYTES	(160u * 1024u)
#define RING_SIZE_LIMIT		(1ull << 56)	/* of ring_record.size */
#define RING_MAX_RINGS		256u
#define RING_LANES		256u
#define RING_OUTERS		1024u
#define RING_LOST_LEAST		64u	/* words of lost blocks: the low bits of a group's number */
#define RING_MAX_ENTRIES	128u
#define RING_MAX_STACKS		2048u
#define RING_MAX_STACK_BYTES	65536u
#define RING_MAX_PATCHES	(3u * RING_MAX_ENTRIES)	/* entry word and up to two gap words */
#define RING_MAX_ISLANDS	16u
#define RING_THREAD_SLOT_BYTES	64u
#define RING_SHADOW_BYTES	(256u * 1024u)
#define RING_OWN_LINE		__attribute__((aligned(64)))

/* Calling shape of a hooked entry point: where its arguments are. */
enum ring_shape {
	RING_SHAPE_NONE = 0,
	RING_SHAPE_MALLOC,		/* (size, ...) -> block */
	RING_SHAPE_CALLOC,		/* (count, size) -> block */
	RING_SHAPE_MEMALIGN,		/* (align, size) -> block */
	RING_SHAPE_NEW_ALIGNED,		/* (size, align, ...) -> block */
	RING_SHAPE_POSIX_MEMALIGN,	/* (block *, align, size) -> error */
	RING_SHAPE_REALLOC,		/* (old, size, ...) -> block */
	RING_SHAPE_REALLOCARRAY,	/* (old, count, size) -> block */
	RING_SHAPE_FREE,		/* (block, ...) */
	RING_SHAPE_MMAP,		/* (addr, len, prot, flags, fd, off) -> addr */
	RING_SHAPE_MUNMAP,		/* (addr, len) -> error */
	RING_SHAPE_MREMAP,		/* (old, oldlen, newlen, flags, ...) -> addr */
	RING_SHAPE_BRK,			/* (addr) -> error */
	RING_SHAPE_SBRK,		/* (increment) -> old break */
	RING_SHAPE_DL_STATE,		/* () : the dynamic loader's notification */
	RING_SHAPE_CUSTOM_ALLOC,	/* a program's own: where ring_entry.arguments says */
	RING_SHAPE_CUSTOM_REALLOC,
	RING_SHAPE_CUSTOM_FREE,
	RING_SHAPE_PRCTL,		/* (option, ...) : the program may confine itself */
	RING_SHAPE_SYSCALL,		/* (number, ...) : likewise */
	RING_SHAPE_COUNT
};

/* What a record says happened. */
enum ring_kind {
	RING_PAD = 0,		/* fills the end of a ring */
	RING_ALLOC,		/* a block now lives: address, size, old_address for realloc */
	RING_FREE,		/* a block is about to be given back (emitted before the call) */
	RING_UNDO,		/* a realloc failed; address: of the last RING_FREE, 0: of none */
	RING_MAP,		/* a mapping was made: address, size */
	RING_UNMAP,		/* a mapping is about to go: address, size (before the call) */
	RING_UNMAP_UNDO,	/* the munmap announced before failed */
	RING_BRK,		/* the program break is now address; size: previous break */
	RING_MODULE,		/* the dynamic loader's list changes or has; address: generation */
	RING_CALL,		/* control.calls: a call has returned; struct ring_call follows */
	RING_PATH,		/* a call path: its name is address; its return addresses follow */
	RING_KIND_COUNT
};

enum ring_flag {
	RING_F_REALLOC		= 1u << 0,	/* part of a realloc */
	RING_F_STACK		= 1u << 1,	/* struct ring_stack and stack bytes follow */
	RING_F_CALLER_ONLY	= 1u << 2,	/* no proven end, or (+ TRUNCATED) no room */
	RING_F_TRUNCATED	= 1u << 3,	/* stack longer than was copied */
	RING_F_UNTRACKED	= 1u << 4,	/* sampled, but no room in the address table */
	RING_F_FIXED		= 1u << 5,	/* mmap MAP_FIXED: replaces what was there */
	RING_F_ANONYMOUS	= 1u << 6,	/* mmap MAP_ANONYMOUS */
	RING_F_ANNOUNCED	= 1u << 7,	/* RING_CALL: a record went out before the call */
	RING_F_PATH		= 1u << 8,	/* caller is the name of a path told before */
};

/*
 * Where known stacks go by name (control.recognise): why this one is a copy. Bits of
 * ring_record.flags from RING_COPIED_SHIFT on.
 */
#define RING_COPIED_SHIFT 12
enum ring_copied {
	RING_COPIED_UNASKED = 0, /* of what has no name anyway */
	RING_COPIED_NO_RULES,	/* none hold for the modules of now */
	RING_COPIED_NO_END,	/* no end is proven: coroutines, alternate stacks */
	RING_COPIED_NO_SHADOW,	/* none is free, or a handler came on top of a walk */
	RING_COPIED_NO_RULE,	/* for one of its frames: signals, code without a file */
	RING_COPIED_OTHER,	/* words are not where they should be; no room for its path */
	RING_COPIED_COUNT
};

/* Commit word: position (48 bits) | lines (14 bits) | state (2 bits). */
enum ring_state { RING_EMPTY = 0, RING_BUSY = 1, RING_DONE = 2 };

static inline uint64_t ring_commit_word(uint64_t position, uint32_t lines, enum ring_state state)
{
	return (position << 16) | ((uint64_t)lines << 2) | (uint64_t)state;
}
static inline uint64_t ring_commit_position(uint64_t word) { return word >> 16; }
static inline uint32_t ring_commit_lines(uint64_t word) { return (uint32_t)(word >> 2) & 0x3fffu; }
static inline enum ring_state ring_commit_state(uint64_t word)
{
	return (enum ring_state)(word & 3u);
}

/* First line of every record. A PAD record has only commit and kind. */
struct ring_record {
	uint64_t commit;	/* ring_commit_word(); stored BUSY first, DONE last */
	uint64_t time;		/* TSC, before the slot was reserved */
	uint64_t address;
	uint64_t size;		/* bytes asked for (count * size for calloc) */
	uint64_t old_address;	/* realloc, mremap: what it was before */
	uint64_t thread;	/* thread pointer (fs_base) */
	uint64_t caller;	/* return address of the hooked call; RING_F_PATH: its path */
	uint8_t kind;		/* enum ring_kind */
	uint8_t align_log2;	/* RING_ALLOC: log2(alignment), 0 if none was asked for */
	uint16_t flags;		/* enum ring_flag */
	uint16_t entry;		/* index in control.entry */
	/* after struct ring_stack, / 8; may fill fewer lines. RING_F_PATH without that line: the
	   interval, ring_interval_pack() */
	uint16_t stack_bytes;
};

/*
 * The mean sampling interval, in bytes, that an event was drawn with, in 16 bits: eleven of it,
 * and how far they are shifted. 0: none, or it can't be said so.
 */
static inline uint16_t ring_interval_pack(uint64_t interval)
{
	unsigned int bits = interval ? 64u - (unsigned int)__builtin_clzll(interval) : 0;
	unsigned int shift = bits > 11 ? bits - 11 : 0;

	if (shift > 31 || interval & ((1ull << shift) - 1))
		return 0;
	return (uint16_t)(interval >> shift << 5 | shift);
}
static inline uint64_t ring_interval_unpack(uint16_t packed)
{
	return (uint64_t)(packed >> 5) << (packed & 31);
}
/* The largest one up to interval, at most 2^42, that can be said so. */
static inline uint64_t ring_interval_round(uint64_t interval)
{
	unsigned int bits = interval ? 64u - (unsigned int)__builtin_clzll(interval) : 0;

	return bits > 11 ? interval >> (bits - 11) << (bits - 11) : interval;
}

/*
 * Second line of records with RING_F_STACK (every RING_ALLOC, RING_MAP and
 * RING_BRK without RING_F_PATH has it, also with RING_F_CALLER_ONLY; some RING_FREE and
 * RING_UNDO may, and what has RING_F_PATH too, for the audit); stack bytes follow, from rsp up.
 *
 * RING_PATH has no such line: from its second line on follow stack_bytes / 8 return addresses,
 * the innermost first. RING_F_TRUNCATED: the path does not reach the thread's start.
 */
struct ring_stack {
	uint64_t rsp;		/* address of the return address (as at function entry) */
	uint64_t rbp, rbx, r12, r13, r14, r15;
	uint64_t interval;	/* bytes; of the count-down that fired; 0: certain */
};

/*
 * Second line of a RING_CALL: what was asked for, and when. Its first line: address is what
 * was returned, old_address the block of posix_memalign (0: none), size ring_call_detail().
 */
struct ring_call {
	uint64_t begin, end;	/* TSC, around the original */
	uint64_t argument[6];	/* those that the entry's shape does not have mean nothing */
};

/*
 * Low 32 bits: how many RING_CALL this ring had lost by then (modulo 2^32), so that between two
 * of them it is known how many are missing there. High 32: the thread's id, 0 unknown.
 */
static inline uint64_t ring_call_detail(uint64_t lost, uint32_t tid)
{
	return (uint64_t)tid << 32 | (lost & 0xffffffffu);
}
static inline uint32_t ring_call_lost(uint64_t detail) { return (uint32_t)detail; }
static inline uint32_t ring_call_tid(uint64_t detail) { return (uint32_t)(detail >> 32); }

/* What control.calls asks for. */
enum ring_calls {
	RING_CALLS = 1u << 0,		/* a RING_CALL for each call, in RING_MODE_ALL */
	RING_CALLS_TID = 1u << 1,	/* gettid is allowed (seccomp): with the thread's id */
};

/*
 * What the shim remembers of one thread: control.thread_slots of them, found by
 * a hash of the thread pointer. Only the shim writes them; zero when armed.
 */
struct ring_thread {
	uint64_t owner;		/* thread pointer; 0: free */
	uint64_t busy;		/* sp of the hook at work in here; 0: none */
	int64_t countdown;	/* bytes to the next sample */
	uint64_t interval;	/* that countdown was drawn with; 0: not drawn yet */
	uint64_t random;	/* state of the generator */
	uint64_t used;		/* control.deadline when the shim last used it */
	uint64_t stack_low;	/* where owner's own stack begins */
	uint64_t stack_check;	/* binds stack_low to owner and stack_generation */
};

/* A record that is reserved, but not there: its ring, and its position as a commit word has it. */
static inline uint64_t ring_position_low(uint64_t position) { return position << 16 >> 16; }
static inline uint64_t ring_unfinished_pack(uint32_t ring, uint64_t position)
{
	return (uint64_t)ring << 48 | ring_position_low(position);
}
static inline uint32_t ring_unfinished_ring(uint64_t record) { return (uint32_t)(record >> 48); }

/* One ring's own words, each in a line of its own so that they do not share. */
struct ring_head {
	uint64_t head;		/* next position to reserve; target compare-exchanges */
	uint64_t spent_cycles;	/* TSC cycles that records took; target adds */
	uint64_t given_up;	/* tail + 1 at which a wait was given up; 0: none. Target stores */
	uint64_t given_up_for;	/* ring_unfinished_pack(): the record that was waited for */
	uint64_t hidden_alloc, hidden_bytes;	/* what lost RING_ALLOC stand for; target adds */
	uint64_t pad0[2];
	uint64_t tail;		/* everything below is released; only the reader stores */
	uint64_t held_up;	/* drains that left something for a record in the making; reader */
	uint64_t pad1[6];
	uint64_t lost_alloc, lost_free, lost_stack, lost_map;	/* target adds */
	uint64_t lost_alloc_bytes;	/* asked for by lost RING_ALLOC, not weighted */
	uint64_t blocked, blocked_cycles;	/* RING_OVERFLOW_BLOCK: waits and TSC cycles */
	uint64_t lost_call;
};

/* What one thread lost at once, under pressure. Nobody else adds, so that needs no lock. */
struct ring_lane {
	uint64_t owner;		/* thread pointer, for good; 0: free */
	uint64_t lost_alloc, lost_free, lost_alloc_bytes;
	uint64_t reserved[4];
};

/*
 * The outermost call under way that a thread makes to functions of one class, where those may hand
 * it on to others (RING_ISLAND_OUTER; shim/outer.c). Only the shim writes; zero when armed.
 */
struct ring_outer {
	uint64_t key;		/* thread pointer | enum ring_class; 0: free */
	uint64_t frame;		/* address of the call's frame; 0: none yet */
	uint64_t caller, original;	/* what the frame holds for as long as it is there */
};

/* A hooked entry point, as the shim needs it. Written by the keeper before it arms. */
struct ring_entry {
	uint64_t low, high;	/* the function's own code: a caller in here is a nested call */
	uint16_t shape;		/* enum ring_shape */
	uint16_t family;	/* index of the allocator family */
	uint32_t arguments;	/* RING_SHAPE_CUSTOM_...: ring_arguments() */
};

/*
 * Which argument of a program's own function is what: from 1 to RING_ARGUMENTS, 0 none. size: of
 * the block in bytes (in units of count bytes, if there is a count); block: what is given back.
 */
#define RING_ARGUMENTS 6u
struct ring_arguments {
	uint8_t size, count, block;
};
static inline uint32_t ring_arguments_pack(struct ring_arguments a)
{
	return a.size | (uint32_t)a.count << 8 | (uint32_t)a.block << 16;
}
static inline struct ring_arguments ring_arguments_unpack(uint32_t packed)
{
	return (struct ring_arguments){ (uint8_t)packed, (uint8_t)(packed >> 8),
					(uint8_t)(packed >> 16) };
}

/*
 * What a block of a program's own allocator is called in records and tables: it may begin where a
 * block of malloc's does, and lie in less than 16 bytes. 0: no such address.
 */
#define RING_CUSTOM_BLOCK (1ull << 55)
static inline uint64_t ring_custom_block(uint64_t address)
{
	return address && address < 1ull << 47 ? RING_CUSTOM_BLOCK | address << 4 : 0;
}
/* Where a block begins, by what it is called. */
static inline uint64_t ring_block_address(uint64_t block)
{
	return block & RING_CUSTOM_BLOCK ? (block & ~RING_CUSTOM_BLOCK) >> 4 : block;
}

/*
 * A thread's own stack: from where its control block says that it begins up to that block, which
 * lies at its end. low == high: unused. Published by the reader; cleared by the shim (low = high)
 * before the target unmaps any of it.
 */
struct ring_range {
	uint64_t low, high;
};

/* A patched word of the target: the write-ahead journal (docs/SAFETY.md). */
struct ring_patch {
	uint64_t address;	/* of 8 bytes in one page; not 8-aligned: written in a stop only */
	uint64_t original, patched;
	uint32_t state;		/* enum ring_patch_state */
	uint32_t page_is_file;	/* enum ring_page */
	uint64_t page_hash;	/* of what was in the page before (inject/attach/text_pages.c) */
};
/* A page before we wrote to it: a private copy, its file's own; or the program has written, too. */
enum ring_page { RING_PAGE_COPY = 0, RING_PAGE_FILE = 1, RING_PAGE_OWN = 2 };
enum ring_patch_state { RING_PATCH_NONE = 0, RING_PATCH_INTENDED = 1, RING_PATCH_REVERTED = 2 };

/* What lies in the target on our behalf, for a later cleanup. */
struct ring_island {
	uint64_t address, bytes;
};
struct ring_journal {
	uint64_t shim_base, shim_bytes;	/* where the shim is mapped */
	uint64_t shim_root;		/* address of its struct shim_root */
	uint64_t hooks_low, hooks_high;	/* all hooks' calls are in there: offsets in the shim */
	uint64_t ring_base, ring_bytes;	/* this mapping, in the target */
	uint64_t dl_handle;		/* struct link_map of the shim, 0 with the map loader */
	uint64_t owner_start_time;	/* of the keeper, with owner_pid: /proc/PID/stat field 22 */
	uint32_t owner_pid;
	uint32_t loader;		/* 1 dlopen, 2 map */
	uint32_t patch_count, island_count;
	uint32_t gap_patches;		/* patch[0 .. gap_patches) are gaps, the rest entries */
	/* Hooks from here on (an offset, too) may call who switches stacks; 0: there are none. */
	uint32_t hooks_suspended;
	struct ring_island island[RING_MAX_ISLANDS];
	struct ring_patch patch[RING_MAX_PATCHES];
};

enum ring_mode {
	RING_MODE_OFF = 0,	/* pass through */
	RING_MODE_ALL,		/* every event, frees too (exact) */
	RING_MODE_SAMPLE,	/* Poisson by bytes with control.interval; frees by address table */
	RING_MODE_COUNT,	/* calls of the malloc family are counted (counts_abi.h) */
};
enum ring_overflow { RING_OVERFLOW_DROP = 0, RING_OVERFLOW_BLOCK = 1 };

/* Bits: how the program has confined itself, since attach or before. */
enum ring_confined {
	RING_CONFINED_FILTER = 1u << 0,	/* a filter that nobody has looked at: no calls of ours */
	RING_CONFINED_DISPATCH = 1u << 1, /* its threads' calls may end in a SIGSYS: likewise */
	RING_CONFINED_CLOCK = 1u << 2,	/* the counter may not be read: hooks pass through */
};
/* The hooks that are there for that alone: they record nothing. */
static inline bool ring_shape_confines(uint32_t shape)
{
	return shape == RING_SHAPE_PRCTL || shape == RING_SHAPE_SYSCALL;
}

/* Bits: an allocation found no room, until the reader has made some; one ever did. */
enum ring_pressed { RING_PRESSED = 1u << 0, RING_WAS_PRESSED = 1u << 1 };

/* How a thread finds its thread pointer (fs_base). */
enum ring_thread_pointer {
	RING_THREAD_POINTER_SELF = 0,	/* %fs:0: every thread has a glibc or musl TCB */
	RING_THREAD_POINTER_FSBASE,	/* rdfsbase: bit 1 of AT_HWCAP2 is set on this machine */
};

/* How a thread reads the time and its CPU. */
enum ring_clock {
	RING_CLOCK_RDTSCP = 0,	/* both by one instruction */
	RING_CLOCK_SEGMENT,	/* lfence, rdtsc, and the CPU from a segment's limit */
};

/* Hooked functions that call each other; a call from the same class is nested. */
enum ring_class { RING_CLASS_HEAP = 0, RING_CLASS_MAPPING, RING_CLASS_CUSTOM, RING_CLASS_COUNT };
static inline bool ring_shape_is_custom(uint32_t shape)
{
	return shape >= RING_SHAPE_CUSTOM_ALLOC && shape <= RING_SHAPE_CUSTOM_FREE;
}
static inline enum ring_class ring_shape_class(uint32_t shape)
{
	if (ring_shape_is_custom(shape))
		return RING_CLASS_CUSTOM;
	return shape >= RING_SHAPE_MMAP && shape <= RING_SHAPE_SBRK ? RING_CLASS_MAPPING
								    : RING_CLASS_HEAP;
}

/* What a hash is masked with for the offset of one of count lines; count: a power of two. */
static inline uint64_t ring_line_mask(uint64_t count)
{
	return count ? (count - 1) * RING_LINE : 0;
}

struct ring_control {
	uint64_t magic;
	uint32_t version, control_bytes;
	uint64_t total_bytes;
	uint64_t rings_offset, ring_bytes, ring_lines;
	uint64_t threads_offset, thread_slots;	/* slots: powers of two */
	uint64_t table_offset, table_slots;
	uint64_t thread_mask, table_mask;	/* ring_line_mask() of slots, of buckets of eight */
	uint32_t ring_count;
	uint32_t entry_count;
	uint64_t rules_offset, rules_bytes;	/* 0: no recognition of stacks */
	uint64_t seen_offset, seen_slots;	/* slots: a power of two */
	uint64_t shadows_offset, shadow_slots;	/* slots: a power of two */
	uint64_t counts_offset, counts_slots;	/* 0: nothing is counted; a power of two */
	uint64_t counts_block;		/* bytes of a thread's counters: counts_abi.h */
	uint64_t lost_offset, lost_mask;	/* ring_place_lost() */

	/* Set from outside while the target runs; the shim only reads these lines. */
	uint64_t deadline RING_OWN_LINE;	/* TSC after which nothing is recorded (keeper) */
	uint64_t epoch;		/* 1 at first, + 1 by a keeper that resumes; see lapsed */
	uint32_t mode;		/* enum ring_mode (analyst) */
	uint32_t overflow;	/* enum ring_overflow */
	uint64_t interval;	/* mean sampling interval in bytes; 0 or 1: every allocation */
	uint64_t seed;		/* of the sampler; 0: from the TSC */
	uint32_t stack_limit;	/* bytes of stack to copy at the most */
	uint32_t may_readv;	/* 1: process_vm_readv on itself is allowed (seccomp) */
	uint32_t may_wait;	/* 1: futex is allowed (seccomp) */
	uint32_t wake;		/* futex word: the reader adds 1 after it released room or acked */
	uint32_t thread_pointer;	/* enum ring_thread_pointer */
	uint32_t beat;		/* the reader adds 1 with every drain: it lives (keeper) */
	uint64_t main_stack_low, main_stack_high;	/* [stack]: low may still go down */
	uint64_t pid;		/* the target's pid in its own pid namespace */
	uint64_t module_ack;	/* last generation whose maps the reader has read (reader) */
	uint64_t free_stacks;	/* RING_MODE_ALL: 1: every free with its stack (analyst) */
	uint64_t resumed;	/* TSC at which the epoch began, from the second on (keeper) */
	uint64_t gap_cycles;	/* between epochs, all together: nothing was recorded (keeper) */
	uint64_t calls;		/* enum ring_calls (analyst) */
	uint64_t recognise;	/* 1: known stacks go by name (analyst) */
	uint64_t verify;	/* every so many with their copies, too; 0: none (analyst) */
	uint64_t path_epoch;	/* part of each path's name: + 1 forgets them all (analyst) */
	uint64_t copy_unknown;	/* RING_MODE_COUNT: 1: stacks without a name are copied (analyst) */
	uint64_t clock;		/* enum ring_clock */
	uint32_t confined;	/* enum ring_confined; never taken back (shim, keeper) */
	uint32_t outers;	/* bits 1 << enum ring_class: entries of it hand calls on */

	/* Set by the shim. */
	uint64_t lapsed RING_OWN_LINE;	/* last epoch whose deadline passed: ended; 0: none */
	uint64_t lost_table;	/* sampled blocks that found no room in the address table */
	uint64_t lost_threads;	/* calls that found no slot in the thread table */
	uint64_t module_generation;	/* dynamic loader notifications seen */
	uint64_t threads_claimed;	/* slots ever claimed: numbers the seeds */
	uint64_t unmaps_begun;	/* calls that take mappings away: ring_publish_stacks() */
	uint64_t unmaps_ended;
	uint32_t reader_asleep;	/* futex word: the reader stores 1 and waits; the shim 0, wakes */
	uint32_t pressed;	/* enum ring_pressed (and the reader) */

	uint64_t stack_generation RING_OWN_LINE;	/* + 1 by every change of stack[] */
	uint32_t stack_count;	/* ranges that may be used */
	uint32_t stack_proposed;	/* ranges that unmaps must clear: >= stack_count */

	/* The code of the entries by class, sorted and disjoint: ring_publish_callers(). */
	uint32_t caller_count[RING_CLASS_COUNT];
	uint32_t stack_word;	/* where in a control block it says so: bytes (reader) */
	struct ring_range callers[RING_CLASS_COUNT];	/* first one's low, last one's high */
	struct ring_range caller[RING_CLASS_COUNT][RING_MAX_ENTRIES];

	struct ring_entry entry[RING_MAX_ENTRIES];
	struct ring_range stack[RING_MAX_STACKS];	/* by high: ring_publish_stacks() */
	struct ring_journal journal;
	struct ring_head ring[RING_MAX_RINGS] RING_OWN_LINE;
	struct ring_lane lane[RING_LANES];
	uint32_t calls_under_way RING_OWN_LINE;	/* the shim's own system calls (shim) */
	/*
	 * Bytes that count-downs were given, less what was left of those that were thrown away.
	 * Less what is left of the present ones, it is what was allocated while blocks were drawn
	 * (shim).
	 */
	uint64_t given_bytes;
	struct ring_outer outer[RING_OUTERS] RING_OWN_LINE;	/* by the thread pointer's hash */
};

/*
 * Places the words of lost blocks (shim/lost_bits.c): the second half of the address table. Too
 * small a table has none: offset 0. The mask is that of a word's number.
 */
static inline void ring_place_lost(struct ring_control *c)
{
	uint64_t half = c->table_slots / 2;

	if (half < RING_LOST_LEAST)
		return;
	c->lost_offset = c->table_offset + half * sizeof(uint64_t);
	c->lost_mask = half - 1;
}

/*
 * The shim's only writable data: one page of .bss, wiped in fork children, so
 * that a child finds control == 0 and passes through. Written by the keeper.
 */
struct shim_root {
	uint64_t control;	/* address of struct ring_control in the target; 0: pass through */
	uint64_t shim_low, shim_high;	/* the shim's own code: callers in here are nested calls */
};

/*
 * An island entry: what the patched instruction of one entry point leads to.
 * 256 bytes in an r-x page near the patched code; the keeper writes it (island_code.h). The
 * code may know at once that the call needs no record, and jump to original; else it loads
 * r11 = address of original and jumps to hook; the hook calls or jumps to r11 for the original
 * function, and finds index at r11 - 8.
 */
struct ring_island_entry {
	uint64_t hook;			/* address of the shim's hook */
	uint32_t index;			/* in control.entry, | RING_ISLAND_... */
	uint32_t magic;			/* RING_ISLAND_MAGIC */
	uint8_t original[48];		/* relocated first instructions, then a jump back */
	uint8_t code[192];		/* arch/x86_64/island_slots.S */
};
#define RING_ISLAND_MAGIC 0x444e4c49u	/* "ILND" */
/*
 * The function reaches another hooked entry of its class by a tail jump (a C++
 * operator delete that is `jmp free`): the hook keeps its frame around it, so
 * that the inner call has a return address in the shim and counts as nested.
 */
#define RING_ISLAND_SPAN 0x80000000u
/*
 * The function itself reads thread-local storage whenever it is called, as the allocators with
 * caches for threads do: whoever calls it has a TCB, and %fs:0 is its address (x86-64 TLS ABI).
 * That is read in a fraction of the time of rdfsbase.
 */
#define RING_ISLAND_TLS 0x40000000u
/*
 * The function may hand its call on to hooked entries by any way: through a pointer, another
 * library, a jump. Calls made while it runs are nested. Comes with RING_ISLAND_SPAN.
 */
#define RING_ISLAND_OUTER 0x20000000u

#ifdef __cplusplus
#define RING_ASSERT static_assert
#else
#define RING_ASSERT _Static_assert
#endif
RING_ASSERT(sizeof(struct ring_record) == RING_LINE, "a record is one line");
RING_ASSERT(sizeof(struct ring_stack) == RING_LINE, "registers are one line");
RING_ASSERT(sizeof(struct ring_call) == RING_LINE, "a call is one line more");
RING_ASSERT(sizeof(struct ring_thread) == RING_THREAD_SLOT_BYTES, "a thread is one line");
RING_ASSERT(sizeof(struct ring_head) == 3 * RING_LINE, "each word in its own line");
RING_ASSERT(sizeof(struct ring_lane) == RING_LINE, "a lane is one line");
RING_ASSERT(RING_LINE % sizeof(struct ring_outer) == 0, "an outer call lies in one line");
RING_ASSERT(sizeof(struct ring_island_entry) == 256, "known to island_slots.S");
RING_ASSERT(offsetof(struct ring_island_entry, original) == 16, "index lies at original - 8");
RING_ASSERT(offsetof(struct ring_island_entry, code) == 64, "a line of its own");
RING_ASSERT(sizeof(struct ring_control) <= RING_CONTROL_BYTES, "control block too large");

#endif
