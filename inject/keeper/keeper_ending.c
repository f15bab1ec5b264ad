/* SPDX-License-Identifier: MIT */
/* keeper_ending.c - the keeper's part in a program's end (ending.h). */
#include "inject/keeper/keeper_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/tracee/launch.h"

enum { END_MS = 1000 };	/* that a process whose memory is gone may take to end */

/* Who has lost its memory and is not dead yet has begun another program, or is ending. */
static bool has_program(const struct target *target, char *name, size_t room)
{
	char path[32];
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", target->ref.pid);
	memset(name, 0, room);
	length = readlink(path, name, room - 1);
	/* whose program that is may not be ours to ask any more */
	return pidref_alive(&target->ref) && (length > 0 || errno == EACCES);
}

void keeper_read_name(struct keeper *k)
{
	struct proc_thread_status status;

	if (proc_read_status(k->in.at.target.ref.pid, &status) == 0 && status.has_memory &&
	    !keeper_address_space_gone(k))
		memcpy(k->name, status.name, sizeof(k->name));
}

/* An exec renames: of a process that has ended since, the name alone tells that there was one. */
static void note_end(const struct keeper *k, struct proto_message *message)
{
	struct proc_thread_status status;

	if (k->name[0] && proc_read_status(k->in.at.target.ref.pid, &status) == 0 &&
	    strcmp(status.name, k->name) != 0)
		(void)snprintf(message->text, sizeof(message->text), "%s", status.name);
	message->value[0] = (uint64_t)pidref_end_signal(&k->in.at.target.ref, END_MS);
}

int keeper_note_gone(struct keeper *k)
{
	struct proto_message message = { .type = PROTO_NOTE_GONE };
	int error;

	if (has_program(&k->in.at.target, message.text, sizeof(message.text)))
		message.value[0] = PROTO_GONE_EXEC;
	else
		note_end(k, &message);
	error = proto_send(k->socket, &message, NULL, NULL);
	keeper_wake_analyst(k);
	return error;
}

int keeper_on_release(struct keeper *k, const struct proto_message *request, struct reply *reply)
{
	(void)reply;
	if (request->value[0] && k->in.at.target.held)
		return ending_guard(&k->in.at.target, &k->ending);
	keeper_ending_over(k);
	return launch_release(&k->in.at.target);
}

struct pollfd keeper_ending_events(const struct keeper *k)
{
	return (struct pollfd){ .fd = k->ending ? ending_events(k->ending) : -1, .events = POLLIN };
}

int keeper_ending_left_ms(const struct keeper *k)
{
	return k->ending ? ending_left_ms(k->ending) : -1;
}

bool keeper_ending_turn(struct keeper *k)
{
	if (!k->ending || k->ending_noted)
		return false;
	ending_turn(k->ending);
	k->ending_noted = ending_is_held(k->ending);
	return k->ending_noted;
}

bool keeper_is_ending(const struct keeper *k)
{
	return k->ending && k->ending_noted && ending_is_held(k->ending);
}

void keeper_ending_over(struct keeper *k)
{
	ending_release(k->ending);
	k->ending = NULL;
}
