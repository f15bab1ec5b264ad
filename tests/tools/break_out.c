/* SPDX-License-Identifier: MIT */
/*
 * break_out.c - see break_out.h. In a process of root's outside of the sandbox each attempt would
 * work, or fail for another reason, and do no harm. EPERM, EACCES and the ENOSYS of what the C
 * library can do without are what counts as refused; of files that are none of the analyst's,
 * ENOENT.
 */
#include "tests/tools/break_out.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define PAGE 4096

/* A file that the test has made; and one that is not there. */
static const char *there(void)
{
	const char *path = getenv("BREAK_OUT_FILE");

	return path ? path : "/dev/null";
}

static const char *made(void)
{
	static char path[PAGE];

	(void)snprintf(path, sizeof(path), "%s.made", there());
	return path;
}

/* ---- files ---- */

static long read_passwd(void) { return open("/etc/passwd", O_RDONLY); }
static long read_shadow(void) { return open("/etc/shadow", O_RDONLY | O_CLOEXEC); }
static long read_by_stdio(void) { return fopen("/etc/hostname", "r") ? 0 : -1; }
static long read_around(void) { return open("/usr/lib/debug/../../../etc/passwd", O_RDONLY); }
static long read_own_memory(void) { return open("/proc/self/mem", O_RDWR); }
static long read_maps(void) { return open("/proc/self/maps", O_RDONLY); }
static long read_folder(void) { return open("/etc", O_RDONLY | O_DIRECTORY); }
static long read_in_folder(void) { return openat(STDERR_FILENO, "passwd", O_RDONLY); }
static long read_path(void) { return open("/etc/passwd", O_PATH); }
static long read_terminal(void) { return open("/dev/tty", O_RDWR); }
static long read_disk(void) { return open("/dev/mem", O_RDONLY); }
static long write_file(void) { return open(made(), O_WRONLY | O_CREAT, 0666); }
static long write_program(void) { return open("/proc/self/exe", O_RDWR); }
static long write_append(void) { return open("/etc/passwd", O_WRONLY | O_APPEND); }
static long write_unnamed(void) { return open("/tmp", O_TMPFILE | O_RDWR, 0600); }
static long make_file(void) { return creat(made(), 0666); }
static long make_folder(void) { return mkdir(made(), 0777); }
static long make_link(void) { return symlink(there(), made()); }
static long make_hard_link(void) { return link(there(), made()); }
static long make_fifo(void) { return mkfifo(made(), 0666); }
static long remove_file(void) { return unlink(there()); }
static long remove_folder(void) { return rmdir("/tmp"); }
static long move_file(void) { return rename(there(), made()); }
static long change_mode(void) { return chmod(there(), 0666); }
static long change_mode_of_open(void) { return fchmod(STDERR_FILENO, 0666); }
static long cut_file(void) { return truncate(there(), 0); }
static long go_elsewhere(void) { return chdir("/"); }
static long change_root(void) { return chroot("/"); }

static long open_with_openat2(void)
{
	uint64_t how[3] = { O_RDONLY, 0, 0 };

	return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof(how));
}

static long open_by_handle(void)
{
	uint32_t handle[16] = { 8, 1 };

	return syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY);
}

/* ---- sockets ---- */

static long socket_internet(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static long socket_internet6(void) { return socket(AF_INET6, SOCK_DGRAM, 0); }
static long socket_unix(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static long socket_journal(void) { return socket(AF_UNIX, SOCK_DGRAM, 0); }
static long socket_netlink(void) { return socket(AF_NETLINK, SOCK_RAW, 0); }
static long socket_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }

/* Its ends could send to any address. */
static long socket_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
}

static long socket_connect(void)
{
	const struct sockaddr_in there = { .sin_family = AF_INET };

	return connect(STDERR_FILENO, (const struct sockaddr *)&there, sizeof(there));
}

static long socket_bind(void)
{
	const struct sockaddr_in here = { .sin_family = AF_INET };

	return bind(STDERR_FILENO, (const struct sockaddr *)&here, sizeof(here));
}

/* ---- other processes ---- */

