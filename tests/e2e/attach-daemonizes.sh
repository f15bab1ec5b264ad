#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that is watched becomes a daemon: its child goes on when it ends. That is told, with the
# child's number, and nothing of ours is left in the child; with --follow the child is watched on.
. "$(dirname "$0")/lib.sh"
needs jq "${CC%% *}"
cat >"$WORK/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char order;
	printf("ready\n");
	fflush(stdout);
	if (read(0, &order, 1) != 1)
		return 9;
	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	pid_t child = fork();
	if (child > 0) {
		printf("child %d\n", (int)child);
		fflush(stdout);
		_exit(0);
	}
	setsid();
	for (;; usleep(10000))
		free(malloc(100));
}
END
$CC -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"

# daemonizes OPTIONS...: sets CHILD; the parent has ended.
daemonizes() {
	background program "$WORK/program"
	VICTIM=$LAST
	await 30 grep -q '^ready' "$WORK/program.out" || fail "the program does not start"
	attach_begin -p "$VICTIM" --json "$@"
	attach_await "$VICTIM"
	printf x 1<>"$WORK/program.in"
	await 30 grep -q '^child' "$WORK/program.out" || fail "no child"
	CHILD=$(sed -n 's/^child //p' "$WORK/program.out")
	own "$CHILD"
	await 30 is_gone "$VICTIM" || fail "the parent does not end"
}

for loader in map dlopen; do
	daemonizes --exact --loader=$loader
	attach_wait
	expect "$STATUS" 4 "exit status, $loader"
	grep -q "$CHILD" "$ERRORS" || fail "the child is not told: $(cat "$ERRORS")"
	json_valid
	json_expect '.session.unwatched_children | tostring' "[$CHILD]"
	await 30 "$TOOLS/ringwatch" "$CHILD" gone 0 || fail "something of ours is in the child"
	! is_gone "$CHILD" || fail "the child has died"
	kill -KILL "$CHILD"
done

daemonizes --exact --follow
attach_await "$CHILD"
attach_end INT
expect "$STATUS" 0 "exit status with --follow"
json_expect "[.processes[] | select(.pid == $CHILD) | .watched] | tostring" '[true]'
"$TOOLS/ringwatch" "$CHILD" gone 0 >"$WORK/ringwatch" || fail "something of ours is in the child"
! is_gone "$CHILD" || fail "the child has died"
kill -KILL "$CHILD"
