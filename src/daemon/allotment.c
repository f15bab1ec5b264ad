/* SPDX-License-Identifier: MIT */
/* allotment.c - see allotment.h. Water filling: the least demanding are satisfied first. */
#include "src/daemon/allotment.h"

#include <math.h>
#include <stdlib.h>

static int by_most(const void *left, const void *right)
{
	const struct allotment *a = left, *b = right;

	return a->most < b->most ? -1 : a->most > b->most;
}

void allotment_share(struct allotment *each, size_t count, double processors)
{
	double left = fmax(processors, 0) * 100, use = 0, level = INFINITY;

	qsort(each, count, sizeof(*each), by_most);
	for (size_t i = 0; i < count; i++)
		use += each[i].use;
	for (size_t i = 0; i < count && level == INFINITY; i++) {
		/* from here on use is that of those who want as much as this one, or more */
		if (each[i].most * use > left)
			level = left / use;
		left -= each[i].most * each[i].use;
		use -= each[i].use;
	}
	for (size_t i = 0; i < count; i++)
		each[i].percent = fmax(fmin(each[i].most, level), ALLOTMENT_LEAST);
}
