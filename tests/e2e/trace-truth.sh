#!/bin/sh
# SPDX-License-Identifier: MIT
# The log of calls equals what the victim wrote down, call by call, by thread; it can be replayed
# across threads; Ctrl-C ends it with totals that are what its lines add up to. With both loaders.
. "$(dirname "$0")/lib.sh"
needs jq python3

# traced_session OPTIONS: the whole, on a victim of its own.
traced_session() {
	victim traced traced --threads=4 --rounds=2000
	pristine_take "$VICTIM"
	attach_begin trace -p "$VICTIM" --json "$@"
	attach_await "$VICTIM"
	truth traced
	attach_end INT
	expect "$STATUS" 0 "exit status"
	[ ! -s "$ERRORS" ] || fail "it said something"
	pristine_check "$VICTIM"
	trace_valid
	python3 "$E2E/check_trace.py" "$WORK/traced.truth" "$REPORT" traced ||
		fail "the truth is another ($*)"
	ended traced
}

traced_session --on-overflow=block
traced_session --on-overflow=block --loader=map
