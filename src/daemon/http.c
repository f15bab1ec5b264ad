/* SPDX-License-Identifier: MIT */
/* http.c - see http.h. */
#include "src/daemon/http.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/base/why.h"
#include "src/sandbox/sandbox.h"

#define FIRST_AGAIN	1.0	/* seconds until it is started again; doubled by each failure, */
#define MOST_AGAIN	60.0	/* up to this; and when it has run as long, forgotten */
#define LEAST_TOKEN	16u
#define HTTP_PROGRAM_NAME "memattach-http"

void http_init(struct http *http, const char *program)
{
	*http = (struct http){ .listener = -1, .link = -1, .program = program };
}

/* --- the child ------------------------------------------------------------ */

/* The program: beside this one where that has not been installed. false: it is nowhere. */
static bool find_program(const struct http *http, char ret[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - sizeof(HTTP_PROGRAM_NAME));
	char *name;

	ret[length < 0 ? 0 : length] = '\0';
	name = strrchr(ret, '/');
	if (name) {
		memcpy(name + 1, HTTP_PROGRAM_NAME, sizeof(HTTP_PROGRAM_NAME));
		if (access(ret, X_OK) == 0)
			return true;
	}
	if (strlen(http->program) >= PATH_MAX)
		return false;
	strcpy(ret, http->program);
	return access(ret, X_OK) == 0;
}

static _Noreturn void become(const char *program, int link, pid_t parent)
{
	char *const arguments[] = { (char *)(uintptr_t)HTTP_PROGRAM_NAME, NULL };
	int keep[] = { -1 };
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || dup2(link, STDIN_FILENO) < 0 || sandbox_drop_capabilities())
		_exit(1);
	close_others(keep, ARRAY_SIZE(keep));
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execv(program, arguments);
	log_error("[http] %s: %s", program, strerror(errno));
	_exit(1);
}

static int tell_begin(const struct http *http, int link)
{
	struct http_begin begin = {
		.by_peer = http->address.any.sa_family == AF_UNIX, .group = http->group,
		.local = http->address.local, .open = http->open,
	};

	if (http->token)
		memcpy(begin.token, http->token, strlen(http->token));
	return http_send_begin(link, &begin, http->listener);
}

static int start(struct http *http, double now)
{
	char program[PATH_MAX];
	pid_t parent = getpid();
	int pair[2], error;

	if (!find_program(http, program))
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	error = tell_begin(http, pair[0]);
	http->child = error ? -1 : fork();
	if (http->child == 0)
		become(program, pair[1], parent);
	if (!error && http->child < 0)
		error = -errno;
	(void)close(pair[1]);
	http->link = pair[0];
	http->begun = now;
	if (!error)
		return 0;
	http->child = 0;
	cleanup_fd(&http->link);
	return error;
}

static void plan_again(struct http *http, double now, const char *why)
{
	double pause = fmin(MOST_AGAIN, FIRST_AGAIN * (double)(1u << (http->failures & 15)));

	http->again = now + pause;
	http->failures += http->failures < 6;
	log_error("what serves HTTP %s; it is started again in %.0f s", why, pause);
}

static void reap(struct http *http, double now)
{
	char why[64];
	int status;

	if (!http->child || waitpid(http->child, &status, WNOHANG) != http->child)
		return;
	http->child = 0;
	cleanup_fd(&http->link);
	if (now - http->begun > MOST_AGAIN)
		http->failures = 0;
	if (WIFSIGNALED(status))
		(void)snprintf(why, sizeof(why), "was killed by signal %d", WTERMSIG(status));
	else
		(void)snprintf(why, sizeof(why), "has ended with status %d", WEXITSTATUS(status));
	plan_again(http, now, why);
}

double http_turn(struct http *http, double now)
{
	char why[128];
	int error;

	reap(http, now);
	if (http->listener < 0 || http->child)
		return INFINITY;
	if (now < http->again)
		return http->again;
	error = start(http, now);
	if (!error)
		return INFINITY;
	(void)snprintf(why, sizeof(why), "can't be started (%.100s)", why_of(error).text);
	plan_again(http, now, why);
	return http->again;
}

/* --- settings ------------------------------------------------------------- */

/* The first line of a file that only its owner can read. 0 or -errno. */
static int read_token(const char *path, char **ret)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[HTTP_TOKEN_BYTES + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, HTTP_TOKEN_BYTES);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (strlen(text) < LEAST_TOKEN || strspn(text, " \t"))
		return -EINVAL;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int prepare(struct http *http, const struct http_settings *settings)
{
	int error = http_address_parse(settings->listen, &http->address);

	http->listen = strdup(settings->listen);
	http->open = settings->open;
	if (!error && settings->token_file) {
		error = read_token(settings->token_file, &http->token);
		if (error)
			log_error("[http] %s: %s; nobody is served", settings->token_file,
				  error == -EINVAL ? "its first line is no token of 16 characters "
				  "or more" : why_file(error).text);
		if (error)
			return error;
	}
	if (!error) {
		http->listener = http_address_listen(&http->address);
		error = http->listener < 0 ? http->listener : 0;
	}
	if (error)
		log_error("[http] %s: %s; nobody is served: choose another address",
			  settings->listen, strerror(-error));
	return error;
}

void http_apply(struct http *http, const struct http_settings *settings, gid_t group, double now)
{
	char program[PATH_MAX];

	http_stop(http);
	if (!settings->listen)
		return;
	if (!find_program(http, program)) {
		log_error("[http] %s is not there: this memattachd was built without "
			  "libmicrohttpd; nobody is served", http->program);
		return;
	}
	http->group = group;
	if (prepare(http, settings)) {
		http_stop(http);
		return;
	}
	http->again = now;
	log_notice("HTTP at %s", settings->listen);
}

void http_stop(struct http *http)
{
	int status;

	if (http->listener >= 0) {
		http_address_remove(&http->address);
		cleanup_fd(&http->listener);
	}
	cleanup_fd(&http->link);
	if (http->child && kill(http->child, SIGKILL) == 0)	/* not reaped: still this one */
		(void)waitpid(http->child, &status, 0);
	free(http->listen);
	free(http->token);
	http_init(http, http->program);
}

/* --- questions ------------------------------------------------------------ */

int http_next_question(struct http *http, struct http_question *ret)
{
	int result = http->link < 0 ? 0 : http_receive_question(http->link, ret);

	if (result == 1)
		return 1;
	if (result < 0)		/* it ends, or speaks nonsense */
		cleanup_fd(&http->link);
	if (result < 0 && http->child)
		(void)kill(http->child, SIGKILL);
	return 0;
}

void http_answer(struct http *http, uint32_t id, int error, int fd)
{
	const struct http_answer answer = { .id = id, .error = error };

	if (http->link >= 0 && http_send_answer(http->link, &answer, fd))
		log_debug("[http] an answer was not taken");
}
