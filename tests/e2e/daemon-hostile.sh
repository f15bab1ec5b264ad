#!/bin/sh
# SPDX-License-Identifier: MIT
# A target that wants to be heard in others' names: its program's name has lines of its own for the
# log, the status, events and metrics; and it fills the memory that it shares with memattachd with
# noise. memattachd tells of it in its own words, watches others on, and does not fill the disk.
. "$(dirname "$0")/lib.sh"
needs jq
. "$E2E/daemon_lib.sh"

# The first fifteen bytes are what the kernel calls it.
# Behind the a stand U+202E, which turns what follows it, U+009B, which begins an order to a
# terminal, and U+2028, which ends a line.
NAME='a‮ 
"} 9
memattach_targets 999
memattach: 1 init: watched by [x], %s%n \e[2J'
evil=$VICTIMS/$NAME
cp "$BUILDDIR/tests/victims/hostile" "$evil" || fail "no copy"
victim other churn --threads=1
OTHER=$VICTIM
pristine_take "$OTHER"
victim evil "$NAME" --kind=forge
EVIL=$VICTIM
pristine_take "$EVIL"
echo "$EVIL" >"$WORK/evil.pid"
cat >"$WORK/on_event" <<END
#!/bin/sh
env | grep -a "^MEMATTACH_\|^\"\|^memattach" >>"$WORK/events"
END
chmod 755 "$WORK/on_event"
rules "[daemon]
metrics-file = $WORK/memattach.prom
metrics-every = 1s
on-event = $WORK/on_event
[watch evil]
pid-file = $WORK/evil.pid
[watch churn]
exe = $VICTIMS/churn"
begin
armed "$OTHER"
armed "$EVIL"

# --- what is told of it -------------------------------------------------------------------------

told() { grep -q "^memattach_target_live_bytes{pid=\"$EVIL\"" "$WORK/memattach.prom"; }
await 20 told || fail "no figures: $(cat "$WORK/memattach.prom" "$log")"

# Nothing of the kind begins a line, and no terminal would take an order.
heard_in() {
	! grep -aE '^("} 9|memattach_targets 999|memattach: 1 init)' "$1" ||
		fail "$1 has lines of the target's: $(cat "$1")"
	! LC_ALL=C grep -qa "$(printf '\033')" "$1" || fail "$1 has escapes"
	for raw in '\342\200\256' '\302\233' '\342\200\250'; do
		! LC_ALL=C grep -qa "$(printf "$raw")" "$1" || fail "$1 has $raw of a name"
	done
}
heard_in "$log"
heard_in "$WORK/memattach.prom"
expect "$(grep -c '^memattach_targets{state="watched"} ' "$WORK/memattach.prom")" 1 "its own count"
expect "$(sed -n 's/^memattach_targets{state="watched"} //p' "$WORK/memattach.prom")" 2 "watched"
! grep -vE '^(#|[a-z_]+(\{[^}]*(\\"}[^}]*)*\})? [-+0-9.eE]+$)' "$WORK/memattach.prom" ||
	fail "lines that are no metrics: $(cat "$WORK/memattach.prom")"
if command -v promtool >/dev/null 2>&1; then
	promtool check metrics <"$WORK/memattach.prom" >"$WORK/promtool" 2>&1 ||
		fail "promtool: $(cat "$WORK/promtool")"
fi
"$MEMATTACH" status --control="$control" >"$WORK/status" || fail "no status"
heard_in "$WORK/status"
expect "$(wc -l <"$WORK/status")" 4 "lines of the status: $(cat "$WORK/status")"
"$MEMATTACH" status --control="$control" --json >"$WORK/status.json" || fail "no status"
heard_in "$WORK/status.json"
expect "$(jq '.processes | length' "$WORK/status.json")" 2 "processes of the status"
"$MEMATTACH" ps --control="$control" >"$WORK/ps" || fail "no ps"
heard_in "$WORK/ps"
recordings=$(find "$state" -type f -name '*.memattach' | wc -l)
expect "$recordings" 2 "recordings, a line each: $(find "$state" -type f)"
! find "$state" -name '*[!-A-Za-z0-9_.]*' | grep . || fail "names of files that a shell reads"

# --- what it writes where memattachd reads ------------------------------------------------------

for how in j 0 1 r w l; do
	tell evil "$how"
	answer evil forge
	sleep 0.3
	tell evil x
	answer evil forge
done
kill -0 "$DAEMON" || fail "memattachd has ended: $(cat "$log")"
# Its session may have been given up; it is as it was then, and so it is at the end.
watched() {
	"$MEMATTACH" status --control="$control" --json | jq -e --argjson pid "$OTHER" \
		'.processes[] | select(.pid == $pid and .state == "watched")' >"$WORK/one"
}
watched || fail "the other one is not watched any more: $(cat "$log")"
heard_in "$log"
used=$(du -sk "$state" | cut -f 1)
[ "$used" -lt 20000 ] || fail "$used KiB of recordings"
end
heard_in "$log"
grep -qa "^MEMATTACH_TARGET_PID=$EVIL" "$WORK/events" || fail "no event of it"
heard_in "$WORK/events"
"$TOOLS/ringwatch" "$EVIL" gone 0 >"$WORK/ringwatch" || {
	timeout 30 "$MEMATTACH" cleanup -p "$EVIL" 2>"$ERRORS" || fail "cleanup: $(cat "$ERRORS")"
}
pristine_check "$EVIL"
pristine_check "$OTHER"
finished evil
finished other
