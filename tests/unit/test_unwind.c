/* SPDX-License-Identifier: MIT */
/*
 * test_unwind.c - walks over stopped processes give the frames that are there.
 *
 * Two judges: the names that the victim's source has (or that libc's symbol tables
 * have), and libunwind-ptrace with its own accessors, where it can unwind at all.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/symbolize/symbolize.h"
#include "src/unwind/unwind.h"
#include "src/unwind/unwind_locks.h"
#include "tests/unit/unwind_harness.h"

/* A victim at its stop, with everything that looks at it. */
struct bench {
	struct harness harness;
	struct unwinder *unwinder;
	struct symbolizer *symbolizer;
	struct stacks *stacks;
	struct frame frame[STACKS_MAX_FRAMES];
	uint32_t count;
	enum unwind_end end;
};

static void start(struct bench *bench, const char *victim, const char *scene, const char *argument)
{
	const char *argv[] = { harness_path(victim), scene, argument, NULL };

	memset(bench, 0, sizeof(*bench));
	harness_start(&bench->harness, argv);
	assert_int_equal(unwinder_new(bench->harness.modules, &bench->unwinder), 0);
	assert_int_equal(symbolizer_new(bench->harness.modules, &bench->symbolizer), 0);
	assert_int_equal(stacks_new(&bench->stacks), 0);
}

static void finish(struct bench *bench)
{
	unwinder_free(bench->unwinder);
	symbolizer_free(bench->symbolizer);
	stacks_free(bench->stacks);
	harness_end(&bench->harness);
}

/* The memo must give the same, when it learns the stack and when it knows it. */
static void check_memo(struct bench *bench)
{
	uint32_t first, second;
	struct stack stack;

	assert_int_equal(unwinder_stack(bench->unwinder, bench->stacks, &bench->harness.input,
					&first), 0);
	assert_int_equal(unwinder_stack(bench->unwinder, bench->stacks, &bench->harness.input,
					&second), 0);
	assert_int_equal(first, second);
	stack = stacks_get(bench->stacks, first);
	assert_int_equal(stack.frame_count, bench->count);
	assert_memory_equal(stack.frame, bench->frame, bench->count * sizeof(bench->frame[0]));
	assert_int_equal(stack.flags, bench->end == UNWIND_COMPLETE ? 0 : STACK_TRUNCATED);
}

static void walk(struct bench *bench)
{
	assert_int_equal(unwinder_walk(bench->unwinder, &bench->harness.input, bench->frame,
				       &bench->count, &bench->end), 0);
	check_memo(bench);
}

static void take_and_walk(struct bench *bench)
{
	harness_take(&bench->harness);
	walk(bench);
}

/* A victim at its stop, and the stack it has there. */
static void walk_at_stop(struct bench *bench, const char *victim, const char *scene,
			 const char *argument)
{
	start(bench, victim, scene, argument);
	assert_true(harness_run_to_stop(&bench->harness));
	take_and_walk(bench);
}

static const char *name_of(struct bench *bench, uint32_t index)
{
	const char *name = symbolizer_function_name(bench->symbolizer, &bench->frame[index]);

	return name ? name : "?";
}

static uint64_t address_of(const struct bench *bench, uint32_t index)
{
	const struct frame *frame = &bench->frame[index];
	const struct module *module = modules_get(bench->harness.modules, frame->module);

	return frame->offset + (module ? module->bias : 0);
}

static void print_walk(struct bench *bench)
{
	for (uint32_t i = 0; i < bench->count; i++)
		print_message("#%u %#lx %s flags %u\n", i, (unsigned long)address_of(bench, i),
			      name_of(bench, i), bench->frame[i].flags);
}

/* Names from the innermost frame on, "*" for any one. */
static void expect_names(struct bench *bench, uint32_t first, const char *const *name)
{
	for (uint32_t i = 0; name[i]; i++) {
		if (first + i >= bench->count ||
		    (strcmp(name[i], "*") != 0 && strcmp(name[i], name_of(bench, first + i)))) {
			print_walk(bench);
			fail_msg("frame %u is not %s", first + i, name[i]);
		}
	}
}

