/* SPDX-License-Identifier: MIT */
/* control_peer.c - see control_peer.h. */
#include "src/daemon/control_peer.h"

#include <errno.h>
#include <sys/socket.h>

#define MOST_GROUPS	1024u

static bool is_of_group(int fd, gid_t group)
{
	gid_t groups[MOST_GROUPS];
	socklen_t bytes = sizeof(groups);

	if (group == (gid_t)-1 || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
		return false;
	for (size_t i = 0; i < bytes / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

int control_who_asks(int fd, gid_t group, struct control_peer *ret)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return -errno;
	ret->uid = peer.uid;
	ret->gid = peer.gid;
	ret->all = peer.uid == 0 || peer.uid == geteuid() ||
		   (group != (gid_t)-1 && peer.gid == group) || is_of_group(fd, group);
	return 0;
}
