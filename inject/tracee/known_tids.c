/* SPDX-License-Identifier: MIT */
/* known_tids.c - see known_tids.h. */
#include "inject/tracee/known_tids.h"

#include <errno.h>
#include <stdlib.h>

static int by_tid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

int known_tids_add(struct known_tids *known, pid_t tid)
{
	size_t room = known->room ? known->room * 2 : 64;

	if (known->count == known->room) {
		pid_t *grown = reallocarray(known->tid, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		known->tid = grown;
		known->room = room;
	}
	known->tid[known->count++] = tid;
	return 0;
}

void known_tids_sort(struct known_tids *known)
{
	if (known->sorted < known->count)
		qsort(known->tid, known->count, sizeof(*known->tid), by_tid);
	known->sorted = known->count;
}

bool known_tids_has(const struct known_tids *known, pid_t tid)
{
	return known->sorted > 0 &&
	       bsearch(&tid, known->tid, known->sorted, sizeof(tid), by_tid) != NULL;
}

void known_tids_done(struct known_tids *known)
{
	free(known->tid);
	*known = (struct known_tids){ 0 };
}
