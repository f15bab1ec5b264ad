#!/bin/sh
# SPDX-License-Identifier: MIT
# A uprobe on malloc that comes while memattach is there, and goes: the kernel puts back the file's
# first byte then. The hook is given up for it, which memattach says; the program lives.
. "$(dirname "$0")/lib.sh"
needs jq

# Puts one on malloc in $VICTIM. Sets PROBE.
probe() {
	mkfifo "$WORK/probe.fifo"
	"$TOOLS/uprobe" "$VICTIM" malloc <"$WORK/probe.fifo" >"$WORK/probe.out" 2>&1 &
	PROBE=$!
	own "$PROBE"
	exec 9>"$WORK/probe.fifo"
	await 20 probe_answered
	if is_gone "$PROBE"; then
		wait "$PROBE"
		[ $? -ne 77 ] || skip "no uprobes here"
		fail "no uprobe: $(cat "$WORK/probe.out")"
	fi
}

probe_answered() { grep -q '^counting' "$WORK/probe.out" || is_gone "$PROBE"; }

probe_end() {
	exec 9>&-
	await 20 is_gone "$PROBE" || fail "the uprobe does not end"
	wait "$PROBE" || fail "the uprobe ended with status $?"
	note "$(tail -n 1 "$WORK/probe.out")"
	rm -f "$WORK/probe.fifo"
}

said_so() { grep -q 'a uprobe was put on 1 of the hooked functions' "$ERRORS"; }

for loader in map dlopen; do
	for leaves in before after; do
		note "$loader: the uprobe goes $leaves memattach"
		victim check selfcheck --kind=mix --threads=4
		attach_begin -p "$VICTIM" --json --loader="$loader"
		attach_await "$VICTIM"
		probe
		await 30 said_so || fail "not a word of the uprobe"
		[ "$leaves" = after ] || probe_end
		checked check
		attach_end INT
		note "exit status $STATUS"
		"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "still mapped"
		[ "$leaves" = before ] || probe_end
		checked check
		finished check
	done
done
