/* SPDX-License-Identifier: MIT */
/* control_peer.h - who is at the other end of a Unix socket, and whose processes he may see. */
#ifndef MEMATTACH_DAEMON_CONTROL_PEER_H
#define MEMATTACH_DAEMON_CONTROL_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/cleanup.h"

struct control_peer {
	uid_t uid;
	gid_t gid;
	bool all;	/* root, memattachd's own user, or of its group: may see everybody's */
};

/* What the kernel says of who connected. group: (gid_t)-1: nobody is of it. 0 or -errno. */
int control_who_asks(int fd, gid_t group, struct control_peer *ret) _must_check_;

#endif
