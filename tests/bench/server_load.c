/* SPDX-License-Identifier: MIT */
/*
 * server_load.c - keeps a server busy over a few connections, and times each answer.
 *
 *	server_load redis|http|memcached PORT CONNECTIONS
 *	server_load postgres SOCKET CONNECTIONS
 *
 * Says "ready" once it is connected. Each line of its input is a number: so many requests are
 * made, the next on each connection as soon as the last was answered, and one line of JSON
 * tells how long that took. Connections stay open between, so that a backend of PostgreSQL is
 * the same one all the time; those that the server closes, nginx after 1,000 requests, are
 * opened again. One thread, loopback only, no library: the server is to be what is measured.
 * The load generators that come with the servers do not tell one window from the next.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 64
#define ROOM (256 * 1024)
#define KEYS 10000

struct connection {
	int fd;
	bool busy;
	size_t used;		/* of in */
	uint64_t turn;		/* requests made on it */
	uint64_t sent_ns;
	char in[ROOM];
};

/* What a server speaks. answered: 1 whole, 0 not yet, -1 an error. */
struct protocol {
	const char *name;
	size_t (*greet)(char *room);
	size_t (*request)(const struct connection *c, char *room);
	int (*answered)(const struct connection *c);
};

static struct connection connections[CONNECTIONS];
static unsigned int connection_count;
static const struct protocol *protocol;
static const char *address;
static int poller;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "server_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A number that differs from turn to turn, and is the same in each window. */
static unsigned int mixed(const struct connection *c)
{
	return (unsigned int)((c->turn * 0x9e3779b97f4a7c15ull) >> 33);
}

static bool ends_with(const struct connection *c, const char *end)
{
	size_t size = strlen(end);

	return c->used >= size && memcmp(c->in + c->used - size, end, size) == 0;
}

/* --- redis --- */

static size_t redis_request(const struct connection *c, char *room)
{
	static const char value[] = "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmno";
	unsigned int key = mixed(c) % KEYS;
	/* Values of other sizes each time, so that they are allocated anew. */
	int size = (int)(mixed(c) / KEYS % (sizeof(value) - 1)) + 1;

	switch (c->turn % 6) {
	case 0:
	case 1:
		return (size_t)sprintf(room, "SET key:%u %.*s\r\n", key, size, value);
	case 2:
		return (size_t)sprintf(room, "LPUSH list:%u %.*s\r\n", key % 100, size, value);
	case 3:
		return (size_t)sprintf(room, "RPOP list:%u\r\n", key % 100);
	case 4:
		return (size_t)sprintf(room, "HSET hash:%u field%u %.*s\r\n", key % 1000, key % 50,
				       size, value);
	default:
		return (size_t)sprintf(room, "GET key:%u\r\n", key);
	}
}

static int redis_answered(const struct connection *c)
{
	const char *line = memmem(c->in, c->used, "\r\n", 2);
	long size;

	if (!line)
		return 0;
	if (c->in[0] == '-')
		return -1;
	size = strtol(c->in + 1, NULL, 10);
	if (c->in[0] != '$' || size < 0)
		return 1;
	return c->used >= (size_t)(line - c->in) + 4 + (size_t)size;
}

/* --- HTTP --- */

static size_t http_request(const struct connection *c, char *room)
{
	return (size_t)sprintf(room, "GET /?%u HTTP/1.1\r\nHost: localhost\r\n"
			       "Accept-Encoding: gzip\r\n\r\n", mixed(c));
}

static int http_answered(const struct connection *c)
{
	static const char ok[] = "HTTP/1.1 200";
	const char *body = memmem(c->in, c->used, "\r\n\r\n", 4);
	const char *length = memmem(c->in, c->used, "Content-Length: ", 16);

	if (!body)
		return 0;
	if (memcmp(c->in, ok, sizeof(ok) - 1) != 0)
		return -1;
	if (!length || length > body)
		return ends_with(c, "\r\n0\r\n\r\n");
	return c->used >= (size_t)(body + 4 - c->in) + strtoul(length + 16, NULL, 10);
}

/* --- memcached --- */

