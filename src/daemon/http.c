/* SPDX-License-Identifier: MIT */
/* http.c - see http.h. */
#include "src/daemon/http.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "src/base/log.h"
#include "src/daemon/http_server.h"

#define FIRST_AGAIN	1.0	/* seconds until it is started again; doubled by each failure, */
#define MOST_AGAIN	60.0	/* up to this; and when it has run as long, forgotten */
#define MOST_TOKEN	512
#define LEAST_TOKEN	16u

void http_init(struct http *http)
{
	*http = (struct http){ .listener = -1, .link = -1 };
}

/* --- the child ------------------------------------------------------------ */

static _Noreturn void become(const struct http *http, int link, pid_t parent)
{
	const struct http_server server = {
		.listener = http->listener, .link = link,
		.by_peer = http->address.any.sa_family == AF_UNIX, .group = http->group,
		.local = http->address.local, .open = http->open, .token = http->token,
	};
	int keep[] = { http->listener, link };
	sigset_t none;
	int error;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	close_others(keep, ARRAY_SIZE(keep));
	(void)prctl(PR_SET_NAME, "memattach-http", 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	error = http_server_run(&server);
	if (error != -EPIPE)
		log_error("[http] %s", strerror(-error));
	_exit(1);
}

static int start(struct http *http, double now)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	http->child = fork();
	if (http->child == 0)
		become(http, pair[1], parent);
	(void)close(pair[1]);
	http->link = pair[0];
	http->begun = now;
	if (http->child > 0)
		return 0;
	http->child = 0;
	cleanup_fd(&http->link);
	return -errno;
}

static void plan_again(struct http *http, double now, const char *why, int number)
{
	double pause = fmin(MOST_AGAIN, FIRST_AGAIN * (double)(1u << (http->failures & 15)));

	http->again = now + pause;
	http->failures += http->failures < 6;
	log_error("what serves HTTP %s %d; it is started again in %.0f s", why, number, pause);
}

static void reap(struct http *http, double now)
{
	int status;

	if (!http->child || waitpid(http->child, &status, WNOHANG) != http->child)
		return;
	http->child = 0;
	cleanup_fd(&http->link);
	if (now - http->begun > MOST_AGAIN)
		http->failures = 0;
	if (WIFSIGNALED(status))
		plan_again(http, now, "was killed by signal", WTERMSIG(status));
	else
		plan_again(http, now, "has ended with status", WEXITSTATUS(status));
}

double http_turn(struct http *http, double now)
{
	int error;

	reap(http, now);
	if (http->listener < 0 || http->child)
		return INFINITY;
	if (now < http->again)
		return http->again;
	error = start(http, now);
	if (!error)
		return INFINITY;
	plan_again(http, now, "can't be started: error", -error);
	return http->again;
}

/* --- settings ------------------------------------------------------------- */

/* The first line of a file that only its owner can read. 0 or -errno. */
static int read_token(const char *path, char **ret)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[MOST_TOKEN + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, text, MOST_TOKEN);

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
				  "or more" : strerror(-error));
		if (error)
			return error;
	}
	if (!error) {
		http->listener = http_address_listen(&http->address);
		error = http->listener < 0 ? http->listener : 0;
	}
	if (error)
		log_error("[http] %s: %s; nobody is served", settings->listen, strerror(-error));
	return error;
}

void http_apply(struct http *http, const struct http_settings *settings, gid_t group, double now)
{
	http_stop(http);
	if (!settings->listen)
		return;
	if (!http_server_is_there()) {
		log_error("[http] this memattachd was built without libmicrohttpd; nobody is "
			  "served");
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
	http_init(http);
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
