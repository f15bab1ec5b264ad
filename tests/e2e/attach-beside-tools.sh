#!/bin/sh
# SPDX-License-Identifier: MIT
# Debuggers and tracers beside memattach, by both loaders: they come and go while it watches, stay
# while it leaves, or are there first. None of them hangs, the program goes on, and what they leave
# in it is not told as memattach's.
. "$(dirname "$0")/lib.sh"
needs jq
ANSWERS=120	# what hangs does not answer in that time

# tool NAME: the command that looks at $VICTIM once; empty: not installed here.
tool() {
	command -v "$1" >/dev/null 2>&1 || { note "$1 is not installed"; return 1; }
	case $1 in
	gdb) set -- gdb -nx -p "$VICTIM" -batch -ex "thread apply all bt" \
		-ex "info sharedlibrary" ;;
	gcore) set -- gcore -o "$WORK/core" "$VICTIM" ;;
	lldb) set -- lldb --no-lldbinit -b -p "$VICTIM" -o "thread backtrace all" -o detach ;;
	eu-stack) set -- eu-stack -p "$VICTIM" ;;
	perf) set -- perf record -q -o "$WORK/perf.data" -p "$VICTIM" -- sleep 1 ;;
	strace) set -- timeout -s INT -k 10 1 strace -f -qq -o "$WORK/strace" -p "$VICTIM" ;;
	bpftrace) set -- timeout -s INT -k 10 3 bpftrace -p "$VICTIM" \
		-e 'uprobe:libc:malloc { @ = count(); }' ;;
	esac
	timeout -k 10 $((ANSWERS * PATIENCE)) "$@" >"$WORK/tool" 2>&1 </dev/null
	tool_status=$?
	rm -f "$WORK"/core.* "$WORK"/perf.data*
	case $tool_status in
	0 | 124) ;;
	137) fail "$1 hangs: $(tail -n 5 "$WORK/tool")" ;;
	*) note "$1 ends with status $tool_status: $(tail -n 2 "$WORK/tool")" ;;
	esac
	[ "$1" = timeout ] || [ $tool_status -ne 124 ] ||
		fail "$1 hangs: $(tail -n 5 "$WORK/tool")"
}

# begin LOADER: a victim, watched.
begin() {
	victim check selfcheck --kind=mix --threads=3
	attach_begin -p "$VICTIM" --json --loader="$1"
	attach_await "$VICTIM"
}

left_pristine() {
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect .session.loader "$1"
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "still mapped"
}

# No name in the list of modules leads to a descriptor of whoever opens it.
names_harmless() {
	case $1 in
	map) return ;;
	gdb) ! grep -q '/proc/.*/fd' "$WORK/tool" || fail "$(grep '/proc/.*/fd' "$WORK/tool")" ;;
	esac
}

is_traced() { ! grep -q '^TracerPid:.0$' "/proc/$VICTIM/status"; }
is_untraced() { ! is_traced; }

begin_strace() {
	strace -f -qq -o "$WORK/strace" -p "$VICTIM" >"$WORK/tool" 2>&1 </dev/null &
	TRACER=$!
	own "$TRACER"
	await 30 is_traced || skip "strace can't trace here: $(cat "$WORK/tool")"
}

end_strace() {
	kill -TERM "$TRACER"
	wait "$TRACER"
	await 30 is_untraced || fail "the tracer is gone and traces"
}

for loader in dlopen map; do
	for name in gdb gcore lldb eu-stack perf strace bpftrace; do
		dealt 6 || continue
		note "$loader: $name comes and goes"
		begin "$loader"
		if tool $name; then
			names_harmless $name
			checked check
		fi
		left_pristine "$loader"
		! tool $name || checked check
		finished check
	done

	command -v strace >/dev/null && dealt 2 || continue
	note "$loader: a tracer that stays"
	begin "$loader"
	begin_strace
	attach_end INT
	expect "$STATUS" 5 "exit status"
	grep -q "traced by process $TRACER (strace); end or detach that tracer" "$ERRORS" ||
		fail "the tracer is not named: $(cat "$ERRORS")"
	end_strace
	cleaned_up "$VICTIM"
	checked check

	dealt 2 || { finished check; continue; }
	note "$loader: a tracer that was there first"
	begin_strace
	attach -p "$VICTIM" -d 1 --json --loader="$loader"
	expect "$STATUS" 3 "exit status"
	said_one_line "traced by process $TRACER"
	end_strace
	attach -p "$VICTIM" -d 1 --json --loader="$loader"
	expect "$STATUS" 0 "exit status"
	checked check
	finished check
done