/* All frames are the oracle's, and the last one is the thread's first. */
static void expect_oracle(struct bench *bench)
{
	uint64_t address[STACKS_MAX_FRAMES];
	size_t count = harness_oracle(&bench->harness, address, STACKS_MAX_FRAMES);

	if (count != bench->count)
		print_walk(bench);
	assert_int_equal(count, bench->count);
	for (uint32_t i = 0; i < bench->count; i++)
		assert_int_equal(address_of(bench, i), address[i]);
}

static const char *const plain_names[] = {
	"victim_stop", "victim_leaf", "victim_alloca", "victim_aligned", "victim_pushes",
	"victim_outer", "main", NULL,
};

static void plain_stack(void **state)
{
	struct bench bench;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "plain", NULL);
	expect_names(&bench, 0, plain_names);
	expect_oracle(&bench);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	assert_string_equal(name_of(&bench, bench.count - 1), "_start");
	assert_int_equal(bench.frame[0].flags, 0);
	assert_int_equal(bench.frame[1].flags, FRAME_RETURN);
	finish(&bench);
}

/* As the shim sends it: a return address, and the stack from just below it. */
static void stack_from_a_return_address(void **state)
{
	struct bench bench;
	struct frame whole[STACKS_MAX_FRAMES];
	struct unwind_input *input = &bench.harness.input;
	uint32_t count;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "plain", NULL);
	count = bench.count;
	memcpy(whole, bench.frame, sizeof(whole));

	/* victim_stop has no frame of its own: its return address is at rsp. */
	memcpy(&input->registers.rip,
	       input->stack + (input->registers.rsp - input->stack_address), 8);
	input->registers.rsp += 8;
	input->first_is_return = true;
	walk(&bench);
	assert_int_equal(bench.count, count - 1);
	assert_memory_equal(bench.frame, whole + 1, bench.count * sizeof(whole[0]));
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

static void static_program(void **state)
{
	struct bench bench;

	(void)state;
	if (access(harness_path("unwind_static"), X_OK) != 0)
		skip();
	walk_at_stop(&bench, "unwind_static", "plain", NULL);
	expect_names(&bench, 0, plain_names);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	assert_string_equal(name_of(&bench, bench.count - 1), "_start");
	finish(&bench);
}

static void through_libc_and_back(void **state)
{
	static const char *const names[] = { "victim_stop", "victim_leaf", "*", NULL };
	struct bench bench;
	bool sort = false;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "sort", NULL);
	expect_names(&bench, 0, names);
	expect_oracle(&bench);
	for (uint32_t i = 0; i < bench.count; i++)
		sort |= strcmp(name_of(&bench, i), "victim_sort") == 0;
	assert_true(sort);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

/* Frames with clean-ups: their CIE has a personality routine behind a writable pointer. */
static void cxx_with_personality(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench, "unwind_cxx", NULL, NULL);
	for (int stops = 0; stops < 4; stops++) {
		if (!harness_run_to_stop(&bench.harness))
			break;
		take_and_walk(&bench);
		expect_oracle(&bench);
		assert_string_equal(name_of(&bench, 0), "victim_stop");
		assert_int_equal(bench.end, UNWIND_COMPLETE);
	}
	finish(&bench);
}

static void signal_frame(struct bench *bench, const char *scene)
{
	static const char *const names[] = { "victim_stop", "victim_leaf", "handler", NULL };
	static const char *const below[] = { "victim_raise", "main", NULL };

	start(bench, "unwind_victim", scene, NULL);
	assert_true(harness_run_to_stop(&bench->harness));
	take_and_walk(bench);
	expect_names(bench, 0, names);
	assert_int_equal(bench->frame[3].flags, FRAME_SIGNAL);
	/* The interrupted place is exact, no return address: syscall() in libc. */
	assert_int_equal(bench->frame[4].flags, 0);
	if (bench->end == UNWIND_COMPLETE) {
		expect_names(bench, 5, below);
		expect_oracle(bench);
	}
}

