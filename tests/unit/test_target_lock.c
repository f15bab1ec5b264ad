/* SPDX-License-Identifier: MIT */
/* test_target_lock.c - one memattach at a process, and nobody else's socket keeps it out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <unistd.h>

#include "inject/attach/target_lock.h"

#define NOBODY 65534u

static int open_self(void **state)
{
	static struct pidref self;

	*state = &self;
	return pidref_open(getpid(), &self);
}

static int close_self(void **state)
{
	pidref_done(*state);
	return 0;
}

static void is_held_by_one(void **state)
{
	const struct pidref *self = *state;
	int first, second;

	assert_false(target_lock_is_held(self));
	assert_int_equal(target_lock_take(self, &first), 0);
	assert_true(target_lock_is_held(self));
	assert_int_equal(target_lock_take(self, &second), -EALREADY);
	assert_int_equal(close(first), 0);
	assert_false(target_lock_is_held(self));
	assert_int_equal(target_lock_take(self, &second), 0);
	assert_int_equal(close(second), 0);
}

static const char *const end[] = { "", "-", "-0", "-full", "-deadbeef" };

static socklen_t make_name(const struct pidref *ref, const char *last, struct sockaddr_un *ret)
{
	int length;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "memattach-%d-%llu%s",
			  ref->pid, (unsigned long long)ref->start_time, last);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)length;
}

/* Listening sockets with names as locks have them, and one whose queue is full: nobody accepts. */
static _Noreturn void occupy_all(const struct pidref *ref, uid_t uid, int ready, int keep)
{
	struct sockaddr_un name;
	char byte = 0;

	if (setresuid(uid, uid, uid) < 0)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(end); i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		socklen_t length = make_name(ref, end[i], &name);

		if (bind(fd, (const struct sockaddr *)&name, length) < 0 ||
		    listen(fd, strcmp(end[i], "-full") ? SOMAXCONN : 0) < 0)
			_exit(1);
		for (int j = 0; j < 3 && strcmp(end[i], "-full") == 0; j++)
			(void)!connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0),
				       (const struct sockaddr *)&name, length);
	}
	(void)!write(ready, &byte, 1);
	(void)!read(keep, &byte, 1);
	_exit(0);
}

struct occupier {
	pid_t child;
	int keep;
};

static struct occupier occupier_begin(const struct pidref *ref, uid_t uid)
{
	int ready[2], keep[2];
	struct occupier ret;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(keep), 0);
	ret.child = fork();
	if (ret.child == 0) {
		close(keep[1]);
		occupy_all(ref, uid, ready[1], keep[0]);
	}
	close(ready[1]);
	close(keep[0]);
	ret.keep = keep[1];
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return ret;
}

static void occupier_end(const struct occupier *occupier)
{
	int status;

	close(occupier->keep);
	assert_int_equal(waitpid(occupier->child, &status, 0), occupier->child);
	assert_int_equal(status, 0);
}

static void belongs_to_those_who_may_trace(void **state)
{
	const struct pidref *self = *state;
	struct occupier other;
	int lock;

	if (geteuid() != 0)
		skip();
	other = occupier_begin(self, NOBODY);
	assert_false(target_lock_is_held(self));
	assert_int_equal(target_lock_take(self, &lock), 0);
	assert_true(target_lock_is_held(self));
	assert_int_equal(close(lock), 0);
	occupier_end(&other);
	other = occupier_begin(self, 0);
	assert_true(target_lock_is_held(self));
	assert_int_equal(target_lock_take(self, &lock), -EALREADY);
	occupier_end(&other);
	assert_false(target_lock_is_held(self));
}

/* Of many that begin at once exactly one gets it. */
static void goes_to_one_of_many(void **state)
{
	enum { MANY = 12 };
	const struct pidref *self = *state;
	int begin[2], keep[2], winners = 0;
	char byte;

	assert_int_equal(pipe(begin), 0);
	assert_int_equal(pipe(keep), 0);
	for (int i = 0; i < MANY; i++) {
		if (fork() == 0) {
			int lock;

			close(begin[1]);
			close(keep[1]);
			(void)!read(begin[0], &byte, 1);
			if (target_lock_take(self, &lock))
				_exit(0);
			(void)!read(keep[0], &byte, 1);
			_exit(1);
		}
	}
	close(begin[1]);
	for (int i = 0; i < MANY; i++) {
		int status;

		if (i == MANY - 1)
			close(keep[1]);		/* the others have given up by now */
		assert_true(wait(&status) > 0);
		winners += WEXITSTATUS(status);
	}
	assert_int_equal(winners, 1);
	close(begin[0]);
	close(keep[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_held_by_one, open_self, close_self),
		cmocka_unit_test_setup_teardown(belongs_to_those_who_may_trace, open_self,
						close_self),
		cmocka_unit_test_setup_teardown(goes_to_one_of_many, open_self, close_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
