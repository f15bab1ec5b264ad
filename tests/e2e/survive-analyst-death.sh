#!/bin/sh
# SPDX-License-Identifier: MIT
# The analyst is killed, or crashes: the keeper detaches cleanly and says by which signal, also
# where a second analyst has to finish the detach.
. "$(dirname "$0")/lib.sh"

# dies SIGNAL NUMBER LOADER
dies() {
	note "$1, $3"
	victim check selfcheck --kind=mix --threads=10
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --sample=4096 --loader="$3" --json
	attach_await "$VICTIM"
	analyst=$(attach_analysts)
	[ -n "$analyst" ] || fail "no process of memattach is in a seccomp filter"
	kill "-$1" "$analyst"
	attach_wait
	expect "$STATUS" 6 "exit status"
	grep -q "the analyst ended unexpectedly by signal $2 (.*); the target was left as it was" \
		"$ERRORS" || fail "it is not said how the analyst ended"
	pristine_check "$VICTIM"
	checked check
	finished check
}

dies KILL 9 map
dies SEGV 11 map
dies ABRT 6 dlopen
dies SEGV 11 dlopen
