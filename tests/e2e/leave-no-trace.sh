#!/bin/sh
# SPDX-License-Identifier: MIT
# A quiet target is the same to the byte after an attach: maps, pages, descriptors, masks.
. "$(dirname "$0")/lib.sh"
needs jq
for loader in map dlopen; do
	victim idle processes --kind=idle
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 0.3 $EXACT --json --loader="$loader"
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect .session.loader "$loader"
	pristine_check "$VICTIM" --quiet
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "something is still mapped"
	finished idle
done
