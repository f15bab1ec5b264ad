#!/bin/sh
# SPDX-License-Identifier: MIT
# The log of calls marks a free that is wrong, names the thread of a call that never returns, and
# says which signal ended the process.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/program.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile block;
__attribute__((noinline)) static void *free_once(void *p) { free(p); return NULL; }
__attribute__((noinline)) static void *free_again(void *p) { free(p); return NULL; }
__attribute__((noinline)) static void *free_inside(void *p) { free((char *)p + 16); return NULL; }
int main(int argc, char **argv)
{
	char command = argc > 1 ? argv[1][0] : 0;
	if (!command && (write(1, "ready\n", 6) != 6 || read(0, &command, 1) != 1)) return 9;
	block = malloc(777);
	if (command == 'd') { free_once(block); free_again(block); }
	if (command == 'i') free_inside(block);
	if (command == 's') raise(11);
	if (command == 'e') return 3;
	return 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -w -o "$WORK/program" "$WORK/program.c" || fail "compiling"

# logged COMMAND ARGUMENTS: what it does then ends the process.
logged() {
	logged_command=$1
	shift
	background program "$WORK/program"
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 20 grep -q ready "$WORK/program.out" || fail "the program does not start"
	attach_begin trace "$@" -p "$VICTIM"
	attach_await "$VICTIM"
	tell program "$logged_command"
	attach_wait
	expect "$STATUS" 4 "exit status, $logged_command $*"
}

# marked COMMAND FUNCTION WORDS
marked() {
	logged "$1"
	[ "$(grep -c -e '<--' "$REPORT")" = 1 ] || fail "$1: marked are: $(cat "$REPORT")"
	grep -q "  [0-9][0-9]*  free(0x[0-9a-f]*) = ? .* $2+0x.*  <-- $3" "$REPORT" ||
		fail "$1: $(cat "$REPORT")"
	grep -q '^# the process was killed by signal 6 (SIGABRT' "$REPORT" ||
		fail "$1: no signal: $(cat "$REPORT")"
}
marked d free_again 'double free$'
marked i free_inside 'illegal free'

logged d --json
trace_valid
wrong='select(.event == "call" and .wrong != null)'
expect "$(jq -r "$wrong | .wrong + \" \" + .frames[-1].function" "$REPORT")" \
	"double-free free_again" "the wrong call"
expect "$(jq -r "$wrong | .thread" "$REPORT")" "$VICTIM" "its thread"
totals='select(.event == "totals")'
expect "$(jq -r "$totals | .killed_by_signal" "$REPORT")" 6 "the signal"
logged s --json
expect "$(jq -r "$totals | .killed_by_signal" "$REPORT")" 11 "the signal"
logged e --json
expect "$(jq -r "$totals | .killed_by_signal" "$REPORT")" null "no signal"

# A command that trace started.
attach trace -o "$WORK/log" -- "$WORK/program" d
expect "$STATUS" 4 "exit status of a command that aborts"
grep -q '<-- double free' "$WORK/log" || fail "run: $(cat "$WORK/log")"
grep -q 'killed by signal 6' "$WORK/log" || fail "run: $(cat "$WORK/log")"
attach trace -o "$WORK/log" -- "$WORK/program" e
expect "$STATUS" 0 "exit status of a command that ends"