static void signal_on_the_stack(void **state)
{
	struct bench bench;

	(void)state;
	signal_frame(&bench, "signal");
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

/* The rest lies on another stack, which was not copied: that is said. */
static void signal_on_an_alternate_stack(void **state)
{
	struct bench bench;

	(void)state;
	signal_frame(&bench, "altstack");
	assert_int_equal(bench.end, UNWIND_TRUNCATED);
	finish(&bench);
}

static void thread_to_its_start(void **state)
{
	static const char *const names[] = {
		"victim_stop", "victim_leaf", "victim_alloca", "victim_aligned", "victim_pushes",
		"victim_outer", "thread_main", NULL,
	};
	struct bench bench;

	(void)state;
	start(&bench, "unwind_victim", "thread", NULL);
	assert_true(harness_run_to_stop(&bench.harness));
	assert_int_not_equal(bench.harness.tid, bench.harness.pid);
	take_and_walk(&bench);
	expect_names(&bench, 0, names);
	expect_oracle(&bench);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

static void blocked_in_a_system_call(void **state)
{
	struct bench bench;
	uint32_t at = 0;

	(void)state;
	start(&bench, "unwind_victim", "blocked", NULL);
	harness_run_to_syscall(&bench.harness, SYS_read);
	take_and_walk(&bench);
	expect_oracle(&bench);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	while (at < 3 && !strstr(name_of(&bench, at), "read"))	/* glibc 2.41: two below read() */
		at++;
	assert_non_null(strstr(name_of(&bench, at), "read"));
	assert_string_equal(name_of(&bench, at + 1), "victim_blocked");
	finish(&bench);
}

static void in_the_vdso(void **state)
{
	struct bench bench;
	const struct module *module = NULL;

	(void)state;
	start(&bench, "unwind_victim", "vdso", NULL);
	assert_true(harness_run_to_stop(&bench.harness));
	harness_take(&bench.harness);
	for (int i = 0; i < 10000; i++) {
		assert_true(harness_single_step(&bench.harness));
		harness_take_registers(&bench.harness);
		module = modules_find(bench.harness.modules, bench.harness.input.registers.rip);
		if (module && module->kind == MODULE_VDSO)
			break;
	}
	assert_non_null(module);
	assert_int_equal(module->kind, MODULE_VDSO);
	/* Not at its first instruction alone. */
	for (int i = 0; i < 20; i++) {
		bool found = false;

		take_and_walk(&bench);
		for (uint32_t j = 0; j < bench.count; j++)
			found |= strcmp(name_of(&bench, j), "victim_clock") == 0;
		assert_true(found);
		assert_int_equal(bench.end, UNWIND_COMPLETE);
		assert_true(harness_single_step(&bench.harness));
	}
	finish(&bench);
}

static void plain_to_the_start(const char *victim)
{
	struct bench bench;

	walk_at_stop(&bench, victim, "plain", NULL);
	expect_names(&bench, 0, plain_names);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	assert_string_equal(name_of(&bench, bench.count - 1), "_start");
	finish(&bench);
}

/* Neither libunwind-ptrace nor our search has a table here: libdw's rules do. */
static void without_a_search_table(void **state)
{
	(void)state;
	plain_to_the_start("unwind_nohdr");
}

static void debug_frame_only(void **state)
{
	(void)state;
	plain_to_the_start("unwind_debugframe");
}

/* Rules of libdw, then libunwind through libc's qsort, then libdw again. */
static void both_ways_in_one_stack(void **state)
{
	struct bench bench;
	bool sort = false;

	(void)state;
	walk_at_stop(&bench, "unwind_debugframe", "sort", NULL);
	for (uint32_t i = 0; i < bench.count; i++)
		sort |= strcmp(name_of(&bench, i), "victim_sort") == 0;
	assert_true(sort);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

static void jit_frame_by_frame_pointer(void **state)
{
	static const char *const names[] = {
		"victim_stop", "victim_leaf", "?", "victim_jit", "main", NULL,
	};
	struct bench bench;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "jit", NULL);
	expect_names(&bench, 0, names);
	assert_int_equal(bench.frame[2].module, 0);
	assert_int_equal(bench.frame[2].flags, FRAME_RETURN);
	assert_int_equal(bench.frame[3].flags, FRAME_RETURN | FRAME_GUESSED);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

/* A frame pointer that leads to no return address is not followed. */
static void jit_frame_with_a_bad_frame_pointer(void **state)
{
	struct bench bench;
	uint64_t rbp, zero = 0x1234;

	(void)state;
	start(&bench, "unwind_victim", "jit", NULL);
	assert_true(harness_run_to_stop(&bench.harness));
	harness_take(&bench.harness);
	rbp = bench.harness.input.registers.rbp;
	memcpy(bench.harness.stack + (rbp + 8 - bench.harness.input.stack_address), &zero, 8);
	walk(&bench);
	assert_int_equal(bench.count, 3);
	assert_int_equal(bench.end, UNWIND_TRUNCATED);
	finish(&bench);
}

static void depth_is_capped(void **state)
{
	struct bench bench;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "deep", "2000");
	assert_int_equal(bench.count, STACKS_MAX_FRAMES);
	assert_int_equal(bench.end, UNWIND_TRUNCATED);
	assert_string_equal(name_of(&bench, bench.count - 1), "victim_deep");
	finish(&bench);
}

/* Whatever the copy is cut to, what is walked is a prefix of the whole, marked truncated. */
static void truncated_copies(void **state)
{
	struct bench bench;
	struct frame whole[STACKS_MAX_FRAMES];
	uint32_t count;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "plain", NULL);
	count = bench.count;
	memcpy(whole, bench.frame, sizeof(whole));
	for (size_t bytes = 0; bytes < 2048; bytes += 4) {
		bench.harness.input.stack_bytes = bytes;
		walk(&bench);
		assert_true(bench.count >= 1 && bench.count <= count);
		assert_memory_equal(bench.frame, whole, bench.count * sizeof(whole[0]));
		assert_int_equal(bench.end, bench.count == count ? UNWIND_COMPLETE
								 : UNWIND_TRUNCATED);
	}
	finish(&bench);
}

static void bad_input(void **state)
{
	struct bench bench;
	uint32_t stack;

	(void)state;
	start(&bench, "unwind_victim", "plain", NULL);
	assert_true(harness_run_to_stop(&bench.harness));
	harness_take(&bench.harness);
	bench.harness.input.registers.rip = 0x10;
	walk(&bench);
	assert_int_equal(bench.count, 1);
	assert_int_equal(bench.frame[0].module, 0);
	assert_int_equal(bench.frame[0].offset, 0x10);
	assert_int_equal(bench.end, UNWIND_TRUNCATED);
	bench.harness.input.stack = NULL;
	assert_int_equal(unwinder_walk(bench.unwinder, &bench.harness.input, bench.frame,
				       &bench.count, &bench.end), -EINVAL);
	assert_int_equal(unwinder_stack(bench.unwinder, bench.stacks, &bench.harness.input, &stack),
			 -EINVAL);
	finish(&bench);
}

/* The second library lies where the first was; both stacks keep their names. */
static void library_replaced_at_its_address(void **state)
{
	static const char *const first[] = { "victim_stop", "victim_leaf", "plug_inner_a",
					     "unwind_plug", "call_plug", NULL };
	static const char *const second[] = { "victim_stop", "victim_leaf", "plug_inner_b",
					      "unwind_plug", "call_plug", NULL };
	struct frame old[STACKS_MAX_FRAMES];
	struct bench bench;
	uint64_t place;
	uint32_t module;

	(void)state;
	walk_at_stop(&bench, "unwind_victim", "plug", harness_directory());
	memcpy(old, bench.frame, sizeof(old));
	module = bench.frame[2].module;
	place = address_of(&bench, 2);

	assert_true(harness_run_to_stop(&bench.harness));
	take_and_walk(&bench);
	assert_int_equal(address_of(&bench, 2), place);
	assert_int_not_equal(bench.frame[2].module, module);
	expect_names(&bench, 0, second);
	assert_true(modules_get(bench.harness.modules, module)->closed);
	memcpy(bench.frame, old, sizeof(old));
	expect_names(&bench, 0, first);
	finish(&bench);
}

/* No file at all: what the target has in memory serves instead. */
static void files_out_of_reach(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench, "unwind_victim", "plain", NULL);
	bench.harness.refuse_files = true;
	assert_true(harness_run_to_stop(&bench.harness));
	take_and_walk(&bench);
	expect_oracle(&bench);
	assert_int_equal(bench.end, UNWIND_COMPLETE);
	finish(&bench);
}

