#!/bin/sh
# SPDX-License-Identifier: MIT
# The live screen at several sizes, resized while it runs, in ASCII and in UTF-8, and with a
# function whose name would move the cursor if it were not made harmless.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"

# A program that allocates in functions called ESC[2J, and with a name that is wide in UTF-8: no
# compiler would write those, so they are put into what it wrote.
cat >"$WORK/odd.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile kept;
__attribute__((noinline)) void evilXX2Jname(void) { kept = malloc(12345); }
__attribute__((noinline)) void wideXXXXXXname(void) { kept = malloc(54321); }
int main(void)
{
	char byte;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &byte, 1) == 1 && byte == 'g') {
		evilXX2Jname();
		wideXXXXXXname();
	}
	return 0;
}
END
$CC -O1 -fno-optimize-sibling-calls -o "$WORK/plain" "$WORK/odd.c" || fail "no program"
sed 's/evilXX2Jname/evil\x1b[2Jname/g; s/wideXXXXXXname/wide\xe4\xb8\x96\xe7\x95\x8cname/g' \
	"$WORK/plain" >"$WORK/odd"
chmod 755 "$WORK/odd"

odd_begin() {
	background odd "$WORK/odd"
	await 20 grep -q '^ready' "$WORK/odd.out" || fail "the program does not start"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/odd.out")
	pristine_take "$VICTIM"
}

odd_end() {
	keys q
	screen_end
	expect "$STATUS" 0 "exit status"
	pristine_check "$VICTIM"
	tmux_do kill-server
	printf q >"$WORK/odd.in"
	await 10 is_gone "$VICTIM" || fail "the program does not end"
}

# fits COLUMNS LINES: that much is drawn, from the first line to the last column and line.
fits() {
	await 20 fits_now "$1" "$2" || fail "$1 by $2: $(cat "$SHOWN")"
}
fits_now() {
	capture
	expect_lines=$(wc -l <"$SHOWN")
	[ "$expect_lines" -eq "$2" ] || return 1
	sed -n 1p "$SHOWN" | grep -qE '^ memattach  .* exact +[0-9].* s ?$' || return 1
	columns=$(sed -n 1p "$SHOWN" | wc -m)	# with the newline, less the space at the end
	[ "$columns" -ge "$(($1 - 1))" ] && [ "$columns" -le "$(($1 + 1))" ] || return 1
	sed -n "$2p" "$SHOWN" | grep -q '^? help'
}

# resize COLUMNS LINES
resize() {
	tmux_do resize-window -x "$1" -y "$2"
}

# ASCII: not a byte beyond it, the names harmless
odd_begin
screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.2
attach_await "$VICTIM"
shown 'rate .*allocs in all'
printf g >"$WORK/odd.in"
shown '> *53.0 KiB .* wide(\\u[0-9a-f]{4})+name$'
shown ' 12.1 KiB .* evil\?\[2Jname$' "the name that clears screens"
shown '^ live +65.1 KiB in 2 blocks'
shown 'live +.*#$' "the graph"
capture
! LC_ALL=C grep -q '[^ -~]' "$SHOWN" || fail "not ASCII: $(cat "$SHOWN")"
fits 80 24

# resized in mid-run: more columns, more rows, and back; nothing is left of the larger one
resize 200 60
fits 200 60
shown 'blocks +allocs +allocated by'
resize 80 24
fits 80 24
not_shown 'blocks +allocs'
shown ' 12.1 KiB .* evil\?\[2Jname$'

# each_view PATTERN LAST: what only this view shows, and its last line, through sizes of all kinds.
each_view() {
	shown "$1"
	resize 200 60
	shown "$1"
	resize 20 5
	shown '^small: 72x16 has all$' "that something is left out"
	resize 10 3
	shown '^too small$' "that it is too small"
	resize 80 24
	shown "$1"
	shown "$2"
	shown_lines=$(wc -l <"$SHOWN")
	expect "$shown_lines" 24 "lines"
	not_shown 'small'
}
each_view '^ stack of the selected' '^[?] help .* q detach$'
keys t
each_view '^ *thread +tid +allocs' '^[?] help .* q detach$'
keys L
shown 'still reachable'
each_view '^ leaks +at ' '^[?] help .* q back$'
keys q
shown 'live[v] +growth'

# too small for anything is no reason to end, whatever is pressed meanwhile
for size in '20 5' '10 2' '1 1' '40 12'; do
	# shellcheck disable=SC2086 # two words
	resize $size
	keys j
	keys '?'
	keys x
done
# and with few lines and columns sites come first
resize 20 5
shown '^[> ] *53.0 KiB  wide'
shown '^small: 72x16 has all$'
resize 60 12
shown '^ lost +nothing'
shown '^[> ] *53.0 KiB .* 53.0 KiB +[0-9]+s  wide'
shown '^[?] help  q detach +small: 72x16 has all$'
resize 72 16
shown '^ stack of the selected'
shown '^ cost +every event'
shown '  temp  .*allocated by'
not_shown 'small'
resize 72 15
shown 'small: 72x16 has all$'
resize 71 16
shown 'small: 72x16 has all$'
resize 80 24
fits 80 24
odd_end

# UTF-8: blocks for the graph, wide characters take two columns, lines stay whole
find_locale C.utf8 C.UTF-8 en_US.utf8 en_US.UTF-8
if [ -z "$LOCALE" ]; then
	note "no UTF-8 locale: that part is left out"
	exit 0
fi
SCREEN_LOCALE=$LOCALE
SCREEN_TMUX=-u
odd_begin
screen_begin 200 60 -p "$VICTIM" $EXACT --interval=0.2
attach_await "$VICTIM"
shown 'rate .*allocs in all'
printf g >"$WORK/odd.in"
shown 'wide世界name'
shown ' 12.1 KiB .* evil\?\[2Jname'
shown 'live▼'
shown 'live +.*█$' "the graph"
odd_end