static long trace_seize(void) { return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL); }
static long trace_me(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL); }
static long signal_parent(void) { return kill(getppid(), 0); }
static long signal_all(void) { return kill(-1, 0); }
static long signal_thread(void) { return syscall(SYS_tgkill, getppid(), getppid(), 0); }
static long hold_process(void) { return syscall(SYS_pidfd_open, getppid(), 0); }
static long compare(void) { return syscall(SYS_kcmp, getppid(), getpid(), 0, 0, 0); }
static long own_signals(void) { return fcntl(STDERR_FILENO, F_SETOWN, getppid()); }
static long choose_signal(void) { return fcntl(STDERR_FILENO, F_SETSIG, SIGKILL); }
static long limits(void) { return syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, NULL); }
static long priority(void) { return syscall(SYS_setpriority, 0, getppid(), 19); }

static long read_parent(void)
{
	char bytes[8];
	struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)PAGE, sizeof(bytes) };

	return process_vm_readv(getppid(), &here, 1, &there, 1, 0);
}

static long write_parent(void)
{
	char bytes[8] = "";
	struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)PAGE, sizeof(bytes) };

	return process_vm_writev(getppid(), &here, 1, &there, 1, 0);
}

/* ---- programs ---- */

static long run_program(void) { return execl("/bin/false", "false", (char *)NULL); }

static long run_file_in_memory(void)
{
	char *none[] = { NULL };
	int fd = memfd_create("program", 0);
	long result = syscall(SYS_execveat, fd, "", none, none, AT_EMPTY_PATH);
	int error = errno;

	(void)close(fd);
	errno = error;
	return result;
}

static long map_code(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return p == MAP_FAILED ? -1 : 0;
}

static long make_code(void)
{
	static char page[2 * PAGE] __attribute__((aligned(PAGE)));

	return mprotect(page, PAGE, PROT_READ | PROT_EXEC);
}

static long mapped_code_is_all(void) { return syscall(SYS_personality, 0x0400000); }

/* ---- the system ---- */

static long clone_into(unsigned long spaces)
{
	long child = syscall(SYS_clone, spaces | SIGCHLD, NULL, NULL, NULL, 0);

	if (child == 0)
		_exit(0);
	if (child > 0)
		(void)waitpid((pid_t)child, NULL, 0);
	return child;
}

static long clone_user(void) { return clone_into(CLONE_NEWUSER); }
static long clone_mounts(void) { return clone_into(CLONE_NEWNS); }
static long clone_net(void) { return clone_into(CLONE_NEWNET); }

static long clone_three(void)
{
	uint64_t arguments[11] = { CLONE_NEWUSER, [4] = SIGCHLD };
	long child = syscall(SYS_clone3, arguments, sizeof(arguments));

	if (child == 0)
		_exit(0);
	return child;
}

static long leave_namespace(void) { return unshare(CLONE_NEWUSER); }
static long enter_namespace(void) { return setns(STDERR_FILENO, 0); }
static long mount_something(void) { return mount("none", there(), "tmpfs", 0, NULL); }
static long unmount(void) { return umount2(there(), MNT_DETACH); }
static long become_root(void) { return setuid(0); }
static long become_nobody(void) { return setresuid(65534, 65534, 65534); }
static long be_dumpable(void) { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }
static long be_traced(void) { return prctl(PR_SET_PTRACER, -1, 0, 0, 0); }
static long another_filter(void) { return prctl(PR_SET_SECCOMP, 1, 0, 0, 0); }
static long filter_by_call(void) { return syscall(SYS_seccomp, 0, 0, NULL); }
static long raise_ambient(void) { return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0); }
static long use_ring(void) { return syscall(SYS_io_uring_setup, 8, NULL); }
static long use_bpf(void) { return syscall(SYS_bpf, 0, NULL, 0); }
static long use_perf(void) { return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0); }
static long use_faults(void) { return syscall(SYS_userfaultfd, 0); }
static long use_keys(void) { return syscall(SYS_keyctl, 0, -3, 0); }
static long use_shared_memory(void) { return syscall(SYS_shmget, 0, PAGE, 0600); }
static long use_queue(void) { return syscall(SYS_mq_open, "x", O_CREAT, 0600, NULL); }
static long use_watches(void) { return syscall(SYS_inotify_init1, 0); }
static long load_module(void) { return syscall(SYS_init_module, NULL, 0, ""); }
static long use_port(void) { return syscall(SYS_iopl, 3); }
static long set_time(void) { return syscall(SYS_settimeofday, NULL, NULL); }
static long name_host(void) { return syscall(SYS_sethostname, "x", -1); }

static long type_into_terminal(void)
{
	char letter = 'x';

	return ioctl(STDIN_FILENO, TIOCSTI, &letter);
}

