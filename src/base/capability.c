/* SPDX-License-Identifier: MIT */
/* capability.c - see capability.h. */
#include "src/base/capability.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capability_held(int number)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number);
}

void capability_drop(int number)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, number, 0, 0);
	if (syscall(SYS_capget, &header, data) < 0)
		return;
	data[CAP_TO_INDEX(number)].effective &= ~CAP_TO_MASK(number);
	data[CAP_TO_INDEX(number)].permitted &= ~CAP_TO_MASK(number);
	data[CAP_TO_INDEX(number)].inheritable &= ~CAP_TO_MASK(number);
	(void)syscall(SYS_capset, &header, data);
}
