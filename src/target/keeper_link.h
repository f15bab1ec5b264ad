/* SPDX-License-Identifier: MIT */
/* keeper_link.h - the analyst's side of the conversation with the keeper (proto.h). */
#ifndef MEMATTACH_KEEPER_LINK_H
#define MEMATTACH_KEEPER_LINK_H

#include "inject/keeper/proto.h"

struct keeper_link {
	int socket;
	bool stop_wanted;	/* the keeper passed on the user's wish to detach */
	bool snapshot_wanted;	/* the keeper passed on SIGUSR1; whoever takes it resets this */
	bool busy;		/* a reply is awaited: no other request may be made */
	bool target_gone;	/* it ended, or (target_execed) changed its program */
	bool target_execed;
	/* target_execed: that program; "": it can't be seen. Else the name that it ended by, if
	 * it had another one while it was watched: an exec or the program itself renamed it. */
	char became[PROTO_TEXT_BYTES];
	bool target_ending;	/* it stands at its end, with its memory, until it is let go */
	unsigned int target_signal;	/* that ended it; 0: none, or not known */
	/* Called every few milliseconds while a reply is awaited: the rings must not fill up. */
	void (*idle)(void *context);
	void *context;
	struct proto_message reply;	/* the last one; reply.text says what went wrong */
	int fd[PROTO_MAX_FDS];		/* that came with it: the caller's to take or close */
	uint8_t payload[PROTO_MAX_PAYLOAD];
};

void keeper_link_init(struct keeper_link *link, int socket);
/*
 * One request and its reply; value and payload may be NULL. The reply's status
 * (0 or -errno), -EPIPE the keeper is gone, -EPROTO, -EBUSY called from idle().
 */
int keeper_link_call(struct keeper_link *link, enum proto_type type,
		     const uint64_t value[PROTO_ASKED], const void *payload, size_t bytes)
	_must_check_;
/* Takes the notes that have come, waiting up to milliseconds for the first. 0 or -EPIPE. */
int keeper_link_poll(struct keeper_link *link, int milliseconds) _must_check_;
/* Takes over descriptor i of the last reply (-1 if it had none). */
int keeper_link_take_fd(struct keeper_link *link, unsigned int i);

#endif
