/* SPDX-License-Identifier: MIT */
/*
 * What prctl() and syscall() with such arguments do to the hooks; all others, and all arguments,
 * pass as they came.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/unit/shim_host.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

typedef long call_fn(long a, long b, long c, long d, long e, long f, long g, long h);

static long sum(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

/* enum ring_confined that a call leaves; it is made with all its arguments. */
static uint32_t confined_by(enum ring_shape shape, long first, long second, long third)
{
	struct shim_host host;
	call_fn *original = sum, *hooked;
	const uint64_t *root;
	const void *function;
	uint32_t confined;
	void *entry;

	shim_host_open(&host, &(struct shim_host_options){ .mode = RING_MODE_ALL });
	memcpy(&function, &original, sizeof(function));
	entry = shim_host_hook(&host, shape, function, 0, 0, 0);
	memcpy(&hooked, &entry, sizeof(hooked));
	shim_host_arm(&host);
	assert_int_equal(hooked(first, second, third, 4, 5, 6, 7, 8),
			 sum(first, second, third, 4, 5, 6, 7, 8));
	confined = host.control->confined;
	assert_int_equal(host.control->calls_under_way, 0);
	assert_int_equal(host.control->ring[0].head, 0);
	root = dlsym(host.handle, "shim_root");
	assert_non_null(root);
	assert_int_equal(*root == 0, (confined & RING_CONFINED_CLOCK) != 0);
	shim_host_close(&host);
	return confined;
}

static uint32_t prctl_confines(long option, long value)
{
	assert_int_equal(confined_by(RING_SHAPE_SYSCALL, SYS_prctl, option, value),
			 confined_by(RING_SHAPE_PRCTL, option, value, 0));
	return confined_by(RING_SHAPE_PRCTL, option, value, 0);
}

static void by_prctl(void **state)
{
	(void)state;
	assert_int_equal(prctl_confines(PR_SET_SECCOMP, SECCOMP_MODE_FILTER), RING_CONFINED_FILTER);
	assert_int_equal(prctl_confines(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), RING_CONFINED_CLOCK);
	assert_int_equal(prctl_confines(PR_SET_TSC, PR_TSC_SIGSEGV), RING_CONFINED_CLOCK);
	assert_int_equal(prctl_confines(PR_SET_TSC, PR_TSC_ENABLE), 0);
	assert_int_equal(prctl_confines(PR_SET_SYSCALL_USER_DISPATCH, 1), RING_CONFINED_DISPATCH);
	assert_int_equal(prctl_confines(PR_SET_SYSCALL_USER_DISPATCH, 0), 0);
	assert_int_equal(prctl_confines(PR_SET_NO_NEW_PRIVS, 1), 0);
}

static void by_syscall(void **state)
{
	(void)state;
	assert_int_equal(confined_by(RING_SHAPE_SYSCALL, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0),
			 RING_CONFINED_FILTER);
	assert_int_equal(confined_by(RING_SHAPE_SYSCALL, SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0),
			 RING_CONFINED_CLOCK);
	assert_int_equal(confined_by(RING_SHAPE_SYSCALL, SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0),
			 0);
	assert_int_equal(confined_by(RING_SHAPE_SYSCALL, SYS_getpid, PR_SET_SECCOMP, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_prctl),
		cmocka_unit_test(by_syscall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