static size_t memcached_request(const struct connection *c, char *room)
{
	unsigned int key = mixed(c) % KEYS;
	size_t size = 50 + mixed(c) % 4000;
	size_t used;

	if (c->turn % 2)
		return (size_t)sprintf(room, "get key%u\r\n", key);
	used = (size_t)sprintf(room, "set key%u 0 0 %zu\r\n", key, size);
	memset(room + used, 'x', size);
	memcpy(room + used + size, "\r\n", 2);
	return used + size + 2;
}

static int memcached_answered(const struct connection *c)
{
	if (memmem(c->in, c->used, "ERROR", 5))
		return -1;
	return c->turn % 2 ? ends_with(c, "END\r\n") : ends_with(c, "STORED\r\n");
}

/* --- PostgreSQL --- */

static size_t put_length(char *at, size_t size)
{
	uint32_t length = htonl((uint32_t)size);

	memcpy(at, &length, 4);
	return size;
}

static size_t postgres_greet(char *room)
{
	static const char words[] = "\0\3\0\0user\0bench\0database\0postgres\0"
				    "application_name\0bench_load\0";

	memcpy(room + 4, words, sizeof(words));
	return put_length(room, 4 + sizeof(words));
}

/*
 * Reads of pgbench's tables, in one message: a row, a sum over some, a join. Its transactions
 * write, and what a bare server takes for one then differs by half from window to window.
 */
static size_t postgres_request(const struct connection *c, char *room)
{
	unsigned int account = mixed(c) % 99000 + 1, other = mixed(c) % 99000 + 1;
	int size = sprintf(room + 5,
			   "SELECT abalance FROM pgbench_accounts WHERE aid = %u; "
			   "SELECT count(*), sum(abalance) FROM pgbench_accounts "
			   "WHERE aid BETWEEN %u AND %u; "
			   "SELECT a.aid, t.tid, b.bbalance FROM pgbench_accounts a "
			   "JOIN pgbench_tellers t ON t.bid = a.bid "
			   "JOIN pgbench_branches b ON b.bid = a.bid "
			   "WHERE a.aid BETWEEN %u AND %u ORDER BY t.tid, a.abalance LIMIT 10;",
			   account, account, account + 100, other, other + 10);

	room[0] = 'Q';
	return 1 + put_length(room + 1, 4 + (size_t)size + 1);
}

/* Whole once the message "ready for query" is. */
static int postgres_answered(const struct connection *c)
{
	size_t at = 0;

	while (at + 5 <= c->used) {
		uint32_t length;

		memcpy(&length, c->in + at + 1, 4);
		if (c->in[at] == 'E')
			return -1;
		if (at + 1 + ntohl(length) > c->used)
			return 0;
		if (c->in[at] == 'Z')
			return 1;
		at += 1 + ntohl(length);
	}
	return 0;
}

static const struct protocol protocols[] = {
	{ "redis", NULL, redis_request, redis_answered },
	{ "http", NULL, http_request, http_answered },
	{ "memcached", NULL, memcached_request, memcached_answered },
	{ "postgres", postgres_greet, postgres_request, postgres_answered },
	{ NULL, NULL, NULL, NULL },
};

/* --- Connections --- */

