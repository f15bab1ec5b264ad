/* SPDX-License-Identifier: MIT */
/*
 * test_pristine.c - a child is changed in one way at a time, and each must be seen.
 *
 * The child does what a letter on its pipe tells it and answers with the letter;
 * its code is poked from outside, as memattach would. Every case first proves
 * that two snapshots of the untouched child are equal, quiet or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "inject/attach/pristine.h"

#define PAGE 4096u

struct child {
	pid_t pid;
	int to, from;
	struct pidref ref;
	struct pristine *before, *after;
	struct pristine_diff diff;
};

/* What lies in the middle of a page of its own, to be poked. */
__attribute__((aligned(4096), noinline, used)) static int poked(int x)
{
	return x * 3 + 1;
}

static const char constant[3 * PAGE] __attribute__((aligned(4096))) = "read-only data";

static void *page_of(const void *address)
{
	return (void *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));
}

static void *idle(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void map_memfd(const char *name, bool keep_open)
{
	int fd = memfd_create(name, 0);

	if (ftruncate(fd, PAGE) != 0 ||
	    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(1);
	if (!keep_open)
		close(fd);
}

static void *loading;	/* data of a library, so to say */
static unsigned char *written;	/* code that the program writes */

static void *map_exe(size_t bytes, int protection)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *memory = mmap(NULL, bytes, protection, MAP_PRIVATE, fd, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	close(fd);
	return memory;
}

static void block_signal(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(how, &set, NULL);
}

/* A heap for another thread as malloc makes it: 64 MiB aligned, its head usable. */
static void map_arena(void)
{
	const size_t arena = 64u << 20;
	char *room = mmap(NULL, 2 * arena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
	char *start = (char *)(((uintptr_t)room + arena - 1) & ~(uintptr_t)(arena - 1));

	munmap(room, (size_t)(start - room));
	munmap(start + arena, (size_t)(room + arena - start));
	mprotect(start, 33 * PAGE, PROT_READ | PROT_WRITE);
}

static void obey(char command)
{
	static void *anonymous;
	static int fd = -1;
	pthread_t thread;

	switch (command) {
	case 'a':
		anonymous = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		break;
	case 'A':
		munmap(anonymous, PAGE);
		break;
	case 'b':
		block_signal(SIG_BLOCK);
		break;
	case 'B':
		block_signal(SIG_UNBLOCK);
		break;
	case 'd':
		madvise(page_of((void *)(uintptr_t)poked), PAGE, MADV_DONTNEED);
		break;
	case 'e':
		map_arena();
		break;
	case 'f':
		fd = open("/dev/null", O_RDONLY);
		break;
	case 'F':
		close(fd);
		break;
	case 'h':
		signal(SIGUSR2, SIG_IGN);
		break;
	case 'l':
		(void)map_exe(PAGE, PROT_READ);
		break;
	case 'm':
		map_memfd("memattach-ring", false);
		break;
	case 'o':
		map_memfd("memattach-shim", true);
		break;
	case 'p':
		mprotect(page_of(constant + PAGE), PAGE, PROT_READ | PROT_WRITE);
		break;
	case 'P':
		mprotect(page_of(constant + PAGE), PAGE, PROT_READ);
		break;
	case 'r':
		mprotect(loading, PAGE, PROT_READ);
		break;
	case 'R':
		mprotect(loading, PAGE, PROT_READ | PROT_WRITE);
		break;
	case 't':
		pthread_create(&thread, NULL, idle, NULL);
		break;
	case 'w':
		written = map_exe(2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
		written[0]++;
		break;
	case 'W':
		mprotect(written, PAGE, PROT_READ | PROT_EXEC);
		break;
	case 'x':
		mprotect(written, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
		written[0]++;
		mprotect(written, PAGE, PROT_READ | PROT_EXEC);
		break;
	case 'u':
		munmap(page_of(constant + PAGE), PAGE);
		break;
	}
}

static void child_run(int in, int out)
{
	char command;

	while (read(in, &command, 1) == 1) {
		obey(command);
		if (write(out, &command, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void tell(struct child *child, const char *commands)
{
	char answer;

	for (; *commands; commands++) {
		assert_int_equal(write(child->to, commands, 1), 1);
		assert_int_equal(read(child->from, &answer, 1), 1);
	}
}

static int compare(struct child *child, bool quiet)
{
	pristine_free(child->after);
	child->after = NULL;
	assert_int_equal(pristine_take(&child->ref, &child->after), 0);
	return pristine_compare(child->before, child->after, quiet ? PRISTINE_QUIET : PRISTINE_BUSY,
				&child->diff);
}

static void expect_equal(struct child *child)
{
	for (int quiet = 0; quiet < 2; quiet++) {
		if (compare(child, quiet) != 0)
			print_message("%s\n", child->diff.text);
		assert_int_equal(child->diff.differences, 0);
		assert_int_equal(child->diff.notes, 0);
		assert_string_equal(child->diff.text, "");
	}
}

static void expect_different(struct child *child, bool quiet, const char *part)
{
	assert_int_equal(compare(child, quiet), 1);
	assert_true(child->diff.differences > 0);
	if (!strstr(child->diff.text, part))
		print_message("%s\n", child->diff.text);
	assert_non_null(strstr(child->diff.text, part));
}

static void expect_note(struct child *child, bool quiet, const char *part)
{
	if (compare(child, quiet) != 0)
		print_message("%s\n", child->diff.text);
	assert_int_equal(child->diff.differences, 0);
	assert_non_null(strstr(child->diff.note_text, part));
}

static int begin(void **state)
{
	struct child *child = calloc(1, sizeof(*child));
	int to[2], from[2];

	if (!child || pipe(to) < 0 || pipe(from) < 0)
		return -1;
	loading = map_exe(2 * PAGE, PROT_READ | PROT_WRITE);
	child->pid = fork();
	if (child->pid == 0) {
		close(to[1]);
		close(from[0]);
		child_run(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	child->to = to[1];
	child->from = from[0];
	if (pidref_open(child->pid, &child->ref) < 0)
		return -1;
	/* Once through, so that all that is set up late has been. */
	tell(child, "aA");
	assert_int_equal(pristine_take(&child->ref, &child->before), 0);
	expect_equal(child);
	*state = child;
	return 0;
}

static int end(void **state)
{
	struct child *child = *state;

	close(child->to);
	close(child->from);
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	pidref_done(&child->ref);
	pristine_free(child->before);
	pristine_free(child->after);
	free(child);
	return 0;
}

static void poke(struct child *child, uint8_t change)
{
	uint64_t address = (uint64_t)(uintptr_t)poked;
	char path[64];
	uint8_t byte;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)child->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, (off_t)address), 1);
	byte ^= change;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)address), 1);
	close(fd);
}

static void see_poked_code(void **state)
{
	struct child *child = *state;

	assert_int_equal(poked(1), 4);
	poke(child, 0x5a);
	expect_different(child, false, "pages of code of");
	/* The bytes are back, the page is not the file's: still not as before. */
	poke(child, 0x5a);
	expect_different(child, false, "1 pages of code");
	tell(child, "d");
	expect_equal(child);
}

/* A page that was private before: its bytes count. */
static void see_bytes_of_private_code(void **state)
{
	struct child *child = *state;

	poke(child, 0);
	pristine_free(child->before);
	assert_int_equal(pristine_take(&child->ref, &child->before), 0);
	expect_equal(child);
	poke(child, 0x01);
	expect_different(child, false, "bytes of code of");
	poke(child, 0x01);
	expect_equal(child);
	tell(child, "d");
	expect_different(child, false, "0 pages of code");
}

static void see_protection(void **state)
{
	struct child *child = *state;

	tell(child, "p");	/* which memattach never does */
	expect_note(child, false, "r--p is now");
	expect_different(child, true, "r--p is now");
	/* Changed back, perhaps left split by the kernel: nobody can tell. */
	tell(child, "P");
	expect_equal(child);
}

/* As the loader does to a library's data: of a busy target it is worth a note. */
static void note_relocation(void **state)
{
	tell(*state, "r");
	expect_note(*state, false, "rw-p is now");
	expect_different(*state, true, "rw-p is now");
	tell(*state, "R");
	expect_equal(*state);
}

/* Code that the program may write to: what changes there it has changed itself. */
static void note_own_code(void **state)
{
	struct child *child = *state;

	tell(child, "w");
	pristine_free(child->before);
	assert_int_equal(pristine_take(&child->ref, &child->before), 0);
	tell(child, "W");
	expect_note(child, false, "rwxp is now");
	expect_different(child, true, "rwxp is now");
	pristine_free(child->before);
	assert_int_equal(pristine_take(&child->ref, &child->before), 0);
	tell(child, "x");
	expect_note(child, false, "bytes of code of");
	expect_different(child, true, "bytes of code of");
}

/* Elsewhere in the same file memattach's own changes count. */
static void see_other_code_of_that_file(void **state)
{
	struct child *child = *state;

	tell(child, "w");
	pristine_free(child->before);
	assert_int_equal(pristine_take(&child->ref, &child->before), 0);
	poke(child, 0x5a);
	expect_different(child, false, "pages of code of");
	poke(child, 0x5a);
}

static void see_hole_in_file_mapping(void **state)
{
	tell(*state, "u");
	expect_different(*state, false, "is now");
}

static void see_new_file_mapping(void **state)
{
	tell(*state, "l");
	expect_note(*state, false, "is new");
	expect_different(*state, true, "r--p is new");
}

static void see_anonymous_mapping_when_quiet(void **state)
{
	struct child *child = *state;

	/* Shared anonymous memory is a file to the kernel: "/dev/zero". */
	tell(child, "a");
	expect_note(child, false, "/dev/zero");
	expect_different(child, true, "/dev/zero");
	tell(child, "A");
	expect_equal(child);
}

static void name_arena(void **state)
{
	tell(*state, "e");
	expect_note(*state, true, "a malloc arena at");
	assert_int_equal(((struct child *)*state)->diff.notes, 2);
}

static void see_our_own_mapping(void **state)
{
	tell(*state, "m");
	expect_different(*state, false, "memattach's memattach-ring is still mapped");
}

static void see_our_own_descriptor(void **state)
{
	tell(*state, "o");
	expect_different(*state, false, "is memattach's memattach-shim");
}

static void see_descriptor(void **state)
{
	struct child *child = *state;

	tell(child, "f");
	expect_note(child, false, "(/dev/null) is new");
	expect_different(child, true, "(/dev/null) is new");
	tell(child, "F");
	expect_equal(child);
}

static void see_thread(void **state)
{
	tell(*state, "t");
	expect_note(*state, false, "1 threads are new and 0 gone");
	expect_different(*state, true, "1 threads are new and 0 gone");
}

static void see_signal_masks(void **state)
{
	struct child *child = *state;

	tell(child, "b");
	expect_note(child, false, "blocks signals");
	expect_different(child, true, "blocks signals 200, 0 before");
	tell(child, "Bh");
	expect_different(child, true, "ignores");
}

static void see_tracer(void **state)
{
	struct child *child = *state;

	assert_int_equal(ptrace(PTRACE_SEIZE, child->pid, NULL, NULL), 0);
	expect_different(child, false, "is traced by process");
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(child->pid, NULL, __WALL), child->pid);
	assert_int_equal(ptrace(PTRACE_DETACH, child->pid, NULL, NULL), 0);
	expect_equal(child);
}

static void take_gone_process(void **state)
{
	struct child *child = *state;
	struct pristine *snapshot = NULL;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	assert_int_equal(pristine_take(&child->ref, &snapshot), -ESRCH);
	assert_null(snapshot);
}

static void text_form_and_back(void **state)
{
	struct child *child = *state;
	struct pristine *again = NULL;
	FILE *file = tmpfile();
	char line[64];

	assert_int_equal(pristine_write(child->before, file), 0);
	rewind(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "pristine 1\n");
	rewind(file);
	assert_int_equal(pristine_read(file, &again), 0);
	fclose(file);
	assert_int_equal(pristine_compare(child->before, again, PRISTINE_QUIET, &child->diff), 0);
	assert_int_equal(pristine_compare(again, child->before, PRISTINE_QUIET, &child->diff), 0);
	pristine_free(child->before);
	child->before = again;
	expect_equal(child);
	poke(child, 0x5a);
	expect_different(child, false, "pages of code of");
}

static void read_refuses_other_text(void **state)
{
	static const char *const broken[] = {
		"",
		"pristine 2\n",
		"pristine 1\nmap\n",
		"pristine 1\nmap 1 2 3\n",
		"pristine 1\nx\n",
		"pristine 1\nmap 2000 1000 1 0 0 0 0 0 0 0 /a\n",
		"pristine 1\nfd 1\n",
		"pristine 1\nmap 1000 2000 1 0 0 0 0 0 0 0 /a\nmap 1000 2000 1 0 0 0 0 0 0 0 /a\n",
		"pristine 1\nthread 1 0 0\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct pristine *p = NULL;
		FILE *file = fmemopen((void *)(uintptr_t)(broken[i][0] ? broken[i] : "\n"),
				      strlen(broken[i]) + !broken[i][0], "r");

		assert_int_equal(pristine_read(file, &p), -EBADMSG);
		assert_null(p);
		fclose(file);
	}
}

static struct pristine *read_text(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct pristine *p = NULL;

	assert_int_equal(pristine_read(file, &p), 0);
	fclose(file);
	return p;
}

/* A library that was being mapped at the one look and is there at the other is nobody's doing. */
static void note_loading(void **state)
{
	struct pristine *partly = read_text("pristine 1\n"
		"map 10000 50000 1 0 8 1 7 0 0 0 /lib.so\n");
	struct pristine *there = read_text("pristine 1\n"
		"map 10000 20000 1 0 8 1 7 0 0 0 /lib.so\n"
		"map 20000 30000 5 10000 8 1 7 0 0 0 /lib.so\n"
		"map 30000 40000 1 20000 8 1 7 0 0 0 /lib.so\n"
		"map 40000 50000 3 20000 8 1 7 0 0 0 /lib.so\n");
	struct pristine *coded = read_text("pristine 1\n"
		"map 10000 20000 1 0 8 1 7 0 0 0 /lib.so\n"
		"map 20000 30000 5 10000 8 1 7 0 0 0 /lib.so\n"
		"map 30000 50000 1 20000 8 1 7 0 0 0 /lib.so\n");
	struct pristine *other = read_text("pristine 1\n"
		"map 10000 20000 1 0 8 1 7 0 0 0 /lib.so\n"
		"map 20000 28000 5 10000 8 1 7 0 0 0 /lib.so\n"
		"map 30000 50000 3 20000 8 1 7 0 0 0 /lib.so\n");
	struct pristine_diff diff;

	(void)state;
	assert_int_equal(pristine_compare(partly, there, PRISTINE_BUSY, &diff), 0);
	assert_int_equal(pristine_compare(there, partly, PRISTINE_BUSY, &diff), 0);
	assert_int_not_equal(diff.notes, 0);
	assert_int_equal(pristine_compare(partly, there, PRISTINE_QUIET, &diff), 1);
	assert_int_equal(pristine_compare(there, other, PRISTINE_BUSY, &diff), 1);
	assert_int_equal(pristine_compare(coded, there, PRISTINE_BUSY, &diff), 0);
	assert_int_equal(pristine_compare(there, coded, PRISTINE_BUSY, &diff), 0);
	assert_int_equal(pristine_compare(partly, coded, PRISTINE_BUSY, &diff), 0);
	assert_int_equal(pristine_compare(coded, other, PRISTINE_BUSY, &diff), 1);
	pristine_free(coded);
	pristine_free(partly);
	pristine_free(there);
	pristine_free(other);
}

/* Its mappings were looked at, then it was closed and loaded again, then its pages were. */
static void note_loading_again(void **state)
{
	static const char format[] = "pristine 1\n"
		"map 20000 30000 5 10000 8 1 7 1 %x 0 /lib.so\n"
		"map 30000 40000 1 20000 8 1 7 1 %x 0 /lib.so\n"
		"map 40000 50000 1 30000 8 1 7 1 %x 0 /lib.so\n"
		"map 50000 60000 3 40000 8 1 7 0 0 0 /lib.so\n";
	static const struct {
		unsigned int code, constants, relocated, differences;
	} then[] = {
		{ 1, 0, 2, 1 }, { 0, 1, 2, 1 }, { 0, 0, 0, 0 }, { 0, 0, 1, 0 }, { 1, 1, 1, 2 },
	};
	char text[sizeof(format) + 32];
	struct pristine_diff diff;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(then); i++) {
		struct pristine *before, *after;

		(void)snprintf(text, sizeof(text), format, 0, 0, 2);
		before = read_text(text);
		(void)snprintf(text, sizeof(text), format, then[i].code, then[i].constants,
			       then[i].relocated);
		after = read_text(text);
		assert_true(pristine_compare(before, after, PRISTINE_BUSY, &diff) >= 0);
		assert_int_equal(diff.differences, then[i].differences);
		assert_int_equal(diff.notes, then[i].relocated != 2);
		assert_true(pristine_compare(after, before, PRISTINE_BUSY, &diff) >= 0);
		assert_int_equal(diff.differences, then[i].differences);
		assert_true(pristine_compare(before, after, PRISTINE_QUIET, &diff) >= 0);
		assert_int_equal(diff.differences,
				 then[i].differences + (then[i].relocated != 2));
		pristine_free(before);
		pristine_free(after);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(see_poked_code),
		CASE(see_bytes_of_private_code),
		CASE(see_protection),
		CASE(note_relocation),
		CASE(note_own_code),
		CASE(see_other_code_of_that_file),
		CASE(note_loading),
		CASE(note_loading_again),
		CASE(see_hole_in_file_mapping),
		CASE(see_new_file_mapping),
		CASE(see_anonymous_mapping_when_quiet),
		CASE(name_arena),
		CASE(see_our_own_mapping),
		CASE(see_our_own_descriptor),
		CASE(see_descriptor),
		CASE(see_thread),
		CASE(see_signal_masks),
		CASE(see_tracer),
		CASE(take_gone_process),
		CASE(text_form_and_back),
		cmocka_unit_test(read_refuses_other_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
