#!/bin/sh
# SPDX-License-Identifier: MIT
# A program whose threads map and unmap all the time, into the very place that memattach has chosen:
# it takes another one, farther away. Each attach succeeds, by both loaders.
. "$(dirname "$0")/lib.sh"
needs jq
ROUNDS=${ROUNDS:-$(in_full 8 3)}

victim check mapper 4
for loader in map auto; do
	for round in $(seq "$ROUNDS"); do
		attach -p "$VICTIM" -d 0.2 --json --loader="$loader"
		expect "$STATUS" 0 "exit status of round $round ($loader)"
		json_expect .session.detached pristine
		checked check
	done
	note "$loader: $ROUNDS attaches, $ANSWER"
done
finished check
