/* SPDX-License-Identifier: MIT */
/*
 * demo_server.c - the leaky little server that `make demo` looks at.
 *
 * A key-value server on a loopback port of the system's choice: "SET key value",
 * "GET key", "LOGIN user", "LOGOUT id", one line each. Worker threads share one epoll; a load
 * thread of its own keeps it busy. It holds memory the way servers do: a cache with a limit,
 * sessions that come and go, buffers that live for one request. And one mistake:
 * session_close() forgets the audit trail that audit_trail_append() hung on the session.
 *
 *	demo_server [SECONDS]	ends by itself (60)
 *
 * Prints its pid once it serves. Any process of the same user may attach to it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WORKERS		3
#define BUCKETS		1024
#define CACHE_LIMIT	4000
#define SESSIONS	256
#define LINE_BYTES	512

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

struct cache_entry {
	struct cache_entry *next;
	char *key, *value;
};

struct audit_record {
	struct audit_record *next;
	char what[400];
};

struct session {
	char *user;
	char *preferences;
	struct audit_record *audit;
};

static struct {
	pthread_mutex_t lock;
	struct cache_entry *bucket[BUCKETS];
	unsigned count, next_victim;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	struct session *slot[SESSIONS];
} sessions = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int events, listener;
static atomic_int ending;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- cache ------------------------------------------------------------------ */

static unsigned key_hash(const char *key)
{
	unsigned hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return hash % BUCKETS;
}

static struct cache_entry *cache_find(const char *key)
{
	struct cache_entry *entry = cache.bucket[key_hash(key)];

	while (entry && strcmp(entry->key, key) != 0)
		entry = entry->next;
	return entry;
}

static void cache_evict(void)
{
	while (cache.count > CACHE_LIMIT) {
		struct cache_entry **bucket = &cache.bucket[cache.next_victim++ % BUCKETS];
		struct cache_entry *entry = *bucket;

		if (!entry)
			continue;
		*bucket = entry->next;
		free(entry->key);
		free(entry->value);
		free(entry);
		cache.count--;
	}
}

static void cache_insert(const char *key, const char *value)
{
	struct cache_entry *entry = malloc(sizeof(*entry));

	entry->key = strdup(key);
	entry->value = strdup(value);
	entry->next = cache.bucket[key_hash(key)];
	cache.bucket[key_hash(key)] = entry;
	cache.count++;
}

static void cache_set(const char *key, const char *value)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&cache.lock);
	entry = cache_find(key);
	if (entry) {
		free(entry->value);
		entry->value = strdup(value);
	} else {
		cache_insert(key, value);
		cache_evict();
	}
	pthread_mutex_unlock(&cache.lock);
}

/* A copy for the caller to free, or NULL. */
static char *cache_get(const char *key)
{
	const struct cache_entry *entry;
	char *value;

	pthread_mutex_lock(&cache.lock);
	entry = cache_find(key);
	value = entry ? strdup(entry->value) : NULL;
	pthread_mutex_unlock(&cache.lock);
	return value;
}

/* --- sessions --------------------------------------------------------------- */

static __attribute__((noinline)) void audit_trail_append(struct session *session, const char *what)
{
	struct audit_record *record = calloc(1, sizeof(*record));

	snprintf(record->what, sizeof(record->what), "%s", what);
	record->next = session->audit;
	session->audit = record;
}

/* The leak: the audit trail stays behind. */
static void session_close(struct session *session)
{
	if (!session)
		return;
	free(session->user);
	free(session->preferences);
	free(session);
}

static struct session *session_open(const char *user)
{
	struct session *session = calloc(1, sizeof(*session));

	session->user = strdup(user);
	session->preferences = malloc(1024);
	memset(session->preferences, 0, 1024);
	audit_trail_append(session, "login");
	audit_trail_append(session, user);
	return session;
}

static void session_replace(unsigned id, struct session *session)
{
	struct session *old;

	pthread_mutex_lock(&sessions.lock);
	old = sessions.slot[id % SESSIONS];
	sessions.slot[id % SESSIONS] = session;
	pthread_mutex_unlock(&sessions.lock);
	session_close(old);
}

/* --- requests --------------------------------------------------------------- */

