#!/bin/sh
# SPDX-License-Identifier: MIT
# run --follow: a command from its first allocation, what it forks, a child that calls exec, what it
# becomes by exec itself, a daemon that outlives it; a command that can't be run is said.
. "$(dirname "$0")/lib.sh"
needs jq
. "$E2E/several_lib.sh"
ATTACH_LIMIT=60

cat >"$WORK/work.h" <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[100];
static void keep(size_t size)
{
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(size);
}
/* Until it is watched, and a while. */
static void work(size_t size)
{
	for (int i = 0; i < 3000; i++) {
		free(malloc(size));
		usleep(1000);
	}
}
END
cat >"$WORK/parent.c" <<'END'
#include "work.h"
int main(void)
{
	keep(1000);
	if (fork() == 0) {
		work(10);
		return 0;
	}
	if (fork() == 0) {
		execl("./other", "./other", (char *)0);
		_exit(9);
	}
	wait(0);
	wait(0);
	return 0;
}
END
cat >"$WORK/other.c" <<'END'
#include "work.h"
int main(void)
{
	work(20);
	return 0;
}
END
cat >"$WORK/becomes.c" <<'END'
#include "work.h"
int main(void)
{
	keep(500);
	sleep(1);
	execl("./other", "./other", (char *)0);
	return 9;
}
END
cat >"$WORK/daemon.c" <<'END'
#include "work.h"
int main(void)
{
	keep(300);
	if (daemon(1, 1))
		return 1;
	work(30);
	return 0;
}
END
cd "$WORK" || exit 99
for program in parent other becomes daemon; do
	$CC -g -O1 -fno-builtin -w -D_GNU_SOURCE -o $program $program.c || fail "compiling $program"
done

# watched COMMAND: to the end of all of them.
watched() {
	attach run --follow $EXACT --json -- "./$1"
	expect "$STATUS" 0 "exit status of $1"
	several_valid
	[ ! -s "$ERRORS" ] || note "$1: $(cat "$ERRORS")"
}

watched parent
expect "$(json '[.processes[] | .name] | sort | join(" ")')" "other parent parent" "who was watched"
expect "$(json '[.processes[] | select(.name == "parent") | .totals.live_bytes] | max')" 100000 \
	"what the command kept"
json_expect '.processes | all(.detached == "target-ended")' true

watched becomes
expect "$(json '.processes[] | select(.after_exec | not) | .totals.live_bytes')" 50000 \
	"what it kept before exec"
expect "$(json '[.processes[] | select(.after_exec) | .name] | join(" ")')" other "after exec"

watched daemon
expect "$(json '.processes | length')" 2 "the command and its daemon"
expect "$(json '[.processes[] | .totals.live_bytes] | max')" 30000 "what the command kept"
! grep -q 'not watched' "$ERRORS" || fail "said not to be watched: $(cat "$ERRORS")"

attach run --follow -- ./none
expect "$STATUS" 2 "exit status of a command that is not there"
said_one_line "can't run ./none: No such file or directory; check the name and PATH"
