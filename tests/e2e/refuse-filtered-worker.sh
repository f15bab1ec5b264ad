#!/bin/sh
# SPDX-License-Identifier: MIT
# A seccomp filter in one thread alone, and one that lets no sleep go on: an attach that
# just tried would kill its target.
. "$(dirname "$0")/lib.sh"

# The main thread has no filter at all.
victim worker awkward --kind=worker
pristine_take "$VICTIM"
for loader in map auto; do
	attach -p "$VICTIM" -d 0.3 --loader="$loader"
	expect "$STATUS" 3 "exit status"
	said_one_line 'seccomp'
	pristine_check "$VICTIM"
done
finished worker

# A stop of a thread that sleeps is enough: the kernel has it call restart_syscall.
victim sleeper awkward --kind=norestart
sleeps() { grep -qE '^(35|230) ' "/proc/$VICTIM/task"/*/syscall; }
await 10 sleeps || fail "no thread sleeps"
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 0.3
expect "$STATUS" 3 "exit status"
said_one_line 'seccomp'
pristine_check "$VICTIM"
finished sleeper
