/* SPDX-License-Identifier: MIT */
/*
 * slow_server.c - a server that loses a little: 1 % of its requests, among what servers hold.
 *
 * A cache with a limit, sessions that expire, a pool that cuts its nodes from slabs, buffers
 * that live for one request, and a table of routes that grows only while it is told to. One
 * mistake: request_refuse() forgets the text that it logged. Another one, if it is told to make it:
 * some sessions are put aside, to be ended by nobody, though they can still be reached.
 *
 *	slow_server		serves on a loopback port of the system's choice: "ready PID",
 *				then "port N"; commands: 'g' routes grow, 's' they stop,
 *				'f' sessions are forgotten, 'c' counts, 'q' ends
 *	slow_server PORT RATE SECONDS	the load: RATE requests a second over 4 connections
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/victims/victim.h"

#define CONNECTIONS	4
#define LEAK_EVERY	100	/* requests */
#define CACHE_KEYS	8000u
#define CACHE_LIMIT	500u
#define CACHE_BUCKETS	1024u
#define SESSION_SECONDS	2
#define FORGET_EVERY	490u	/* requests */
#define SLAB_NODES	500u
#define ROUTE_BUCKETS	512u

struct entry {
	struct entry *next;
	unsigned key;
	char *value;
};
struct session {
	struct session *next;
	time_t expires;
	char *user, token[200];
};
struct node {
	struct node *next;
	char data[120];
};
struct slab {
	struct slab *next;
	struct node node[SLAB_NODES];
};
struct route {
	struct route *next;
	unsigned peer;
	char hops[240];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *cache_bucket[CACHE_BUCKETS];
static unsigned cache_count, cache_hand;
static struct session *session_first, **session_last = &session_first, *sessions_forgotten;
static struct node *pool_free, *pool_busy;
static struct slab *slabs;
static struct route *route_bucket[ROUTE_BUCKETS];
static atomic_uint requests, refused, routes;
static atomic_int growing, forgetting, refuse_line, route_line;

static time_t now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void cache_evict(void)
{
	while (cache_count > CACHE_LIMIT) {
		struct entry **bucket = &cache_bucket[cache_hand++ % CACHE_BUCKETS];
		struct entry *entry = *bucket;

		if (!entry)
			continue;
		*bucket = entry->next;
		free(entry->value);
		free(entry);
		cache_count--;
	}
}

VICTIM_FRAME static void cache_put(unsigned key, size_t size)
{
	struct entry **bucket = &cache_bucket[key % CACHE_BUCKETS], *entry = *bucket;

	while (entry && entry->key != key)
		entry = entry->next;
	if (entry) {
		free(entry->value);
	} else {
		entry = malloc(sizeof(*entry));
		entry->key = key;
		entry->next = *bucket;
		*bucket = entry;
		cache_count++;
	}
	entry->value = malloc(size);
	memset(entry->value, 'v', size);
	cache_evict();
}

static void sessions_expire(void)
{
	time_t now = now_seconds();

	while (session_first && session_first->expires <= now) {
		struct session *session = session_first;

		session_first = session->next;
		if (!session_first)
			session_last = &session_first;
		free(session->user);
		free(session);
	}
}

VICTIM_FRAME static void session_open(unsigned n)
{
	struct session *session = calloc(1, sizeof(*session));

	session->user = malloc(32);
	snprintf(session->user, 32, "user-%u", n);
	if (n % FORGET_EVERY == 0 && atomic_load(&forgetting)) {
		session->next = sessions_forgotten;
		sessions_forgotten = session;
		return;
	}
	session->expires = now_seconds() + SESSION_SECONDS;
	*session_last = session;
	session_last = &session->next;
}

VICTIM_FRAME static void pool_refill(void)
{
	struct slab *slab = malloc(sizeof(*slab));

	for (unsigned i = 0; i < SLAB_NODES; i++) {
		slab->node[i].next = pool_free;
		pool_free = &slab->node[i];
	}
	slab->next = slabs;
	slabs = slab;
}

VICTIM_FRAME static void pool_turn(unsigned n)
{
	struct node *node;

	if (!pool_free)
		pool_refill();
	node = pool_free;
	pool_free = node->next;
	node->next = pool_busy;
	pool_busy = node;
	if (n % 64)
		return;
	while ((node = pool_busy)) {
		pool_busy = node->next;
		node->next = pool_free;
		pool_free = node;
	}
}

VICTIM_FRAME static void route_learn(unsigned n)
{
	struct route *route;

	route = malloc(sizeof(*route)), atomic_store(&route_line, __LINE__);
	memset(route, 0, sizeof(*route));
	route->peer = n;
	route->next = route_bucket[n % ROUTE_BUCKETS];
	route_bucket[n % ROUTE_BUCKETS] = route;
	atomic_fetch_add(&routes, 1);
}

/* The leak. */
VICTIM_FRAME static void request_refuse(unsigned n)
{
	char *reason;

	reason = calloc(1, 300), atomic_store(&refuse_line, __LINE__);
	snprintf(reason, 300, "request %u refused: quota of peer %u exceeded", n, n % 977);
	victim_seen(reason);
	atomic_fetch_add(&refused, 1);
}

VICTIM_FRAME static void request_handle(unsigned n)
{
	char *body = malloc(512 + n % 700);

	snprintf(body, 512, "body of request %u", n);
	victim_seen(body);
	pthread_mutex_lock(&lock);
	cache_put(n * 2654435761u % CACHE_KEYS, 50 + n % 150);
	sessions_expire();
	if (n % 7 == 0)
		session_open(n);
	pool_turn(n);
	if (n % 10 == 0 && atomic_load(&growing))
		route_learn(n);
	pthread_mutex_unlock(&lock);
	if (n % LEAK_EVERY == 0)
		request_refuse(n);
	free(body);
}

static void *serve(void *argument)
{
	int fd = (int)(long)argument;
	char request;

	while (read(fd, &request, 1) == 1) {
		request_handle(atomic_fetch_add(&requests, 1) + 1);
		if (write(fd, &request, 1) != 1)
			break;
	}
	close(fd);
	return NULL;
}

static void *take_connections(void *argument)
{
	int listener = (int)(long)argument;

	for (;;) {
		int fd = accept(listener, NULL, NULL);
		pthread_t thread;

		if (fd < 0)
			victim_fail("accept");
		if (pthread_create(&thread, NULL, serve, (void *)(long)fd))
			victim_fail("pthread_create");
		pthread_detach(thread);
	}
	return NULL;
}

static int listen_somewhere(unsigned *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, 16) || getsockname(fd, (struct sockaddr *)&address, &size))
		victim_fail("no loopback port");
	*port = ntohs(address.sin_port);
	return fd;
}

