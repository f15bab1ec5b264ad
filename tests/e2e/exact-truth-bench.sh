#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs of `make bench BENCH=programs` know their own calls: what each says of a little
# work is what exact sessions see of it, attached and from its start, in counts and in bytes.
. "$(dirname "$0")/lib.sh"
needs jq
# shellcheck source=tests/bench/build.sh
. "$SRCDIR/tests/bench/build.sh"

# units_of PROGRAM: some thousand allocations; binary_trees takes a depth.
units_of() {
	case $1 in
	threadtest) echo 1 ;;
	binary_trees) echo 8 ;;
	parse_json) echo 301 ;;
	*) echo 5003 ;;
	esac
}

# truth KEY: of what the program said last; null: it does not know.
truth() { jq ".$1" "$WORK/result"; }

# known KEY ACTUAL WHAT
known() {
	[ "$(truth "$1")" = null ] || expect "$2" "$(truth "$1")" "$bench_name, $3: $1"
}

# in_work FIGURE: of all sites below the function that the program's threads begin with.
in_work() {
	json "[.sites[] | select(any(.frames[]; .function == \"bench_thread\")) | .$1] | add"
}

nothing_lost() {
	json_expect '.session.lost.alloc + .session.lost.free' 0
	[ "$(truth allocs)" -gt 1000 ] || fail "$bench_name: no work"
	expect "$(truth frees)" "$(truth allocs)" "$bench_name: frees"
}

# attached THREADS: nothing but the work happens between attach and detach.
attached() {
	background "$bench_name" "$WORK/$bench_name" "$(units_of "$bench_name")" "$WORK/result" \
		"$1" wait
	VICTIM=$LAST
	await 30 grep -q '^ready' "$WORK/$bench_name.out" || fail "$bench_name is not ready"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --exact --on-overflow=block --json
	attach_await "$VICTIM"
	printf g >"$WORK/$bench_name.in"
	await 60 grep -q '^done' "$WORK/$bench_name.out" || fail "$bench_name does not end"
	attach_end INT
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	printf q >"$WORK/$bench_name.in"
	await 30 is_gone "$VICTIM" || fail "$bench_name stays"
	wait "$VICTIM" || fail "$bench_name: status $?"
	nothing_lost
	known allocs "$(json .session.events.alloc)" attached
	known frees "$(json .session.events.free)" attached
	known alloc_bytes "$(json .totals.alloc_bytes)" attached
	json_expect .totals.live_count 0
}

# started THREADS: what the process allocates beside the work has other stacks.
started() {
	attach run --exact --on-overflow=block --json -- "$WORK/$bench_name" \
		"$(units_of "$bench_name")" "$WORK/result" "$1"
	expect "$STATUS" 0 "exit status"
	nothing_lost
	known allocs "$(in_work alloc_count)" "from its start"
	known frees "$(in_work free_count)" "from its start"
	known alloc_bytes "$(in_work alloc_bytes)" "from its start"
	expect "$(in_work live_bytes)" 0 "$bench_name: live"
}

build_common "$WORK" && build_threaded "$WORK" || fail "the programs do not build"
threads=1
for bench_name in $bench_threaded; do
	[ -x "$WORK/$bench_name" ] || continue
	attached "$threads"
	started $((3 - threads))
	[ "$bench_name" != threadtest ] || known allocs $((30000)) "as it says"
	threads=$((3 - threads))
done
