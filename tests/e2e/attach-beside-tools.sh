#!/bin/sh
# SPDX-License-Identifier: MIT
# Debuggers and tracers beside memattach, by both loaders: they come and go while it watches, stay
# while it leaves, or are there first. None of them hangs, the program goes on, and what they leave
# in it is not told as memattach's.
. "$(dirname "$0")/lib.sh"
needs jq
ANSWERS=120	# what hangs does not answer in that time

# bpftrace's -p does not limit a uprobe to one process: the kernel puts it into each one that has
# mapped the file. So its victim has a libc of its own, and other tests' programs are left alone.
libc=$(ldd "$VICTIMS/selfcheck" | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
mkdir "$WORK/libc" && cp "$libc" "$WORK/libc/libc.so.6" || fail "no copy of $libc"

# tool NAME: looks at $VICTIM once.
tool() {
	case $1 in
	gdb) set -- gdb -nx -p "$VICTIM" -batch -ex "thread apply all bt" \
		-ex "info sharedlibrary" ;;
	gcore) set -- gcore -o "$WORK/core" "$VICTIM" ;;
	lldb) set -- lldb --no-lldbinit -b -p "$VICTIM" -o "thread backtrace all" -o detach ;;
	eu-stack) set -- eu-stack -p "$VICTIM" ;;
	perf) set -- perf record -q -o "$WORK/perf.data" -p "$VICTIM" -- sleep 1 ;;
	strace) set -- timeout -s INT -k 60 1 strace -f -qq -o "$WORK/strace" -p "$VICTIM" ;;
	bpftrace) set -- timeout -s INT -k 60 3 bpftrace -p "$VICTIM" \
		-e "uprobe:$WORK/libc/libc.so.6:malloc { @ = count(); }" ;;
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

# A victim with a libc of its own.
own_victim() {
	export LD_LIBRARY_PATH="$WORK/libc"
	victim check selfcheck --kind=mix --threads=3
	unset LD_LIBRARY_PATH
	grep -q "$WORK/libc/libc.so.6" "/proc/$VICTIM/maps" || fail "it has no libc of its own"
}