static void say_counts(void)
{
	victim_say("counts ok {\"requests\":%u,\"refused\":%u,\"refuse_line\":%d,\"routes\":%u,"
		   "\"route_line\":%d}\n", atomic_load(&requests), atomic_load(&refused),
		   atomic_load(&refuse_line), atomic_load(&routes), atomic_load(&route_line));
}

static int serve_all(void)
{
	pthread_t thread;
	unsigned port;
	int listener = listen_somewhere(&port);

	victim_setup();
	if (pthread_create(&thread, NULL, take_connections, (void *)(long)listener))
		victim_fail("pthread_create");
	victim_ready();
	victim_say("port %u\n", port);
	for (;;) {
		switch (victim_await()) {
		case 'g': atomic_store(&growing, 1); break;
		case 's': atomic_store(&growing, 0); break;
		case 'f': atomic_store(&forgetting, 1); break;
		case 'c': say_counts(); break;
		default: return 0;
		}
	}
}

/* --- the load --------------------------------------------------------------- */

static unsigned load_port;
static long load_pause_ns;
static time_t load_end;

static void *load(void *argument)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((unsigned short)load_port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timespec pause = { .tv_nsec = load_pause_ns };
	char byte = 'r';

	(void)argument;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		victim_fail("connect");
	while (now_seconds() < load_end) {
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			victim_fail("the server does not answer");
		nanosleep(&pause, NULL);
	}
	close(fd);
	return NULL;
}

static int load_all(char **argv)
{
	long rate = strtol(argv[2], NULL, 10);
	pthread_t thread[CONNECTIONS];

	if (rate < CONNECTIONS)
		victim_fail("RATE is too low");
	load_port = (unsigned)strtoul(argv[1], NULL, 10);
	load_pause_ns = CONNECTIONS * 1000000000L / rate;
	load_end = now_seconds() + strtol(argv[3], NULL, 10);
	for (int i = 0; i < CONNECTIONS; i++)
		if (pthread_create(&thread[i], NULL, load, NULL))
			victim_fail("pthread_create");
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	return argc == 4 ? load_all(argv) : serve_all();
}
