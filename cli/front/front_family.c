/* SPDX-License-Identifier: MIT */
/*
 * front_family.c - see front_family.h.
 *
 * With the kernel's events every fork is known, also of children of children whose parents have
 * ended. Without, all processes are listed at every look, and of new ones the parent is asked for.
 * One whose parent has ended by then (a daemon that forked twice) is known by its marks, if it was
 * forked while its parent's session lasted and has not called exec; or that session has found it
 * by them, and says so. That list is looked at with
 * events, too, now and then and when the kernel lost some: two threads may do a fork in one.
 *
 * Not at once, but a moment after it was forked is a process ready: most shell commands are over by
 * then, and to enter one costs more than all that it does. Reading /proc/PID/task/TID/children
 * of all was rejected, for a target may have many threads and a kernel may be without it.
 */
#include "cli/front/front_family.h"

#include <errno.h>
#include <sys/socket.h>

#include "cli/front/front_clock.h"
#include "src/several/process_events.h"

#define MOMENT 0.03
#define LOOK_EVENTS 0.02
#define LOOK_LIST 0.1
#define LIST_WITH_EVENTS 1.0
#define MOST_EVENTS 20000	/* at a look: signals are to be heard in a storm, too */
#define ENTERED 10.0	/* by then most have marks; then they are looked for again */
#define PATIENCE 8	/* after an eighth of the time that there were none */

int family_begin(struct family *family)
{
	const struct process_search search = process_search_here();

	*family = FAMILY_NONE;
	family->events = process_events_open();
	family->listed = front_now();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       family->found) < 0)
		return -errno;
	return process_find_all(&search, &family->known);
}

int family_add(struct family *family, pid_t pid)
{
	return relatives_add(&family->relatives, pid, front_now(), true);
}

int family_found(const struct family *family)
{
	return family->found[1];
}

double family_pause(const struct family *family)
{
	return family->events < 0 ? LOOK_LIST : LOOK_EVENTS;
}

/* ---- by events ---- */

static int apply(struct relatives *relatives, const struct process_event *event, double now)
{
	struct relative *relative = relatives_find(relatives, event->pid);

	switch (event->kind) {
	case PROCESS_FORK:
		return relatives_fork(relatives, event->parent, event->pid, now);
	case PROCESS_EXEC:
		relatives_exec(relatives, event->pid, now);
		return 0;
	case PROCESS_EXIT:
		if (relative && !event->noticed)	/* a picture, between two looks */
			relatives_spare(relatives, relative, true);
		relatives_exit(relatives, event->pid);
		return 0;
	default:
		return 0;
	}
}

/* 0; -ENOBUFS some were lost; -errno. */
static int take_events(struct family *family, double now)
{
	struct process_event event;
	int got, error = 0, lost = 0;

	for (int i = 0; !error && family->events >= 0 && i < MOST_EVENTS; i++) {
		got = process_events_next(family->events, &event);
		if (got == 0)
			break;
		if (got > 0) {
			error = apply(&family->relatives, &event, now);
			continue;
		}
		lost = -ENOBUFS;
		if (got != -ENOBUFS) {
			process_events_close(family->events);
			family->events = -1;
		}
	}
	return error ? error : lost;
}

/* ---- by the list of processes ---- */

static bool may_have_marks(const struct relative *relative, double now)
{
	double since = now - relative->since;

	return since < ENTERED || now - relative->checked > since / PATIENCE;
}

/* Those that are watched, once their sessions have come so far: some never do. */
static int learn_marks(struct family *family, double now)
{
	int got = 0;

	for (size_t i = 0; got >= 0 && i < family->relatives.count; i++) {
		struct relative *relative = &family->relatives.of[i];

		if (!relative->taken || relative->marked || !may_have_marks(relative, now))
			continue;
		relative->checked = now;
		got = marks_add(&family->marks, relative->pid);
		relative->marked = got > 0;
	}
	return got < 0 ? got : 0;
}

