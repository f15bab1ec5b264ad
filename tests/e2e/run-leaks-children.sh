#!/bin/sh
# SPDX-License-Identifier: MIT
# run --leaks of a command that forks a child, or becomes a daemon: the command is searched at its
# end, and decides the exit status. The memory of its children is not searched, followed or not:
# their blocks count for nothing then, and the report says that it has no leaks of theirs.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/program.c" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void lose(int count, size_t size)
{
	while (count-- > 0) memset(malloc(size), 0, size);
}
__attribute__((noinline)) static void wipe(void)
{
	volatile char b[8192];
	memset((char *)b, 0, sizeof(b));
}
/* Says which process it is, and waits until it is to go on. */
static void announce(void)
{
	FILE *file = fopen("child.new", "w");
	fprintf(file, "%d\n", (int)getpid());
	fclose(file);
	rename("child.new", "child");
	for (int i = 0; i < 6000 && access("go", F_OK) != 0; i++) usleep(10000);
}
int main(int argc, char **argv)
{
	if (strchr(argv[1], 'p')) lose(20, 111);
	wipe();
	if (strchr(argv[1], 'f') && fork() == 0) {
		announce();
		lose(30, 222);
		_exit(0);
	}
	wait(0);
	if (strchr(argv[1], 'd')) {
		if (fork() != 0) return 0;
		setsid();
		if (fork() != 0) return 0;
		announce();
		lose(40, 333);
	}
	return 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -w -o "$WORK/program" "$WORK/program.c" || fail "compiling"
cd "$WORK" || exit 99
is_announced() { [ -s child ]; }

# begun_with HOW [OPTIONS]: until its child is there, and waits. Sets CHILD.
begun_with() {
	how=$1
	shift
	rm -f go child
	attach_begin run $EXACT --leaks --json "$@" -- ./program "$how"
	await 30 is_announced || fail "$how: there is no child"
	CHILD=$(cat child)
	own "$CHILD"
}

# lone HOW STATUS LOST: the command alone is watched.
lone() {
	begun_with "$1"
	case $1 in *f) : >go ;; esac
	attach_wait
	: >go
	expect "$STATUS" "$2" "exit status of $1"
	json_valid
	json_expect .leaks.definitely_lost.count "$3"
	case $1 in
	*d)	json_expect '.session.unwatched_children | tostring' "[$CHILD]"
		grep -q "left a child $CHILD," "$ERRORS" || fail "a daemon is not told" ;;
	esac
	await 30 is_gone "$CHILD" || fail "the child does not end"
}

# followed HOW STATUS LOST CHILDS: the child is watched to its end, and said not to be searched.
followed() {
	begun_with "$1" --follow
	attach_await "$CHILD"
	: >go
	attach_wait
	expect "$STATUS" "$2" "exit status of $1, followed"
	schema_valid several
	child=".processes[] | select(.pid == $CHILD)"
	json_expect "$child | .detached" target-ended
	json_expect "$child | .totals.live_count" "$4"
	json_expect "$child | .leaks" null
	json_expect '[.processes[] | .leaks.definitely_lost.count // 0] | max' "$3"
}

lone f 0 0
lone pf 1 20
lone d 0 0
lone pd 1 20
followed f 0 0 30
followed pf 1 20 30
followed d 0 0 40
followed pd 1 20 40


# As a text it is said in words.
rm -f go child
attach_begin run --follow $EXACT --leaks -- ./program pf
await 30 is_announced || fail "there is no child"
CHILD=$(cat child)
own "$CHILD"
attach_await "$CHILD"
: >go
attach_wait
expect "$STATUS" 1 "exit status, as a text"
grep -q 'Leaks of 1 of 2 processes: of the others no memory was searched' "$REPORT" ||
	fail "it is not said that the child was not searched: $(grep -i leak "$REPORT")"
