#!/bin/sh
# SPDX-License-Identifier: MIT
# What the target forks while memattach is in it has copies of the hooks, and so have their
# children: detach restores them all, lists what it can't, and cleanup does what detach did not.
. "$(dirname "$0")/lib.sh"
needs jq python3
LEAVE_LIMIT=120	# the budget for all children is 60 seconds
: "${LOADERS:=$(in_full "map dlopen" "$(dealt_loader)")}"

# forked COMMAND WORD: has the victim fork. Sets FORKED, the children's ids.
forked() {
	tell forkers "$1"
	answer forkers "$2"
	FORKED=${ANSWER#"$2 ok "}
	own "$FORKED"
}

# Nothing of ours in it; its code, files and mappings of files are what the parent had before.
child_pristine() {
	"$TOOLS/ringwatch" "$1" gone 0 >"$WORK/ringwatch" || fail "$1 keeps a mapping of ours"
	"$TOOLS/pristine" compare "$1" "$WORK/pristine.$VICTIM" >"$WORK/pristine.out" 2>&1 ||
		fail "child $1 is not pristine: $(cat "$WORK/pristine.out")"
}

# Each of the children is in good health: it ends on request and found no damage.
children_end() {
	for pid in "$@"; do
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in "$@"; do
		await 30 grep -q "^child ok $pid\$" "$WORK/forkers.out" ||
			fail "child $pid: $(cat "$WORK/forkers.out" "$WORK/forkers.err")"
	done
}

kill_memattach() {
	for pid in $(attach_processes); do
		kill -KILL "$pid" 2>/dev/null
	done
	attach_wait
}

begin() {
	victim forkers forkers
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --sample=1024 --json --loader="$1"
	attach_await "$VICTIM"
}

for loader in $LOADERS; do
	dealt 2 || continue
	note "a family, $loader"
	begin "$loader"
	forked f family
	for pid in $FORKED; do
		"$TOOLS/ringwatch" "$pid" gone 0 >"$WORK/ringwatch" && fail "$pid has no copy"
	done
	attach_end
	report_good
	json_expect .session.loader "$loader"
	json_expect '.session | has("children_left")' false
	[ -n "${MEMATTACH_DEBUG:-}" ] || expect "$(cat "$ERRORS")" "" "what it said"
	pristine_check "$VICTIM"
	for pid in $FORKED; do
		child_pristine "$pid"
	done
	finished forkers
	children_end $FORKED

	note "children that are forked during the detach, $loader"
	begin "$loader"
	tell forkers s
	answer forkers storming	# before that it might do all of it when we have gone
	attach_end
	# by dlopen one that is never still may be left: then it is listed, and cleanup does it
	case $loader$STATUS in
	*0)	report_good ;;
	dlopen5)
		json_valid
		for pid in $(json '.session.children_left[].pid'); do
			timeout 60 "$MEMATTACH" cleanup -p "$pid" 2>"$ERRORS" ||
				fail "cleanup of a child that was listed"
		done ;;
	*)	fail "exit status $STATUS" ;;
	esac
	pristine_check "$VICTIM"
	tell forkers p
	answer forkers storm
	FORKED=${ANSWER#"storm ok "}
	own "$FORKED"
	for pid in $FORKED; do
		child_pristine "$pid"
	done
	finished forkers
	children_end $FORKED

	note "the target ends first, $loader"
	begin "$loader"
	forked f family
	tell forkers x
	attach_wait
	expect "$STATUS" 4 "exit status"
	for pid in $FORKED; do
		child_pristine "$pid"
	done
	children_end $FORKED

	note "a stopped child is listed, and cleaned up later, $loader"
	begin "$loader"
	forked f family
	set -- $FORKED
	kill -STOP "$2"
	attach_end
	expect "$STATUS" 5 "exit status"
	json_valid
	json_expect .session.detached pristine
	json_expect '.session.children_left | map(.pid) | tostring' "[$2]"
	grep -q "process $2 .*stopped.*cleanup -p $2" "$ERRORS" || fail "it does not say which"
	pristine_check "$VICTIM"
	for pid in "$1" "$3" "$4" "$5"; do
		child_pristine "$pid"
	done
	kill -CONT "$2"
	timeout 30 "$MEMATTACH" cleanup -p "$2" 2>"$ERRORS"
	expect "$?" 0 "exit status of cleanup"
	child_pristine "$2"
	finished forkers
	children_end $FORKED

	note "forked while another thread held the loader's lock, $loader"
	begin "$loader"
	forked l locked
	attach_end
	case $loader$STATUS in
	*0)	child_pristine "$FORKED" ;;
	dlopen5) # as far as is possible in such a child: it must not wait for that lock
		json_expect '.session.children_left | map(.pid) | tostring' "[$FORKED]"
		grep -q "process $FORKED .*lock of the dynamic loader" "$ERRORS" ||
			fail "it does not say why" ;;
	*)	fail "exit status $STATUS" ;;
	esac
	pristine_check "$VICTIM"
	finished forkers
	children_end $FORKED

	note "memattach is killed; a child is cleaned up alone, others with it, $loader"
	begin "$loader"
	forked f family
	kill_memattach
	set -- $FORKED
	for pid in "$2" "$3"; do
		timeout 30 "$MEMATTACH" cleanup -p "$pid" 2>"$ERRORS"
		expect "$?" 0 "exit status of cleanup of a child"
		child_pristine "$pid"
	done
	timeout 60 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS"
	expect "$?" 0 "exit status of cleanup"
	pristine_check "$VICTIM"
	for pid in $FORKED; do
		child_pristine "$pid"
	done
	finished forkers
	children_end $FORKED
done

note "attached to a child whose loader is locked for ever"
victim forkers forkers
forked l locked
pristine_take "$FORKED"
attach -p "$FORKED" -d 0.3 --json
report_good
pristine_check "$FORKED"
finished forkers
children_end $FORKED
