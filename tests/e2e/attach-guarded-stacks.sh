#!/bin/sh
# SPDX-License-Identifier: MIT
# Fibers whose stacks lie in one mapping with the control block of the thread that runs them, with
# guards in between: made in mid-session (mprotect), or such as maps don't show
# (MADV_GUARD_INSTALL). A copy of the stack, or a walk, that went on to that block would end the
# program.
. "$(dirname "$0")/lib.sh"
needs jq

# attached GUARD THREAD OPTIONS: STATUS; the program lives on, and went on.
attached() {
	note "guards, thread, options: $*"
	victim guarded guarded --guard="$1" --thread="$2"
	shift 2
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 1 --json "$@"
	pristine_check "$VICTIM"
	tell guarded c
	answer guarded checked
	ended guarded
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect '.totals.alloc_count > 1000' true
}

kinds=later
"$VICTIMS/guarded" --guard=hidden </dev/null >"$WORK/hidden" 2>&1
grep -q '^guards none' "$WORK/hidden" || kinds="$kinds hidden"
for guard in $kinds; do
	for thread in first given again; do
		dealt 2 || continue
		attached "$guard" "$thread" --sample=4096
		attached "$guard" "$thread" --exact
		attached "$guard" "$thread" --exact --loader=map
		attached "$guard" "$thread" --exact --stacks=copy
	done
done
