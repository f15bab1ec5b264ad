/* SPDX-License-Identifier: MIT */
/*
 * seccomp_check.c - fetches the filters (PTRACE_SECCOMP_GET_FILTER) and runs
 * them here, instruction by instruction, for each call that we would make in
 * the target. A filter may answer by the arguments; we ask with the ones that
 * we use, and for those that we can't know yet with zero. Anything but "allow"
 * or "log" from any filter is a no: a refused call may kill the target.
 */
#include "inject/preflight/seccomp_check.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "inject/tracee/abandon.h"
#include "inject/tracee/eintr.h"
#include "inject/tracee/proc_status.h"
#include "inject/tracee/tracee.h"
#include "inject/tracee/transfers.h"
#include "src/base/give_back.h"

/* A unit of systemd's easily has 30 filters. The kernel's limit is one of instructions: of all of a
 * thread's, each filter counting as 4 more (MAX_INSNS_PER_PATH in kernel/seccomp.c). */
enum { MAX_INSTRUCTIONS = (1 << 18) / sizeof(struct sock_filter), MAX_FILTERS = 4096 };

struct filter_machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
	const struct seccomp_data *data;
};

static uint32_t load_word(const struct filter_machine *m, uint32_t offset)
{
	uint32_t word = 0;

	if (offset <= sizeof(*m->data) - sizeof(word))
		memcpy(&word, (const uint8_t *)m->data + offset, sizeof(word));
	return word;
}

static uint32_t arithmetic(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	case BPF_NEG: return 0u - a;
	default: return 0;
	}
}

static bool compare(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JSET: return (a & b) != 0;
	default: return false;
	}
}

static void load_or_store(struct filter_machine *m, const struct sock_filter *i)
{
	uint32_t value = i->k;

	if (BPF_MODE(i->code) == BPF_ABS)
		value = load_word(m, i->k);
	else if (BPF_MODE(i->code) == BPF_MEM)
		value = m->memory[i->k % BPF_MEMWORDS];
	else if (BPF_MODE(i->code) == BPF_LEN)
		value = sizeof(*m->data);
	switch (BPF_CLASS(i->code)) {
	case BPF_LD: m->a = value; break;
	case BPF_LDX: m->x = value; break;
	case BPF_ST: m->memory[i->k % BPF_MEMWORDS] = m->a; break;
	default: m->memory[i->k % BPF_MEMWORDS] = m->x; break;
	}
}

