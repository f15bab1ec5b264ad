/* SPDX-License-Identifier: MIT */
/* test_screen_wire.c - messages between analyst and screen, in pieces, with descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "src/screen/wire.h"

struct ends {
	int a, b;
	struct screen_outbox out;
	struct screen_inbox in;
};

static int open_ends(void **state)
{
	struct ends *ends = calloc(1, sizeof(*ends));
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ends->a = pair[0];
	ends->b = pair[1];
	*state = ends;
	return 0;
}

static int close_ends(void **state)
{
	struct ends *ends = *state;

	cleanup_fd(&ends->a);
	cleanup_fd(&ends->b);
	screen_outbox_done(&ends->out);
	screen_inbox_done(&ends->in);
	free(ends);
	return 0;
}

static void queue(struct ends *ends, enum screen_type type, const void *bytes, size_t count)
{
	int error = screen_outbox_begin(&ends->out, type);

	assert_int_equal(error, 0);
	error = apart_put(&ends->out.bytes, bytes, count);
	assert_int_equal(screen_outbox_end(&ends->out, error), 0);
}

static void crosses_whole(void **state)
{
	struct ends *ends = *state;

	queue(ends, SCREEN_NOTE, "hello", 5);
	queue(ends, SCREEN_SAVE, "", 0);
	assert_int_equal(screen_send(ends->a, &ends->out), 0);
	assert_int_equal(screen_outbox_waiting(&ends->out), 0);
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), 1);
	assert_int_equal(ends->in.header.type, SCREEN_NOTE);
	assert_int_equal(ends->in.header.bytes, 5);
	assert_memory_equal(ends->in.bytes, "hello", 5);
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), 1);
	assert_int_equal(ends->in.header.type, SCREEN_SAVE);
	assert_int_equal(ends->in.header.bytes, 0);
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), 0);
	cleanup_fd(&ends->a);
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), -EPIPE);
}

/* More than a socket holds: nobody waits, and it arrives as it was. */
static void never_waits(void **state)
{
	struct ends *ends = *state;
	size_t bytes = 2u << 20, turns = 0;
	char *big = malloc(bytes);
	int result;

	for (size_t i = 0; i < bytes; i++)
		big[i] = (char)(i * 7 >> 3);
	queue(ends, SCREEN_STATE, big, bytes);
	assert_int_equal(screen_send(ends->a, &ends->out), 0);
	assert_true(screen_outbox_waiting(&ends->out) > 0);
	while ((result = screen_receive(ends->b, &ends->in, NULL)) == 0 && turns++ < 100000)
		assert_int_equal(screen_send(ends->a, &ends->out), 0);
	assert_int_equal(result, 1);
	assert_true(turns > 0);
	assert_int_equal(ends->in.header.bytes, bytes);
	assert_memory_equal(ends->in.bytes, big, bytes);
	free(big);
}

static void takes_back_what_failed(void **state)
{
	struct ends *ends = *state;

	queue(ends, SCREEN_NOTE, "one", 3);
	assert_int_equal(screen_outbox_begin(&ends->out, SCREEN_NOTE), 0);
	assert_int_equal(apart_put(&ends->out.bytes, "two", 3), 0);
	assert_int_equal(screen_outbox_end(&ends->out, -EAGAIN), -EAGAIN);
	assert_int_equal(screen_send(ends->a, &ends->out), 0);
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), 1);
	assert_memory_equal(ends->in.bytes, "one", 3);
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), 0);
}

static void refuses_too_much(void **state)
{
	struct ends *ends = *state;
	const struct screen_header header = { SCREEN_STATE, SCREEN_MAX_BYTES + 1 };
	char *big = calloc(1, SCREEN_MAX_BYTES + 1);
	int error = screen_outbox_begin(&ends->out, SCREEN_STATE);

	assert_int_equal(error, 0);
	error = apart_put(&ends->out.bytes, big, SCREEN_MAX_BYTES + 1);
	assert_int_equal(screen_outbox_end(&ends->out, error), -E2BIG);
	assert_int_equal(screen_outbox_waiting(&ends->out), 0);
	free(big);
	assert_int_equal(write(ends->a, &header, sizeof(header)), sizeof(header));
	assert_int_equal(screen_receive(ends->b, &ends->in, NULL), -EBADMSG);
}

static int open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 200; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void passes_descriptors(void **state)
{
	struct ends *ends = *state;
	int before = open_files(), fd = open("/dev/null", O_WRONLY), got = -1;

	for (int i = 0; i < 2; i++) {
		queue(ends, SCREEN_FILE, "name", 4);
		assert_int_equal(screen_send_fd(ends->a, &ends->out, fd), 0);
		assert_int_equal(screen_receive(ends->b, &ends->in, i ? NULL : &got), 1);
	}
	assert_true(got >= 0 && got != fd);
	close(fd);
	assert_int_equal(write(got, "x", 1), 1);
	close(got);
	assert_int_equal(open_files(), before);	/* the one that nobody wanted is closed */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(crosses_whole, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(never_waits, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(takes_back_what_failed, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(refuses_too_much, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(passes_descriptors, open_ends, close_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
