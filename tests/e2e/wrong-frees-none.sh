#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that free rightly are never accused: threads that come and go (their caches are
# freed again by glibc itself), C++ with exceptions, a static program, redis under load.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"

# nothing_wrong MINIMUM: of allocations, all seen, none of them freed wrongly.
nothing_wrong() {
	json_valid
	expect "$(json '.wrong_frees | length')" 0 "wrong frees ($(json '.wrong_frees[0]'))"
	# null: the target was faster than its reader when we left, and the last records were lost
	json_expect '.totals.double_free_count // 0' 0
	json_expect '.totals.illegal_free_count // 0' 0
	json_expect .totals.missed_free_count 0
	[ "$(json .totals.alloc_count)" -ge "$1" ] || fail "too few allocations"
}

for options in "" --frees=stacks; do
	note "threads, ${options:---frees=callers}"
	victim churn churn --threads=2
	# shellcheck disable=SC2086
	attach -p "$VICTIM" -d 2 --exact --json $options
	expect "$STATUS" 0 "exit status"
	nothing_wrong 5000
	# A thread's cache is no block that the program ever had.
	json_expect .totals.free_unknown_count 0
	finished churn
done

for program in truth_cxx truth_static truth_c; do
	note "$program"
	victim truth "$program"
	attach_begin -p "$VICTIM" --exact --json
	attach_await "$VICTIM"
	truth truth
	attach_end INT
	expect "$STATUS" 0 "exit status"
	nothing_wrong 10
	ended truth
done

if command -v redis-server >/dev/null 2>&1 && command -v redis-benchmark >/dev/null 2>&1; then
	note "redis"
	redis_start
	redis_load
	attach -p "$VICTIM" -d 5 --exact --json
	expect "$STATUS" 0 "exit status"
	nothing_wrong 1000
	redis_load_end
fi
