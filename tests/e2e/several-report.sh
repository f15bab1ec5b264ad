#!/bin/sh
# SPDX-License-Identifier: MIT
# Several processes side by side: each column is what its own report says, which is the victim's
# truth; `report` of the recordings prints the same; what is refused costs only its own column.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/several_lib.sh"

# ones RECORDING...: each printed alone, as $WORK/one.N.
ones() {
	one_number=0
	for one_file in "$@"; do
		one_number=$((one_number + 1))
		"$MEMATTACH" report "$one_file" --json >"$WORK/one.$one_number" ||
			fail "report $one_file"
	done
}

# same_again RECORDING...: report of them is the last report, as text and as JSON.
same_again() {
	for same_format in --json --top=10; do
		"$MEMATTACH" report "$same_format" "$@" >"$WORK/again" 2>"$WORK/err" ||
			fail "report of several: $(cat "$WORK/err")"
		cmp "$WORK/again" "$WORK/first.$same_format" || fail "report $same_format differs"
	done
}

# end NAME PID: a victim without a supervisor.
end() {
	VICTIM_SELF=$2
	ended "$1"
}

note "two victims and their truth, and one that is refused"
victim one truth_c; one=$VICTIM
victim two truth_threads; two=$VICTIM
victim idle processes --kind=idle; idle=$VICTIM
kill -STOP "$idle"
await 10 grep -q '^State:.T' "/proc/$idle/status" || fail "the third does not stop"
for pid in $one $two; do
	pristine_take "$pid"
done
attach_begin -p "$one" -p "$two" -p "$idle" $EXACT --json -o "$WORK/r"
attach_await "$one"
attach_await "$two"
truth one
truth two
attach_end
expect "$STATUS" 0 "exit status"
several_valid
sums_hold
pristine_check "$one"
pristine_check "$two"
expect "$(of_process "$idle" .watched)" false "the stopped one"
of_process "$idle" .problem | grep -q 'is stopped' || fail "why: $(of_process "$idle" .problem)"
grep -q "^memattach: $idle processes: .*kill -CONT" "$ERRORS" || fail "no line about the third"
expect "$(find "$WORK" -name 'r.*' | wc -l)" 2 "recordings ($(ls "$WORK"))"
ones "$WORK/r.$one" "$WORK/r.$two"
python3 "$E2E/check_truth.py" "$WORK/one.truth" "$WORK/one.1" truth_c || fail "truth of one"
python3 "$E2E/check_truth.py" "$WORK/two.truth" "$WORK/one.2" truth_threads || fail "truth of two"
jq -c '.processes |= map(select(.watched))' "$REPORT" >"$WORK/watched"
python3 "$E2E/check_several.py" "$WORK/watched" "$WORK/one.1" "$WORK/one.2" || fail "columns"
kill -CONT "$idle"

note "the same file in two places, and the same report of recordings"
cp "$VICTIMS/truth_c" "$WORK/elsewhere"
for format in --json --top=10; do
	victim three truth_c; three=$VICTIM
	VICTIMS=$WORK victim four elsewhere; four=$VICTIM
	pristine_take "$three"
	pristine_take "$four"
	attach_begin -p "$three" -p "$four" $EXACT -o "$WORK/s" "$format"
	attach_await "$three"
	attach_await "$four"
	truth three
	truth four
	attach_end
	expect "$STATUS" 0 "exit status"
	for other in --json --top=10; do
		"$MEMATTACH" report "$other" "$WORK/s.$three" "$WORK/s.$four" >"$WORK/first.$other"
	done
	cmp "$REPORT" "$WORK/first.$format" || fail "report $format is not what the session printed"
	same_again "$WORK/s.$four" "$WORK/s.$three"
	expect "$(jq '[.sites[].by_process | length] | unique | tostring' "$WORK/first.--json")" \
		'"[2]"' "processes that have each of the sites"
	pristine_check "$three"
	pristine_check "$four"
	end three "$three"; end four "$four"
done

note "views of the sums"
for view in hotspots tree flame filter source histogram; do
	attach report "$WORK/s.$three" "$WORK/s.$four" "$view" --json
	expect "$STATUS" 0 "exit status of $view"
	schema_valid views
	attach report "$WORK/s.$three" "$WORK/s.$four" "$view"
	expect "$STATUS" 0 "exit status of $view as text"