/* The kernel's command has 32 bits: what stands above them is nothing. */
static long type_with_more_bits(void)
{
	char letter = 'x';

	return syscall(SYS_ioctl, STDIN_FILENO, 1ull << 32 | TIOCSTI, &letter);
}

static long own_signals_by_ioctl(void)
{
	int owner = getppid();

	return ioctl(STDERR_FILENO, FIOSETOWN, &owner);
}

#define ATTEMPT(name) { #name, name }
static const struct {
	const char *name;
	long (*try)(void);
} attempt[] = {
	ATTEMPT(read_passwd), ATTEMPT(read_shadow), ATTEMPT(read_by_stdio), ATTEMPT(read_around),
	ATTEMPT(read_own_memory), ATTEMPT(read_maps), ATTEMPT(read_folder),
	ATTEMPT(read_in_folder), ATTEMPT(read_path), ATTEMPT(read_terminal), ATTEMPT(read_disk),
	ATTEMPT(write_file), ATTEMPT(write_program), ATTEMPT(write_append),
	ATTEMPT(write_unnamed), ATTEMPT(make_file), ATTEMPT(make_folder), ATTEMPT(make_link),
	ATTEMPT(make_hard_link), ATTEMPT(make_fifo), ATTEMPT(remove_file),
	ATTEMPT(remove_folder), ATTEMPT(move_file), ATTEMPT(change_mode),
	ATTEMPT(change_mode_of_open), ATTEMPT(cut_file), ATTEMPT(go_elsewhere),
	ATTEMPT(change_root), ATTEMPT(open_with_openat2), ATTEMPT(open_by_handle),
	ATTEMPT(socket_internet), ATTEMPT(socket_internet6), ATTEMPT(socket_unix),
	ATTEMPT(socket_journal), ATTEMPT(socket_netlink), ATTEMPT(socket_packet),
	ATTEMPT(socket_pair), ATTEMPT(socket_connect), ATTEMPT(socket_bind),
	ATTEMPT(trace_seize), ATTEMPT(trace_me), ATTEMPT(signal_parent),
	ATTEMPT(signal_all), ATTEMPT(signal_thread), ATTEMPT(hold_process), ATTEMPT(compare),
	ATTEMPT(own_signals), ATTEMPT(choose_signal), ATTEMPT(limits), ATTEMPT(priority),
	ATTEMPT(read_parent), ATTEMPT(write_parent),
	ATTEMPT(run_program), ATTEMPT(run_file_in_memory), ATTEMPT(map_code), ATTEMPT(make_code),
	ATTEMPT(mapped_code_is_all),
	ATTEMPT(clone_user), ATTEMPT(clone_mounts), ATTEMPT(clone_net), ATTEMPT(clone_three),
	ATTEMPT(leave_namespace), ATTEMPT(enter_namespace), ATTEMPT(mount_something),
	ATTEMPT(unmount), ATTEMPT(become_root), ATTEMPT(become_nobody), ATTEMPT(be_dumpable),
	ATTEMPT(be_traced), ATTEMPT(another_filter), ATTEMPT(filter_by_call),
	ATTEMPT(raise_ambient), ATTEMPT(use_ring), ATTEMPT(use_bpf), ATTEMPT(use_perf),
	ATTEMPT(use_faults), ATTEMPT(use_keys), ATTEMPT(use_shared_memory), ATTEMPT(use_queue),
	ATTEMPT(use_watches), ATTEMPT(load_module), ATTEMPT(use_port), ATTEMPT(set_time),
	ATTEMPT(name_host), ATTEMPT(type_into_terminal), ATTEMPT(type_with_more_bits),
	ATTEMPT(own_signals_by_ioctl),
};

static bool is_refused(long result)
{
	return result == -1 &&
	       (errno == EPERM || errno == EACCES || errno == ENOSYS || errno == ENOENT);
}

unsigned int break_out(bool loud, unsigned int *ret_tried)
{
	unsigned int done = 0;

	for (size_t i = 0; i < sizeof(attempt) / sizeof(attempt[0]); i++) {
		long result = attempt[i].try();
		bool refused = is_refused(result);

		if (loud || !refused)
			fprintf(stderr, "%s %s: %s\n", refused ? "refused" : "NOT REFUSED",
				attempt[i].name, result < 0 ? strerror(errno) : "done");
		done += !refused;
	}
	*ret_tried = (unsigned int)(sizeof(attempt) / sizeof(attempt[0]));
	return done;
}
