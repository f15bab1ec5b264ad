#!/bin/sh
# SPDX-License-Identifier: MIT
# Processes that have restricted themselves by prctl: what a hook or a call of ours would do there
# is looked at first, and such a process is refused, or attached to where it lets the calls pass.
. "$(dirname "$0")/lib.sh"

# begin_kind KIND: in each case the program's own check must hold at any moment.
begin_kind() {
	kind=$1
	victim "$kind" restricted --kind="$kind"
	pristine_take "$VICTIM"
	checked "$kind"
}
end_kind() {
	checked "$kind"
	pristine_check "$VICTIM"
	finished "$kind"
	note "$kind: $1"
}
# refused_for PATTERN
refused_for() {
	for loader in auto map; do
		attach -p "$VICTIM" -d 0.3 --loader="$loader"
		expect "$STATUS" 3 "exit status, $kind, $loader"
		said_one_line "$1"
	done
	end_kind 'refused'
}
watched_exactly() {
	for loader in auto map; do
		attach -p "$VICTIM" -d 0.5 --loader="$loader" --exact --json
		expect "$STATUS" 0 "exit status, $kind, $loader"
		json_expect .session.detached pristine
		json_expect '.totals.alloc_count > 20' true
		checked "$kind"
	done
	end_kind 'watched'
}

# The hooks would die of their first look at the clock.
begin_kind notsc
refused_for 'may not read the time stamp counter'

# Linux 5.11 and later
if [ "$(printf '%s\n' 5.11 "$(uname -r)" | sort -V | head -n 1)" != 5.11 ]; then
	skip "no syscall user dispatch on this kernel"
fi
# As Wine's: a call that is made while the program's own code is translated goes astray.
begin_kind dispatch
watched_exactly

# In a thread that is never borrowed, as it may not be: there the hooks' own calls would go astray.
kind=dispatch-thread
victim "$kind" sandboxes --by=dispatch
tell "$kind" s
answer "$kind" sandbox
pristine_take "$VICTIM"
for mode in --exact --sample=4k; do
	for loader in auto map; do
		attach -p "$VICTIM" -d 0.5 --loader="$loader" "$mode" --json
		expect "$STATUS" 0 "exit status, $kind, $loader"
		json_expect .session.detached pristine
		json_expect '.totals.alloc_count > 20' true
		checked "$kind"
	done
done
end_kind 'watched'

# Only a libc's calls pass, and who answers all others can't while we hold its signals back.
if uname -r | awk -F. '{ exit !($1 * 1000 + $2 >= 6004) }'; then
	begin_kind dispatch-always
	refused_for 'PR_SET_SYSCALL_USER_DISPATCH'
else
	note 'dispatch-always: kernels before 6.4 do not tell of it'
fi

if (exec "$VICTIMS/restricted" --kind=nowrite </dev/null >/dev/null 2>&1); then
	begin_kind nowrite
	watched_exactly
else
	note 'nowrite: not in this kernel'
fi