/* A process that asks the kernel about signal masks from now on is killed. */
static bool forbid_masks(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	return filter &&
	       seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(rt_sigprocmask), 0) == 0 &&
	       seccomp_load(filter) == 0;
}

/* 0: both walks were done. */
static int walk_without_masks(struct bench *bench)
{
	uint32_t stack;

	if (!forbid_masks())
		return 2;
	if (unwinder_walk(bench->unwinder, &bench->harness.input, bench->frame, &bench->count,
			  &bench->end) < 0 || bench->end != UNWIND_COMPLETE)
		return 3;
	return unwinder_stack(bench->unwinder, bench->stacks, &bench->harness.input, &stack) < 0;
}

/* libunwind's locks cost no system call (unwind_locks.h). */
static void locks_without_system_calls(void **state)
{
	struct bench bench;
	int status;
	pid_t child;

	(void)state;
	start(&bench, "unwind_victim", "plain", NULL);
	assert_true(harness_run_to_stop(&bench.harness));
	harness_take(&bench.harness);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(walk_without_masks(&bench));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	finish(&bench);
}

/* What the kernel knows of a set. */
static unsigned long first_word(const sigset_t *set)
{
	return *(const unsigned long *)(const void *)set;
}

/* Everybody else's sigprocmask() is the C library's, after a walk, too. */
static void masks_of_others(void **state)
{
	struct bench bench;
	sigset_t wanted, before, now;

	(void)state;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR2);
	assert_int_equal(sigprocmask(SIG_BLOCK, &wanted, &before), 0);
	walk_at_stop(&bench, "unwind_victim", "plain", NULL);
	finish(&bench);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, &now), 0);
	assert_int_equal(sigismember(&now, SIGUSR2), 1);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	assert_int_equal(sigismember(&now, SIGUSR2), sigismember(&before, SIGUSR2));
	errno = 0;
	assert_int_equal(sigprocmask(-1, &wanted, NULL), -1);
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_int_equal(pthread_sigmask(-1, &wanted, NULL), EINVAL);
	assert_int_equal(errno, 0);
	memset(&wanted, 0xff, sizeof(wanted));	/* the C library's own two, too */
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &wanted, &now), 0);
	assert_int_equal(first_word(&now), first_word(&before));
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &now), 0);
	assert_int_equal(first_word(&now) >> 31 & 3, 0);
}

