/* SPDX-License-Identifier: MIT */
/* test_breakpoint.c - a child stops where and as often as it is to; its code is restored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/tracee/breakpoint.h"
#include "inject/tracee/remote_mem.h"

#define LIMIT_NS 20000000000ull

static volatile sig_atomic_t *count;	/* of the child's, shared */

static void __attribute__((noinline)) passed(void)
{
	(*count)++;
}

static void on_signal(int signal)
{
	(void)signal;
	count[1]++;
}

static uint64_t soon(void)
{
	return tracee_now_ns() + LIMIT_NS;
}

/* Stops before its first call of passed(); ends after the fifth. */
static void begin(struct target *ret)
{
	struct pidref ref = PIDREF_NONE;
	struct tracee_stop stop;
	int gate[2];
	pid_t pid;

	assert_int_equal(pipe(gate), 0);
	count[0] = count[1] = 0;
	pid = fork();
	if (pid == 0) {
		char byte;

		signal(SIGUSR1, on_signal);
		while (read(gate[0], &byte, 1) < 0)
			;
		for (int i = 0; i < 5; i++)
			passed();
		_exit(7);
	}
	assert_int_equal(tracee_seize(pid), 0);
	assert_int_equal(tracee_interrupt(pid), 0);
	assert_int_equal(tracee_wait(pid, soon(), &stop), 0);
	assert_int_equal(write(gate[1], "", 1), 1);
	close(gate[0]);
	close(gate[1]);
	assert_int_equal(pidref_open(pid, &ref), 0);
	assert_int_equal(target_open(&ref, ret), 0);
	ret->held = pid;
}

/* Runs to passed(), whatever signals come in between. */
static void run_to(const struct target *target, bool software)
{
	uint64_t address = (uint64_t)(uintptr_t)passed, word;
	struct tracee_stop stop = { .kind = TRACEE_EVENT_STOP };
	struct user_regs_struct registers;
	struct breakpoint breakpoint;
	int hit = 0;

	assert_int_equal(breakpoint_insert(target, address, software, soon(), &breakpoint), 0);
	while (!hit) {
		int signal = stop.kind == TRACEE_SIGNAL && stop.signal != SIGTRAP ? stop.signal : 0;

		assert_int_equal(tracee_continue(target->held, signal), 0);
		assert_int_equal(tracee_wait(target->held, soon(), &stop), 0);
		hit = breakpoint_hit(target, &breakpoint, &stop);
		assert_true(hit >= 0);
	}
	assert_int_equal(tracee_get_registers(target->held, &registers), 0);
	assert_int_equal(registers.rip, address);
	assert_int_equal(breakpoint_remove(target, &breakpoint), 0);
	assert_int_equal(remote_read(target, address, &word, sizeof(word)), 0);
	assert_memory_equal(&word, (const void *)(uintptr_t)address, sizeof(word));
}

static void end(struct target *target)
{
	pid_t pid = target->held;
	struct tracee_stop stop;
	int status;

	assert_int_equal(tracee_continue(pid, 0), 0);
	while (tracee_wait(pid, soon(), &stop) == 0)
		assert_int_equal(tracee_continue(pid, stop.signal), 0);
	(void)waitpid(pid, &status, 0);
	assert_int_equal(count[0], 5);
	target_done(target);
}

static void stop_each_time(bool software)
{
	struct target target = TARGET_NONE;

	begin(&target);
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			assert_int_equal(kill(target.held, SIGUSR1), 0);
		run_to(&target, software);
		if (count[0] < i)	/* from the handler it came back to where it stood */
			run_to(&target, software);
		assert_int_equal(count[0], i);
	}
	assert_int_equal(count[1], 1);	/* the signal was delivered, once */
	end(&target);
}

static void stop_by_instruction(void **state)
{
	(void)state;
	stop_each_time(true);
}

static void stop_by_register(void **state)
{
	(void)state;
	if (!breakpoint_hardware_works())
		skip();
	stop_each_time(false);
}

/* It says the same each time, and leaves no child. */
static void probe_leaves_nothing(void **state)
{
	bool works = breakpoint_hardware_works();

	(void)state;
	assert_int_equal(breakpoint_hardware_works(), works);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_leaves_nothing),
		cmocka_unit_test(stop_by_instruction),
		cmocka_unit_test(stop_by_register),
	};

	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED || tracee_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
