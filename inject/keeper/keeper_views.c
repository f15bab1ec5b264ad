/* SPDX-License-Identifier: MIT */
/*
 * keeper_views.c - the requests that show the analyst the target and change nothing that lasts:
 * descriptors, one thread's stack, a picture of all memory.
 */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inject/attach/load.h"
#include "inject/attach/mapped_file.h"
#include "inject/attach/sealed_copy.h"
#include "inject/keeper/hello.h"
#include "inject/tracee/threads.h"
#include "inject/tracee/tracee.h"

enum { SAMPLE_ROOM = 1 << 20 };
#define KEEP_NS 50000000ull		/* one thread may stand so long for a proof */
#define FREEZE_LIMIT_NS 10000000000ull	/* for the threads to stop, and for the last trace to go */

void keeper_reply_fd(struct reply *reply, int fd)
{
	reply->fd[reply->message.fd_count++] = fd;
}

int keeper_on_hello(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	static struct proto_hello hello;
	int error = hello_fill(&k->in.at.target, &hello);

	(void)request;
	hello.may_readv = k->seccomp.may_readv && !k->confined.dispatches;
	hello.may_wait = k->seccomp.may_wait && !k->confined.dispatches;
	hello.may_gettid = k->seccomp.may_gettid && !k->confined.dispatches;
	hello.filtered = k->seccomp.filtered;
	reply->payload = &hello;
	reply->message.payload_bytes = sizeof(hello);
	reply->close_fds = true;
	for (int i = 0; !error && i < HELLO_FDS; i++) {
		int fd = hello_open(&k->in.at.target, (enum hello_fd)i);

		if (fd < 0)
			error = fd;
		else
			keeper_reply_fd(reply, fd);
	}
	return error;
}

int keeper_on_open_file(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	int fd = mapped_file_open(&k->in.at.target, request->value[0], request->value[1]);

	if (fd < 0)
		return fd;
	reply->close_fds = true;
	keeper_reply_fd(reply, fd);
	return 0;
}

int keeper_on_list_threads(struct keeper *k, const struct proto_message *request,
			   struct reply *reply)
{
	static struct thread_candidate list[256];
	int count = threads_rank(&k->in.at.target, list, ARRAY_SIZE(list));

	(void)request;
	if (count < 0)
		return count;
	reply->payload = list;
	reply->message.payload_bytes = (uint32_t)((size_t)count * sizeof(list[0]));
	return 0;
}

void keeper_drop_kept(struct keeper *k)
{
	if (!k->sample.kept_ns)
		return;
	stop_sample_release(&k->sample);
	attachment_note_stop(&k->in.at, k->sample.held_us, 1);
}

int keeper_kept_left_ms(const struct keeper *k)
{
	uint64_t end = k->sample.kept_ns + KEEP_NS, now = tracee_now_ns();

	if (!k->sample.kept_ns)
		return -1;
	return now < end ? (int)((end - now) / 1000000) + 1 : 0;
}

int keeper_on_sample(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	static struct proto_sample sample;
	struct stat task;
	char tid[16];
	int fd, error;

	(void)snprintf(tid, sizeof(tid), "%d", (pid_t)request->value[0]);
	/* not faccessat(): that asks without our capabilities, and /proc may hide it (hidepid) */
	if (fstatat(k->in.at.target.task, tid, &task, AT_SYMLINK_NOFOLLOW) < 0)
		return -ESRCH;	/* no thread of this target */
	stop_sample_done(&k->sample);
	memset(&k->sample, 0, sizeof(k->sample));
	error = stop_sample(&k->in.at.target, (pid_t)request->value[0], SAMPLE_ROOM,
			    request->value[1] != 0, &k->sample);
	if (error)
		return error;
	attachment_note_stop(&k->in.at, k->sample.held_us, 1);
	fd = sealed_copy("stack", k->sample.stack, k->sample.stack_bytes);
	if (fd < 0)
		return fd;
	sample.registers = k->sample.registers;
	sample.stack_bytes = k->sample.stack_bytes;
	reply->payload = &sample;
	reply->message.payload_bytes = sizeof(sample);
	reply->close_fds = true;
	keeper_reply_fd(reply, fd);
	return 0;
}

