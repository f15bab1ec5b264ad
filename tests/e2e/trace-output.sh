#!/bin/sh
# SPDX-License-Identifier: MIT
# Where the log of calls goes: a closed pipe or a full disk end it with a clear error and a process
# that is as it was; a reader that is slow, or stuck, costs lines, said in place, and never the
# process's time, unless --on-overflow=block asks for that.
. "$(dirname "$0")/lib.sh"
needs jq python3

begun_or_over() {
	is_gone "$ATTACH" || "$TOOLS/ringwatch" "$VICTIM" armed 100 >"$WORK/ringwatch"
}

# broken PATTERN ARGUMENTS: as soon as the victim calls, trace ARGUMENTS ends with that message.
# Its output is $SINK.
broken() {
	broken_pattern=$1
	shift
	dealt 2 || return 0
	victim traced traced --threads=2 --rounds=50000
	pristine_take "$VICTIM"
	"$TOOLS/start" "$MEMATTACH" trace -p "$VICTIM" "$@" \
		>"$SINK" 2>"$ERRORS" </dev/null &
	ATTACH=$!
	own "$ATTACH"
	[ -z "${READER:-}" ] || eval "$READER"
	# where it can't write its first line it may be over before anybody sees it begin
	await 20 begun_or_over || fail "hooks are not armed"
	tell traced b
	attach_wait
	expect "$STATUS" 6 "exit status ($*)"
	expect "$(wc -l <"$ERRORS" | tr -d ' ')" 1 "lines on the standard error"
	grep -qi "$broken_pattern" "$ERRORS" || fail "the message is: $(cat "$ERRORS")"
	answer traced busy
	pristine_check "$VICTIM"
	ended traced
}

SINK=/dev/full
broken 'no space left.*choose another place'
SINK=/dev/null
broken 'no space left.*choose another place' -o /dev/full
mkfifo "$WORK/pipe"
SINK=$WORK/pipe
READER='head -n 3 <"$WORK/pipe" >"$WORK/head" &'
broken 'nobody reads'
READER=
victim refused truth_c
pristine_take "$VICTIM"
attach trace -p "$VICTIM" -o "$WORK/none/log"
expect "$STATUS" 2 "exit status of a bad place"
said_one_line 'choose another place'
attach trace -p "$VICTIM" -o "$WORK/pipe"
expect "$STATUS" 2 "exit status of a pipe without a reader"
said_one_line 'nobody reads'
pristine_check "$VICTIM"

# slow OPTIONS: the log has no reader until the victim is done; then all of it is read.
slow() {
	victim traced traced --threads=2 --rounds="$(in_full 200000 80000)"
	pristine_take "$VICTIM"
	"$TOOLS/start" "$MEMATTACH" trace -p "$VICTIM" --json "$@" \
		>"$WORK/pipe" 2>"$ERRORS" </dev/null &
	ATTACH=$!
	own "$ATTACH"
	exec 7<"$WORK/pipe"
	attach_await "$VICTIM"
	tell traced b
}

# Everything is read, the session ended, and the log whole.
slow_end() {
	cat <&7 >"$REPORT" &
	reader=$!
	own "$reader"
	exec 7<&-
	answer traced busy
	attach_end INT
	expect "$STATUS" 0 "exit status"
	wait "$reader"
	pristine_check "$VICTIM"
	trace_valid
	calls=$(echo "$ANSWER" | cut -d' ' -f3)
	ended traced
}
slow
answer traced busy	# though nobody reads
memory=$(awk '/^VmRSS/ { sum += $2 } END { print sum }' \
	$(attach_processes | sed 's,.*,/proc/&/status,') 2>/dev/null)
[ "$memory" -lt 300000 ] || fail "$memory KiB for a log that nobody reads"
slow_end
jq -se --argjson calls "$calls" '
	(map(select(.event == "totals")) | .[0]) as $totals |
	(map(select(.event == "lost") | .count) | add) as $lost |
	(map(select(.event == "call" and (.frames[-1].module | endswith("/traced")))) | length)
		as $shown |
	$lost > 0 and $totals.lost.full + $totals.lost.late == $lost and
	($totals.calls + $lost - $totals.unreturned | . >= $calls and . < $calls + 100) and
	$shown < $calls and
	(last | .event == "totals" or .event == "unfreed") and
	(map(.event) | index("lost")) < (length - 3)' "$REPORT" >/dev/null ||
	fail "what a slow reader missed is not said: $(grep '"totals"' "$REPORT")"

slow --on-overflow=block
! await 2 answered traced busy || fail "the log was not full: the process did not wait"
slow_end
jq -se --argjson calls "$calls" '
	(map(select(.event == "totals")) | .[0]) as $totals |
	(map(select(.event == "call" and (.frames[-1].module | endswith("/traced")))) | length)
		== $calls and ($totals.lost | add) == 0' "$REPORT" >/dev/null ||
	fail "calls are missing: $(grep '"totals"' "$REPORT")"
