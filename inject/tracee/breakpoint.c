/* SPDX-License-Identifier: MIT */
/* breakpoint.c - see breakpoint.h. */
#include "inject/tracee/breakpoint.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/tracee/remote_mem.h"

#define INT3 0xccull
#define PROBE_LIMIT_NS 2000000000ull

static void __attribute__((noinline)) come_here(void)
{
	__asm__ volatile("" : : : "memory");
}

static pid_t start_probe(int ret_gate[2])
{
	char byte;
	pid_t pid;

	if (pipe(ret_gate) < 0)
		return -1;
	pid = fork();
	if (pid != 0)
		return pid;
	(void)close(ret_gate[1]);
	(void)!read(ret_gate[0], &byte, 1);
	come_here();
	_exit(0);
}

/* It waits at the gate, or ends there. True: the breakpoint stopped it. */
static bool is_stopped(pid_t pid, int gate)
{
	uint64_t end = tracee_now_ns() + PROBE_LIMIT_NS;
	struct tracee_stop stop = { .kind = TRACEE_EVENT_STOP };
	int error = tracee_seize(pid);

	if (!error)
		error = tracee_interrupt(pid);
	if (!error)
		error = tracee_wait(pid, end, &stop);
	if (!error)
		error = tracee_set_breakpoint(pid, (uint64_t)(uintptr_t)come_here);
	if (!error)
		error = tracee_continue(pid, 0);
	if (!error && write(gate, "", 1) != 1)
		error = -errno;
	if (!error)
		error = tracee_wait(pid, end, &stop);	/* -ESRCH: it ran to its end */
	return !error && stop.kind == TRACEE_SIGNAL && stop.signal == SIGTRAP;
}

static bool probe(void)
{
	int gate[2], status;
	pid_t pid = start_probe(gate);
	bool works;

	if (pid < 0)
		return true;
	works = is_stopped(pid, gate[1]);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		;
	(void)close(gate[0]);
	(void)close(gate[1]);
	return works;
}

bool breakpoint_hardware_works(void)
{
	static enum { UNKNOWN, NO, YES } works;

	if (works == UNKNOWN)
		works = probe() ? YES : NO;
	return works == YES;
}

/* One instruction further; what else stops it meanwhile is passed on. */
static int step_off(pid_t tid, uint64_t address, uint64_t deadline_ns)
{
	struct user_regs_struct registers;
	struct tracee_stop stop = { .kind = TRACEE_EVENT_STOP };
	int error = tracee_get_registers(tid, &registers);

	while (!error && registers.rip == address) {
		bool ours = stop.kind != TRACEE_SIGNAL || stop.signal == SIGTRAP;

		error = stop.kind == TRACEE_GROUP_STOP ? tracee_listen(tid) :
							 tracee_step(tid, ours ? 0 : stop.signal);
		if (!error)
			error = tracee_wait(tid, deadline_ns, &stop);
		if (!error)
			error = tracee_get_registers(tid, &registers);
	}
	return error;
}

static int insert_software(const struct target *target, uint64_t deadline_ns, struct breakpoint *b)
{
	uint64_t word;
	int error = step_off(target->held, b->address, deadline_ns);

	if (!error)
		error = remote_read(target, b->address, &word, sizeof(word));
	if (error)
		return error;
	b->word = word;
	b->software = true;
	return remote_write_word(target, b->address, (word & ~0xffull) | INT3);
}

int breakpoint_insert(const struct target *target, uint64_t address, bool software,
		      uint64_t deadline_ns, struct breakpoint *ret)
{
	*ret = (struct breakpoint){ .address = address };
	return software ? insert_software(target, deadline_ns, ret) :
			  tracee_set_breakpoint(target->held, address);
}

int breakpoint_hit(const struct target *target, const struct breakpoint *breakpoint,
		   const struct tracee_stop *stop)
{
	struct user_regs_struct registers;
	int error = tracee_get_registers(target->held, &registers);

	if (error || stop->kind != TRACEE_SIGNAL || stop->signal != SIGTRAP)
		return error;
	if (!breakpoint->software)
		return registers.rip == breakpoint->address;
	if (registers.rip != breakpoint->address + 1)
		return 0;
	registers.rip = breakpoint->address;
	error = tracee_set_registers(target->held, &registers);
	return error ? error : 1;
}

int breakpoint_remove(const struct target *target, struct breakpoint *breakpoint)
{
	if (!breakpoint->software)
		return tracee_set_breakpoint(target->held, 0);
	breakpoint->software = false;
	return remote_write_word(target, breakpoint->address, breakpoint->word);
}
