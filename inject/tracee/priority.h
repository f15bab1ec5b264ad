/* SPDX-License-Identifier: MIT */
/* priority.h - being scheduled at once while threads of the target stand still because of us. */
#ifndef MEMATTACH_PRIORITY_H
#define MEMATTACH_PRIORITY_H

/* Real-time priority from now on, where that is allowed (else nothing). Nests. */
void priority_raise(void);
/* Undoes one priority_raise. */
void priority_restore(void);

#endif
