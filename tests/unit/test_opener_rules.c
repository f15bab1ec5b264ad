/* SPDX-License-Identifier: MIT */
/* test_opener_rules.c - which files a session may have opened, and which it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/recording/unnamed.h"
#include "src/sandbox/opener_rules.h"
#include "src/session/session.h"

#define SQLITE_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)

/* A folder with files of each kind in it. */
struct lab {
	char folder[64];
	struct session_options options;
	pid_t target;
	struct opener_rules rules;
};

static const char *in(const struct lab *lab, const char *name)
{
	static char path[64][512];
	static unsigned int next;
	char *to = path[next++ % ARRAY_SIZE(path)];

	(void)snprintf(to, sizeof(path[0]), "%s/%s", lab->folder, name);
	return to;
}

static void put(const struct lab *lab, const char *name, const void *bytes, size_t count)
{
	int fd = open(in(lab, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	(void)close(fd);
}

static void put_elf(const struct lab *lab, const char *name, uint16_t type)
{
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB }, .e_type = type };

	put(lab, name, &header, sizeof(header));
}

static void begin(struct lab *lab)
{
	(void)snprintf(lab->folder, sizeof(lab->folder), "/tmp/memattach-rules.XXXXXX");
	assert_non_null(mkdtemp(lab->folder));
	put_elf(lab, "debug", ET_DYN);
	put_elf(lab, "core", ET_CORE);
	put(lab, "secret", "secret", 6);
	put(lab, "source.c", "int x;", 6);
	lab->options = (struct session_options){ .task = SESSION_WATCH };
	lab->target = getpid();
}

static void use(struct lab *lab)
{
	const struct opener_needs needs = session_opener_needs(&lab->options);
	struct file_reader reader;

	file_reader_of(lab->target, &reader);
	assert_int_equal(opener_rules_init(&needs, &reader, &lab->rules), 0);
}

static void end(struct lab *lab)
{
	char command[128];

	opener_rules_done(&lab->rules);
	(void)snprintf(command, sizeof(command), "rm -r %s", lab->folder);
	assert_int_equal(system(command), 0);
}

/* 0 it is opened, or -errno. */
static int opens(const struct lab *lab, const char *path, int flags)
{
	const struct opener_file file = { .path = path, .flags = flags, .mode = 0644,
					  .from = getpid() };
	int fd = opener_rules_open(&lab->rules, &file);

	if (fd > 0)
		(void)close(fd);
	return fd > 0 ? 0 : fd;
}

static void programs_are_read_and_no_more(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	use(&lab);
	assert_int_equal(opens(&lab, in(&lab, "debug"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "debug"), O_RDWR), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "debug"), O_RDONLY | O_TRUNC), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "debug"), O_RDONLY | O_PATH), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "core"), O_RDONLY), -ENOENT);
	assert_int_equal(opens(&lab, in(&lab, "secret"), O_RDONLY), -ENOENT);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), -ENOENT);
	assert_int_equal(opens(&lab, in(&lab, "none"), O_RDONLY), -ENOENT);
	assert_int_equal(opens(&lab, in(&lab, "new"), SQLITE_FLAGS), -EACCES);
	assert_int_equal(opens(&lab, lab.folder, O_RDONLY), -ENOENT);
	assert_int_equal(mkfifo(in(&lab, "fifo"), 0600), 0);
	assert_int_equal(opens(&lab, in(&lab, "fifo"), O_RDONLY), -ENOENT);
	assert_int_equal(opens(&lab, "/proc/self/mem", O_RDONLY), -ENOENT);
	assert_int_equal(opens(&lab, "/proc/self/statm", O_RDONLY), 0);
	assert_int_equal(opens(&lab, "/proc/self/statm", O_RDWR), -EACCES);
	assert_int_equal(opens(&lab, "/dev/null", O_WRONLY), 0);
	assert_int_equal(opener_rules_remove(&lab.rules, in(&lab, "debug")), -EACCES);
	end(&lab);
}

static void sources_are_read_where_they_are_asked_about(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	lab.options.leaks = true;
	use(&lab);
	assert_int_equal(chmod(in(&lab, "source.c"), 0600), 0);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "secret"), O_RDONLY), -ENOENT);
	opener_rules_done(&lab.rules);
	lab.options.only_public = true;
	use(&lab);
	assert_int_equal(chmod(lab.folder, 0755), 0);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), -EACCES);
	assert_int_equal(chmod(in(&lab, "source.c"), 0644), 0);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), 0);
	end(&lab);

	begin(&lab);
	for (const char *const *view = (const char *const[]){ "tree", "source", NULL }; *view;
	     view++) {
		lab.options.view = view_find(*view);
		use(&lab);
		assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY),
				 strcmp(*view, "source") == 0 ? 0 : -ENOENT);
		opener_rules_done(&lab.rules);
	}
	use(&lab);
	end(&lab);
}

