#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that free rightly are never accused: threads that come and go (their caches are
# freed again by glibc itself), C++ with exceptions, a static program, redis under load; nor
# when blocks from before the attach are judged as well (--leaks), nor with other allocators.
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

# older_known: of those that stand before the attach, every free can be judged.
older_known() {
	json_expect .session.older_blocks.why null
	json_expect .session.older_blocks.judged true
}

for options in "" --frees=stacks --leaks; do
	dealt 2 || continue
	note "threads, ${options:---frees=callers}"
	victim churn churn --threads=2
	# shellcheck disable=SC2086
	attach -p "$VICTIM" -d 2 $EXACT --json $options
	expect "$STATUS" 0 "exit status"
	nothing_wrong 5000
	[ "$options" != --leaks ] || older_known
	# A thread's cache is no block that the program ever had. Each of the two that are caught
	# in the midst of their lives has 20 of its own.
	[ "$(json .totals.free_unknown_count)" -le 40 ] || fail "too many unknown frees"
	finished churn
done

for program in truth_cxx truth_static truth_c; do
	[ -x "$VICTIMS/$program" ] || continue	# no static libc
	note "$program"
	victim truth "$program"
	export MEMATTACH_DEBUG=1
	attach_begin -p "$VICTIM" $EXACT --leaks --json
	unset MEMATTACH_DEBUG
	attach_await "$VICTIM"
	# their memory is read once all is armed: an end before that would be one too early to judge
	await 60 grep -q '^memattach: .*older blocks: ' "$ERRORS" || fail "no older blocks"
	truth truth
	attach_end INT
	[ "$STATUS" -le 1 ] || fail "exit status $STATUS"
	nothing_wrong 10
	older_known
	ended truth
done

for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4; do
	preload=$(find /usr/lib /usr/lib64 -name "$library" 2>/dev/null | sort | head -n 1)
	[ -n "$preload" ] && dealt 2 || continue
	note "threads, $library"
	export LD_PRELOAD="$preload"
	victim churn churn --threads=2
	unset LD_PRELOAD
	attach -p "$VICTIM" -d 2 $EXACT --leaks --json
	[ "$STATUS" -le 1 ] || fail "exit status $STATUS"
	nothing_wrong 1000
	json_expect '.totals.double_free_count == null' false
	case $library in libjemalloc*) ! is_known_jemalloc "$preload" || older_known ;; esac
	finished churn
done

if command -v redis-server >/dev/null 2>&1 && command -v redis-benchmark >/dev/null 2>&1; then
	note "redis"
	redis_start
	redis_load
	attach -p "$VICTIM" -d 5 $EXACT --json
	expect "$STATUS" 0 "exit status"
	nothing_wrong 1000
	redis_load_end
fi
