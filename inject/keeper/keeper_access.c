/* SPDX-License-Identifier: MIT */
/*
 * keeper_access.c - the requests that watch words of the target. Between the two the keeper does
 * its other work; what the analyst does not end is ended with the next, or with the keeper.
 * Who asked to stop before the first of them has ended what came before; asked again, it ends
 * these. It is passed on once more for that, and at once where nobody is left to ask.
 */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int keeper_on_access_begin(struct keeper *k, const struct proto_message *request,
			   struct reply *reply)
{
	static struct access_began began;
	struct access_begin wanted;
	int error;

	if (request->payload_bytes != sizeof(wanted))
		return -EPROTO;
	memcpy(&wanted, k->payload, sizeof(wanted));
	if (wanted.first) {
		k->picture_searched = true;
		k->access_unwanted = getppid() != k->options->front;
		k->stop_wanted = k->access_unwanted;
		k->stop_noted = false;
	}
	error = access_watch_begin(&k->in.at.target, &wanted, &k->access, &began);
	if (error) {
		access_watch_explain(error, k->in.problem, sizeof(k->in.problem));
		return error;
	}
	reply->payload = &began;
	reply->message.payload_bytes = sizeof(began);
	return 0;
}

int keeper_on_access_end(struct keeper *k, const struct proto_message *request,
			 struct reply *reply)
{
	size_t count = k->access.count;
	int fd = access_watch_end(&k->access);

	(void)request;
	access_watch_done(&k->access);
	if (fd < 0)
		return fd;
	reply->message.value[0] = k->access_unwanted;
	reply->payload = k->access.thread;
	reply->message.payload_bytes = (uint32_t)(count * sizeof(k->access.thread[0]));
	reply->close_fds = true;
	keeper_reply_fd(reply, fd);
	return 0;
}