/* The reply, for the caller to free. */
static char *request_handle(char *line)
{
	char *save = NULL, *reply = NULL;
	const char *verb = strtok_r(line, " \n", &save);
	const char *first = strtok_r(NULL, " \n", &save), *rest = strtok_r(NULL, "\n", &save);

	if (verb && first && rest && strcmp(verb, "SET") == 0)
		cache_set(first, rest);
	else if (verb && first && strcmp(verb, "GET") == 0)
		reply = cache_get(first);
	else if (verb && first && strcmp(verb, "LOGIN") == 0)
		session_replace(key_hash(first), session_open(first));
	else if (verb && first && strcmp(verb, "LOGOUT") == 0)
		session_replace((unsigned)atoi(first), NULL);
	return reply ? reply : strdup("ok");
}

static void connection_close(int fd)
{
	epoll_ctl(events, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

/* One request a readiness: the protocol's clients wait for the reply. */
static void connection_serve(int fd)
{
	char *line = malloc(LINE_BYTES), *reply;
	ssize_t got = recv(fd, line, LINE_BYTES - 1, 0);

	if (got <= 0) {
		connection_close(fd);
	} else {
		line[got] = 0;
		reply = request_handle(line);
		if (send(fd, reply, strlen(reply), MSG_NOSIGNAL | MSG_MORE) < 0 ||
		    send(fd, "\n", 1, MSG_NOSIGNAL) < 0)
			connection_close(fd);
		free(reply);
	}
	free(line);
}

static void connection_rearm(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = fd };

	/* ENOENT: it was closed. */
	if (epoll_ctl(events, EPOLL_CTL_MOD, fd, &event) < 0 && errno != ENOENT && errno != EBADF)
		die("epoll_ctl");
}

static void connection_accept(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = fd };

	if (fd >= 0 && epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) < 0)
		die("epoll_ctl");
}

static void *worker_main(void *unused)
{
	struct epoll_event event;

	(void)unused;
	while (!atomic_load(&ending)) {
		if (epoll_wait(events, &event, 1, 500) != 1)
			continue;
		if (event.data.fd == listener)
			connection_accept();
		else
			connection_serve(event.data.fd);
		connection_rearm(event.data.fd);
	}
	return NULL;
}

/* --- load ------------------------------------------------------------------- */

static int load_connect(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		die("connect");
	return fd;
}

/* Sends one line and reads the reply. */
static void load_ask(int fd, const char *line)
{
	char reply[LINE_BYTES];
	ssize_t got = 0;

	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		die("send");
	while (got == 0 || reply[got - 1] != '\n') {
		got = recv(fd, reply, sizeof(reply), 0);
		if (got <= 0)
			return;
	}
}

static void load_request(int fd, unsigned turn)
{
	char line[LINE_BYTES];

	if (turn % 5 == 0)
		snprintf(line, sizeof(line), "LOGIN user%u\n", turn % 3000);
	else if (turn % 3 == 0)
		snprintf(line, sizeof(line), "SET key%u %0*u\n", turn * 7919 % 9000,
			 (int)(20 + turn % 200), turn);
	else
		snprintf(line, sizeof(line), "GET key%u\n", turn * 7919 % 9000);
	load_ask(fd, line);
}

static void *load_main(void *argument)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	int fd = load_connect(argument);

	for (unsigned turn = 0; !atomic_load(&ending); turn++) {
		load_request(fd, turn);
		nanosleep(&pause, NULL);
	}
	close(fd);
	return NULL;
}

/* --- start ------------------------------------------------------------------ */

static struct sockaddr_in listen_on_loopback(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };
	socklen_t size = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 ||
	    listen(listener, 16) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0)
		die("listen");
	events = epoll_create1(EPOLL_CLOEXEC);
	event.data.fd = listener;
	if (events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, listener, &event) < 0)
		die("epoll");
	return address;
}

static void thread_start(pthread_t *ret_thread, void *(*run)(void *), void *argument)
{
	if (pthread_create(ret_thread, NULL, run, argument) != 0)
		die("pthread_create");
}

int main(int argc, char *argv[])
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
	struct sockaddr_in address = listen_on_loopback();
	pthread_t thread[WORKERS + 1];

	/* So that memattach, which is no ancestor of ours, may attach under yama's mode 1. */
	(void)prctl(PR_SET_PTRACER, -1UL, 0, 0, 0);
	for (int i = 0; i < WORKERS; i++)
		thread_start(&thread[i], worker_main, NULL);
	thread_start(&thread[WORKERS], load_main, &address);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (seconds > 0)
		seconds = sleep(seconds);
	atomic_store(&ending, 1);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