static int connect_local(void)
{
	struct sockaddr_in port = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	bool is_path = address[0] == '/';
	int fd = socket(is_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (is_path) {
		snprintf(path.sun_path, sizeof(path.sun_path), "%s", address);
	} else {
		port.sin_port = htons((uint16_t)strtoul(address, NULL, 10));
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	if (connect(fd, is_path ? (const struct sockaddr *)&path : (const struct sockaddr *)&port,
		    is_path ? sizeof(path) : sizeof(port)) < 0)
		die(address);
	return fd;
}

static bool is_closed(ssize_t result)
{
	return result < 0 && (errno == EPIPE || errno == ECONNRESET);
}

static void send_all(struct connection *c, const char *bytes, size_t size)
{
	c->used = 0;
	c->sent_ns = now_ns();
	while (size > 0) {
		ssize_t written = send(c->fd, bytes, size, MSG_NOSIGNAL);

		if (is_closed(written))
			return; /* and the next look at it tells so */
		if (written < 0)
			die("send");
		bytes += written;
		size -= (size_t)written;
	}
}

/* Returns 1: the answer is whole, 0: not yet, -1: the server has closed the connection. */
static int receive(struct connection *c)
{
	ssize_t size = recv(c->fd, c->in + c->used, ROOM - c->used, 0);
	int answered;

	if (size == 0 || is_closed(size))
		return -1;
	if (size < 0)
		die("recv");
	c->used += (size_t)size;
	answered = protocol->answered(c);
	if (answered < 0 || (answered == 0 && c->used == ROOM)) {
		fprintf(stderr, "server_load: answer: %.200s\n", c->in);
		exit(1);
	}
	return answered;
}

static void open_connection(struct connection *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	char room[256];

	c->fd = connect_local();
	if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) < 0)
		die("epoll");
	if (!protocol->greet)
		return;
	send_all(c, room, protocol->greet(room));
	for (int answered = 0; answered != 1;) {
		answered = receive(c);
		if (answered < 0)
			die("greeting");
	}
}

static void send_request(struct connection *c)
{
	static char room[16384];

	c->turn++;
	c->busy = true;
	send_all(c, room, protocol->request(c, room));
}

static void open_again(struct connection *c)
{
	close(c->fd);
	open_connection(c);
	if (!c->busy)
		return;
	c->turn--;
	send_request(c);
}

/* --- Windows --- */

struct window {
	uint64_t wanted, sent, answered;
	uint32_t *took_ns;
};

static void next_request(struct window *w, struct connection *c)
{
	c->busy = false;
	if (w->sent == w->wanted)
		return;
	w->sent++;
	send_request(c);
}

static void take_event(struct window *w, struct connection *c)
{
	int answered = receive(c);

	if (answered < 0) {
		open_again(c);
	} else if (answered) {
		w->took_ns[w->answered++] = (uint32_t)(now_ns() - c->sent_ns);
		next_request(w, c);
	}
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double at_share(const struct window *w, double share)
{
	return w->took_ns[(uint64_t)((double)(w->answered - 1) * share)] / 1e3;
}

static void make_requests(uint64_t wanted)
{
	struct window w = { .wanted = wanted, .took_ns = calloc(wanted, sizeof(uint32_t)) };
	struct epoll_event events[CONNECTIONS];
	uint64_t began = now_ns();

	if (!w.took_ns)
		die("memory");
	for (unsigned int i = 0; i < connection_count; i++)
		next_request(&w, &connections[i]);
	while (w.answered < w.wanted) {
		int count = epoll_wait(poller, events, CONNECTIONS, 30000);

		if (count <= 0)
			die("no answer");
		for (int i = 0; i < count; i++)
			take_event(&w, events[i].data.ptr);
	}
	began = now_ns() - began;
	qsort(w.took_ns, w.answered, sizeof(uint32_t), by_size);
	printf("{\"requests\": %llu, \"wall\": %.6f, \"p50_us\": %.1f, \"p90_us\": %.1f, "
	       "\"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
	       (unsigned long long)w.answered, (double)began / 1e9, at_share(&w, 0.5),
	       at_share(&w, 0.9), at_share(&w, 0.99), at_share(&w, 0.999), at_share(&w, 1));
	fflush(stdout);
	free(w.took_ns);
}

int main(int argc, char **argv)
{
	char line[64];

	protocol = protocols;
	while (argc == 4 && protocol->name && strcmp(protocol->name, argv[1]) != 0)
		protocol++;
	if (argc != 4 || !protocol->name)
		return 2;
	address = argv[2];
	connection_count = (unsigned int)strtoul(argv[3], NULL, 10);
	if (connection_count < 1 || connection_count > CONNECTIONS)
		return 2;
	poller = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned int i = 0; i < connection_count; i++)
		open_connection(&connections[i]);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t wanted = strtoull(line, NULL, 10);

		if (wanted > 0)
			make_requests(wanted);
	}
	return 0;
}
