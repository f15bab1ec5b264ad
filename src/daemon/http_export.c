/* SPDX-License-Identifier: MIT */
/* http_export.c - see http_export.h. It is held to what an analyst is held to, and to less. */
#include "src/daemon/http_export.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "src/base/memfd.h"
#include "src/base/sanitized.h"
#include "src/export/export.h"
#include "src/sandbox/opener.h"
#include "src/session/session.h"

/* Its exit status. */
enum outcome { DONE = 0, FAILED, NO_SNAPSHOT, NOT_SUPPORTED };

/* --- in the child --------------------------------------------------------- */

static int write_export(FILE *out, const struct export_format *format, enum view_metric metric,
			const struct recording_content *content)
{
	const struct report_input report = {
		.snapshot = content->snapshot, .stacks = content->stacks, .names = content->names,
		.leaks = content->leaks,
	};
	const struct view_filter filter = { .kind = VIEW_KIND_MALLOC };
	struct export_input input = { .content = content, .metric = metric,
				      .live_seconds = HTTP_LIVE_SECONDS };
	struct view_sites *sites;
	int error = view_sites_new(&report, &filter, &sites);

	if (error)
		return error;
	input.sites = sites;
	error = format->write(out, &input);
	view_sites_free(sites);
	return error;
}

static enum outcome export_recording(FILE *out, const char *path, uint32_t kind)
{
	const struct export_format *format = export_find(kind == HTTP_REPORT ? "html" : "pprof");
	enum view_metric metric = kind == HTTP_ALLOCS ? VIEW_ALLOC_BYTES : VIEW_LIVE_BYTES;
	struct recording_content content;
	int error;

	if (!format || format->missing)
		return NOT_SUPPORTED;
	error = recording_read(path, &content);
	if (error)
		return error == -ENODATA || error == -ENOENT ? NO_SNAPSHOT : FAILED;
	error = write_export(out, format, metric, &content);
	recording_content_done(&content);
	return fclose(out) != 0 || error ? FAILED : DONE;
}

/* Of files the recording alone can be opened, to read. 0 or -errno. */
static int confine(const char *recording)
{
	const struct opener_needs needs = { .history = recording };

	return opener_confine(&needs, &FILE_READER_EVERYBODY);
}

/* 0 or -errno. */
static int limit(const char *recording)
{
	const struct rlimit seconds = { HTTP_EXPORT_SECONDS, HTTP_EXPORT_SECONDS };
	const struct rlimit bytes = { HTTP_EXPORT_BYTES, HTTP_EXPORT_BYTES };
	int error = confine(recording);

	if (error)
		return error;
#if !MEMATTACH_SANITIZED	/* whose shadow memory is larger than any limit */
	if (setrlimit(RLIMIT_AS, &(struct rlimit){ HTTP_EXPORT_MEMORY, HTTP_EXPORT_MEMORY }) < 0)
		return -errno;
#endif
	if (setrlimit(RLIMIT_CPU, &seconds) < 0 || setrlimit(RLIMIT_FSIZE, &bytes) < 0)
		return -errno;
	return 0;
}

static _Noreturn void become(int fd, const char *recording, uint32_t kind, pid_t parent)
{
	sigset_t none;
	int keep[] = { fd };
	FILE *out;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(FAILED);
	close_others(keep, ARRAY_SIZE(keep));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(HTTP_EXPORT_SECONDS);
	out = fdopen(fd, "w");
	if (!out || limit(recording))
		_exit(FAILED);
	_exit((int)export_recording(out, recording, kind));
}

/* --- in memattachd -------------------------------------------------------- */

int http_export_begin(struct http_export *export, const struct http_question *question,
		      const char *recording)
{
	pid_t parent = getpid();

	*export = (struct http_export){ .id = question->id,
					.fd = memfd_new("export") };
	if (export->fd < 0)
		return export->fd;
	export->child = fork();
	if (export->child == 0)
		become(export->fd, recording, question->kind, parent);
	if (export->child > 0)
		return 0;
	export->child = 0;
	cleanup_fd(&export->fd);
	return -errno;
}

static int error_of(int status)
{
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == SIGXFSZ)
			return -EFBIG;
		return WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU ? -ETIMEDOUT :
										    -EIO;
	}
	switch (WEXITSTATUS(status)) {
	case DONE:
		return 0;
	case NO_SNAPSHOT:
		return -ENODATA;
	case NOT_SUPPORTED:
		return -ENOTSUP;
	default:
		return -EIO;
	}
}

bool http_export_reap(struct http_export *export, int *ret_error)
{
	int status;

	if (!export->child || waitpid(export->child, &status, WNOHANG) != export->child)
		return false;
	export->child = 0;
	*ret_error = error_of(status);
	return true;
}

void http_export_done(struct http_export *export)
{
	int status;

	if (export->child && kill(export->child, SIGKILL) == 0)
		(void)waitpid(export->child, &status, 0);
	cleanup_fd(&export->fd);
	*export = (struct http_export){ .fd = -1 };
}