/* What has ended, and is a zombie, was counted when its end was told. */
static bool is_of(const struct family *family, const struct process_search *search, pid_t pid)
{
	pid_t parent = process_parent(search, pid);

	if (family->events >= 0 && !process_has_program(search, pid))
		return false;
	return (parent > 0 && relatives_find(&family->relatives, parent)) ||
	       marks_has(&family->marks, pid);
}

static void forget_ended(struct relatives *relatives, const struct process_set *now)
{
	for (size_t i = relatives->count; i > 0; i--)
		if (!process_set_has(now, relatives->of[i - 1].pid))
			relatives_exit(relatives, relatives->of[i - 1].pid);
}

/* Twice: ids are not in the order of birth for ever. */
static int add_new(struct family *family, const struct process_set *there, double now)
{
	const struct process_search search = process_search_here();
	int error = 0;

	for (size_t i = 0; !error && i < 2 * there->count; i++) {
		pid_t pid = there->pid[i % there->count];

		if (!process_set_has(&family->known, pid) &&
		    !relatives_find(&family->relatives, pid) && is_of(family, &search, pid))
			error = relatives_add(&family->relatives, pid, now, false);
	}
	return error;
}

static int list(struct family *family, double now)
{
	const struct process_search search = process_search_here();
	struct process_set there = { 0 };
	int error = process_find_all(&search, &there);

	if (!error)
		error = learn_marks(family, now);
	if (!error)
		error = add_new(family, &there, now);
	if (error) {
		process_set_done(&there);
		return error;
	}
	forget_ended(&family->relatives, &there);
	process_set_done(&family->known);
	family->known = there;
	family->listed = now;
	return 0;
}

/* ---- looks ---- */

/* Some left their marks when their parents' sessions ended, and may be orphans by now. */
static int take_found(struct family *family, double now)
{
	pid_t pid;
	int error = 0;

	while (!error && read(family->found[0], &pid, sizeof(pid)) == (ssize_t)sizeof(pid))
		error = relatives_add(&family->relatives, pid, now, false);
	return error;
}

static int update(struct family *family, double now)
{
	int error = take_events(family, now), other = take_found(family, now);

	error = error ? error : other;
	if (error == -ENOBUFS || (!error && (family->events < 0 ||
					     now - family->listed >= LIST_WITH_EVENTS)))
		error = list(family, now);
	return error;
}

/* Of one that waits. What is traced is a picture, or a debugger's for now. */
static bool is_traced(struct family *family, struct relative *relative)
{
	const struct process_search search = process_search_here();
	bool traced = process_tracer(&search, relative->pid) > 0;

	relatives_spare(&family->relatives, relative, traced);
	return traced;
}

/* What has no program is a zombie, or memattach's own. */
static int make_ready(struct family *family, struct relative *relative)
{
	const struct process_search search = process_search_here();
	pid_t pid = relative->pid;

	if (!process_has_program(&search, pid)) {
		relatives_exit(&family->relatives, pid);
		return 0;
	}
	relatives_take(&family->relatives, relative);
	return process_set_add(&family->ready, pid);
}

int family_look(struct family *family)
{
	double now = front_now();
	int error = update(family, now);

	process_set_done(&family->ready);
	for (size_t i = family->relatives.count; !error && i > 0; i--) {
		struct relative *relative = &family->relatives.of[i - 1];

		if (!relative->taken && now - relative->since >= MOMENT &&
		    !is_traced(family, relative))
			error = make_ready(family, relative);
	}
	return error;
}

size_t family_waiting(const struct family *family)
{
	return family->relatives.waiting;
}

int family_end(struct family *family)
{
	int error = update(family, front_now());

	relatives_end(&family->relatives);
	return error;
}

uint32_t family_missed(const struct family *family)
{
	return family->relatives.missed;
}

void family_done(struct family *family)
{
	process_events_close(family->events);
	cleanup_fd(&family->found[0]);
	cleanup_fd(&family->found[1]);
	process_set_done(&family->known);
	process_set_done(&family->ready);
	marks_done(&family->marks);
	relatives_done(&family->relatives);
}
