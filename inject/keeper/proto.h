/* SPDX-License-Identifier: MIT */
/*
 * proto.h - the conversation between analyst and keeper, on one SEQPACKET socket.
 *
 * The analyst asks, the keeper answers each request with exactly one reply of
 * the same type; notes come from the keeper unasked. Neither trusts the other's
 * lengths. Both are the same program, so structs cross as they are.
 */
#ifndef MEMATTACH_PROTO_H
#define MEMATTACH_PROTO_H

#include <sys/user.h>

#include "inject/attach/attachment.h"

#define PROTO_MAX_FDS 6
#define PROTO_ASKED 4	/* values of a request */
#define PROTO_GONE_EXEC UINT64_MAX
#define PROTO_VALUES 5	/* of a reply */
#define PROTO_TEXT_BYTES 512
#define PROTO_MAX_PAYLOAD (96u * 1024u)

enum proto_type {
	PROTO_HELLO = 1,    /* reply: struct proto_hello; fds: enum hello_fd */
	PROTO_OPEN_FILE,    /* value[0], value[1]: a mapping's start and end; fds: its file */
	PROTO_LIST_THREADS, /* reply: struct thread_candidate[] */
	PROTO_SAMPLE,       /* value[0]: tid; value[1]: 1 = it stands until the next request, at
			       most 50 ms; reply: struct proto_sample; fds: the stack copy */
	PROTO_LOAD,         /* struct proto_load; reply: value[0] shim base,
			       value[1] 1 = something is in the target; fds: ring */
	PROTO_HOOK,         /* value[0]: link map of the shim (dlopen) */
	PROTO_UNHOOK,       /* value[0]: a thread that was proven outside, 0; value[1], [2]: where
			       it was, its sp and fs_base; reply: all are out of the shim, or
			       -ETIME: value[0] is one that may not be */
	PROTO_UNLOAD,    /* value[0]: 1 = on the thread of the last sample, value[1]: dl handle */
	PROTO_RUN_TO,    /* a program being started: run to address value[0] */
	PROTO_RELEASE,   /* and let it run; value[0]: 1 = with an eye on its end, to hold it there
			    (PROTO_NOTE_ENDING) until PROTO_THAW or PROTO_RELEASE */
	PROTO_ADOPT,     /* struct proto_load (gadgets): rebuild from the journal;
			    reply: value[0] loader, value[1] shim base, value[2] pictures'
			    remains that were removed */
	PROTO_CHILDREN,  /* the target was left: restore what it forked meanwhile;
			    reply: struct children_left */
	PROTO_FREEZE,    /* value[0], value[1]: gadgets (syscall; ret and restorer), value[2]:
			    1 = stop instead of copy; reply: value[0] pause in us, value[1] TSC,
			    value[2] threads, value[3] words of vector registers, value[4]
			    1 = all private memory is in the copy; fds: memory, maps, struct
			    stop_thread[] and behind it struct vector_word[], pagemap (if it may
			    be opened) */
	PROTO_THAW,      /* the picture is no longer needed; reply: value[0] 1 and, if nothing
			    worse, -ECANCELED: it had ended before, what was read of it may be
			    nothing (target ended, user asked to stop); value[1] pause in us */
	PROTO_ACCESS_BEGIN, /* struct access_begin (access_watch.h); reply: struct access_began */
	PROTO_ACCESS_END, /* reply: struct access_thread[]; value[0] 1: the user asked to stop since
			     the first; fds: what the kernel wrote about the hits */
	PROTO_THREAD_NAMES, /* payload: uint32_t ids of threads, in their own pid namespace, at
			     most PROTO_MAX_NAMES; reply: struct proto_name for each */
	PROTO_STATUS,    /* reply: struct proto_status */
	PROTO_FINISH,    /* value[0]: exit status; the keeper ends */
	PROTO_NOTE_STOP, /* note: the user wants to detach */
	PROTO_NOTE_SNAPSHOT, /* note: the user wants a snapshot now */
	PROTO_NOTE_ENDING, /* note: the target stands at its end; it can be frozen, nothing else */
	PROTO_NOTE_GONE, /* note: the target has ended (value[0]: by which signal; 0: not known, or
			    none; text: the name that it ended by, "" its own or not known), or
			    become another program (PROTO_GONE_EXEC; text: its path, "" not to
			    be seen) */
	PROTO_TYPE_COUNT
};

struct proto_message {
	uint32_t type;			/* enum proto_type */
	int32_t status;			/* replies: 0 or -errno */
	uint64_t value[PROTO_VALUES];
	char text[PROTO_TEXT_BYTES];	/* replies: what went wrong, in words */
	uint32_t payload_bytes, fd_count;
};

struct proto_hello {
	int32_t pid;
	uint32_t threads;
	uint64_t start_time_ticks;
	uint64_t auxv_bytes;
	uint8_t auxv[1024];
	char exe[1024];			/* path as /proc/PID/exe says */
	char cmdline[2048];		/* arguments joined by a space */
	uint32_t may_readv, may_wait;	/* the target's seccomp filter allows it */
	uint32_t filtered;		/* it has such a filter: no calls but those we checked */
	uint32_t may_gettid;
	uint32_t sees_proc;		/* there is a /proc in its root: dlopen finds the shim */
	uint32_t owner;			/* the user by whose rights it opens files, + 1 */
};
struct proto_sample {
	struct user_regs_struct registers;
	uint64_t stack_bytes;
};
struct proto_load {
	uint32_t loader;		/* LOADER_DLOPEN or LOADER_MAP */
	uint32_t sampled;		/* a table of addresses is needed, else one of bits */
	uint32_t recognise;		/* with what recognition of stacks needs */
	uint32_t counts;		/* with counters: enum counts_kind */
	uint64_t ring_total_bytes;
	uint64_t seed;
	struct hook_plan plan;
};
#define PROTO_MAX_NAMES 256u
struct proto_name {
	char name[16];			/* comm; "" it has ended */
};
struct proto_status {
	uint64_t stop_us_max;
	uint32_t threads_stopped;
	uint32_t pristine;		/* after PROTO_UNLOAD */
	int32_t detach_error;
	uint32_t loader;
};

/* Sends message with payload and descriptors (borrowed). 0, -EPIPE the other side is gone, -errno.
 */
int proto_send(int socket, struct proto_message *message, const void *payload, const int *fds)
	_must_check_;
/*
 * Receives one message. payload has PROTO_MAX_PAYLOAD bytes of room; *ret_fds
 * are the receiver's, -1 beyond fd_count. 1 received, 0 the other side is gone, -errno.
 */
int proto_receive(int socket, struct proto_message *ret, void *payload, int ret_fds[PROTO_MAX_FDS])
	_must_check_;

#endif
