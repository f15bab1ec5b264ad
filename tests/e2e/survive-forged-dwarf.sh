#!/bin/sh
# SPDX-License-Identifier: MIT
# Debug information in its owner's hands: libdw may die of it. That costs the names that come from
# it and nothing else: functions go by the symbol table, the leak is found, nothing stays.
. "$(dirname "$0")/lib.sh"
needs jq python3 "${CC%% *}"

cat >"$WORK/program.c" <<'END'
#include "tests/victims/victim.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
struct node { struct node *next; long number[4]; };
static struct node *volatile g_last;
struct node *g_pool;	/* its middle: possibly lost */
static VICTIM_FRAME struct node *make_node(long number)
{
	struct node *fresh = malloc(sizeof(*fresh));

	fresh->number[0] = number;
	return fresh;
}
static VICTIM_FRAME void serve(long number)
{
	g_last = make_node(number);
}
int main(void)
{
	struct timespec pause = { 0, 2000000 };

	victim_setup();
	g_pool = (struct node *)((char *)malloc(1000) + 500);
	victim_ready();
	for (long i = 0;; i++) {
		serve(i);
		nanosleep(&pause, NULL);
	}
}
END
$CC -std=gnu11 -D_GNU_SOURCE -gdwarf-5 -O1 -I"$SRCDIR" -o "$WORK/program" "$WORK/program.c" \
	"$VICTIMS/libvictim.a" || skip "the compiler does not work"

# forged KIND: the leak's site has its name, and the target is left as it was.
forged() {
	python3 "$E2E/forge_dwarf.py" "$WORK/program" "$WORK/program-$1" "$1" || fail "forging"
	chmod +x "$WORK/program-$1"
	background "$1" "$WORK/program-$1"
	VICTIM=$LAST
	await 60 grep -q '^ready' "$WORK/$1.out" || fail "$1 is not ready"
	for seconds in 0 1; do
		pristine_take "$VICTIM"
		attach -p "$VICTIM" --leaks -d $seconds --json
		expect "$STATUS" 1 "$1: exit status"
		json_valid
		json_expect .session.detached pristine
		[ $seconds = 0 ] ||
			expect "$(json '.sites[0].frames[0].function')" make_node "$1: name"
		pristine_check "$VICTIM"
	done
	kill "$VICTIM"
}

says_damaged() {
	grep -q "debug information of .*program-$1 is damaged (reading it $2)" "$ERRORS" ||
		fail "$1: not said to be damaged"
}

forged line
if [ -s "$ERRORS" ]; then
	says_damaged line crashed
	# the symbol table still has the file, nothing has the line
	json_expect '.sites[0].frames[0] | .file, .line' 'program.c
null'
else
	note "this release of libdw reads the forged lines"
fi
forged string
expect "$(cat "$ERRORS")" "" "a string without an end harms nobody"
[ "$(json '.sites[0].frames[0].line')" -gt 0 ] || fail "lines are lost"
forged cut
forged noise
