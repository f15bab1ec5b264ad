#!/bin/sh
# SPDX-License-Identifier: MIT
# `run` and job control: a command that is stopped at any moment of its start stays stopped
# until SIGCONT, and then does all of its work.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/program.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 100; i++) free(malloc(100));
	return write(1, "worked\n", 7) == 7 ? 0 : 9;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"

# The command, once there: the last of memattach's family that is not memattach's own.
command_pid() {
	COMMAND=""
	for pid in $(attach_processes); do
		case $(readlink "/proc/$pid/exe") in "$WORK/program") COMMAND=$pid ;; esac
	done
	[ -n "$COMMAND" ] || is_gone "$ATTACH"
}

# Before its exec it is still a memattach, whose parent is the front.
youngest_pid() { COMMAND=$(attach_processes | tail -n 1); }

is_stopped() { grep -q '^State:.[Tt]' "/proc/$COMMAND/status"; }

stop_it() { # when
	if [ "$1" -lt 4 ]; then
		await 10 command_pid || return 1
	else
		await 10 youngest_pid
	fi
	kill -STOP "$COMMAND" 2>/dev/null
}

turn=0 stopped=0
while [ "$turn" -lt 12 ]; do
	rm -f "$WORK/recording"
	attach_begin run --exact -o "$WORK/recording" -- "$WORK/program"
	if stop_it $((turn % 4)) && await 2 is_stopped; then
		stopped=$((stopped + 1))
		if [ "$(wc -c <"$REPORT")" -eq 0 ]; then
			sleep 0.2
			[ "$(wc -c <"$REPORT")" -eq 0 ] || fail "it went on while it was stopped"
		fi
		kill -CONT "$COMMAND"
	fi
	attach_wait
	expect "$STATUS" 0 "exit status of run, turn $turn"
	grep -q '^worked' "$REPORT" || fail "the command did not do its work"
	turn=$((turn + 1))
done
[ "$stopped" -ge 3 ] || fail "only $stopped of $turn were caught before their end"
note "$stopped of $turn stopped"
