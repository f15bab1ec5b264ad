/* SPDX-License-Identifier: MIT */
/*
 * selfcheck_waits.c - a round of each system call that a thread can wait in.
 *
 * Three groups, for --kind=waits or one by one. Those that end by a time-out of their own are
 * checked for what they return, for errno, and for ending early; those whose time-out the kernel
 * keeps over a stop (--kind=kept) end at all only if it is kept, where stops come more often
 * than --wait. Others end by what the supervisor does (selfcheck_waits_kick): a message, room in
 * a pipe, a signal, a lock let go, or by a child of their own.
 * What the kernel does not have is named in page->missing; its threads poll.
 */
#include "tests/victims/selfcheck.h"
#include "tests/victims/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL_WAITED	(SIGRTMIN + 2)	/* blocked: sigwaitinfo takes it */
#define SIGNAL_PAUSE	(SIGRTMIN + 3)	/* handled at any time, until the pause has ended */
#define SIGNAL_MASKED	(SIGRTMIN + 4)	/* blocked but in calls that take a mask */

static struct {
	int wait_ms;
	int message_queue, semaphore;	/* System V */
	int full_pipe[2];		/* nobody reads but the supervisor */
	char lock_path[64];
	int lock;			/* the supervisor's */
} waits;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct timespec wait_time(void)
{
	return (struct timespec){ .tv_sec = waits.wait_ms / 1000,
				  .tv_nsec = waits.wait_ms % 1000 * 1000000l };
}

static struct timespec wait_end(clockid_t clock)
{
	struct timespec end, time = wait_time();

	clock_gettime(clock, &end);
	end.tv_sec += time.tv_sec + (end.tv_nsec + time.tv_nsec) / 1000000000l;
	end.tv_nsec = (end.tv_nsec + time.tv_nsec) % 1000000000l;
	return end;
}

static void is_missing(struct selfcheck_thread *self, const char *call)
{
	char *missing = self->page->missing;

	if (!strstr(missing, call))
		snprintf(missing + strlen(missing), sizeof(self->page->missing) - strlen(missing),
			 "%s ", call);
	poll(NULL, 0, waits.wait_ms);
}

/* The call that began then has returned result, -errno if it failed. It must be `expired`. */
static void ended(struct selfcheck_thread *self, const char *call, int64_t began, long result,
		  long expired)
{
	if (result == -EINTR) {
		atomic_fetch_add(&self->page->eintr, 1);
		return;
	}
	if (result != expired)
		selfcheck_failed(self, call, result);
	/* CLOCK_MONOTONIC and the coarse clock of some time-outs differ by a tick */
	if (now_ms() - began < waits.wait_ms - 11)
		selfcheck_failed(self, "ended early", now_ms() - began);
}

static long result_of(long result)
{
	return result < 0 ? -errno : result;
}

/* --- time-outs that go on over a stop ------------------------------------------- */

static void round_nanosleep(struct selfcheck_thread *self)
{
	struct timespec time = wait_time();
	int64_t began = now_ms();

	ended(self, "nanosleep", began, result_of(nanosleep(&time, NULL)), 0);
}

static void round_until(struct selfcheck_thread *self)
{
	struct timespec end = wait_end(CLOCK_MONOTONIC);
	int64_t began = now_ms();
	int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);

	ended(self, "clock_nanosleep", began, -error, 0);
}

static void round_poll(struct selfcheck_thread *self)
{
	int64_t began = now_ms();

	ended(self, "poll", began, result_of(poll(NULL, 0, waits.wait_ms)), 0);
}

static void round_ppoll(struct selfcheck_thread *self)
{
	struct timespec time = wait_time();
	int64_t began = now_ms();

	ended(self, "ppoll", began, result_of(ppoll(NULL, 0, &time, NULL)), 0);
}

static void round_select(struct selfcheck_thread *self)
{
	struct timeval time = { .tv_sec = waits.wait_ms / 1000,
				.tv_usec = waits.wait_ms % 1000 * 1000l };
	int64_t began = now_ms();

	ended(self, "select", began, result_of(select(0, NULL, NULL, NULL, &time)), 0);
}

static void round_pselect(struct selfcheck_thread *self)
{
	struct timespec time = wait_time();
	int64_t began = now_ms();

	ended(self, "pselect", began, result_of(pselect(0, NULL, NULL, NULL, &time, NULL)), 0);
}

