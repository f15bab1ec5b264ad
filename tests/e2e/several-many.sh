#!/bin/sh
# SPDX-License-Identifier: MIT
# More processes than are watched without a word: every one has its line, its books and its
# recording, all are left pristine; and few descriptors are enough for those that they are for.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/several_lib.sh"
: "${MANY:=$(in_full 70 66)}"

name=many_$$
cp "$VICTIMS/family" "$WORK/$name"
VICTIMS=$WORK victim family "$name"
number=1
while [ "$number" -lt "$MANY" ]; do
	tell family f
	number=$((number + 1))
done
all_there() { [ "$(grep -c '^child ok' "$WORK/family.out")" -eq $((MANY - 1)) ]; }
await 60 all_there || fail "not all children are there"
children=$(sed -n 's/^child ok //p' "$WORK/family.out")
own $children
for pid in $VICTIM $children; do
	pristine_take "$pid"
done

note "too many"
attach --name="$name" -d 0.1
expect "$STATUS" 3 "exit status for more than 64"
said_one_line "$MANY processes are more than 64.*--max-processes=$MANY"

note "$MANY of them"
attach_begin --name="$name" $EXACT --json --max-processes="$MANY" -o "$WORK/r"
for pid in $VICTIM $children; do
	attach_await "$pid"
done
tell family g
# shellcheck disable=SC2086
kill -USR1 $children
all_worked() { [ "$(grep -c '^worked' "$WORK/family.out")" -eq "$MANY" ]; }
await 60 all_worked || fail "not all work"
attach_end
expect "$STATUS" 0 "exit status"
several_valid
sums_hold
expect "$(json '[.processes[] | select(.detached == "pristine")] | length')" "$MANY" "left pristine"
expect "$(json '[.processes[].totals.live_bytes] | map(select(. < 100000)) | length')" 0 \
	"processes with too little"
expect "$(json '[.sites[] | select([.frames[] | .function] | index("keep")) |
	[(.by_process | length), .live_bytes]] | sort | tostring')" \
	"[[1,100000],[$((MANY - 1)),$(((MANY - 1) * 100000))]]" "who keeps what"
for pid in $VICTIM $children; do
	pristine_check "$pid"
done

note "its recordings, as text: a line for each"
"$MEMATTACH" report "$WORK"/r.* --json >"$WORK/again" || fail "report"
cmp "$REPORT" "$WORK/again" || fail "report of the recordings differs"
"$MEMATTACH" report "$WORK"/r.* >"$WORK/text" || fail "report as text"
expect "$(grep -c "$name .* left pristine\$" "$WORK/text")" "$MANY" "lines"

note "few descriptors, then too few"
if (ulimit -Hn 40) 2>/dev/null; then
	(ulimit -Sn 40 && attach --name="$name" -d 0.1 --max-processes="$MANY" --json &&
		expect "$STATUS" 0 "exit status with few at first" &&
		expect "$(json '[.processes[] | select(.watched)] | length')" "$MANY" "watched") ||
		fail "few descriptors"
	(ulimit -n 40 && attach --name="$name" -d 0.1 --max-processes="$MANY" &&
		expect "$STATUS" 6 "exit status with too few" &&
		grep -q "Too many open files; raise .ulimit -n" "$ERRORS") ||
		fail "what is said of too few: $(cat "$ERRORS")"
fi
for pid in $VICTIM $children; do
	pristine_check "$pid"
done
finished family
