#!/bin/sh
# SPDX-License-Identifier: MIT
# Fibers on small stacks that are nearly full, each right above another one, in one mapping with the
# control block of the thread that runs it: none is taken for that thread's own stack, and what lies
# below stays what it is. A process of one thread is entered by the unused end of its first stack;
# one of several, all of which run on fibers, is refused, and not touched.
. "$(dirname "$0")/lib.sh"
needs jq

# attached THREAD OPTIONS: STATUS; what lies below the fibers is what it was.
attached() {
	note "another thread: $*"
	victim neighbours neighbours --thread="$1"
	shift
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 0.5 --json "$@"
	pristine_check "$VICTIM"
	tell neighbours c
	answer neighbours checked
	ended neighbours
}

refused() {
	attached "$@"
	expect "$STATUS" 3 "exit status"
	grep -q 'its stack has no room or is not its own' "$ERRORS" ||
		fail "why is not said: $(cat "$ERRORS")"
}

watched() {
	attached "$@"
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
}

refused fiber --sample=4096
refused fiber --exact --loader=map
refused fiber --leaks --sample=4096
for thread in own none; do
	watched $thread --sample=4096
	watched $thread --exact --loader=map
	watched $thread --leaks --sample=4096
done
