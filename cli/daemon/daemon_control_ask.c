/* SPDX-License-Identifier: MIT */
/*
 * daemon_control_ask.c - a snapshot of a running session, and a search for leaks in it.
 *
 * The analyst does the work, and writes what is to be read: into a file without a name, whose
 * descriptor goes to who asked. memattachd looks into none of it. An analyst does one thing at a
 * time; who comes later waits, and what nobody waits for any more is thrown away.
 */
#include "cli/daemon/daemon_control_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/memfd.h"
#include "src/base/why.h"

/* On the disk of the recordings, which is bounded as they are; else in memory. */
static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_new("memattach-snapshot");
	return fd;
}

/* The one that was asked for before is not waited for any more. */
static void drop_stale(const struct question *q, struct figures *figures)
{
	if (figures->asked.id && figures->asked.there &&
	    !control_is_asked(q->state->control, figures->asked.id))
		figures_asked_done(figures);
}

static int put_question(const struct question *q, struct figures *figures, bool leaks)
{
	int file;

	if (leaks)
		return figures_ask_leaks(figures, q->asked->id);
	file = open_unnamed(q->state->folder);
	return file < 0 ? file : figures_ask_snapshot(figures, q->asked->id, file);
}

/* What is handed out can only be read. -errno. */
static int open_again(int file)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static enum control_reply hand_over(struct question *q, struct daemon_watch *watch,
				    const char *what)
{
	struct figures_asked *asked = &watch->figures.asked;
	int error = asked->error, fd = error ? error : open_again(asked->file);

	figures_asked_done(&watch->figures);
	if (fd == -EPIPE)
		return daemon_control_refuse(q, SESSION_TARGET_ENDED, SESSION_HAS_ENDED);
	if (fd < 0)
		return daemon_control_refuse(q, SESSION_FAILED, why_file(fd).text);
	*q->asked->ret_fd = fd;
	emit_begin(q->to, NULL, '{');
	emit_int(q->to, "pid", watch->pid);
	emit_text(q->to, "name", watch->name.text);
	emit_text(q->to, "recording", watch->recording);
	emit_text(q->to, "descriptor", what);
	emit_end(q->to, '}');
	return CONTROL_ANSWERED;
}

/* mark: the session that was asked; 0: none yet. */
static enum control_reply answer(struct question *q, bool leaks)
{
	pid_t pid = daemon_control_pid(q);
	struct daemon_watch *watch = pid ? daemon_control_watch(q, pid) : NULL;
	struct figures *figures = watch ? &watch->figures : NULL;
	int error;

	if (!pid)
		return CONTROL_ANSWERED;
	if (!watch)
		return daemon_control_refuse(q, SESSION_REFUSED, "it is not watched; memattach "
					     "attach --daemon has it watched");
	if (*q->asked->mark && *q->asked->mark != watch->serial)
		return daemon_control_refuse(q, SESSION_TARGET_ENDED, SESSION_HAS_ENDED);
	if (figures->asked.id == q->asked->id)
		return figures->asked.there ? hand_over(q, watch, leaks ? "leaks" : "snapshot") :
					      CONTROL_LATER;
	drop_stale(q, figures);
	if (!q->asked->may_stay || !figures->attached || figures->asked.id)
		return CONTROL_LATER;
	error = put_question(q, figures, leaks);
	if (error)
		return daemon_control_refuse(q, SESSION_FAILED, "its analyst can't be asked now; "
					     "ask again later");
	daemon_watch_nudge(watch);
	*q->asked->mark = watch->serial;
	return CONTROL_LATER;
}

enum control_reply daemon_control_snapshot(struct question *q)
{
	return answer(q, false);
}

enum control_reply daemon_control_leaks(struct question *q)
{
	return answer(q, true);
}
