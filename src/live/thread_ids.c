/* SPDX-License-Identifier: MIT */
/*
 * thread_ids.c - see thread_ids.h.
 *
 * Threads are told apart by their thread pointer. Which id one has stands in its control block:
 * glibc has it at the same place since 2.3 (x86-64), behind two words that point to the block
 * itself; the kernel zeroes it when the thread ends. Who is no glibc, or has ended meanwhile, gets
 * no id rather than a wrong one. A thread that got the block of an ended one is noticed by its
 * other id, if it lives at a look.
 *
 * Rejected: the id in each record. gettid is a system call an event; to read the control
 * block in the shim could fault in a thread whose pointer is not libc's.
 */
#include "src/live/thread_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SELF_WORD	2u		/* header.self */
#define TID_OFFSET	0x2d0u
#define FIRST_CAPACITY	64u

uint32_t thread_ids_read(const struct elf_reader *memory, uint64_t pointer)
{
	uint64_t word[SELF_WORD + 1];
	uint32_t tid;

	if (memory->read(memory->context, pointer, word, sizeof(word)) ||
	    word[0] != pointer || word[SELF_WORD] != pointer ||
	    memory->read(memory->context, pointer + TID_OFFSET, &tid, sizeof(tid)))
		return 0;
	return tid <= INT32_MAX ? tid : 0;
}

static void look_at(struct thread_id *id, uint32_t tid)
{
	if (tid == 0 || tid == id->tid)
		return;
	*id = (struct thread_id){ .tid = tid, .ids = id->ids + 1 };
}

static int reserve(struct thread_ids *ids, uint32_t count)
{
	uint32_t capacity = ids->capacity ? ids->capacity : FIRST_CAPACITY;
	struct thread_id *grown;

	while (capacity < count)
		capacity *= 2u;
	if (capacity == ids->capacity)
		return 0;
	grown = reallocarray(ids->id, capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + ids->capacity, 0, (capacity - ids->capacity) * sizeof(*grown));
	ids->id = grown;
	ids->capacity = capacity;
	return 0;
}

void thread_ids_look(struct thread_ids *ids, const struct live *live,
		     const struct elf_reader *memory, bool all)
{
	uint32_t count = live_threads(live);

	if ((!all && count == ids->count) || reserve(ids, count) < 0)
		return;
	for (uint32_t i = all ? 0 : ids->count; i < count; i++)
		look_at(&ids->id[i], thread_ids_read(memory,
						     live_thread_figures(live, i).pointer));
	ids->count = count;
}

static void keep_name(struct thread_id *id, const struct proto_name *name)
{
	id->asked = id->tid;
	if (name->name[0])	/* else it has ended: the last one known stays */
		memcpy(id->name, name->name, sizeof(id->name) - 1);
}

/* One answer: names in the order asked for, "" where there is no such thread any more. */
static int thread_ids_ask(struct keeper_link *link, struct thread_id *const *id, size_t count)
{
	uint32_t tid[PROTO_MAX_NAMES];
	const struct proto_name *name = (const struct proto_name *)link->payload;
	int error;

	for (size_t i = 0; i < count; i++)
		tid[i] = id[i]->tid;
	error = keeper_link_call(link, PROTO_THREAD_NAMES, NULL, tid, count * sizeof(*tid));
	if (error)
		return error;
	for (size_t i = 0; i < count && (i + 1) * sizeof(*name) <= link->reply.payload_bytes; i++)
		keep_name(id[i], &name[i]);
	return 0;
}

void thread_ids_name(struct thread_ids *ids, struct keeper_link *link, bool again)
{
	struct thread_id *wanted[PROTO_MAX_NAMES];
	size_t count = 0;

	if (link->busy || link->target_gone)
		return;
	for (uint32_t i = 0; i < ids->count && count < PROTO_MAX_NAMES; i++)
		if (ids->id[i].tid && (again || ids->id[i].asked != ids->id[i].tid))
			wanted[count++] = &ids->id[i];
	if (count)
		(void)thread_ids_ask(link, wanted, count);
}

void thread_ids_done(struct thread_ids *ids)
{
	free(ids->id);
	*ids = (struct thread_ids){ 0 };
}