static void round_futex(struct selfcheck_thread *self)
{
	static uint32_t word;
	struct timespec time = wait_time();
	int64_t began = now_ms();
	long got = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);

	ended(self, "futex", began, result_of(got), -ETIMEDOUT);
}

/* As pthread_cond_timedwait does. */
static void round_futex_until(struct selfcheck_thread *self)
{
	static uint32_t word;
	struct timespec end = wait_end(CLOCK_MONOTONIC);
	int64_t began = now_ms();
	long got = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &end, NULL,
			   FUTEX_BITSET_MATCH_ANY);

	ended(self, "futex until", began, result_of(got), -ETIMEDOUT);
}

static void round_timer(struct selfcheck_thread *self)
{
	static __thread int fd = -1;
	struct itimerspec timer = { .it_value = wait_time() };
	int64_t began = now_ms();
	uint64_t times = 0;

	if (fd < 0)
		fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (fd < 0 || timerfd_settime(fd, 0, &timer, NULL) < 0)
		selfcheck_failed(self, "timerfd", fd);
	ended(self, "read of a timerfd", began, result_of(read(fd, &times, sizeof(times))),
	      sizeof(times));
}

static void round_queue(struct selfcheck_thread *self)
{
	static __thread mqd_t queue = -1;
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	struct timespec end = wait_end(CLOCK_REALTIME);
	int64_t began = now_ms();
	char name[64], message[8];

	if (queue < 0) {
		snprintf(name, sizeof(name), "/memattach-%d-%d", (int)getpid(), self->index);
		queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
		mq_unlink(name);
	}
	if (queue < 0)
		return is_missing(self, "mq_timedreceive");
	ended(self, "mq_timedreceive", began,
	      result_of(mq_timedreceive(queue, message, sizeof(message), NULL, &end)), -ETIMEDOUT);
}

/* --- time-outs that a stop may begin anew --------------------------------------- */

static int epoll_of_nothing(void)
{
	static __thread int epoll = -1;

	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	return epoll;
}

static void round_epoll(struct selfcheck_thread *self)
{
	struct epoll_event event;
	int64_t began = now_ms();
	int got = epoll_wait(epoll_of_nothing(), &event, 1, waits.wait_ms);

	ended(self, "epoll_wait", began, result_of(got), 0);
}

static void round_epoll2(struct selfcheck_thread *self)
{
	struct timespec time = wait_time();
	struct epoll_event event;
	int64_t began = now_ms();
	long got = syscall(441, epoll_of_nothing(), &event, 1, &time, NULL, 0);

	if (got < 0 && errno == ENOSYS)
		return is_missing(self, "epoll_pwait2");
	ended(self, "epoll_pwait2", began, result_of(got), 0);
}

