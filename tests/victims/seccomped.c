/* SPDX-License-Identifier: MIT */
/*
 * seccomped.c - a process under a seccomp filter of its own.
 *
 *	seccomped --kind=allow|many|errno|kill
 *
 * allow	a filter that allows everything
 * many		forty of them, as units of systemd have
 * errno	memfd_create and mmap fail with EPERM
 * kill	memfd_create ends the process: an attach that tried it would kill its target
 * Commands: 'q' ends and prints "verdict ok".
 */
#include "tests/victims/victim.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void filter_install(unsigned verdict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		victim_fail("seccomp");
}

int main(int argc, char *argv[])
{
	const char *kind = victim_option(argv, "kind", "allow");

	(void)argc;
	victim_setup();
	if (strcmp(kind, "allow") == 0)
		filter_install(SECCOMP_RET_ALLOW);
	else if (strcmp(kind, "many") == 0)
		for (int i = 0; i < 40; i++)
			filter_install(SECCOMP_RET_ALLOW);
	else if (strcmp(kind, "errno") == 0)
		filter_install(SECCOMP_RET_ERRNO | 1);
	else
		filter_install(SECCOMP_RET_KILL_PROCESS);
	victim_ready();
	while (victim_await() != 'q')
		;
	victim_say("verdict ok\n");
	return 0;
}
