/* SPDX-License-Identifier: MIT */
/*
 * relatives.c - see relatives.h.
 *
 * One array by id: a thousand processes are few, and a change is a memmove. An id that is used
 * again is another process: it is one of these only if its own parent was.
 */
#include "src/several/relatives.h"

#include <errno.h>
#include <string.h>

void relatives_done(struct relatives *relatives)
{
	free(relatives->of);
	*relatives = (struct relatives){ 0 };
}

/* Where pid is, or belongs. */
static size_t place_of(const struct relatives *relatives, pid_t pid)
{
	size_t low = 0, high = relatives->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (relatives->of[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct relative *relatives_find(const struct relatives *relatives, pid_t pid)
{
	size_t at = place_of(relatives, pid);

	return at < relatives->count && relatives->of[at].pid == pid ? &relatives->of[at] : NULL;
}

static bool is_waiting(const struct relative *relative)
{
	return !relative->taken && !relative->spared;
}

static int insert(struct relatives *relatives, const struct relative *relative)
{
	size_t at = place_of(relatives, relative->pid);
	struct relative *grown = reallocarray(relatives->of, relatives->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	relatives->of = grown;
	memmove(&grown[at + 1], &grown[at], (relatives->count - at) * sizeof(*grown));
	grown[at] = *relative;
	relatives->count++;
	relatives->waiting += is_waiting(relative);
	return 0;
}

int relatives_add(struct relatives *relatives, pid_t pid, double now, bool taken)
{
	struct relative *known = relatives_find(relatives, pid);

	if (!known)
		return insert(relatives, &(struct relative){ .pid = pid, .since = now,
							     .taken = taken });
	if (taken) {
		relatives_take(relatives, known);
		known->since = now;
		known->marked = false;
	}
	return 0;
}

int relatives_fork(struct relatives *relatives, pid_t parent, pid_t child, double now)
{
	return relatives_find(relatives, parent) ? relatives_add(relatives, child, now, false) : 0;
}

void relatives_exec(struct relatives *relatives, pid_t pid, double now)
{
	struct relative *relative = relatives_find(relatives, pid);

	if (relative)
		relative->since = now;
}

void relatives_exit(struct relatives *relatives, pid_t pid)
{
	struct relative *relative = relatives_find(relatives, pid);
	size_t at;

	if (!relative)
		return;
	relatives->missed += is_waiting(relative);
	relatives->waiting -= is_waiting(relative);
	at = (size_t)(relative - relatives->of);
	relatives->count--;
	memmove(relative, relative + 1, (relatives->count - at) * sizeof(*relative));
}

void relatives_take(struct relatives *relatives, struct relative *relative)
{
	relatives->waiting -= is_waiting(relative);
	relative->taken = true;
}

void relatives_spare(struct relatives *relatives, struct relative *relative, bool spared)
{
	relatives->waiting -= is_waiting(relative);
	relative->spared = spared;
	relatives->waiting += is_waiting(relative);
}

void relatives_end(struct relatives *relatives)
{
	relatives->missed += (uint32_t)relatives->waiting;
	relatives->waiting = 0;
	for (size_t i = 0; i < relatives->count; i++)
		relatives->of[i].taken = true;
}
