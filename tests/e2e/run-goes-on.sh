#!/bin/sh
# SPDX-License-Identifier: MIT
# run: that a command goes on as another program, or in a child as daemons do, is told.
. "$(dirname "$0")/lib.sh"
cat >"$WORK/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	free(malloc(100));
	if (argc > 2) execl(argv[2], "other", "2", (char *)0);
	if (argc > 1) {
		pid_t child = fork();
		for (int i = 0; child == 0 && i < 600 && access(argv[1], F_OK) != 0; i++)
			usleep(100000);
		if (child > 0) { printf("%d\n", (int)child); fflush(stdout); }
	}
	return 0;
}
END
# shellcheck disable=SC2086
$CC -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"
cp "$WORK/program" "$WORK/other" && cp "$(command -v sleep)" "$WORK/lasting" || exit 99

timeout 60 "$MEMATTACH" run --json -- "$WORK/program" no "$WORK/lasting" >"$REPORT" 2>"$ERRORS" \
	</dev/null
expect "$?" 0 "exit status of run with exec"
grep -q "became $WORK/lasting by exec" "$ERRORS" || fail "an exec is not told"
json_valid
json_expect .session.became "$WORK/lasting"

# It may have ended before anybody could look.
timeout 60 "$MEMATTACH" run -- "$WORK/program" no "$WORK/other" >"$REPORT" 2>"$ERRORS" </dev/null
expect "$?" 0 "exit status of run with a short exec"
grep -q "became $WORK/other by exec\|ended by another name, other" "$ERRORS" ||
	fail "a short exec is not told"

timeout 60 "$MEMATTACH" run --json -- "$WORK/program" "$WORK/enough" >"$REPORT" 2>"$ERRORS" \
	</dev/null
expect "$?" 0 "exit status of run with a child"
child=$(head -n 1 "$REPORT")
own "$child"
grep -q "left a child $child," "$ERRORS" || fail "a child that goes on is not told"
sed -i 1d "$REPORT"
json_valid
json_expect '.session.unwatched_children | tostring' "[$child]"
: >"$WORK/enough"

timeout 60 "$MEMATTACH" run -- "$WORK/program" >"$REPORT" 2>"$ERRORS" </dev/null
expect "$?" 0 "exit status of run"
! grep -q 'by exec\|by another name\|left a child' "$ERRORS" ||
	fail "an ordinary end is told as another"
