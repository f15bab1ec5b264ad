#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen: L searches for leaks while the session goes on, names the leak with its variable and
# line, does it again with what was lost meanwhile, and says why where there is no answer. However
# the session is left in the midst of a search, the target is as it was.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"
. "$E2E/servers.sh"
needs python3 jq

note "a server: the leak, by variable and line, twice"
slow_server_start 1000 60 500
pristine_take "$VICTIM"
screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.2
keys L	# as early as can be: the first figures are not there yet
attach_await "$VICTIM"
shown '^ leaks +at .* searched in'
keys q
shown 'rate .*allocs in all'
shown 'request_refuse'
# What was lost before the attach is a group of its own, which stays as large as it is.
refusals_are_first() {
	keys L
	sleep 2
	capture
	grep -qE '^> .* definitely lost request_refuse  reason' "$SHOWN"
}
await 60 refusals_are_first || fail "not the largest group: $(cat "$SHOWN")"
shown '^ leaks +at .* searched in .* it stood still for'
shown 'definitely lost +indirectly lost +possibly lost +still reachable'
shown '^ +assigned to reason'
shown "^ +request_refuse +slow_server.c:$(counts refuse_line)"
blocks() { capture; sed -n 's/^ group 1 of .* in \([0-9,]*\) blocks*/\1/p' "$SHOWN" | tr -d ,; }
first=$(blocks)
[ "$first" -ge 1 ] || fail "no number of blocks: $(cat "$SHOWN")"
keys Enter
not_shown '^ group 1 of'
keys Enter
shown '^ group 1 of'
keys Down Up
keys q
shown 'live[v] +growth'
keys L
more() { [ "$(blocks)" -gt "$first" ]; }
await 30 more || fail "not more the second time: $(cat "$SHOWN")"
keys Escape
shown 'live[v] +growth'
allocs() { capture; sed -n 's/.*; \([0-9.]*\) k allocs in all.*/\1/p' "$SHOWN"; }
before=$(allocs)
goes_on() { [ "$(allocs)" != "$before" ]; }
await 30 goes_on || fail "the session does not go on"
keys q
screen_end
expect "$STATUS" 0 "exit status: a look at leaks is no verdict"
grep -q 'watched process' "$WORK/after" || fail "no report"
pristine_check "$VICTIM"
tmux_do kill-server
kill "$LOAD"
tell server q
await 30 is_gone "$VICTIM_SELF" || fail "the server does not end"

# A search that takes its time: a million blocks.
cat >"$WORK/heap.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile head;
int main(void)
{
	char byte;

	for (int i = 0; i < 1000000; i++) {
		void **next = malloc(24);

		*next = head;
		head = next;
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &byte, 1) == 1 && byte != 'q')
		;
	return 0;
}
END
$CC -O1 -o "$WORK/heap" "$WORK/heap.c" || fail "no program"

is_searched() { [ "$(wc -w <"/proc/$ANALYST/task/$ANALYST/children")" -gt "$had" ]; }
slow() {
	note "$1"
	background heap "$WORK/heap"
	await 60 grep -q '^ready' "$WORK/heap.out" || fail "the program does not start"
	VICTIM=$LAST
	pristine_take "$VICTIM"
	screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.2
	attach_await "$VICTIM"
	shown 'rate .*allocs in all'
	screen_children || fail "screen, keeper and analyst are not there"
	had=$(wc -w <"/proc/$ANALYST/task/$ANALYST/children")
	keys L
	await 30 is_searched || fail "nobody searches: $(capture; cat "$SHOWN")"
}
left() {
	screen_end
	expect "$STATUS" "$1" "exit status"
	for pid in $SCREEN $KEEPER $ANALYST; do
		await 10 is_gone "$pid" || fail "process $pid is left"
	done
	tmux_do kill-server
}
victim_is_well() {
	pristine_check "$VICTIM"
	printf q >"$WORK/heap.in"
	await 20 is_gone "$VICTIM" || fail "the program does not end"
}

slow "left in the midst of a search"
keys q q
left 0
victim_is_well

slow "the searching process is killed: said, and tried again"
for pid in $(cat "/proc/$ANALYST/task/$ANALYST/children"); do
	grep -q '^Name:.memattach-files' "/proc/$pid/status" || kill -KILL "$pid" 2>/dev/null
done
shown 'no leak check: the search was killed'
keys L
SHOWN_SECONDS=100	# whoever searches is nice: on a busy machine that takes long
shown '^ leaks +at .* searched in'
SHOWN_SECONDS=
shown 'still reachable'
keys C-c
left 0
victim_is_well

slow "the analyst is killed"
kill -KILL "$ANALYST"
left 6
victim_is_well

slow "the keeper is killed"
kill -KILL "$KEEPER"
left 5
attach cleanup -p "$VICTIM"
expect "$STATUS" 0 "cleanup"
victim_is_well

slow "the target ends"
printf q >"$WORK/heap.in"
left 4