done
for view in peak timeline blocks lifetimes overview; do
	attach report "$WORK/s.$three" "$WORK/s.$four" "$view"
	expect "$STATUS" 2 "exit status of $view"
	said_one_line 'about one process'
done
attach report "$WORK/s.$three" "$WORK/s.$three"
expect "$STATUS" 2 "exit status for one session twice"
said_one_line 'same session'
end one "$one"; end two "$two"

note "leaks: sums by kind, groups by site"
victim first leaky --kind=tree,interior; first=$VICTIM
victim second leaky --kind=tree; second=$VICTIM
for pid in $first $second; do
	pristine_take "$pid"
done
attach_begin -p "$first" -p "$second" $EXACT --leaks --json -o "$WORK/l"
attach_await "$first"
attach_await "$second"
for name in first second; do
	tell "$name" b
	answer "$name" built
done
attach_end
expect "$STATUS" 1 "exit status with leaks"
several_valid
[ "$(json '[.leak_groups[] | select(.verdict == "definitely-lost" and .site != null) |
	.by_process | length] | max')" -eq 2 ] || fail "no group of both"
ones "$WORK/l.$first" "$WORK/l.$second"
python3 "$E2E/check_several.py" "$REPORT" "$WORK/one.1" "$WORK/one.2" || fail "leaks, watched"
for pid in $first $second; do
	pristine_check "$pid"
done
attach leaks -p "$first" -p "$second" --json -o "$WORK/l"
expect "$STATUS" 1 "exit status of a look"
several_valid
ones "$WORK/l.$first" "$WORK/l.$second"
python3 "$E2E/check_several.py" "$REPORT" "$WORK/one.1" "$WORK/one.2" || fail "leaks, one look"
[ "$(of_process "$second" .leaks.definitely_lost.bytes)" -gt 0 ] || fail "nothing is lost"
attach report "$WORK/l.$first" "$WORK/l.$second" leaks
expect "$STATUS" 0 "exit status of report leaks"
grep -q 'definitely lost' "$REPORT" || fail "no leaks in the text"
! grep -q 'sites by live bytes' "$REPORT" || fail "more than the leaks"
for pid in $first $second; do
	pristine_check "$pid"
done
end first "$first"; end second "$second"

note "by name: the two that are called so, and not memattach, nor anybody else"
name=named_$$
cp "$VICTIMS/processes" "$WORK/$name"
VICTIMS=$WORK victim a "$name" --kind=idle; a=$VICTIM
VICTIMS=$WORK victim b "$name" --kind=idle; b=$VICTIM
pristine_take "$a"
pristine_take "$b"
attach --name="$name" -p "$idle" -d 0.3 $EXACT --json
expect "$STATUS" 0 "exit status"
several_valid
found=$(printf '%s\n' "$a" "$b" "$idle" | sort -n | paste -sd,)
expect "$(json '[.processes[].pid] | sort | tostring')" "[$found]" "whom --name found"
pristine_check "$a"
pristine_check "$b"
attach --name="$name" -d 0.3 --max-processes=1
expect "$STATUS" 3 "exit status for too many"
said_one_line '2 processes are more than 1.*--max-processes=2'
attach --name="no-$name" -d 0.3
expect "$STATUS" 3 "exit status for a name that nobody has"
said_one_line "no-$name.*no process"
cp "$MEMATTACH" "$WORK/own_$$"
MEMATTACH=$WORK/own_$$ attach --name="own_$$" -d 0.3
expect "$STATUS" 3 "exit status for memattach's own name"
said_one_line 'no process'

note "all are refused"
kill -STOP "$a"
await 10 grep -q '^State:.T' "/proc/$a/status" || fail "it does not stop"
attach -p "$a" -p 999999999 -d 0.3 --json
expect "$STATUS" 3 "exit status when all are refused"
several_valid
kill -CONT "$a"
pristine_check "$a" --quiet
finished a; finished b; finished idle

# Wrong usage; no process has these ids, should one of them be none.
two="-p 4194304 -p 4194303"
for wrong in "--follow" "--follow -p 4194304 -d 0" "$two --trace-to=1000" "--name=/bin/sh" \
	"--name=" "-p 4194304 --max-processes=0" "check $two" "cleanup --name=x" "trace $two" \
	"run --name=x -- true" "$two --leaks --access=3"; do
	# shellcheck disable=SC2086
	attach $wrong
	expect "$STATUS" 2 "exit status of: $wrong"
	said_one_line '.'
done
