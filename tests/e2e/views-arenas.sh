#!/bin/sh
# SPDX-License-Identifier: MIT
# The views arenas, regions and fragmentation: equal to malloc_info(3) and to smaps of a process at
# rest, to the byte; what malloc_trim is said to give back it does; a recording prints the same.
. "$(dirname "$0")/lib.sh"
needs jq python3

victim arenas arenas --threads=3 "--info=$WORK/info" "--smaps=$WORK/smaps"
pristine_take "$VICTIM"

# look VIEW ARGUMENTS: straight from the process, nothing is hooked.
look() {
	view=$1
	shift
	attach -p "$VICTIM" -d 0 --view="$view" --json "$@"
	expect "$STATUS" 0 "exit status of $view"
	cp "$REPORT" "$WORK/$view.json"
	cat "$REPORT" >>"$WORK/documents"
}

# truth WORD: what the victim says of itself now.
told() {
	tell arenas "$1"
	answer arenas "$2"
}

look arenas
told i info
python3 "$E2E/check_arenas.py" info "$WORK/info" "$WORK/arenas.json" || fail "not malloc_info's"

# Each thread has an arena, and in its tcache as many chunks of a size as nobody else.
expect "$(jq -c '[.arenas[] | [.attached_threads, ([.bins[] | select(.bin == "tcache" and
	.size_low == 976) | .count] | add)]] | sort' "$WORK/arenas.json")" \
	'[[1,2],[1,3],[1,4],[1,5]]' "attached threads and cached chunks"
expect "$(jq -c '[.threads[].thread] | sort' "$WORK/arenas.json")" \
	"$(ls "/proc/$VICTIM/task" | jq -cs 'sort')" "threads"
expect "$(jq '([.threads[].arena] | unique) == ([.arenas[].address] | unique)' \
	"$WORK/arenas.json")" true "each arena has its thread"
expect "$(jq '[.threads[].cached_bytes] | add' "$WORK/arenas.json")" \
	"$(jq '[.arenas[].tcache.bytes] | add' "$WORK/arenas.json")" "bytes in tcaches"
expect "$(jq '[.arenas[] | .fast.count, .unsorted.count, .small.count, .large.count, .top.count
	| select(. == 0)] | length' "$WORK/arenas.json")" 1 "kinds of chunks that an arena lacks"

# Every mapping, as the kernel has it a moment later.
look regions
cat "/proc/$VICTIM/smaps" >"$WORK/smaps" || fail "smaps"
python3 "$E2E/check_arenas.py" smaps "$WORK/smaps" "$WORK/regions.json" || fail "not as smaps"
for kind in text rodata data bss heap allocator stack reserved kernel; do
	jq -e ".kinds[] | select(.kind == \"$kind\")" "$WORK/regions.json" >/dev/null ||
		fail "no mapping is $kind"
done
expect "$(jq '[.mappings[] | select(.kind == "stack")] | length' "$WORK/regions.json")" 4 stacks

# With a picture stacks have their threads, and parts add up: to sums, to smaps, to arenas.
look fragmentation
expect "$(jq '[foreach .rows[] as $r ([0, true]; if $r.sum then [.[0], .[0] == $r.bytes] else
	[.[0] + $r.bytes, true] end; .[1])] | all' "$WORK/fragmentation.json")" true \
	"rows add up to their sums"
expect "$(jq '.rows[-1].resident_bytes' "$WORK/fragmentation.json")" \
	"$(sed -n 's/^Rss: *\([0-9]*\) kB/\1/p' "$WORK/smaps" | jq -s 'add * 1024')" \
	"resident bytes of the process"
expect "$(jq '[.rows[] | select(.name == "used" or .name == "allocators") | .bytes]' \
	"$WORK/fragmentation.json")" "$(jq '([.arenas[].used.bytes] | add) as $used |
	.allocators[0] | [$used + .mapped.bytes, .memory.bytes]' "$WORK/arenas.json")" \
	"sums of the arenas"
pristine_check "$VICTIM"

# What was asked for since the attach, beside what was there before: exact, also as text.
attach_begin -p "$VICTIM" $EXACT --view=fragmentation -o "$WORK/recording"
attach_await "$VICTIM"
told k kept
attach_end INT
expect "$STATUS" 0 "exit status"
cp "$REPORT" "$WORK/session"
attach report "$WORK/recording" fragmentation
cmp "$WORK/session" "$REPORT" || fail "report fragmentation differs from --view=fragmentation"
attach report "$WORK/recording" fragmentation --json
cat "$REPORT" >>"$WORK/documents"
json_expect '.since_attach | [.count, .asked_bytes, .usable_bytes, .estimated]' \
	"$(printf '[\n  1000,\n  100000,\n  104000,\n  false\n]')"

# Samples: estimates are marked.
attach_begin -p "$VICTIM" --sample=2K --view=fragmentation -o "$WORK/recording"
attach_await "$VICTIM"
told k kept
attach_end INT
expect "$STATUS" 0 "exit status"
grep -q '~.* KiB' "$REPORT" || fail "an estimate is not marked: $(cat "$REPORT")"
grep -q 'estimated from samples' "$REPORT" || fail "an estimate is not named"

# Every view of the recording as in the session; --heaps walks for a recording alone.
for view in regions arenas fragmentation; do
	for json in '' --json; do
		attach -p "$VICTIM" -d 0.2 -o "$WORK/recording" --view=$view $json
		expect "$STATUS" 0 "exit status of --view=$view"
		cp "$REPORT" "$WORK/session"
		attach report "$WORK/recording" $view $json
		cmp "$WORK/session" "$REPORT" || fail "report $view $json differs"
	done
done
attach -p "$VICTIM" -d 0.2 -o "$WORK/recording"
attach report "$WORK/recording" regions
expect "$STATUS" 0 "exit status of regions"
attach report "$WORK/recording" arenas
expect "$STATUS" 2 "exit status of arenas"
said_one_line 'not walked.*--heaps'
attach -p "$VICTIM" -d 0.2 -o "$WORK/recording" --heaps
attach report "$WORK/recording" arenas --json
expect "$STATUS" 0 "exit status of arenas after --heaps"
attach -p "$VICTIM" -d 0 --leaks -o "$WORK/recording"
attach report "$WORK/recording" arenas --json
expect "$STATUS" 0 "exit status of arenas after --leaks"
schema_valid views "$WORK/documents"
pristine_check "$VICTIM"

# What could be given back is what malloc_trim gives back: private memory of no file.
look fragmentation
anonymous() {
	sed -n 's/^Anonymous: *\([0-9]*\) kB/\1/p' "/proc/$VICTIM/smaps" | jq -s 'add * 1024'
}
before=$(anonymous)
told t trim
freed=$((before - $(anonymous)))
promised=$(jq .trimmable_bytes "$WORK/fragmentation.json")
[ "$promised" -gt 100000 ] && [ "$freed" -ge "$promised" ] && \
	[ $((freed - promised)) -le 65536 ] || fail "malloc_trim gave $freed back, not $promised"
ended arenas
