/* SPDX-License-Identifier: MIT */
/* passed_fd.h - one descriptor that goes along with a packet (SCM_RIGHTS, unix(7)). */
#ifndef MEMATTACH_BASE_PASSED_FD_H
#define MEMATTACH_BASE_PASSED_FD_H

#include <sys/socket.h>

/*
 * Room for one. It is rounded up to a multiple of eight bytes, so that a hostile sender can fill it
 * with two: packets are read with passed_fd_take().
 */
union passed_fd_room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* Has fd, borrowed, go with packet. room stays as long as packet is used. */
void passed_fd_put(struct msghdr *packet, union passed_fd_room *room, int fd);
/*
 * The one descriptor that came with a received packet, the caller's; -1 there is none, or there are
 * several, which are all closed. Async-signal-safe.
 */
int passed_fd_take(struct msghdr *packet);

#endif
