#!/bin/sh
# SPDX-License-Identifier: MIT
# Another user binds the names by which memattach keeps a second one of itself out, for each of
# hundreds of processes: an attach works all the same, and a second one is refused as ever.
. "$(dirname "$0")/lib.sh"
needs jq python3
is_root || skip "only root can be another user"
victim truth truth_c
pristine_take "$VICTIM"
cat >"$WORK/occupy.py" <<'END'
import os
import socket
import sys

os.setresuid(2, 2, 2)
kept = []
pids = sorted(filter(str.isdigit, os.listdir("/proc")), key=lambda pid: pid != sys.argv[1])
for pid in pids[:300]:
    try:
        start = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19]
    except OSError:
        continue
    for end in ("", "-", "-00000000"):
        kept.append(socket.socket(socket.AF_UNIX))
        kept[-1].bind(f"\0memattach-{pid}-{start}{end}")
        kept[-1].listen(1)
print("ready", flush=True)
sys.stdin.read()
END
mkfifo "$WORK/occupy.in"
(ulimit -n "$(ulimit -Hn)" && exec python3 -c "$(cat "$WORK/occupy.py")" "$VICTIM") \
	<"$WORK/occupy.in" >"$WORK/occupy.out" 2>"$WORK/occupy.err" &
own $!
exec 9>"$WORK/occupy.in"
await 20 grep -q ready "$WORK/occupy.out" || fail "$(cat "$WORK/occupy.err")"
grep -q "@memattach-$VICTIM-" /proc/net/unix || fail "the names are not taken"
attach_begin -p "$VICTIM" $EXACT --json
attach_await "$VICTIM"
timeout 30 "$MEMATTACH" -p "$VICTIM" -d 1 >"$WORK/second" 2>"$WORK/second.err"
expect "$?" 3 "exit status of the second"
grep -q "memattach is already in process" "$WORK/second.err" || fail "$(cat "$WORK/second.err")"
truth truth
attach_end INT
expect "$STATUS" 0 "exit status of the first"
json_expect .session.detached pristine
json_expect .totals.alloc_count "$(jq .totals.alloc_count "$WORK/truth.truth")"
exec 9>&-
pristine_check "$VICTIM"
ended truth
