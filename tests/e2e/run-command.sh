#!/bin/sh
# SPDX-License-Identifier: MIT
# run: from the first allocation to the last, status and output of the command unchanged.
. "$(dirname "$0")/lib.sh"
needs jq python3
cat >"$WORK/program.c" <<'END'
#include <stdlib.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[4];
__attribute__((constructor, noinline)) static void before_main(void) { kept[0] = malloc(1111); }
__attribute__((noinline)) static void at_exit(void) { kept[1] = malloc(2222); }
__attribute__((destructor, noinline)) static void after_main(void) { kept[2] = malloc(3333); }
__attribute__((noinline)) static void work(void) { kept[3] = malloc(4444); free(malloc(55)); }
int main(int argc, char **argv)
{
	atexit(at_exit);
	work();
	if (write(1, "hello\n", 6) != 6) return 9;
	if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
	if (argc > 1 && strcmp(argv[1], "abort") == 0) raise(SIGABRT);
	return argc > 1 ? atoi(argv[1]) : 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"

# site FUNCTION: the live bytes of the sites with that innermost function
site() {
	json "[.sites[] | select(.frames[0].function == \"$1\") | .live_bytes] | add"
}

# The command's own output comes first, then ours: -o and report keep them apart.
timeout 60 "$MEMATTACH" run $EXACT -o "$WORK/recording" -- "$WORK/program" \
	>"$WORK/out" 2>"$ERRORS" </dev/null
expect "$?" 0 "exit status of run"
grep -q '^hello$' "$WORK/out" || fail "the command's output is missing"
attach report --json "$WORK/recording"
json_valid
expect "$(site before_main)" 1111 "before main"
expect "$(site at_exit)" 2222 "at exit"
expect "$(site after_main)" 3333 "after main"
expect "$(site work)" 4444 "in main"

# Ended by a signal: all that it did until then is there.
for how in kill abort; do
	rm -f "$WORK/recording"
	timeout 60 "$MEMATTACH" run $EXACT -o "$WORK/recording" -- "$WORK/program" "$how" \
		>"$WORK/out" 2>"$ERRORS" </dev/null
	note "$how: status $?"
	attach report --json "$WORK/recording"
	expect "$STATUS" 0 "report after $how"
	expect "$(site before_main)" 1111 "before main ($how)"
	expect "$(site work)" 4444 "in main ($how)"
done

# Without a dynamic loader, which is not waited for then: at its entry point already.
for link in -static -static-pie; do
	# shellcheck disable=SC2086
	$CC -g -O1 -fno-builtin $link -o "$WORK/static" "$WORK/program.c" 2>"$ERRORS" || {
		note "not built with $link"
		continue
	}
	rm -f "$WORK/recording"
	timeout 60 "$MEMATTACH" run $EXACT -o "$WORK/recording" -- "$WORK/static" \
		>"$WORK/out" 2>"$ERRORS" </dev/null
	expect "$?" 0 "exit status of run ($link)"
	grep -q '^hello$' "$WORK/out" || fail "the command's output is missing ($link)"
	attach report --json "$WORK/recording"
	expect "$(site before_main)" 1111 "before main ($link)"
	expect "$(site work)" 4444 "in main ($link)"
	expect "$(site after_main)" 3333 "after main ($link)"
done

# A command that can't be run.
! timeout 20 "$MEMATTACH" run -- /nonexistent/command >"$REPORT" 2>"$ERRORS" ||
	fail "a command that is not there"
said_one_line 'nonexistent'
