#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread that waits with a lock of the allocator held (malloc_stats writes so): nobody is made to
# call dlopen or dlclose meanwhile, which would wait for it for ever.
. "$(dirname "$0")/lib.sh"
needs jq

victim writer heap_writer
pristine_take "$VICTIM"
goes_on() {
	pristine_check "$VICTIM"
	tell writer c
	answer writer checked
}

attach -p "$VICTIM" -d 0.2 --loader=dlopen
expect "$STATUS" 3 "exit status by dlopen"
grep -q 'or writes about the heap' "$ERRORS" || fail "why is not said: $(cat "$ERRORS")"
goes_on
attach -p "$VICTIM" -d 0.2 --json
expect "$STATUS" 0 "exit status"
json_expect .session.loader map
json_expect .session.detached pristine
goes_on
ended writer
