#!/bin/sh
# SPDX-License-Identifier: MIT
# With a leak report, frees of blocks from before the attach are judged, too: inside such a block,
# or of one that had been freed before; also when the allocator ends the target for it. What is
# legal is not accused; where older blocks can't be known the report says so.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3
STATUSES="0 1 6"	# blocks may be lost; or the heap is damaged now, and there is no report
. "$E2E/wrong_frees.sh"
export MEMATTACH_DEBUG=1

# begin [OPTION]...: until the older blocks are known, or it is known that they can't be.
begin() {
	[ -z "${PRELOAD-}" ] || export LD_PRELOAD="$PRELOAD"
	if [ -n "${PROGRAM-}" ]; then	# of another libc: it can't open a library of this one
		victim wrong "$PROGRAM"
	else
		victim wrong wrong_frees --plug="$VICTIMS/plug_a.so"
	fi
	unset LD_PRELOAD
	attach_begin -p "$VICTIM" $EXACT --leaks --json "$@"
	attach_await "$VICTIM"
	await 20 grep -q 'older blocks: ' "$ERRORS" || fail "nothing is said of older blocks"
}

# either CASE: an allocator may accept it, or end the target.
either() {
	tell wrong "$1"
	await 20 either_way || fail "neither done nor dead: $1"
	is_gone "$VICTIM_SELF" || attach_end INT
	attach_wait
	json_valid
	is_gone "$VICTIM_SELF" || ended wrong
}
either_way() { is_gone "$VICTIM_SELF" || answered wrong done; }

reported() {
	json_expect .session.older_blocks.judged true
	wrong_frees "$@"
}

dead=":-:-"	# neither a first free nor an allocation is known

note "what is legal"
begin
survives l
reported
json_expect .session.older_blocks.why null
[ "$(json .session.older_blocks.count)" -ge 18 ] || fail "too few older blocks"
[ "$(json .session.older_blocks.pause_us)" -le "$(json .session.attach_stop_us_max)" ] ||
	fail "the picture's pause is not in attach_stop_us_max"

note "accepted by glibc: inside an older block, and of one that is free; a double free stays one"
begin --frees=stacks
survives j k n m o
reported \
	"illegal:inside-block:free:1:usable4104:\
drop_again@again<older_inside_accepted@older-inside-again$dead" \
	"illegal:inside-block:realloc:1:usable4104:\
grow_dropped@grow<older_realloc_inside@older-realloc-again$dead" \
	"illegal:free-memory:free:1:-:drop_again@again<dead_accepted@dead-again$dead" \
	"illegal:free-memory:realloc:1:-:grow_dropped@grow<dead_realloc@dead-realloc-again$dead" \
	"double:freed-before:free:1:usable200:drop_again@again<double_older@older-again:\
drop_block@drop<drop_on_thread<other_thread:-"

# caught CASE CALL REASON SIZE STACK: glibc aborts the target.
caught() {
	dealt 2 || return 0
	begin
	ends "$1"
	reported "illegal:$3:$2:1:$4:$5$dead"
}
note "noticed by glibc, the target aborts"
caught J free inside-block usable4104 \
	"drop_again@again<older_inside_caught@older-inside-caught-again"
caught K realloc inside-block usable4104 \
	"grow_dropped@grow<older_realloc_caught@older-realloc-caught-again"
caught N free free-memory - "drop_again@again<dead_caught@dead-caught-again"
caught P realloc free-memory - \
	"grow_again@grow-again<dead_realloc_caught@dead-realloc-caught-again"

note "the report for people, and from a recording"
victim wrong wrong_frees
attach_begin -p "$VICTIM" $EXACT --leaks -o "$WORK/recording"
attach_await "$VICTIM"
await 20 grep -q 'older blocks: ' "$ERRORS"
tell wrong J
attach_wait
expect "$STATUS" 4 "exit status"
grep -q 'free: free of 0x[0-9a-f]*, which is inside a block of 4.0. KiB, 1.00 KiB' "$REPORT" ||
	fail "no illegal free: $(cat "$REPORT")"
grep -q 'allocated before the attach' "$REPORT" || fail "nothing of the block"
"$MEMATTACH" report "$WORK/recording" >"$WORK/again" || fail "report of the recording"
cmp "$REPORT" "$WORK/again" || fail "the recording says something else"
"$MEMATTACH" report --json "$WORK/recording" >"$REPORT" || fail "report of the recording"
json_valid
json_expect .session.older_blocks.judged true
json_expect '.wrong_frees[0].block.usable_bytes' 4104

# taken CASE EXPECTED: by another allocator, which may take such a free or not.
taken() {
	dealt 2 || return 0
	begin
	either "$1"
	reported "$2"
}

# others NAME INSIDE DOUBLE: the same with another allocator; usable sizes of a block of 4096 bytes
# and of one of 200.
others() {
	note "$1"
	begin
	survives l
	reported
	taken o "double:freed-before:free:1:usable$3:drop_again@again<double_older@older-again:\
drop_block@drop<drop_on_thread<other_thread:-"
	taken j "illegal:inside-block:free:1:usable$2:drop_again@again<older_inside_accepted$dead"
	taken k "illegal:inside-block:realloc:1:usable$2:grow_dropped@grow<older_realloc_inside\
$dead"
	taken n "illegal:free-memory:free:1:-:drop_again@again<dead_accepted$dead"
	taken m "illegal:free-memory:realloc:1:-:grow_dropped@grow<dead_realloc$dead"
}

# believed NAME WHY: nobody is accused, and the report says that older blocks are not covered.
believed() {
	note "$1"
	begin
	either n
	expect "$(json '.wrong_frees | length')" 0 "wrong frees"
	json_expect .session.older_blocks.judged false
	json '.session.older_blocks.why' | grep -q "$2" || fail "why: $(json .session.older_blocks)"
}

library() { find /usr/lib /usr/lib64 -name "$1" 2>/dev/null | sort | head -n 1; }

PRELOAD=$(library 'libjemalloc.so.2')
[ -z "$PRELOAD" ] || ! is_known_jemalloc "$PRELOAD" || others jemalloc 4096 224
PRELOAD=$(library 'libmimalloc.so.2*')
[ -z "$PRELOAD" ] || believed mimalloc 'not every call that allocates is seen'
PRELOAD=

if command -v musl-gcc >/dev/null 2>&1; then
	# a static program in which nothing handles signals is refused
	cat >"$WORK/handler.c" <<-'END'
		#include <signal.h>
		int (*used)(int, const struct sigaction *, struct sigaction *) = sigaction;
	END
	link_musl() {
		musl-gcc -std=gnu11 -D_GNU_SOURCE -g -O2 -w -I"$SRCDIR" -pthread "$1" \
			-o "$WORK/wrong_frees_musl" "$source" "$SRCDIR/tests/victims/victim.c" \
			"$WORK/handler.c" || fail "musl-gcc"
	}
	PROGRAM=wrong_frees_musl VICTIMS=$WORK
	# its code can't be unwound: an old word of ours on a waiting thread's stack must not matter
	link_musl -no-pie
	others musl 4096 200
	link_musl -static
	# its second thread waits for a lock in the program's data, where the allocator's is, too
	believed "musl, static" 'in a call of an allocator from before the attach'
	victim wrong "$PROGRAM"
	attach -p "$VICTIM" -d 0.2 $EXACT --leaks
	grep -q 'frees of blocks from before the attach are not covered: a thread' "$REPORT" ||
		fail "nothing is said of it: $(head -n 20 "$REPORT")"
	ended wrong
fi
