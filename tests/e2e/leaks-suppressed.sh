#!/bin/sh
# SPDX-License-Identifier: MIT
# --suppressions: a known leak is counted as such and not reported; another one still is. A
# file with a mistake is refused, with its line, before anything is touched.
. "$(dirname "$0")/lib.sh"
needs jq python3
cat >"$WORK/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void known_leak(void)
{
	for (int i = 0; i < 100; i++) memset(malloc(100), 1, 100);
}
__attribute__((noinline)) static void other_leak(void) { memset(malloc(3000), 1, 3000); }
__attribute__((noinline)) static void wipe(void)
{
	char stack[4096];
	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}
int main(void)
{
	char command;
	if (write(1, "ready\n", 6) != 6) return 9;
	while (read(0, &command, 1) == 1 && command != 'q') {
		if (command == 'k') known_leak(); else other_leak();
		wipe();
		if (write(1, "leaked ok\n", 10) != 10) return 9;
	}
	return 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"
printf '# ours\nleak:^known_leak$\n' >"$WORK/rules"
printf 'leak:^known_leak$\nleek:x\n' >"$WORK/wrong"

background program "$WORK/program"
VICTIM=$LAST
await 20 grep -q ready "$WORK/program.out" || fail "the program does not start"
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 0 --leaks --suppressions="$WORK/wrong"
expect "$STATUS" 2 "exit status with a bad rule"
said_one_line "wrong:2: "

session() {
	attach_begin -p "$VICTIM" $EXACT --json --leaks --suppressions="$WORK/rules"
	attach_await "$VICTIM"
	tell program "$1"
	answer program leaked
	attach_end INT
	json_valid
	pristine_check "$VICTIM"
}
session k
expect "$STATUS" 0 "exit status when all that leaks is suppressed"
json_expect .leaks.suppressed.count 100
json_expect .leaks.definitely_lost.count 0

session o
expect "$STATUS" 1 "exit status with another leak"
json_expect '[.leaks.groups[] | select(.site != null) | .count] | add' 1
tell program q
await 20 is_gone "$VICTIM" || fail "the program does not end"
