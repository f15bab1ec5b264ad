#!/bin/sh
# SPDX-License-Identifier: MIT
# run --leaks: a program that ends by itself, however, is searched before its memory goes; and does
# what it does without us.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/program.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
static pthread_barrier_t ready;
__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 20; i++) memset(malloc(111), 0, 111);
}
__attribute__((noinline)) static void wipe(void)
{
	volatile char b[8192];
	memset((char *)b, 0, sizeof(b));
}
static void *hold(void *unused)
{
	void *volatile block = malloc(333);	/* from its stack alone */
	pthread_barrier_wait(&ready);
	for (;;) pause();
	return unused ? unused : block;
}
static void *brief(void *argument) { return argument; }
static void *exec_it(void *path)
{
	pthread_barrier_wait(&ready);
	execl(path, "program", "none", (char *)0);
	_exit(9);
}
static void interrupted(void)
{
	int e = epoll_create1(0), count = 0;
	struct epoll_event event;
	for (int i = 0; i < 10; i++) {
		pid_t child = fork();
		if (child == 0) _exit(0);	/* its SIGCHLD is ignored */
		count += epoll_wait(e, &event, 1, 30) < 0;
		waitpid(child, 0, 0);
	}
	printf("interrupted %d\n", count);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int threads = strcmp(how, "threads") == 0 || strcmp(how, "exec") == 0;
	pthread_t thread;
	kept = malloc(50);
	if (strcmp(how, "none") != 0) lose();
	wipe();
	pthread_barrier_init(&ready, 0, 4);
	for (int i = 0; threads && i < 3; i++)
		if (pthread_create(&thread, 0, i < 2 || how[0] == 't' ? hold : exec_it, argv[0]))
			return 9;
	if (threads) pthread_barrier_wait(&ready);
	if (strcmp(how, "exec") == 0) for (;;) pause();
	wipe();
	for (int i = 0; strcmp(how, "churn") == 0 && i < 200; i++)
		if (pthread_create(&thread, 0, brief, 0) || pthread_join(thread, 0)) return 9;
	if (strcmp(how, "signals") == 0) interrupted();
	if (strcmp(how, "_exit") == 0) _exit(3);
	if (strcmp(how, "quick") == 0) quick_exit(4);
	if (strcmp(how, "abort") == 0) abort();
	if (strcmp(how, "fault") == 0) *(volatile int *volatile)0 = 1;
	if (strcmp(how, "term") == 0) raise(SIGTERM);
	if (strcmp(how, "kill") == 0) raise(SIGKILL);
	if (strcmp(how, "wait") == 0) for (;;) pause();
	return 5;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -pthread -o "$WORK/program" "$WORK/program.c" || fail "compiling"

# run_leaks HOW [OPTIONS]: sets STATUS; the command's own output is $WORK/out
run_leaks() {
	how=$1
	shift
	rm -f "$WORK/recording"
	timeout 120 "$MEMATTACH" run $EXACT --leaks "$@" -o "$WORK/recording" -- \
		"$WORK/program" "$how" >"$WORK/out" 2>"$ERRORS" </dev/null
	STATUS=$?
	attach_status=$STATUS
	attach report --json "$WORK/recording"
	STATUS=$attach_status
}

# A fault may leave one of the addresses in a register, which the search finds.
for how in exit _exit quick abort fault term kill threads churn signals; do
	run_leaks "$how"
	expect "$STATUS" 1 "exit status of run ($how)"
	lost=$(json '.leaks.definitely_lost.count')
	[ "$lost" -eq 20 ] || { [ "$how" = fault ] && [ "$lost" -eq 19 ]; } ||
		fail "$how: $lost blocks lost, expected 20"
	expect "$(json '.leaks.possibly_lost.count')" 0 "possibly lost ($how)"
	expect "$(json '.session.detached')" target-ended "how it was left ($how)"
done
run_leaks signals
expect "$(head -n 1 "$WORK/out")" "interrupted 0" "waits that a signal which is ignored has ended"

# Without leaks, and where another program is begun by a thread: nothing to report, nothing held.
run_leaks none
expect "$STATUS" 0 "exit status without leaks"
expect "$(json '.leaks.definitely_lost.count')" 0 "lost without leaks"
run_leaks exec
expect "$STATUS" 0 "exit status with exec"

# For a time: searched while it runs, and not traced any more then.
rm -f "$REPORT"
attach_begin run $EXACT --leaks --json -d 1 -- "$WORK/program" wait
is_let_go() {
	COMMAND=""
	for pid in $(attach_processes); do
		case $(readlink "/proc/$pid/exe") in "$WORK/program") COMMAND=$pid ;; esac
	done
	[ -n "$COMMAND" ] && grep -q '^TracerPid:.0$' "/proc/$COMMAND/status"
}
is_reported() { jq -en "input | .leaks" "$REPORT"; }
await 60 is_reported || fail "no report after a time"
is_let_go || fail "it is traced after the report"
kill "$COMMAND"
attach_wait
expect "$STATUS" 1 "exit status after a time"
expect "$(json '.leaks.definitely_lost.count')" 20 "lost after a time"
