#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd on a host with thousands of processes (CROWD: 3000) that no rule means: the few that
# one means are watched, while the others only sleep and while programs begin and end as fast as a
# shell begins them; so are one that begins in the middle of that, and one that becomes another
# program. What that takes of memattachd: less than 1 % of a processor while they sleep, and less
# than a tenth of what the programs take themselves.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq
. "$E2E/daemon_lib.sh"
: "${CROWD:=3000}" "${SECONDS_ASLEEP:=70}" "${SECONDS_BUSY:=20}"

# Nanoseconds that a process ran so far; with its children that it has waited for: clock ticks.
ran() { cat "/proc/$1/task"/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }
with_children() { awk '{ print $14 + $15 + $16 + $17 }' "/proc/$1/stat"; }
status() { "$MEMATTACH" status --control="$control" --json >"$WORK/status.json" 2>/dev/null; }
watched() {
	status && [ "$(jq '[.processes[] | select(.figures)] | length' "$WORK/status.json")" \
		-eq "$1" ]
}

# wanted NAME: one that the rule means.
wanted() {
	background "$1" "$VICTIMS/wanted-$$" --every=1000
	pids="${pids:-} $LAST"
}

cp "$BUILDDIR/tests/victims/ticking" "$VICTIMS/wanted-$$" || fail "no copy"
rules "[watch wanted]
exe = $VICTIMS/wanted-$$"
wanted first
sh -c 'i=0; while [ $i -lt '"$CROWD"' ]; do i=$((i + 1)); sleep 1000 & done; echo ready; wait' \
	>"$WORK/crowd.out" 2>"$WORK/crowd.err" </dev/null &
crowd=$!
own "$crowd"
end_crowd() {
	# shellcheck disable=SC2046 # one word each
	kill $(cat "/proc/$crowd/task/$crowd/children") 2>/dev/null
}
trap 'end_crowd; tidy_up' EXIT
await 60 grep -q ready "$WORK/crowd.out" || fail "no crowd: $(head -n 3 "$WORK/crowd.err")"
wanted second

# --- they sleep -------------------------------------------------------------------------------

begin
await 60 watched 2 || fail "watched among $CROWD: $(cat "$WORK/status.json") $(tail -n 3 "$log")"
spent=$(ran "$DAEMON") began=$(date +%s%N)
sleep "$SECONDS_ASLEEP"	# longer than from one look at all of them to the next
asleep=$(awk -v a="$spent" -v b="$(ran "$DAEMON")" -v t="$(($(date +%s%N) - began))" \
	'BEGIN { printf "%.3f", (b - a) * 100 / t }')
note "$CROWD processes sleep: memattachd takes $asleep % of a processor"

# --- programs begin and end --------------------------------------------------------------------

cat >"$WORK/storm" <<-'END'
	end=$(($(date +%s) + $1))
	n=0
	while [ "$(date +%s)" -lt "$end" ]; do
		for i in 1 2 3 4 5 6 7 8 9 10; do
			/bin/true
		done
		n=$((n + 11))
	done
	echo "$n"
	read -r _
END
mkfifo "$WORK/storm.in"
spent=$(ran "$DAEMON")
sh "$WORK/storm" "$SECONDS_BUSY" <>"$WORK/storm.in" >"$WORK/storm.out" &
storm=$!
own "$storm"
sleep 1		# it is under way
wanted third
await 60 watched 3 || fail "one that begins meanwhile: $(cat "$WORK/status.json")"
mkfifo "$WORK/other.in"
sh -c "sleep 2; exec '$VICTIMS/wanted-$$' --every=1000" <>"$WORK/other.in" >"$WORK/other.out" &
pids="$pids $!"
own "$!"
await 60 watched 4 || fail "one that becomes another program: $(cat "$WORK/status.json")"
await $((SECONDS_BUSY * 2 + 10)) test -s "$WORK/storm.out" || fail "it does not end"
ours=$(ran "$DAEMON") theirs=$(with_children "$storm")
busy=$(awk -v a="$spent" -v b="$ours" -v t="$theirs" -v hz="$(getconf CLK_TCK)" \
	'BEGIN { printf "%.3f", (b - a) / 1e9 / (t / hz) }')
programs=$(cat "$WORK/storm.out")
note "$programs programs in $SECONDS_BUSY s: memattachd takes $busy of what they take"

end
for name in first second third other; do
	printf q >"$WORK/$name.in"
done
all_good() {
	for name in first second third other; do
		grep -q '^verdict ok' "$WORK/$name.out" || return 1
	done
}
await 60 all_good || fail "not all are well"
awk -v p="$asleep" 'BEGIN { exit !(p < 1) }' || fail "asleep: $asleep %"
awk -v p="$busy" 'BEGIN { exit !(p < 0.1) }' || fail "busy: $busy of what the programs take"
note "$CROWD processes: asleep $asleep %, $programs programs begun and ended: $busy"
