/* SPDX-License-Identifier: MIT */
/* test_passed_fd.c - descriptors in packets: one is taken, what else a sender adds is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "src/base/passed_fd.h"

#define MOST 8u

static size_t open_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* As a sender that keeps to no rule: count descriptors in one control message. */
static void send_many(int socket, unsigned int count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * MOST)];
	} control;
	char byte = 'x';
	struct iovec part = { &byte, 1 };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
	int fd[MOST] = { 0 };

	memset(&control, 0, sizeof(control));
	if (count) {
		packet.msg_control = &control;
		packet.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&control.header), fd, sizeof(int) * count);
	}
	assert_int_equal(sendmsg(socket, &packet, 0), 1);
}

static int receive_one(int socket)
{
	union passed_fd_room room;
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room,
				 .msg_controllen = sizeof(room) };

	assert_int_equal(recvmsg(socket, &packet, MSG_CMSG_CLOEXEC), 1);
	return passed_fd_take(&packet);
}

static void takes_one_and_keeps_no_other(void **state)
{
	int pair[2];
	size_t before;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = open_descriptors();
	for (unsigned int count = 0; count <= MOST; count++) {
		int fd;

		send_many(pair[0], count);
		fd = receive_one(pair[1]);
		assert_int_equal(fd >= 0, count == 1);
		if (fd >= 0)
			assert_int_equal(close(fd), 0);
		assert_int_equal(open_descriptors(), before);
	}
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void sends_one(void **state)
{
	char byte = 'x';
	struct iovec part = { &byte, 1 };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
	union passed_fd_room room;
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	passed_fd_put(&packet, &room, STDIN_FILENO);
	assert_int_equal(sendmsg(pair[0], &packet, 0), 1);
	fd = receive_one(pair[1]);
	assert_true(fd > 2);
	(void)close(fd);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_one_and_keeps_no_other),
		cmocka_unit_test(sends_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
