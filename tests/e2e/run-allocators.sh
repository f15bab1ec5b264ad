#!/bin/sh
# SPDX-License-Identifier: MIT
# run: operators of C++ that throw are hooked from the first call on, whichever allocator has them;
# and a command that is stopped while its own dlopen is called for that goes on as it should.
. "$(dirname "$0")/lib.sh"
needs jq
cat >"$WORK/program.cc" <<'END'
#include <cstdlib>
#include <exception>
#include <new>
#include <unistd.h>
int main(int argc, char **)
{
	for (int i = 0; i < 1000; i++) {
		int *volatile p = new int[25];
		delete[] p;
		char *volatile q = new char;
		delete q;
	}
	if (argc > 1)	/* Debian's mimalloc is C, and aborts */
		return 0;
	try {
		char *volatile p = new char[(std::size_t)1 << 62];
		delete[] p;
		return 8;
	} catch (const std::bad_alloc &) {
	}
	return write(1, "caught\n", 7) == 7 ? 0 : 9;
}
END

# judge WHAT: what main has asked for and given back; what the allocator maps is apart.
judge() {
	expect "$STATUS" 0 "exit status of run ($1)"
	[ "$count" -eq 2000 ] || grep -q '^caught$' "$WORK/out" ||
		fail "an exception does not pass our frames ($1)"
	attach report --json "$WORK/recording"
	expect "$(json '[.sites[] | select(.kind != "mmap") |
		select([.frames[].function] | index("main")) | .alloc_count] | add')" "$count" \
		"allocated by main ($1)"
	expect "$(json '[.sites[] | select(.kind != "mmap") |
		select([.frames[].function] | index("main")) | .free_count] | add')" "$count" \
		"freed by main ($1)"
	expect "$(json '.totals.free_unknown_count')" 0 "frees of older blocks ($1)"
	tried=$((tried + 1))
}

tried=0
for library in libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4; do
	# shellcheck disable=SC2086
	$CXX -g -O1 -fno-allocation-dce -o "$WORK/linked" "$WORK/program.cc" \
		-Wl,--no-as-needed "-l:$library" 2>"$ERRORS" || continue
	rm -f "$WORK/recording"
	set --
	count=2001	# with the exception
	case $library in libmimalloc*) set -- none && count=2000 ;; esac
	timeout 60 "$MEMATTACH" run $EXACT -o "$WORK/recording" -- "$WORK/linked" "$@" \
		>"$WORK/out" 2>"$ERRORS" </dev/null
	STATUS=$?
	judge "$library"
done
[ "$tried" -gt 0 ] || skip "no allocator with operators of its own is installed"

# Stopped and continued at once, anywhere in its start.
command_pid() {
	COMMAND=""
	for pid in $(attach_processes); do
		case $(readlink "/proc/$pid/exe") in "$WORK/linked") COMMAND=$pid ;; esac
	done
	[ -n "$COMMAND" ] || is_gone "$ATTACH"
}
stands() {
	is_gone "$COMMAND" || { grep -q '^State:.T' "/proc/$COMMAND/status" &&
		grep -q '^TracerPid:.0$' "/proc/$COMMAND/status"; }
}
turn=0 count=2001
while [ "$turn" -lt "$(in_full 8 3)" ]; do
	rm -f "$WORK/recording"
	attach_begin run $EXACT -o "$WORK/recording" -- "$WORK/linked"
	await 30 command_pid || fail "the command does not start"
	stops=0
	while [ -n "$COMMAND" ] && [ "$stops" -lt 40 ] && kill -STOP "$COMMAND" 2>/dev/null; do
		[ $((turn % 2)) -eq 0 ] || sleep 0.001	# within a call, as well
		kill -CONT "$COMMAND" 2>/dev/null
		stops=$((stops + 1))
	done
	attach_wait
	cp "$REPORT" "$WORK/out"
	judge "stopped $stops times"
	turn=$((turn + 1))
done

# Stopped to stay so: it stands until it is continued, entered, or where its start has come to.
attach_begin run $EXACT -o "$WORK/recording" -- "$WORK/linked"
await 30 command_pid && [ -n "$COMMAND" ] || fail "the command does not start"
if kill -STOP "$COMMAND" 2>/dev/null; then
	await 3 stands || grep -q '^State:.t' "/proc/$COMMAND/status" ||
		fail "it does not stand: $(cat "/proc/$COMMAND/status")"
	kill -CONT "$COMMAND" 2>/dev/null
fi
attach_wait
cp "$REPORT" "$WORK/out"
judge "stopped until it was entered"
