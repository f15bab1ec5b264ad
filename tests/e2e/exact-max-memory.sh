#!/bin/sh
# SPDX-License-Identifier: MIT
# --max-memory: a program that makes more call stacks, or has more live blocks, than can be
# remembered is watched to its end, within that memory. Totals stay the truth, what was evicted is
# counted, and what allocates all the time keeps a site of its own.
. "$(dirname "$0")/lib.sh"
needs jq

# The analyst, of memattach's processes, is the one with most memory of its own.
anonymous() {
	for process in $(attach_processes); do
		awk '/^RssAnon:/ { print $2 }' "/proc/$process/status" 2>/dev/null
	done | sort -n | tail -n 1
}

# watch_memory NAME: until the victim's truth is told. Sets MOST, in KiB.
watch_memory() {
	MOST=0
	until grep -q '^truth' "$WORK/$1.out"; do
		now=$(anonymous)
		[ "${now:-0}" -le "$MOST" ] || MOST=$now
		sleep 0.05
	done
	now=$(anonymous)
	[ "${now:-0}" -le "$MOST" ] || MOST=$now
}

# summed REPORT: what is asked of its many sites, beside the rest, into $REPORT.
summed() {
	jq '([.sites[] | select(.kind == "malloc")]) as $blocks | {session, totals,
		alloc_count: ([$blocks[].alloc_count] | add // 0),
		live_bytes: ([$blocks[].live_bytes] | add // 0),
		other: [$blocks[] | select(.other)],
		steady: ([$blocks[] | select(.frames[0:2] | any(.function == "steady_leak")) |
			.live_count] | add)}' "$1" >"$WORK/summed" || fail "no report: $1"
	REPORT=$WORK/summed
}

# limited NAME COMMAND MIB OPTIONS...: attach, the victim's COMMAND, detach.
limited() {
	limited_name=$1 limited_command=$2 limited_mib=$3
	shift 3
	REPORT=$WORK/report.json
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --exact --on-overflow=block --json \
		--max-memory="${limited_mib}M" "$@"
	attach_await "$VICTIM"
	tell "$limited_name" "$limited_command"
	watch_memory "$limited_name"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	sed -n 's/^truth //p' "$WORK/$limited_name.out" >"$WORK/truth"
	jq '.sites |= ([.[] | select(.other)] + .[0:20])' "$REPORT" >"$WORK/some.json"
	summed "$REPORT"
	note "$MOST KiB at the most; $(json '.session.memory | tostring')"
	# what does not grow with events: the program's own data, call frame information
	[ "$MOST" -le $(((limited_mib + 16) * 1024)) ] ||
		fail "$MOST KiB of its own with --max-memory=${limited_mib}M"
	json_expect .session.detached pristine
	json_expect ".session.memory.limit_bytes == $limited_mib * 1048576" true
	json_expect '.session.memory | .peak_bytes <= .limit_bytes' true
	json_expect .session.lost.stack 0
	json_expect .totals.alloc_count "$(jq .allocs "$WORK/truth")"
	json_expect .totals.alloc_bytes "$(jq .alloc_bytes "$WORK/truth")"
	json_expect '.alloc_count == .totals.alloc_count' true
	json_expect '.live_bytes == .totals.live_bytes' true
	REPORT=$WORK/some.json
	json_valid
	REPORT=$WORK/summed
}

# Far more stacks than there is room for. Every block is known: live is the truth, too.
victim stacks many_stacks --stacks=60000
limited stacks g 16 -o "$WORK/recording" --interval=0.2
json_expect .totals.live_bytes "$(jq .live_bytes "$WORK/truth")"
json_expect .totals.free_count "$(jq .frees "$WORK/truth")"
json_expect '.session.memory | .evicted_sites > 30000 and .evicted_stacks > 30000' true
json_expect .session.memory.thinned_blocks 0
json_expect '.other | length' 1
json_expect '.other[0] | .alloc_count > 30000 and .frames == []' true
# What leaks steadily while all that goes on has never been evicted.
json_expect .steady "$(jq .steady "$WORK/truth")"

# The recording says the same, at its end and in between.
for file in "$WORK/recording" "$WORK/recording@80%"; do
	"$MEMATTACH" report "$file" --json >"$WORK/recorded" 2>"$ERRORS" || fail "report $file"
	summed "$WORK/recorded"
	json_expect '.alloc_count == .totals.alloc_count' true
	json_expect '.live_bytes == .totals.live_bytes' true
done
"$MEMATTACH" report "$WORK/recording" >"$WORK/text" || fail "report"
grep -q ' evicted .* are under "other"' "$WORK/text" || fail "nothing is said of what was evicted"
ended stacks

# More blocks than there is room for: those that live are a sample, with an interval.
victim blocks many_stacks --blocks=400000
limited blocks l 16
json_expect '.session.memory | .evicted_sites == 0 and
	.thinned_blocks > 200000 and
	.thinned_interval_bytes > 0' true
live=$(jq .live_bytes "$WORK/truth")
# Five times as far off as the interval of 95 % says: that does not happen by chance.
json_expect ".totals | .live_bytes_low < .live_bytes_high and
	.live_bytes - 5 * (.live_bytes - .live_bytes_low) < $live and
	.live_bytes + 5 * (.live_bytes_high - .live_bytes) > $live" true
json_expect '.totals | .free_unknown_count == null and .temporary_count == null' true
ended blocks

# Too little is refused, by the least that will do.
REPORT=$WORK/report.json
attach -p $$ --max-memory=1M
expect "$STATUS" 2 "exit status"
said_one_line '16M'
