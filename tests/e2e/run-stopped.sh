#!/bin/sh
# SPDX-License-Identifier: MIT
# `run` and job control: a command that is stopped at any moment of its start stays stopped
# until SIGCONT, and then does all of its work.
. "$(dirname "$0")/lib.sh"
needs jq
TURNS=$(in_full 12 4)
# Works a while, and on until the file that it is told of is there.
cat >"$WORK/program.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 100 || (argc > 1 && access(argv[1], F_OK) != 0); i++) {
		free(malloc(100));
		usleep(1000);
	}
	return write(1, "worked\n", 7) == 7 ? 0 : 9;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -fno-builtin -o "$WORK/program" "$WORK/program.c" || fail "compiling"

cat >"$WORK/storm.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	time_t end = time(NULL) + 2;
	for (int i = 0; pid > 1 && time(NULL) < end && kill(pid, SIGSTOP) == 0; i++) {
		usleep(i % 7 * 10);
		kill(pid, SIGCONT);
		usleep(i % 11 * 20);
	}
	return 0;
}
END
# shellcheck disable=SC2086
$CC -g -O1 -o "$WORK/storm" "$WORK/storm.c" || fail "compiling"

# The command, once there: the last of memattach's family that is not memattach's own.
command_pid() {
	COMMAND=""
	for pid in $(attach_processes); do
		case $(readlink "/proc/$pid/exe") in "$WORK/program") COMMAND=$pid ;; esac
	done
	[ -n "$COMMAND" ] || is_gone "$ATTACH"
}

is_stopped() { grep -q '^State:.[Tt]' "/proc/$COMMAND/status"; }

# Held by memattach or stopped by us: neither does any work before SIGCONT.
stays_stopped() {
	: >"$WORK/enough"
	sleep 0.2
	[ "$(wc -c <"$REPORT")" -eq 0 ] ||
		fail "it went on while it was stopped: $(cat "$REPORT" "/proc/$COMMAND/status")"
	stopped=$((stopped + 1))
}

turn=0 stopped=0
while [ "$turn" -lt "$TURNS" ]; do
	rm -f "$WORK/recording" "$WORK/enough"
	attach_begin run $EXACT -o "$WORK/recording" -- "$WORK/program" "$WORK/enough"
	await 30 command_pid || fail "the command does not start"
	sleep "0.0$((turn % 6))"
	kill -STOP "$COMMAND" || fail "the command has ended, turn $turn"
	if await 5 is_stopped; then stays_stopped; fi
	: >"$WORK/enough"
	kill -CONT "$COMMAND"
	attach_wait
	expect "$STATUS" 0 "exit status of run, turn $turn"
	grep -q '^worked' "$REPORT" || fail "the command did not do its work"
	turn=$((turn + 1))
done
[ "$stopped" -ge $((TURNS * 3 / 4)) ] || fail "only $stopped of $turn stood still"
note "$stopped of $turn stopped"

# Stopped and continued at once, while it is held: the later one counts.
turn=0
while [ "$turn" -lt "$TURNS" ]; do
	rm -f "$WORK/recording" "$WORK/enough"
	attach_begin run $EXACT -o "$WORK/recording" -- "$WORK/program" "$WORK/enough"
	await 30 command_pid || fail "the command does not start"
	sleep "0.0$((turn % 6))"
	kill -STOP "$COMMAND" && sleep "0.00$((turn % 4))" && kill -CONT "$COMMAND"
	: >"$WORK/enough"
	attach_wait
	expect "$STATUS" 0 "exit status of run, stopped and continued, turn $turn"
	turn=$((turn + 1))
done

# In the middle of any call that memattach has it make.
turn=0
while [ "$turn" -lt "$TURNS" ]; do
	rm -f "$WORK/recording" "$WORK/enough"
	attach_begin run $EXACT -o "$WORK/recording" -- "$WORK/program" "$WORK/enough"
	await 30 command_pid || fail "the command does not start"
	"$WORK/storm" "$COMMAND"
	: >"$WORK/enough"
	attach_wait
	expect "$STATUS" 0 "exit status of run, stopped and continued all the time, turn $turn"
	grep -q '^worked' "$REPORT" || fail "the command did not do its work"
	turn=$((turn + 1))
done
