#!/bin/sh
# SPDX-License-Identifier: MIT
# Who reads a recording over HTTP while it is written gets names of functions, soon after the first
# question, also of a process that does nothing and long before the next snapshot. The recording of
# a process that nobody asks for has none before its end. Both are complete then.
. "$(dirname "$0")/lib.sh"
needs curl sqlite3
SRCVICTIMS=$VICTIMS
. "$E2E/daemon_lib.sh"
"$daemon" --version | grep -q libmicrohttpd || skip "memattachd was built without libmicrohttpd"
. "$E2E/metrics_lib.sh"
cp "$SRCVICTIMS/many_stacks" "$VICTIMS/" || fail "no copy of many_stacks"

# Until then nobody looks, and after it there is no other snapshot before names have come.
EVERY=10
victim one many_stacks --stacks=20
ONE=$VICTIM
victim two many_stacks --stacks=20
TWO=$VICTIM
pristine_take "$ONE"
rules "[http]
listen = unix:$WORK/http
[watch app]
exe = $VICTIMS/many_stacks
sample = 64
ring = 16M
snapshot-every = ${EVERY}s"
begin
armed "$ONE"
armed "$TWO"
tell one g
tell two g

# ask PID SQL: of its recording.
ask() { sqlite3 "$state"/app/many_stacks-"$1"-*.memattach "$2" 2>/dev/null; }
snapshots() { ask "$1" "SELECT count(*) FROM snapshots"; }
has_snapshot() { [ "$(snapshots "$1")" ] && [ "$(snapshots "$1")" -gt 0 ]; }
await $((EVERY * 3)) has_snapshot "$ONE" || fail "no snapshot: $(cat "$log")"
await $((EVERY * 3)) has_snapshot "$TWO" || fail "no snapshot: $(cat "$log")"
BEFORE=$(snapshots "$ONE")
expect "$(ask "$ONE" "SELECT count(*) FROM symbols")" 0 "names before anybody asks"
gets 200 "/targets/$ONE/report"
! grep -q step_h "$WORK/body" || fail "names from the beginning: nothing is tested here"

# has_names PATH [unpack]: what it answers.
has_names() {
	gets_soon 200 "$1" && ${2:-cat} <"$WORK/body" >"$WORK/plain" &&
		grep -aq step_h "$WORK/plain" && grep -aq step_a "$WORK/plain" &&
		grep -aq many_stacks.c "$WORK/plain"
}
await 20 has_names "/targets/$ONE/report" ||
	fail "no names in the report: $(ask "$ONE" "SELECT count(*) FROM symbols"; cat "$log")"
expect "$(snapshots "$ONE")" "$BEFORE" "snapshots until there are names"
if grep -q 'define HAVE_PPROF' "$BUILDDIR/config.h"; then
	for profile in heap allocs; do
		await 20 has_names "/debug/pprof/$profile?pid=$ONE" zcat ||
			fail "no names in the profile by $profile"
	done
	! command -v go >/dev/null ||
		go tool pprof -top -nodefraction=0 -symbolize=none "$WORK/body" 2>"$ERRORS" |
		grep -q step_h || fail "pprof shows no names: $(cat "$ERRORS")"
fi
expect "$(ask "$ONE" "SELECT count(*) FROM symbols WHERE function IS NULL")" 0 "nameless ones"

# What is new later has its names with the next snapshot.
named() { ask "$1" "SELECT count(DISTINCT frame) FROM symbols"; }
are_named() { [ "$(named "$ONE")" -gt "$NAMED" ]; }
NAMED=$(named "$ONE")
tell one l
await $((EVERY * 3)) are_named || fail "what is new stays without names"
expect "$(named "$TWO")" 0 "names in a recording that nobody reads"

end
pristine_check "$ONE"
for pid in "$ONE" "$TWO"; do
	expect "$(named "$pid")" "$(ask "$pid" "SELECT count(*) FROM frames")" "named at the end"
	ask "$pid" "SELECT function FROM symbols" | grep -qx step_a || fail "no step_a: $pid"
done
tell one q
tell two q
