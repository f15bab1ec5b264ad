/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c - see sandbox.h.
 *
 * The analyst parses what a target may have forged. What it could do if that
 * took it over is limited here: nothing to other processes, no new program, no
 * change of the system. It still opens debug files and the recording itself;
 * a list of allowed calls instead of forbidden ones comes with the service.
 */
#include "src/session/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <termios.h>

#include "src/base/pagemap_scan.h"
#include "src/base/sanitized.h"

#define ADDRESS_SPACE (6ull << 30)

int sandbox_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);	/* needs a capability itself */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static int install_filter(void)
{
	static const char *const forbidden[] = {
		"ptrace",
		"process_vm_readv",
		"process_vm_writev",
		"process_madvise",
		"pidfd_getfd",
		"kcmp",
		"execve",
		"execveat",
		"kill",
		"tkill",
		"tgkill",
		"rt_sigqueueinfo",
		"rt_tgsigqueueinfo",
		"pidfd_send_signal",
		"bpf",
		"perf_event_open",
		"userfaultfd",
		"mount",
		"umount2",
		"pivot_root",
		"chroot",
		"setns",
		"unshare",
		"init_module",
		"finit_module",
		"delete_module",
		"kexec_load",
		"kexec_file_load",
		"reboot",
		"swapon",
		"swapoff",
		"setuid",
		"setgid",
		"setreuid",
		"setregid",
		"setresuid",
		"setresgid",
		"setgroups",
		"capset",
		"keyctl",
		"add_key",
		"request_key",
		"io_uring_setup",
		"connect",
		"bind",
		"listen",
		"accept",
		"accept4",
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error = filter ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < ARRAY_SIZE(forbidden); i++) {
		int number = seccomp_syscall_resolve_name(forbidden[i]);

		if (number != __NR_SCMP_ERROR)
			error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
	}
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

/*
 * Of all that ioctl can do (type into the user's terminal, for one) two questions are left: which
 * pages hold anything, and, for stdio, whether a file is a terminal. By hand, as libseccomp
 * compares an argument but once in a rule; it has seen to other architectures before.
 */
static int install_ioctl_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PAGEMAP_SCAN_REQUEST, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TCGETS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

/* Hostile call frame information can make a parser ask for gigabytes: it gets an error instead. */
static void limit_memory(void)
{
#if !MEMATTACH_SANITIZED	/* whose shadow memory is larger than any limit */
	struct rlimit limit = { ADDRESS_SPACE, ADDRESS_SPACE };

	(void)setrlimit(RLIMIT_AS, &limit);
#endif
}

int sandbox_enter(void)
{
	int error;

	limit_memory();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	error = sandbox_drop_capabilities();
	return error ? error : install_filter() ?: install_ioctl_filter();
}