/* A process of another user's; it waits until it is killed. */
static pid_t process_of(uid_t uid)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		if (setgroups(0, NULL) == 0 && setgid(uid) == 0 && setuid(uid) == 0 &&
		    write(ready[1], "r", 1) == 1)
			(void)pause();
		_exit(1);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return child;
}

/* Root may read more than the target's owner; a link may lead there. */
static void files_are_read_that_the_owner_may_read(void **state)
{
	const uid_t other = 65534;
	struct lab lab;

	(void)state;
	if (geteuid() != 0)
		skip();
	begin(&lab);
	lab.options.leaks = true;
	lab.target = process_of(other);
	use(&lab);
	assert_int_equal(symlink("source.c", in(&lab, "link.c")), 0);
	assert_int_equal(symlink("secret", in(&lab, "secret.c")), 0);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), -EACCES);	/* 0700 */
	assert_int_equal(opens(&lab, in(&lab, "debug"), O_RDONLY), -EACCES);
	assert_int_equal(chmod(lab.folder, 0711), 0);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "link.c"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "debug"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "secret.c"), O_RDONLY), -ENOENT);
	assert_int_equal(chmod(in(&lab, "source.c"), 0600), 0);
	assert_int_equal(opens(&lab, in(&lab, "source.c"), O_RDONLY), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "link.c"), O_RDONLY), -EACCES);
	assert_int_equal(chown(in(&lab, "source.c"), other, 0), 0);
	assert_int_equal(opens(&lab, in(&lab, "link.c"), O_RDONLY), 0);
	assert_int_equal(chown(in(&lab, "source.c"), 0, other), 0);
	assert_int_equal(opens(&lab, in(&lab, "link.c"), O_RDONLY), -EACCES);
	assert_int_equal(chmod(in(&lab, "source.c"), 0640), 0);
	assert_int_equal(opens(&lab, in(&lab, "link.c"), O_RDONLY), 0);
	(void)kill(lab.target, SIGKILL);
	(void)waitpid(lab.target, NULL, 0);
	opener_rules_done(&lab.rules);
	use(&lab);	/* of a process that is gone: what everybody may read */
	assert_int_equal(opens(&lab, in(&lab, "link.c"), O_RDONLY), -EACCES);
	end(&lab);
}

/* Files that debuginfod's client fetched for us lie in a folder of ours. */
static void fetched_debug_information_is_read(void **state)
{
	struct lab lab;

	(void)state;
	if (geteuid() != 0)
		skip();
	begin(&lab);
	lab.target = process_of(65534);
	lab.options.leaks = true;
	use(&lab);
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", in(&lab, "cache"), 1), 0);
	assert_int_equal(mkdir(in(&lab, "cache"), 0700), 0);
	assert_int_equal(mkdir(in(&lab, "cache/00ff"), 0700), 0);
	assert_int_equal(mkdir(in(&lab, "cache/secrets"), 0700), 0);
	put_elf(&lab, "cache/00ff/debuginfo", ET_DYN);
	put_elf(&lab, "cache/00ff/executable", ET_DYN);
	put_elf(&lab, "cache/secrets/debuginfo", ET_DYN);
	assert_int_equal(opens(&lab, in(&lab, "cache/00ff/debuginfo"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "cache/00ff/../00ff/debuginfo"), O_RDONLY), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "cache/00ff/executable"), O_RDONLY), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "cache/secrets/debuginfo"), O_RDONLY), -EACCES);
	put(&lab, "cache/00ff/debuginfo", "secret", 6);
	assert_int_equal(opens(&lab, in(&lab, "cache/00ff/debuginfo"), O_RDONLY), -ENOENT);
	assert_int_equal(unsetenv("DEBUGINFOD_CACHE_PATH"), 0);
	(void)kill(lab.target, SIGKILL);
	(void)waitpid(lab.target, NULL, 0);
	end(&lab);
}

static void expect_reader(const struct lab *lab, uint32_t owner, bool unbounded, bool known,
			  uid_t uid)
{
	struct file_reader reader;

	file_reader_of_recording(in(lab, "recording"), owner, &reader);
	assert_int_equal(reader.unbounded, unbounded);
	assert_int_equal(reader.known, known);
	assert_int_equal(reader.uid, uid);
}

/* A recording of another user's may name anything and say that it is of root's process. */
static void a_recording_is_believed_as_far_as_its_owner(void **state)
{
	const uid_t other = 65534;
	struct lab lab;

	(void)state;
	if (geteuid() != 0)
		skip();
	begin(&lab);
	use(&lab);
	put(&lab, "recording", "", 0);
	expect_reader(&lab, 0, false, false, 0);
	expect_reader(&lab, 1, true, true, 0);
	expect_reader(&lab, 1002, false, true, 1001);
	assert_int_equal(chown(in(&lab, "recording"), other, 0), 0);
	expect_reader(&lab, 0, false, true, other);
	expect_reader(&lab, 1, false, true, other);
	end(&lab);
}