/* The action that one filter answers with; SECCOMP_RET_KILL_PROCESS for one that makes no sense. */
static uint32_t run_filter(const struct sock_filter *code, unsigned int count,
			   const struct seccomp_data *data)
{
	struct filter_machine m = { .data = data };

	for (unsigned int pc = 0; pc < count; pc++) {
		const struct sock_filter *i = &code[pc];
		uint32_t operand = BPF_SRC(i->code) == BPF_X ? m.x : i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		case BPF_ALU:
			m.a = arithmetic(BPF_OP(i->code), m.a, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA)
				pc += i->k < count - pc ? i->k : count - 1 - pc;
			else
				pc += compare(BPF_OP(i->code), m.a, operand) ? i->jt : i->jf;
			break;
		case BPF_MISC:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
			break;
		default:
			load_or_store(&m, i);
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

struct filter_set {
	unsigned int count, end[MAX_FILTERS + 1];	/* filter i: from end[i] to end[i + 1] */
	struct sock_filter code[MAX_INSTRUCTIONS + BPF_MAXINSNS];
};

static bool lets_pass(const struct filter_set *set, int number, const uint64_t arguments[6])
{
	struct seccomp_data data = { .nr = number, .arch = AUDIT_ARCH_X86_64 };

	memcpy(data.args, arguments, sizeof(data.args));
	for (unsigned int i = 0; i < set->count; i++) {
		uint32_t action = run_filter(set->code + set->end[i],
					     set->end[i + 1] - set->end[i], &data) &
				  SECCOMP_RET_ACTION_FULL;

		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
			return false;
	}
	return true;
}

/* 0, -EACCES/-EINVAL can't be read, -E2BIG. pre: tid is stopped. */
static int fetch(pid_t tid, struct filter_set *set)
{
	set->end[0] = 0;
	for (set->count = 0; set->count < MAX_FILTERS; set->count++) {
		unsigned int used = set->end[set->count];
		int length;

		if (used > MAX_INSTRUCTIONS)	/* there is room for one more, whatever its size */
			return -E2BIG;
		length = tracee_get_seccomp_filter(tid, set->count, set->code + used);
		if (length == -ENOENT)
			return 0;
		if (length < 0)
			return length;
		set->end[set->count + 1] = used + (unsigned int)length;
	}
	return -E2BIG;
}

/*
 * A sleep or poll that we have interrupted goes on by restart_syscall, which the
 * filter may refuse: here, before we know, it starts again in full instead.
 */
static int avoid_restart_syscall(pid_t tid, struct user_regs_struct *registers)
{
	if ((long)registers->orig_rax < 0 || (long)registers->rax != -EINTR_RESTART_RESTARTBLOCK)
		return 0;
	registers->rax = (unsigned long long)-EINTR_RESTARTNOHAND;
	return tracee_set_registers(tid, registers);
}

static int fetch_from(pid_t tid, struct filter_set *set)
{
	struct tracee_stop stop;
	struct user_regs_struct registers;
	int error = tracee_seize(tid), result;

	if (!error)
		error = tracee_interrupt(tid);
	if (error)
		return error;
	error = tracee_wait(tid, tracee_now_ns() + 2000000000ull, &stop);
	if (error) {
		abandon_tracee(tid);
		return error;
	}
	result = tracee_get_registers(tid, &registers);
	if (!result)
		result = avoid_restart_syscall(tid, &registers);
	if (!result)
		result = fetch(tid, set);
	(void)eintr_release(tid, &stop);
	return result;
}

struct call {
	short number;
	uint64_t arguments[6];
};

/* The calls of attach (load.c, remote_call.c), as far as filters look at arguments. */
static const struct call needed[] = {
	{ SYS_memfd_create, { 0, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0 } },
	{ SYS_mmap, { 0, 0, PROT_NONE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, 0, 0 } },
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, 0, 0 } },
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE, 0, 0 } },
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 0, 0 } },
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		      (uint64_t)-1, 0 } },
	{ SYS_madvise, { 0, 0, MADV_DONTFORK, 0, 0, 0 } },
	{ SYS_madvise, { 0, 0, MADV_WIPEONFORK, 0, 0, 0 } },
	{ SYS_close, { 0 } },
	{ SYS_restart_syscall, { 0 } },
};

/*
 * Of detach, which has to do with less: a process may restrict itself further meanwhile. Sleeps
 * start again in full where restart_syscall is refused (eintr.h).
 */
static const struct call needed_to_leave[] = {
	{ SYS_rt_sigprocmask, { 2, 0, 0, 8, 0, 0 } },
	{ SYS_rt_sigreturn, { 0 } },
	{ SYS_munmap, { 0 } },
	{ SYS_madvise, { 0, 0, MADV_DONTNEED, 0, 0, 0 } },
};

/* Of glibc's dlclose, beside munmap: its locks, and what free does there. */
static const struct call needed_to_dlclose[] = {
	{ SYS_futex, { 0 } },
	{ SYS_brk, { 0 } },
	{ SYS_mprotect, { 0, 0, PROT_NONE, 0, 0, 0 } },
	{ SYS_mmap, { 0, 0, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0 } },
};

/* Of freeze.c: the copy, its end should it ever run, and waiting for it. */
static const struct call needed_to_copy[] = {
	{ SYS_clone, { SECCOMP_CHECK_COPY_FLAGS, 0, 0, 0, 0, 0 } },
	{ SYS_exit_group, { 0 } },
	{ SYS_wait4, { 0, 0, __WCLONE | WNOHANG, 0, 0, 0 } },
};

/* May all of those calls be made? If not *ret_refused is the first that may not. */
static bool let_pass(const struct filter_set *set, const struct call *call, size_t count,
		     long *ret_refused)
{
	for (size_t i = 0; i < count; i++)
		if (!lets_pass(set, call[i].number, call[i].arguments)) {
			*ret_refused = call[i].number;
			return false;
		}
	return true;
}

