/* SPDX-License-Identifier: MIT */
/* capability.h - what we may do beyond what our user may. */
#ifndef MEMATTACH_CAPABILITY_H
#define MEMATTACH_CAPABILITY_H

#include <stdbool.h>

#include <linux/capability.h>

/* Is it in effect for this thread? number: CAP_SYS_PTRACE and the like. Root may lack it. */
bool capability_held(int number);
/* Neither we nor what we start have it from now on. */
void capability_drop(int number);

#endif
