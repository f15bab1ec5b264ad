#!/bin/sh
# SPDX-License-Identifier: MIT
# Processes that can't be entered: one line that says why, status 3, nothing touched.
. "$(dirname "$0")/lib.sh"

# refused PID PATTERN: attach and check both refuse, and say so.
refused() {
	attach -p "$1" -d 1
	expect "$STATUS" 3 "exit status for $2"
	said_one_line "$2"
	timeout 20 "$MEMATTACH" check -p "$1" >"$WORK/check" 2>&1
	expect "$?" 3 "exit status of check for $2"
}

# No such process: the highest id that Linux gives is 4194304.
refused 4194304 'no (such )?process|does not exist'

# A kernel thread: kthreadd, where it is visible.
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	if is_root; then refused 2 'kernel thread'; else refused 2 '.'; fi
fi

victim zombie processes --kind=zombie
refused "$VICTIM" 'zombie|ended|dead'

victim stopped processes --kind=stopped
refused "$VICTIM" 'stopped'
grep -q '^State:.T' "/proc/$VICTIM/status" || fail "the stopped process is not stopped any more"

# In uninterruptible sleep, for as long as its vfork child has not called exec.
victim waiting processes --kind=waiting
grep -q '^State:.D' "/proc/$VICTIM/status" || fail "the waiting process does not sleep like that"
refused "$VICTIM" 'waits for a vfork child'
grep -q '^State:.D' "/proc/$VICTIM/status" || fail "the waiting process sleeps no more"
ended waiting

# Another tracer, named.
victim traced processes --kind=traced
refused "$VICTIM" "traced.*$VICTIM_SELF|$VICTIM_SELF.*trac|processes"
expect "$(sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$VICTIM/status")" "$VICTIM_SELF" "tracer"