# begin LOADER: a victim, watched.
begin() {
	own_victim
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

# stays NAME: the tool looks at $VICTIM until end_stay; sets STAYS to its process, and TRACES where
# it is a tracer. False: it can't look here.
stays() {
	TRACES=yes
	case $1 in
	gdb)	set -- gdb -nx -p "$VICTIM" -batch -ex "handle all nostop noprint pass" \
			-ex "handle SIGINT stop nopass" -ex continue ;;
	lldb)	set -- lldb --no-lldbinit -p "$VICTIM" \
			-o "process handle -s false -n false -p true" -o continue ;;
	strace) set -- strace -f -qq -o "$WORK/strace" -p "$VICTIM" ;;
	perf)	TRACES=
		set -- perf record -q -o "$WORK/perf.data" -p "$VICTIM" -- sleep 600 ;;
	bpftrace) TRACES=
		set -- bpftrace -p "$VICTIM" \
			-e "uprobe:$WORK/libc/libc.so.6:calloc { @ = count(); }" ;;
	esac
	background stays "$@"
	STAYS=$LAST
	if [ -n "$TRACES" ]; then
		await 60 traced_or_over && is_traced
	else
		await 60 counts_or_over && counts
	fi && return
	note "$1 can't look here: $(tail -n 2 "$WORK/stays.out" "$WORK/stays.err")"
	return 1
}
traced_or_over() { is_traced || is_gone "$STAYS"; }
# What is no tracer has a counter of the kernel's open.
counts() { readlink "/proc/$STAYS/fd"/* 2>/dev/null | grep -q perf_event; }
counts_or_over() { counts || is_gone "$STAYS"; }

# lldb is traced by a process of its own.
tracer() { sed -n 's/^TracerPid:.//p' "/proc/$VICTIM/status"; }

end_stay() {
	case $1 in
	gdb)	kill -INT "$STAYS" ;;
	lldb)	printf 'process interrupt\ndetach\nquit\n' 1<>"$WORK/stays.in" ;;
	*)	kill -TERM "$STAYS" ;;
	esac
	await 30 is_gone "$STAYS" || kill -KILL "$STAYS"
	wait "$STAYS"
	await 30 is_untraced || fail "the tracer is gone and traces"
	rm -f "$WORK"/perf.data*
	# what ends a debugger in the midst of its work is no business of memattach's
	grep -q '^State:.T' "/proc/$VICTIM/status" || return 0
	note "$1 leaves the program stopped"
	kill -CONT "$VICTIM"
}

# left_traced: memattach leaves while the tool is there.
left_traced() {
	attach_end INT
	if [ -z "$TRACES" ]; then
		expect "$STATUS" 0 "exit status"
		return
	fi
	expect "$STATUS" 5 "exit status"
	grep -q "traced by process $(tracer) (.*); end or detach that tracer" "$ERRORS" ||
		fail "the tracer is not named: $(cat "$ERRORS")"
}

# comes_and_goes LOADER NAME
comes_and_goes() {
	begin "$1"
	if tool "$2"; then
		names_harmless "$2"
		checked check
	fi
	left_pristine "$1"
	! tool "$2" || checked check
	finished check
}

# outlasts LOADER NAME: it comes while memattach is there, and memattach leaves.
outlasts() {
	begin "$1"
	if stays "$2"; then
		left_traced
		end_stay "$2"
		[ -z "$TRACES" ] || cleaned_up "$VICTIM"
		checked check
	else
		attach_end INT
	fi
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "still mapped"
	finished check
}

# was_first LOADER NAME: a tracer is refused; beside another tool memattach comes and goes.
was_first() {
	own_victim
	if stays "$2"; then
		attach -p "$VICTIM" -d 1 --json --loader="$1"
		if [ -n "$TRACES" ]; then
			expect "$STATUS" 3 "exit status"
			said_one_line "traced by process $(tracer)"
		else
			expect "$STATUS" 0 "exit status"
			json_expect .session.detached pristine
		fi
		end_stay "$2"
	fi
	attach -p "$VICTIM" -d 1 --json --loader="$1"
	expect "$STATUS" 0 "exit status"
	checked check
	finished check
}

# in_shim LOADER: threads that stand in the shim, since the analyst does, have stacks like others:
# those who look find the shim's unwind information in the target's memory.
in_shim() {
	victim check selfcheck --kind=poll,malloc-loop --threads=4
	attach_begin -p "$VICTIM" --json --loader="$1" --exact --on-overflow=block --ring-size=1M
	attach_await "$VICTIM"
	analyst=$(attach_analysts)
	[ -n "$analyst" ] || fail "no process of memattach is in a seccomp filter"
	kill -STOP "$analyst"
	await 20 two_wait || fail "no two threads wait for room in the ring"
	timeout -k 10 $((ANSWERS * PATIENCE)) eu-stack -p "$VICTIM" >"$WORK/tool" 2>&1 </dev/null
	tool_status=$?
	kill -CONT "$analyst"
	expect "$tool_status" 0 "status of eu-stack ($(tail -n 3 "$WORK/tool"))"
	expect "$(grep -c ' round_malloc$' "$WORK/tool")" 2 "stacks through the shim"
	checked check
	left_pristine "$1"
	finished check
}
# In futex().
two_wait() { [ "$(grep -l '^202 ' "/proc/$VICTIM/task"/*/syscall | wc -l)" -ge 2 ]; }

for loader in dlopen map; do
	if command -v eu-stack >/dev/null 2>&1; then
		note "$loader, eu-stack: threads in the shim"
		in_shim "$loader"
	fi
	for name in gdb gcore lldb eu-stack perf strace bpftrace; do
		for order in comes_and_goes outlasts was_first; do
			case $order-$name in comes*) ;; *-gcore | *-eu-stack) continue ;; esac
			dealt 10 || continue
			if command -v "$name" >/dev/null 2>&1; then
				note "$loader, $name: $order"
				$order "$loader" "$name"
			else
				note "$name is not installed"
			fi
		done
	done
done
