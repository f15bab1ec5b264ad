#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that sandboxes itself while it is watched: by a filter that ends it at any call which it
# does not list, as those of the hooks are; by strict seccomp or PR_SET_TSC, where the clock that
# hooks read is a SIGSEGV; by syscall user dispatch. What a hook may do was found out before.
. "$(dirname "$0")/lib.sh"
sees_filters || skip "no filters of system calls can be read here"

# sandboxed BY ARGUMENTS...: in the middle of a session with these. The program must not notice.
sandboxed() {
	by=$1
	shift
	victim "$by" sandboxes --by="$by"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --json "$@"
	attach_await "$VICTIM"
	sleep 0.3
	tell "$by" s
	answer "$by" sandbox
	sleep 0.3
	checked "$by"
}
# left STATUS: the session is over by then, or is told to.
left() {
	if is_gone "$ATTACH"; then attach_wait; else attach_end; fi
	expect "$STATUS" "$1" "exit status, $by"
	checked "$by"
	[ "$1" != 0 ] || pristine_check "$VICTIM" --quiet
	finished "$by"
	note "$by: $STATUS"
}

for mode in --exact --sample=4k; do
	dealt 2 || continue
	# What comes by memattach's own loader goes by calls that these filters list.
	for by in prctl syscall; do
		sandboxed "$by" --loader=map "$mode"
		left 0
		json_expect '.totals.alloc_count > 1000' true
	done
	# dlclose may need more: nothing is tried, and the library stays where it is.
	sandboxed syscall --loader=dlopen "$mode"
	left 5
	grep -q 'seccomp' "$ERRORS" || fail 'it does not say why it is dormant'
	sandboxed locking --loader=dlopen "$mode"
	left 0
	sandboxed dispatch --loader=map "$mode"
	left 0
done

# There is nothing more to be seen, so the session ends by itself.
sandboxed notsc --loader=map
await 20 is_gone "$ATTACH" || fail "it goes on without a clock"
left 0
grep -q 'time stamp counter.*watching ends' "$ERRORS" || fail 'it does not say why it ends'
sandboxed strict --loader=map
await 20 is_gone "$ATTACH" || fail "it goes on without a clock"
left 5
