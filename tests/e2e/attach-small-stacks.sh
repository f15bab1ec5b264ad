#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads whose stacks are too small for dlopen wait where one with room would be the best choice,
# as the helper threads of runtimes do (node's): the thread that has room is found.
. "$(dirname "$0")/lib.sh"
needs jq

victim small awkward --kind=smallstack
pristine_take "$VICTIM"
for loader in dlopen auto map; do
	attach -p "$VICTIM" -d 0.3 $EXACT --json --loader="$loader"
	expect "$STATUS" 0 "exit status with $loader"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
done
finished small
if command -v node >/dev/null 2>&1; then
	background node node -e 'let kept = []; console.log("ready");
		setInterval(() => {
			kept.push(Buffer.alloc(1000)); if (kept.length > 1000) kept = [];
		}, 5)'
	await 20 grep -q ready "$WORK/node.out" || fail "node does not start"
	for _ in 1 2 3; do
		attach -p "$LAST" -d 0.3 --json
		expect "$STATUS" 0 "exit status with node"
		json_expect .session.detached pristine
	done
fi