static void check_recording(struct lab *lab, const char *name)
{
	char log[64];

	(void)snprintf(log, sizeof(log), "%s-wal", name);
	assert_int_equal(opens(lab, in(lab, name), SQLITE_FLAGS), 0);
	assert_int_equal(opens(lab, in(lab, log), SQLITE_FLAGS), 0);
	assert_int_equal(opens(lab, lab->folder, O_RDONLY), 0);	/* to sync it */
	assert_int_equal(opens(lab, lab->folder, O_RDWR), -EACCES);
	assert_int_equal(opens(lab, "/tmp", O_RDONLY), -ENOENT);
	assert_int_equal(opens(lab, in(lab, "secret"), O_RDWR), -EACCES);
	assert_int_equal(opens(lab, in(lab, "recording-other"), SQLITE_FLAGS), -EACCES);
	assert_int_equal(opener_rules_remove(&lab->rules, in(lab, "secret")), -EACCES);
	assert_int_equal(opener_rules_remove(&lab->rules, in(lab, log)), 0);
	assert_int_equal(opener_rules_remove(&lab->rules, in(lab, log)), -ENOENT);
}

/* Whichever way its path is written. */
static void a_recording_is_written_with_what_lies_beside_it(void **state)
{
	char path[128];
	struct lab lab;

	(void)state;
	begin(&lab);
	(void)snprintf(path, sizeof(path), "%s/../%s/recording", lab.folder,
		       strrchr(lab.folder, '/') + 1);
	lab.options.output = path;
	use(&lab);
	check_recording(&lab, "recording");
	opener_rules_done(&lab.rules);
	assert_int_equal(symlink("recording", in(&lab, "link")), 0);
	lab.options.output = in(&lab, "link");
	use(&lab);
	check_recording(&lab, "recording");
	opener_rules_done(&lab.rules);
	assert_int_equal(unlink(in(&lab, "recording")), 0);	/* the link leads nowhere yet */
	use(&lab);
	check_recording(&lab, "recording");
	/* somebody puts a link where it was */
	assert_int_equal(unlink(in(&lab, "recording")), 0);
	assert_int_equal(symlink("secret", in(&lab, "recording")), 0);
	assert_int_equal(opens(&lab, in(&lab, "recording"), O_RDWR), -ELOOP);
	end(&lab);
}

static void a_history_is_not_changed(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	lab.options.history = in(&lab, "secret");
	use(&lab);
	assert_int_equal(opens(&lab, in(&lab, "secret"), O_RDONLY), 0);
	assert_int_equal(opens(&lab, in(&lab, "secret"), O_RDWR), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "secret-wal"), SQLITE_FLAGS), -EACCES);
	assert_int_equal(opens(&lab, in(&lab, "secret-shm"), SQLITE_FLAGS), 0);
	assert_int_equal(opener_rules_remove(&lab.rules, in(&lab, "secret")), -EACCES);
	end(&lab);
}

static void a_recording_without_a_name_is_opened_by_number(void **state)
{
	struct recording_unnamed unnamed;
	char path[64];
	struct lab lab;

	(void)state;
	begin(&lab);
	assert_int_equal(recording_unnamed_new(lab.folder, &unnamed), 0);
	lab.options.output = "";
	lab.options.unnamed = &unnamed;
	use(&lab);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", unnamed.file);
	assert_int_equal(opens(&lab, path, O_RDWR), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", unnamed.journal + 1);
	assert_true(opens(&lab, path, O_RDWR) < 0);
	recording_unnamed_done(&unnamed);
	end(&lab);
}

static void a_log_is_written_at_its_place(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	lab.options.output = in(&lab, "log");
	lab.options.trace = true;
	use(&lab);
	assert_int_equal(opens(&lab, in(&lab, "log"), O_WRONLY | O_CREAT | O_TRUNC), 0);
	assert_int_equal(opens(&lab, in(&lab, "log-wal"), SQLITE_FLAGS), -EACCES);
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_read_and_no_more),
		cmocka_unit_test(sources_are_read_where_they_are_asked_about),
		cmocka_unit_test(files_are_read_that_the_owner_may_read),
		cmocka_unit_test(fetched_debug_information_is_read),
		cmocka_unit_test(a_recording_is_believed_as_far_as_its_owner),
		cmocka_unit_test(a_recording_is_written_with_what_lies_beside_it),
		cmocka_unit_test(a_history_is_not_changed),
		cmocka_unit_test(a_recording_without_a_name_is_opened_by_number),
		cmocka_unit_test(a_log_is_written_at_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