/* The target's own filter must let the calls pass that make and reap the child. */
static int check_freeze(struct keeper *k, enum freeze_way way)
{
	char *problem = k->in.problem;
	size_t room = sizeof(k->in.problem);
	int error;

	if (way != FREEZE_COPY)
		return 0;
	keeper_look_again(k);
	if (!k->seccomp.allowed || !k->seccomp.may_copy) {
		(void)snprintf(problem, room, "its system call filter (seccomp) does not let a "
			       "copy be made; --snapshot=stop reads it while it stands still");
		return -EACCES;
	}
	error = load_gadgets_check(&k->in.at.target, k->gadgets.syscall_ret,
				   k->gadgets.restorer);
	if (error)
		return error;
	return freeze_check(&k->in.at.target, problem, room) ? -ECANCELED : 0;
}

/* What the user can do about it; -ECANCELED then, and nothing was changed. */
static int explain_freeze(struct keeper *k, int error)
{
	static const struct {
		int error;
		const char *reason;
	} known[] = {
		{ -EUSERS, "there is no room for a process more (limit of processes, ulimit -u); "
			   "--snapshot=stop reads it while it stands still" },
		{ -ENOMEM, "there is no memory for a copy; "
			   "--snapshot=stop reads it while it stands still" },
		{ -ETIME, "its threads never stand still together (one is busy in the kernel, "
			  "or there are too few processors); try again later" },
		{ -EBUSY, "it was stopped by job control; let it continue (kill -CONT) and "
			  "try again" },
		{ -EAGAIN, "none of its threads came to a point where it can be copied; "
			   "try again, or --snapshot=stop reads it while it stands still" },
		{ -ENOTSUP, "none of its threads has a stack on which a copy can be made; "
			    "--snapshot=stop reads it while it stands still" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].error == error) {
			(void)snprintf(k->in.problem, sizeof(k->in.problem), "%s",
				       known[i].reason);
			return -ECANCELED;
		}
	return error;
}

/* What their vector registers held lies behind the threads. */
static int copy_of_threads(const struct freeze *f)
{
	size_t bytes = f->thread_count * sizeof(*f->thread);
	size_t more = f->vectors.count * sizeof(*f->vectors.word);
	_cleanup_free_ uint8_t *all = malloc(bytes + more + 1);

	if (!all)
		return -ENOMEM;
	if (bytes)
		memcpy(all, f->thread, bytes);
	if (more)
		memcpy(all + bytes, f->vectors.word, more);
	return sealed_copy("threads", all, bytes + more);
}

static int reply_picture(struct keeper *k, struct reply *reply)
{
	struct freeze *f = &k->freeze;
	int threads = copy_of_threads(f);

	if (threads < 0)
		return threads;
	reply->message.value[0] = f->pause_us;
	reply->message.value[1] = f->tsc;
	reply->message.value[2] = f->thread_count;
	reply->message.value[3] = f->vectors.count;
	reply->message.value[4] = f->complete;
	reply->close_fds = true;
	keeper_reply_fd(reply, f->mem);
	keeper_reply_fd(reply, f->maps);
	keeper_reply_fd(reply, threads);
	if (f->pagemap >= 0)
		keeper_reply_fd(reply, f->pagemap);
	f->mem = f->maps = f->pagemap = -1;	/* closed when they are sent */
	return 0;
}

