#!/bin/sh
# SPDX-License-Identifier: MIT
# A recording of counts says what the session said, at moments, too; what it can't know is refused
# by one line, wherever it is asked for.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/counts_lib.sh"
needs jq python3

victim truth truth_threads --threads=4 --rounds=3000
counts_session truth truth_threads sites -o "$WORK/counts.rec" --interval=0.05
ended truth
cp "$REPORT" "$WORK/session.json"

# Names and orders of ids alike: all but what a recording rounds or adds.
plain() {
	jq -S 'del(.session, .target, .timeline[].time, .leaks, .wrong_frees)' "$1"
}
"$MEMATTACH" report "$WORK/counts.rec" --json >"$REPORT" 2>"$ERRORS" || fail "report: $?"
json_valid
plain "$WORK/session.json" >"$WORK/one"
plain "$REPORT" >"$WORK/other"
cmp -s "$WORK/one" "$WORK/other" || fail "not the same: $(diff "$WORK/one" "$WORK/other" | head)"

for view in overview timeline histogram tree flame; do
	"$MEMATTACH" report "$WORK/counts.rec" $view --json >"$REPORT" 2>"$ERRORS" ||
		fail "$view: $?"
	schema_valid views
	"$MEMATTACH" report "$WORK/counts.rec" $view >"$REPORT" 2>"$ERRORS" || fail "$view, text"
done
"$MEMATTACH" report "$WORK/counts.rec@50%" --json >"$REPORT" 2>"$ERRORS" || fail "a moment: $?"
json_valid
json_expect .counts.kind sites
json_expect '.counts.alloc_usable_bytes >= .totals.alloc_bytes' true
"$MEMATTACH" export "$WORK/counts.rec" --to=folded --by=calls >"$REPORT" 2>"$ERRORS" ||
	fail "folded: $?"
expect "$(awk '{ n += $NF } END { print n }' "$REPORT")" \
	"$(jq .totals.alloc_count "$WORK/session.json")" "calls in folded stacks"

# refused ARGUMENTS
refused() {
	timeout 20 "$MEMATTACH" "$@" >"$REPORT" 2>"$ERRORS" </dev/null
	expect "$?" 2 "exit status of: $*"
	said_one_line 'count'
}
for view in hotspots temporary peak lifetimes blocks filter source realloc threads regions arenas \
	fragmentation leaks; do
	refused report "$WORK/counts.rec" $view
done
refused report "$WORK/counts.rec" tree --by=live
refused diff "$WORK/counts.rec" "$WORK/counts.rec"
refused report "$WORK/counts.rec" "$WORK/counts.rec"
for format in pprof speedscope gperftools massif callgrind heaptrack csv html svg-timeline; do
	refused export "$WORK/counts.rec" --to=$format
done
refused export "$WORK/counts.rec" --to=folded

victim idle processes --kind=idle
pristine_take "$VICTIM"
refused -p "$VICTIM" --counts --exact
refused -p "$VICTIM" --counts --sample=4096
refused -p "$VICTIM" --counts=everything
refused -p "$VICTIM" --counts --leaks
refused -p "$VICTIM" --counts --trace-to=1000
refused -p "$VICTIM" --counts --on-overflow=block
refused -p "$VICTIM" --counts --stacks=copy
refused -p "$VICTIM" --counts --track=mmap
refused -p "$VICTIM" --counts --snapshot-on=peak -o "$WORK/none.rec"
refused -p "$VICTIM" --counts --heaps -o "$WORK/none.rec"
refused -p "$VICTIM" -p $$ --counts
refused -p "$VICTIM" --counts --view=blocks
refused -p "$VICTIM" --counts=totals --view=histogram
refused -p "$VICTIM" --counts=histogram --view=tree
refused leaks -p "$VICTIM" --counts
refused trace -p "$VICTIM" --counts
pristine_check "$VICTIM" --quiet
finished idle