/* A connected socket of a pair with the time-out set, nothing to be received and no room. */
static int timed_socket(struct selfcheck_thread *self)
{
	static __thread int pair[2] = { -1, -1 };
	struct timeval limit = { .tv_sec = waits.wait_ms / 1000,
				 .tv_usec = waits.wait_ms % 1000 * 1000l };
	char fill[4096] = "";

	if (pair[0] >= 0)
		return pair[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(pair[1], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		selfcheck_failed(self, "socketpair", pair[1]);
	for (size_t size = sizeof(fill); size; size /= 2)
		while (send(pair[1], fill, size, MSG_DONTWAIT) > 0)
			;
	return pair[1];
}

static void round_accept(struct selfcheck_thread *self)
{
	static __thread int listener = -1;
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = waits.wait_ms / 1000,
				 .tv_usec = waits.wait_ms % 1000 * 1000l };
	int64_t began;

	if (listener < 0) {
		/* no name: the kernel picks an abstract one */
		listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (bind(listener, (struct sockaddr *)&name, sizeof(name.sun_family)) < 0 ||
		    listen(listener, 1) < 0 ||
		    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
			selfcheck_failed(self, "listen", listener);
	}
	began = now_ms();
	ended(self, "accept", began, result_of(accept(listener, NULL, NULL)), -EAGAIN);
}

static void round_recv(struct selfcheck_thread *self)
{
	int fd = timed_socket(self);
	int64_t began = now_ms();
	char byte;

	ended(self, "recv", began, result_of(recv(fd, &byte, 1, 0)), -EAGAIN);
}

static void round_recvmsg(struct selfcheck_thread *self)
{
	char byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	int fd = timed_socket(self);
	int64_t began = now_ms();

	ended(self, "recvmsg", began, result_of(recvmsg(fd, &message, 0)), -EAGAIN);
}

static void round_read_socket(struct selfcheck_thread *self)
{
	int fd = timed_socket(self);
	int64_t began = now_ms();
	char byte;

	ended(self, "read of a socket", began, result_of(read(fd, &byte, 1)), -EAGAIN);
}

static void round_write_socket(struct selfcheck_thread *self)
{
	static const char fill[4096];
	int fd = timed_socket(self);
	int64_t began = now_ms();

	ended(self, "write to a socket", began, result_of(write(fd, fill, sizeof(fill))), -EAGAIN);
}

static void round_writev_socket(struct selfcheck_thread *self)
{
	static char fill[4096];
	struct iovec vector = { fill, sizeof(fill) };
	int fd = timed_socket(self);
	int64_t began = now_ms();

	ended(self, "writev to a socket", began, result_of(writev(fd, &vector, 1)), -EAGAIN);
}

static void round_sendfile(struct selfcheck_thread *self)
{
	static __thread int file = -1;
	int fd = timed_socket(self);
	int64_t began;
	off_t at = 0;

	if (file < 0) {
		file = memfd_create("sent", MFD_CLOEXEC);
		if (file < 0 || ftruncate(file, 4096) < 0)
			selfcheck_failed(self, "memfd", file);
	}
	began = now_ms();
	ended(self, "sendfile", began, result_of(sendfile(fd, file, &at, 4096)), -EAGAIN);
}

static void round_splice(struct selfcheck_thread *self)
{
	static __thread int full[2] = { -1, -1 };
	static const char page[4096];
	int fd = timed_socket(self);
	int64_t began;

	if (full[0] < 0 && (pipe2(full, O_CLOEXEC) < 0 || write(full[1], page, 4096) != 4096))
		selfcheck_failed(self, "pipe", full[0]);
	began = now_ms();
	ended(self, "splice", began, result_of(splice(full[0], NULL, fd, NULL, 4096, 0)), -EAGAIN);
}

/* Nobody accepts, and there is no room for one more. */
static void round_connect(struct selfcheck_thread *self)
{
	static __thread struct sockaddr_un name = { .sun_family = AF_UNIX };
	static __thread socklen_t bytes = sizeof(name);
	static __thread int fd = -1;
	struct timeval limit = { .tv_sec = waits.wait_ms / 1000,
				 .tv_usec = waits.wait_ms % 1000 * 1000l };
	int listener;
	int64_t began;

	if (fd < 0) {
		listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (bind(listener, (struct sockaddr *)&name, sizeof(name.sun_family)) < 0 ||
		    getsockname(listener, (struct sockaddr *)&name, &bytes) < 0 ||
		    listen(listener, 0) < 0 ||
		    connect(fd, (struct sockaddr *)&name, bytes) < 0)
			selfcheck_failed(self, "listen", listener);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
			selfcheck_failed(self, "SO_SNDTIMEO", fd);
	}
	began = now_ms();
	ended(self, "connect", began, result_of(connect(fd, (struct sockaddr *)&name, bytes)),
	      -EAGAIN);
}

static void round_semaphore(struct selfcheck_thread *self)
{
	struct sembuf down = { .sem_num = 0, .sem_op = -1 };
	struct timespec time = wait_time();
	int64_t began = now_ms();

	if (waits.semaphore < 0)
		return is_missing(self, "semtimedop");
	ended(self, "semtimedop", began, result_of(semtimedop(waits.semaphore, &down, 1, &time)),
	      -EAGAIN);
}

static void round_sigtimedwait(struct selfcheck_thread *self)
{
	struct timespec time = wait_time();
	int64_t began = now_ms();
	sigset_t nothing;

	sigemptyset(&nothing);
	sigaddset(&nothing, SIGRTMAX);
	ended(self, "sigtimedwait", began, result_of(sigtimedwait(&nothing, NULL, &time)),
	      -EAGAIN);
}

static void round_aio(struct selfcheck_thread *self)
{
	static __thread aio_context_t context;
	struct timespec time = wait_time();
	struct io_event event;
	int64_t began = now_ms();
	long got;

	if (!context && syscall(SYS_io_setup, 1, &context) < 0)
		return is_missing(self, "io_getevents");
	got = syscall(SYS_io_getevents, context, 1, 1, &event, &time);
	ended(self, "io_getevents", began, result_of(got), 0);
}

static void round_uring(struct selfcheck_thread *self)
{
	static __thread int ring = -1;
	struct io_uring_params params = { 0 };
	struct timespec time = wait_time();
	struct io_uring_getevents_arg argument = { .ts = (uint64_t)(uintptr_t)&time };
	int64_t began = now_ms();
	long got;

	if (ring < 0) {
		ring = (int)syscall(SYS_io_uring_setup, 2, &params);
		if (ring < 0 || !(params.features & IORING_FEAT_EXT_ARG))
			return is_missing(self, "io_uring_enter");
	}
	got = syscall(SYS_io_uring_enter, ring, 0, 1,
		      IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof(argument));
	ended(self, "io_uring_enter", began, result_of(got), -ETIME);
}

/* --- what another one ends ------------------------------------------------------ */

/* EINTR is counted, anything else but `wanted` is wrong. */
static void kicked(struct selfcheck_thread *self, const char *call, long result, long wanted)
{
	if (result == -EINTR)
		atomic_fetch_add(&self->page->eintr, 1);
	else if (result != wanted)
		selfcheck_failed(self, call, result);
}

struct message {
	long type;
	char text[8];
};

static void round_msgrcv(struct selfcheck_thread *self)
{
	struct message message = { .type = 0 };
	long got;

	if (waits.message_queue < 0)
		return is_missing(self, "msgrcv");
	got = msgrcv(waits.message_queue, &message, sizeof(message.text), 0, 0);
	kicked(self, "msgrcv", result_of(got), sizeof(message.text));
}

/* All of a write that fits a pipe's page is written, or nothing. */
static void round_write_pipe(struct selfcheck_thread *self)
{
	static const char page[4096];

	kicked(self, "write to a pipe", result_of(write(waits.full_pipe[1], page, sizeof(page))),
	       sizeof(page));
}

static void round_sigwaitinfo(struct selfcheck_thread *self)
{
	sigset_t waited;

	sigemptyset(&waited);
	sigaddset(&waited, SIGNAL_WAITED);
	kicked(self, "sigwaitinfo", result_of(sigwaitinfo(&waited, NULL)), SIGNAL_WAITED);
}

/* It ends by a handler, and by nothing else. The signal comes until it has: who is not yet in it
 * misses one. */
static void round_pause(struct selfcheck_thread *self)
{
	int before = selfcheck_handled();

	if (pause() != -1 || errno != EINTR)
		selfcheck_failed(self, "pause", errno);
	if (selfcheck_handled() == before)
		atomic_fetch_add(&self->page->eintr, 1);
}

static void masked(struct selfcheck_thread *self, const char *call, long result, int before)
{
	if (result != -EINTR)
		selfcheck_failed(self, call, result);
	if (selfcheck_handled() == before)
		atomic_fetch_add(&self->page->eintr, 1);
}

/* The signal comes once, and only the call lets it in: each must end by it, or is stuck. */
static void round_sigsuspend(struct selfcheck_thread *self)
{
	int before = selfcheck_handled();
	sigset_t none;

	sigemptyset(&none);
	masked(self, "sigsuspend", result_of(sigsuspend(&none)), before);
}

static void round_ppoll_masked(struct selfcheck_thread *self)
{
	int before = selfcheck_handled();
	sigset_t none;

	sigemptyset(&none);
	masked(self, "ppoll", result_of(ppoll(NULL, 0, NULL, &none)), before);
}

static void round_pselect_masked(struct selfcheck_thread *self)
{
	int before = selfcheck_handled();
	sigset_t none;

	sigemptyset(&none);
	masked(self, "pselect", result_of(pselect(0, NULL, NULL, NULL, NULL, &none)), before);
}

static void round_epoll_masked(struct selfcheck_thread *self)
{
	int before = selfcheck_handled();
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	masked(self, "epoll_pwait",
	       result_of(epoll_pwait(epoll_of_nothing(), &event, 1, -1, &none)), before);
}

static void round_flock(struct selfcheck_thread *self)
{
	static __thread int file = -1;

	if (file < 0)
		file = open(waits.lock_path, O_RDWR | O_CLOEXEC);
	kicked(self, "flock", result_of(flock(file, LOCK_EX)), 0);
	flock(file, LOCK_UN);
}

static void round_wait4(struct selfcheck_thread *self)
{
	struct timespec time = wait_time();
	pid_t child = fork(), got;
	int status = 0;

	if (child == 0) {
		syscall(SYS_nanosleep, &time, NULL);
		_exit(7);
	}
	if (child < 0)
		selfcheck_failed(self, "fork", child);
	do {
		got = wait4(child, &status, 0, NULL);
		if (got < 0)
			kicked(self, "wait4", result_of(got), child);
	} while (got != child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		selfcheck_failed(self, "the child's status", status);
}

const struct selfcheck_kind selfcheck_waits[] = {
	{ .name = "wait-nanosleep", .round = round_nanosleep, .kept = 1 },
	{ .name = "wait-until", .round = round_until, .kept = 1 },
	{ .name = "wait-poll", .round = round_poll, .kept = 1 },
	{ .name = "wait-ppoll", .round = round_ppoll, .kept = 1 },
	{ .name = "wait-select", .round = round_select, .kept = 1 },
	{ .name = "wait-pselect", .round = round_pselect, .kept = 1 },
	{ .name = "wait-futex", .round = round_futex, .kept = 1 },
	{ .name = "wait-futex-until", .round = round_futex_until, .kept = 1 },
	{ .name = "wait-timer", .round = round_timer, .kept = 1 },
	{ .name = "wait-queue", .round = round_queue, .kept = 1 },
	{ .name = "wait-epoll", .round = round_epoll },
	{ .name = "wait-epoll2", .round = round_epoll2 },
	{ .name = "wait-accept", .round = round_accept },
	{ .name = "wait-recv", .round = round_recv },
	{ .name = "wait-recvmsg", .round = round_recvmsg },
	{ .name = "wait-read-socket", .round = round_read_socket },
	{ .name = "wait-write-socket", .round = round_write_socket },
	{ .name = "wait-writev-socket", .round = round_writev_socket },
	{ .name = "wait-sendfile", .round = round_sendfile },
	{ .name = "wait-splice", .round = round_splice },
	{ .name = "wait-connect", .round = round_connect },
	{ .name = "wait-semaphore", .round = round_semaphore },
	{ .name = "wait-sigtimedwait", .round = round_sigtimedwait },
	{ .name = "wait-aio", .round = round_aio },
	{ .name = "wait-uring", .round = round_uring },
	{ .name = "wait-msgrcv", .round = round_msgrcv },
	{ .name = "wait-write-pipe", .round = round_write_pipe },
	{ .name = "wait-sigwaitinfo", .round = round_sigwaitinfo, .signals = 3 },
	{ .name = "wait-pause", .round = round_pause, .signals = 4, .insistent = 1 },
	{ .name = "wait-sigsuspend", .round = round_sigsuspend, .signals = 5 },
	{ .name = "wait-ppoll-masked", .round = round_ppoll_masked, .signals = 5 },
	{ .name = "wait-pselect-masked", .round = round_pselect_masked, .signals = 5 },
	{ .name = "wait-epoll-masked", .round = round_epoll_masked, .signals = 5 },
	{ .name = "wait-flock", .round = round_flock },
	{ .name = "wait-wait4", .round = round_wait4 },
	{ .name = NULL },
};

void selfcheck_waits_prepare(int wait_ms)
{
	/* System V objects stay when their makers are killed: in a namespace of their own, where
	 * we may have one, they don't */
	(void)unshare(CLONE_NEWIPC);
	waits.wait_ms = wait_ms;
	waits.message_queue = msgget(IPC_PRIVATE, 0600);
	waits.semaphore = semget(IPC_PRIVATE, 1, 0600);
	waits.lock = memfd_create("lock", MFD_CLOEXEC);
	snprintf(waits.lock_path, sizeof(waits.lock_path), "/proc/self/fd/%d", waits.lock);
	if (waits.lock < 0 || flock(waits.lock, LOCK_EX) < 0 ||
	    pipe2(waits.full_pipe, O_CLOEXEC) < 0 ||
	    fcntl(waits.full_pipe[0], F_SETFL, O_NONBLOCK) < 0)
		victim_fail("waits");
}

void selfcheck_waits_kick(void)
{
	static const struct message message = { .type = 1, .text = "kick" };
	char page[4096];

	if (!waits.wait_ms)
		return;
	/* a full queue is as good */
	(void)msgsnd(waits.message_queue, &message, sizeof(message.text), IPC_NOWAIT);
	(void)!read(waits.full_pipe[0], page, sizeof(page));
	flock(waits.lock, LOCK_UN);
	sched_yield();
	(void)flock(waits.lock, LOCK_EX | LOCK_NB);
}

void selfcheck_waits_end(void)
{
	if (!waits.wait_ms)
		return;
	msgctl(waits.message_queue, IPC_RMID, NULL);
	semctl(waits.semaphore, 0, IPC_RMID);
}