static void judge(const struct filter_set *set, struct seccomp_verdict *verdict)
{
	static const uint64_t none[6], get_tsc[6] = { PR_GET_TSC };
	long refused;

	if (verdict->may_leave)
		verdict->may_leave = let_pass(set, needed_to_leave, ARRAY_SIZE(needed_to_leave),
					      &verdict->refused_leaving);
	if (verdict->allowed && !verdict->may_leave)
		verdict->refused = verdict->refused_leaving;
	verdict->allowed = verdict->allowed && verdict->may_leave &&
			   let_pass(set, needed, ARRAY_SIZE(needed), &verdict->refused);
	verdict->may_close = verdict->may_close && lets_pass(set, SYS_close, none);
	verdict->may_restart = verdict->may_restart && lets_pass(set, SYS_restart_syscall, none);
	verdict->may_copy = verdict->may_copy && let_pass(set, needed_to_copy,
							  ARRAY_SIZE(needed_to_copy), &refused);
	verdict->may_readv = verdict->may_readv && lets_pass(set, SYS_process_vm_readv, none);
	verdict->may_wait = verdict->may_wait && lets_pass(set, SYS_futex, none);
	verdict->may_gettid = verdict->may_gettid && lets_pass(set, SYS_gettid, none);
	verdict->may_prctl = verdict->may_prctl && lets_pass(set, SYS_prctl, get_tsc);
	verdict->may_dlclose = verdict->may_dlclose &&
			       let_pass(set, needed_to_dlclose, ARRAY_SIZE(needed_to_dlclose),
					&refused);
}

/* Each thread may have a filter of its own. */
static void check_thread(pid_t pid, pid_t tid, struct seccomp_verdict *verdict)
{
	static struct filter_set set;	/* a quarter of a MiB */
	struct proc_thread_status status;
	uint64_t begin_ns, held_us;
	int error;

	if (proc_read_thread_status(pid, tid, &status) || !status.seccomp)
		return;
	verdict->filtered = true;
	transfers_wait_for(pid, tid);
	begin_ns = tracee_now_ns();
	error = fetch_from(tid, &set);
	held_us = (tracee_now_ns() - begin_ns) / 1000;
	if (held_us > verdict->held_us)
		verdict->held_us = held_us;
	if (!error) {
		judge(&set, verdict);
		give_back_buffer(&set, sizeof(set));
	} else if (error != -ESRCH && !proc_runs_no_code(pid, tid)) {
		verdict->allowed = verdict->may_readv = verdict->may_wait = false;
		verdict->may_gettid = verdict->may_prctl = false;
		verdict->may_copy = verdict->may_leave = verdict->may_close = false;
		verdict->may_dlclose = verdict->may_restart = false;
		verdict->refused = verdict->refused_leaving = -1;
	}
}

/* As verdict.count. */
static int count_filters(pid_t pid)
{
	_cleanup_free_ pid_t *tids = NULL;
	int threads = proc_list_threads(pid, &tids), count = -1;

	for (int i = 0; i < threads; i++) {
		struct proc_thread_status status;
		int error = proc_read_thread_status(pid, tids[i], &status);

		if (error == -ESRCH)
			continue;
		if (error || (status.seccomp && !status.seccomp_filters) ||
		    (count >= 0 && (uint32_t)count != status.seccomp_filters))
			return -1;
		count = (int)status.seccomp_filters;
	}
	return count;
}

struct seccomp_verdict seccomp_check(pid_t pid)
{
	struct seccomp_verdict verdict = { .allowed = true, .may_copy = true,
					   .may_leave = true, .may_close = true,
					   .may_dlclose = true, .may_restart = true,
					   .may_readv = true, .may_wait = true,
					   .may_gettid = true, .may_prctl = true,
					   .count = count_filters(pid) };
	_cleanup_free_ pid_t *tids = NULL;
	int threads = proc_list_threads(pid, &tids);

	for (int i = 0; i < threads && (verdict.allowed || verdict.may_leave); i++)
		check_thread(pid, tids[i], &verdict);
	if (count_filters(pid) != verdict.count)
		verdict.count = -1;
	return verdict;
}

bool seccomp_check_holds(const struct seccomp_verdict *verdict, pid_t pid)
{
	return verdict->may_leave && verdict->count >= 0 && count_filters(pid) == verdict->count;
}
