/* SPDX-License-Identifier: MIT */
/* passed_fd.c - see passed_fd.h. */
#include "src/base/passed_fd.h"

#include <string.h>
#include <unistd.h>

void passed_fd_put(struct msghdr *packet, union passed_fd_room *room, int fd)
{
	memset(room, 0, sizeof(*room));
	packet->msg_control = room->bytes;
	packet->msg_controllen = sizeof(room->bytes);
	room->header.cmsg_level = SOL_SOCKET;
	room->header.cmsg_type = SCM_RIGHTS;
	room->header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&room->header), &fd, sizeof(fd));
}

int passed_fd_take(struct msghdr *packet)
{
	int first = -1, count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c; c = CMSG_NXTHDR(packet, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, (const char *)c + at, sizeof(fd));
			if (count++ == 0)
				first = fd;
			else
				(void)close(fd);
		}
	}
	if (count < 2)
		return first;
	(void)close(first);
	return -1;
}
