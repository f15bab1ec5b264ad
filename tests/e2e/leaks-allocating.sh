#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that allocate as fast as they are watched, and wait for room else, hold up no search for
# leaks: while a small heap is searched, they get a few rings' room and no more.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/leaky.sh"

for round in 1 2 3; do
	what="allocating without rest, $round"
	victim leaky leaky --kind=busy
	leaky_watched
	json_expect '.session.events.alloc < 4000000' true
	json_expect .session.lost.alloc 0
	note "$what: $(jq .session.events.alloc "$REPORT") allocations"
	ended leaky
done
expect "$wrong" 0 "comparisons that failed"
