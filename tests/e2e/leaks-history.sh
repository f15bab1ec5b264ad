#!/bin/sh
# SPDX-License-Identifier: MIT
# What a recording knows of leaks: judged from the file alone, the leak is the first group, and what
# has stopped growing is not called growing; and as --history of a later, shorter watch, it tells
# what would be too early to say. A recording of another program, a damaged one, and none are
# refused before anything is touched.
: "${TEST_LIMIT:=240}"
. "$(dirname "$0")/lib.sh"
. "$E2E/servers.sh"
needs jq python3
: "${SECONDS_RECORDED:=40}"
: "${SECONDS_WATCHED:=5}"
ATTACH_LIMIT=$((SECONDS_RECORDED + 80))
RATE=1500

# early FUNCTION: is it too early to tell for blocks that it allocated?
early() {
	json '. as $r | .leaks.too_early[].site as $s | $r.sites[] | select(.id == $s) |
		.frames[].function' | grep -qx "$1"
}

# record FILE [OPTIONS]: with routes that grow in its first half.
record() {
	record_file=$1
	shift
	tell server g
	requests_before=$(counts requests)
	attach_begin -p "$VICTIM" -d "$SECONDS_RECORDED" $EXACT -o "$record_file" "$@"
	attach_await "$VICTIM"
	await "$SECONDS_RECORDED" enough_requests $((requests_before + SECONDS_RECORDED * RATE / 3))
	tell server s
	attach_wait
	expect "$STATUS" 0 "exit status of a recording"
}

# refused PID FILE PATTERN: as a history.
refused() {
	attach -p "$1" --leaks -d 1 --history="$2"
	expect "$STATUS" 2 "exit status with $2 as history"
	said_one_line "$3"
}

slow_server_start "$RATE" $((3 * SECONDS_RECORDED + 60)) 2000

# from the file alone
record "$WORK/recording"
attach report "$WORK/recording" leaks --json
expect "$STATUS" 0 "exit status of report"
json_valid
json_expect '.leaks.groups[0].verdict' growing
json_expect '.leaks.definitely_lost' null
functions_of growing | grep -qx request_refuse || fail "the leak does not grow"
functions_of growing | grep -vx request_refuse && fail "something healthy is called growing"
functions_of stuck | grep . && fail "something healthy is called stuck"
early route_learn || fail "it can't be known whether the routes are a leak: $(json .leaks)"
attach report "$WORK/recording" leaks
grep -q 'Too early to tell for' "$REPORT" || fail "the text does not say what is too early"
grep -q 'none was freed yet; 12 min 30 s would tell' "$REPORT" || fail "nor why"
attach report "$WORK/recording"
grep -q 'Too early' "$REPORT" && fail "the whole report has no such part"

# on top of a later watch: some sessions are put aside and ended by nobody
tell server f
record "$WORK/second"
attach -p "$VICTIM" --leaks -d "$SECONDS_WATCHED" $EXACT --json
expect "$STATUS" 1 "exit status of a short watch"
json_valid
early session_open || fail "$SECONDS_WATCHED s tell about sessions of 2 s: $(json .leaks)"
functions_of stuck | grep . && fail "stuck, after $SECONDS_WATCHED s"
json_expect '.leaks.history' null
attach -p "$VICTIM" --leaks -d "$SECONDS_WATCHED" $EXACT --json --history="$WORK/second" \
	-o "$WORK/third"
expect "$STATUS" 1 "exit status with a history"
json_valid
[ "$(json '.leaks.history.sites')" -ge 4 ] || fail "the history knows too few sites"
functions_of stuck | grep -qx session_open || fail "not even with a history: $(json .leaks)"
functions_of stuck | grep -vx session_open && fail "something healthy is called stuck"
expect "$(json '[.leaks.groups[] | select(.verdict == "stuck") | .by_history] | unique[]')" true \
	"the verdicts' grounds"
early session_open && fail "too early, with a history"
# a thread may just have had a block that is lost right after
functions_of growing | grep -vx request_refuse && fail "something healthy is called growing"
cp "$REPORT" "$WORK/live"
attach report "$WORK/third" --json
expect "$(json '.leaks | [.history, .too_early, [.groups[] | [.verdict, .site, .by_history]]]')" \
	"$(jq '.leaks | [.history, .too_early, [.groups[] | [.verdict, .site, .by_history]]]' \
	"$WORK/live")" "what the recording keeps"

# refused, and nothing touched
victim idle processes --kind=idle
pristine_take "$VICTIM"
refused "$VICTIM" "$WORK/recording" 'another program'
refused "$VICTIM" /nonexistent 'nonexistent: No such file'
head -c 5000 "$WORK/recording" >"$WORK/half"
refused "$VICTIM" "$WORK/half" 'damaged'
refused "$VICTIM" /dev/null 'not a recording'
attach -p "$VICTIM" --leaks -d 1 --history="$WORK/half" -o "$WORK/recording"
expect "$STATUS" 2 "exit status with a damaged history"
attach report "$WORK/recording"
expect "$STATUS" 0 "the older recording, which has not made way"
pristine_check "$VICTIM" --quiet
finished idle
tell server q