int keeper_on_freeze(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	enum freeze_way way = keeper_is_ending(k) ? FREEZE_STANDING :
			      request->value[2]	  ? FREEZE_STOP :
						    FREEZE_COPY;
	int error = keeper_thaw(k);

	k->gadgets = (struct freeze_gadgets){ request->value[0], request->value[1] };
	if (!error)
		error = check_freeze(k, way);
	if (!error && k->in.done <= INJECT_RECORD)
		error = inject_enter(&k->in, INJECT_RECORD);
	if (error)
		return error;
	k->picture_unwanted = k->picture_searched = false;
	k->picture_ended = NULL;
	error = way == FREEZE_STANDING ?
			ending_picture(k->ending, &k->freeze) :
			freeze_begin(&k->in.at.target, &k->gadgets, way,
				     tracee_now_ns() + FREEZE_LIMIT_NS, &k->freeze);
	error = error ? explain_freeze(k, error) : reply_picture(k, reply);
	if (error)
		(void)keeper_thaw(k);
	else
		attachment_note_stop(&k->in.at, k->freeze.pause_us,
				     (uint32_t)k->freeze.thread_count);
	return error;
}

int keeper_thaw(struct keeper *k)
{
	bool stood = k->freeze.stop != NULL;
	int error = freeze_end(&k->in.at.target, &k->gadgets, tracee_now_ns() + FREEZE_LIMIT_NS,
			       &k->freeze);

	attachment_note_stop(&k->in.at, k->freeze.reap_us, 0);
	k->freeze.reap_us = 0;
	if (stood)
		attachment_note_stop(&k->in.at, k->freeze.pause_us, 0);
	return error;
}

static bool has_picture(const struct keeper *k)
{
	return (k->freeze.child || k->freeze.stop) && !k->picture_ended;
}

static void note_end(struct keeper *k)
{
	if (has_picture(k) &&
	    (k->gone || freeze_is_stale(&k->in.at.target, &k->gadgets, &k->freeze)))
		k->picture_ended = "the process, or the copy of it, ended while it was read";
}

void keeper_tend_picture(struct keeper *k)
{
	if (!has_picture(k))
		return;
	note_end(k);
	if (!k->picture_ended && k->picture_unwanted && !k->picture_searched)
		k->picture_ended = "stopped before its memory was read";
	if (k->picture_ended)
		(void)keeper_thaw(k);
}

/* Where nothing else was done to the target, this is the end: it is compared with before. */
int keeper_on_thaw(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	bool stood = k->freeze.stop != NULL;	/* there is no copy of it */
	int error;

	(void)request;
	note_end(k);
	if (k->freeze.way == FREEZE_STANDING && !keeper_is_ending(k))
		k->picture_ended = "the process ended while it was read";
	error = keeper_thaw(k);
	if (k->freeze.way == FREEZE_STANDING)
		keeper_ending_over(k);
	if (!error && k->in.done == INJECT_RECORD + 1)
		error = inject_leave(&k->in, INJECT_RECORD);
	if (error == -ESRCH && stood)	/* its memory is gone, its process perhaps not yet */
		k->picture_ended = "the process ended";
	error = pidref_alive(&k->in.at.target.ref) && error != -ESRCH ? error : 0;
	reply->message.value[0] = k->picture_ended != NULL;
	reply->message.value[1] = k->freeze.pause_us;
	if (!error && k->picture_ended) {
		(void)snprintf(k->in.problem, sizeof(k->in.problem), "%s", k->picture_ended);
		error = -ECANCELED;
	}
	return error;
}

int keeper_reap_left(struct keeper *k, const struct hook_plan *plan)
{
	int count;

	k->gadgets = (struct freeze_gadgets){ plan->gadget_syscall_ret, plan->gadget_restorer };
	if (!k->seccomp.allowed || !k->seccomp.may_copy ||
	    load_gadgets_check(&k->in.at.target, k->gadgets.syscall_ret, k->gadgets.restorer))
		return 0;
	count = freeze_reap_left(&k->in.at.target, &k->gadgets,
				 tracee_now_ns() + FREEZE_LIMIT_NS);
	return count < 0 ? 0 : count;
}
