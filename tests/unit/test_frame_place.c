/* SPDX-License-Identifier: MIT */
/* test_frame_place.c - a child that could be on a fiber: what of its first stack may be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/tracee/frame_place.h"
#include "inject/arch/x86_64/frame.h"
#include "inject/tracee/remote_mem.h"
#include "inject/tracee/sharers.h"

enum { FIBER = 64 << 10, CALL_STACK = 256 << 10, XSTATE = 2440, PAGE = 4096 };

struct trial {
	pid_t pid;
	struct target target;
	struct procmaps maps;
	uint64_t stack, stack_end, fiber;
};

/* There until it is killed; its memory is shared with another process, or with none. */
static int live(void *shared)
{
	if (shared && syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0) < 0)
		_exit(1);
	for (;;)
		(void)pause();
}

static void begin(struct trial *t, bool shared)
{
	struct pidref ref = PIDREF_NONE;

	*t = (struct trial){ .fiber = (uintptr_t)mmap(NULL, FIBER, PROT_READ | PROT_WRITE,
						      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	t->pid = fork();
	if (t->pid == 0)
		(void)live(shared ? t : NULL);
	assert_int_equal(pidref_open(t->pid, &ref), 0);
	assert_int_equal(target_open(&ref, &t->target), 0);
	for (int i = 0; shared && !sharers_exist(&t->target); i++) {
		assert_true(i < 20000);	/* it is making the other */
		(void)usleep(1000);
	}
	assert_int_equal(procmaps_read(t->target.maps, &t->maps), 0);
	for (size_t i = 0; i < t->maps.count; i++)
		if (strcmp(t->maps.map[i].path, "[stack]") == 0) {
			t->stack = t->maps.map[i].start;
			t->stack_end = t->maps.map[i].end;
		}
	assert_true(t->stack != 0);
}

static void end(struct trial *t)
{
	char children[64];
	FILE *file;
	int child;

	(void)snprintf(children, sizeof(children), "/proc/%d/task/%d/children", (int)t->pid,
		       (int)t->pid);
	file = fopen(children, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		(void)kill(child, SIGKILL);
	if (file)
		(void)fclose(file);
	(void)kill(t->pid, SIGKILL);
	assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
	procmaps_done(&t->maps);
	target_done(&t->target);
	(void)munmap((void *)(uintptr_t)t->fiber, FIBER);
}

static uint64_t find(const struct trial *t, uint64_t sp, uint64_t room)
{
	struct user_regs_struct registers = { .rsp = sp };

	return frame_place_find(&t->target, &t->maps, t->pid, &registers, room);
}

static uint64_t find_on_fiber(const struct trial *t) { return find(t, t->fiber + FIBER / 2, 0); }

/* Returns where it lies. */
static uint64_t put_frame(const struct trial *t, uint64_t below)
{
	static const uint8_t xstate[XSTATE];
	struct user_regs_struct registers = { .rsp = t->fiber };
	struct frame_input input = { .registers = &registers, .below = below, .xstate = xstate,
				     .xstate_bytes = XSTATE };
	static struct frame_image frame;

	assert_int_equal(frame_build(&input, &frame), 0);
	assert_int_equal(remote_write(&t->target, frame.address, frame.data, frame.bytes), 0);
	return frame.address;
}

static void put_byte(const struct trial *t, uint64_t address)
{
	assert_int_equal(remote_write(&t->target, address, "x", 1), 0);
}

static void the_unused_end_is_taken(void **state)
{
	struct trial t;
	uint64_t place;

	(void)state;
	begin(&t, false);
	assert_int_equal(find(&t, t.stack_end - 4096, 0), t.stack_end - 4096);
	place = find_on_fiber(&t);
	assert_in_range(place, t.stack + PAGE, t.stack_end - 1);
	assert_int_equal(find(&t, t.fiber + FIBER / 2, CALL_STACK), 0);
	end(&t);
}

static void above_a_page_of_zeros(void **state)
{
	struct trial t;
	uint64_t place;

	(void)state;
	begin(&t, false);
	place = find_on_fiber(&t);
	assert_int_equal(remote_write(&t.target, t.stack, "", 1), 0);
	assert_int_equal(find_on_fiber(&t), place + PAGE);
	(void)put_frame(&t, place + PAGE);
	assert_int_equal(find_on_fiber(&t), place + PAGE);
	assert_int_equal(remote_write(&t.target, t.stack + PAGE, "", 1), 0);
	assert_int_equal(find_on_fiber(&t), 0);
	end(&t);
}

/* Our own frames do not make it a used one, the program's bytes do, wherever they are. */
static void our_frames_do_not_count(void **state)
{
	struct trial t;
	uint64_t place, frame;

	(void)state;
	begin(&t, false);
	place = find_on_fiber(&t);
	frame = put_frame(&t, place);
	assert_int_equal(find_on_fiber(&t), place);
	frame = put_frame(&t, frame);
	assert_int_equal(find_on_fiber(&t), place);
	put_byte(&t, (frame & ~(uint64_t)(PAGE - 1)) - PAGE);
	assert_int_equal(find_on_fiber(&t), 0);
	end(&t);
}

static void a_used_end_is_not(void **state)
{
	struct trial t;

	(void)state;
	for (int page = 0; page < 2; page++) {
		begin(&t, false);
		put_byte(&t, page ? find_on_fiber(&t) - PAGE : t.stack);
		assert_int_equal(find_on_fiber(&t), 0);
		end(&t);
	}
}

static void nor_one_that_is_shared(void **state)
{
	struct trial t;

	(void)state;
	begin(&t, true);
	assert_int_equal(find_on_fiber(&t), 0);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_unused_end_is_taken),
		cmocka_unit_test(above_a_page_of_zeros),
		cmocka_unit_test(our_frames_do_not_count),
		cmocka_unit_test(a_used_end_is_not),
		cmocka_unit_test(nor_one_that_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