/* Both ways by which releases of libunwind ask. */
static void masks_of_libunwind(void **state)
{
	int (*const way[])(int, const sigset_t *restrict, sigset_t *restrict) = {
		sigprocmask, pthread_sigmask
	};
	sigset_t all, before, now;

	(void)state;
	sigfillset(&all);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &before), 0);
	for (size_t i = 0; i < 2; i++) {
		unwind_locks_begin();
		assert_int_equal(way[i](SIG_SETMASK, &all, &now), 0);
		unwind_locks_end();
		assert_true(sigisemptyset(&now));
		assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &now), 0);
		assert_int_equal(first_word(&now), first_word(&before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_stack),
		cmocka_unit_test(stack_from_a_return_address),
		cmocka_unit_test(static_program),
		cmocka_unit_test(through_libc_and_back),
		cmocka_unit_test(cxx_with_personality),
		cmocka_unit_test(signal_on_the_stack),
		cmocka_unit_test(signal_on_an_alternate_stack),
		cmocka_unit_test(thread_to_its_start),
		cmocka_unit_test(blocked_in_a_system_call),
		cmocka_unit_test(in_the_vdso),
		cmocka_unit_test(without_a_search_table),
		cmocka_unit_test(debug_frame_only),
		cmocka_unit_test(both_ways_in_one_stack),
		cmocka_unit_test(jit_frame_by_frame_pointer),
		cmocka_unit_test(jit_frame_with_a_bad_frame_pointer),
		cmocka_unit_test(depth_is_capped),
		cmocka_unit_test(truncated_copies),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(library_replaced_at_its_address),
		cmocka_unit_test(files_out_of_reach),
		cmocka_unit_test(locks_without_system_calls),
		cmocka_unit_test(masks_of_others),
		cmocka_unit_test(masks_of_libunwind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
