/* SPDX-License-Identifier: MIT */
/* userfault.h - does the target serve page faults itself? */
#ifndef MEMATTACH_USERFAULT_H
#define MEMATTACH_USERFAULT_H

#include "inject/tracee/target.h"

/*
 * True where a page of the target's may be had from the target only: it has a userfaultfd. While
 * its threads stand still, whoever waits for such a page waits for ever: process_vm_readv does,
 * /proc/PID/mem does not (it fails). Takes a microsecond for each of its descriptors.
 */
bool userfault_may_be_served(const struct target *target);

#endif
