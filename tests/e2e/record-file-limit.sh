#!/bin/sh
# SPDX-License-Identifier: MIT
# A limit on the size of files (ulimit -f) ends a recording, not a process: it is told as such,
# what was recorded until then is kept, and a program that is run has its signals as they were.
. "$(dirname "$0")/lib.sh"
needs sqlite3 jq prlimit
rows() { sqlite3 "$WORK/recording" "$1" 2>/dev/null; }
limit() { prlimit --pid $$ --fsize="$1:" || fail "prlimit"; }	# ours; bytes

# The ring is a file, too, in memory.
victim check selfcheck --kind=malloc-loop --threads=2
pristine_take "$VICTIM"
limit 300000
attach -p "$VICTIM" -d 1 -o "$WORK/recording"
limit unlimited
expect "$STATUS" 3 "exit status below a limit that leaves no ring"
said_one_line 'ulimit -f.* --ring-size'
pristine_check "$VICTIM"

# In the midst of a session, which goes on without it.
attach_begin -p "$VICTIM" --interval=0.01 --sample=512 -o "$WORK/recording"
attach_await "$VICTIM"
for process in $(attach_processes); do
	prlimit --pid "$process" --fsize=300000: || fail "prlimit"
done
await 60 grep -q 'is kept' "$ERRORS" || fail "no limit was met: $(cat "$ERRORS")"
! is_gone "$ATTACH" || fail "the session ended with its recording"
attach_end INT
expect "$STATUS" 6 "exit status of a session whose recording met the limit"
grep -q 'limit on the size of files (ulimit -f) is reached; what was recorded until' "$ERRORS" ||
	fail "not told as that: $(cat "$ERRORS")"
grep -q 'live' "$REPORT" || fail "no report at the end"
pristine_check "$VICTIM"
until=$(sed -n 's/.*recorded until \([0-9.]*\) s is kept.*/\1/p' "$ERRORS")
expect "$(rows 'SELECT printf("%.1f", max(time)) FROM snapshots')" "$until" \
	"what is kept, and what was said to be"
expect "$(rows 'PRAGMA integrity_check')" ok "the database"
attach report "$WORK/recording" --json
expect "$STATUS" 0 "exit status of report"
json_valid
grep -q 'has no end' "$ERRORS" || fail "does not say that it has no end"
checked check
finished check

# What prints a recording says so, too, and leaves nothing half beside it.
limit 512
attach export "$WORK/recording" --to=html -o "$WORK/page.html"
limit unlimited
expect "$STATUS" 6 "exit status of an export beyond the limit"
grep -q "can't write .*page.html: File too large" "$ERRORS" || fail "not told: $(cat "$ERRORS")"
expect "$(find "$WORK" -name 'page.html*')" "" "what is left of it"

# SIGXFSZ (25) is bit 0x1000000.
attach run -o "$WORK/other" -- sh -c 'grep SigIgn /proc/self/status >"$0"' "$WORK/ignored"
expect "$STATUS" 0 "exit status of run"
expect "$((0x$(sed 's/.*[^0-9a-f]//' "$WORK/ignored") & 0x1000000))" 0 \
	"SIGXFSZ, ignored in a program that is run"
