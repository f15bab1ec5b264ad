#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen, 80 by 24: it says what is true of the target, and each key of its help does what
# the help says. A key in the help that no line here has tried fails the test.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"

tested() { echo "$1" >>"$WORK/tested"; }

victim truth truth_c
pristine_take "$VICTIM"
screen_begin 80 24 -p "$VICTIM" --exact --interval=0.2
attach_await "$VICTIM"
shown 'rate .*allocs in all'
shown ' 0 B in 0 blocks'

# mark, work, differences: all of it is new
keys m
shown 'marked at'
tested m
truth truth
kib() { awk -v b="$1" 'BEGIN { k = b / 1024
	printf((k < 9.995 ? "%.2f KiB" : (k < 99.95 ? "%.1f KiB" : "%.0f KiB")), k) }'; }
totals() { jq ".totals.$1" "$WORK/truth.truth"; }
live=$(kib "$(totals live_bytes)")
shown "^ live +$live in $(totals live_count) blocks" "live bytes"
shown "$(totals alloc_count) allocs in all" "allocations"
shown 'lost +nothing'
shown 'every event'
keys d
shown 'SINCE MARK'
shown "live +\+$live in .* since the mark"
keys d
not_shown 'SINCE MARK'
tested d

# what the table says is the truth, sorted by live bytes
jq -r '[.sites[] | select(.live_bytes > 0)] | sort_by(-.live_bytes) | .[0] |
	.stack[0].function, .live_bytes, .alloc_bytes' "$WORK/truth.truth" >"$WORK/first"
{ read -r first && read -r first_live && read -r first_alloc; } <"$WORK/first"
row_shown 1 "$first"
shown "^> +$(kib "$first_live") .* $(kib "$first_alloc") .* $first\$" "the largest site"
shown 'live[v] +growth'

# moving
first_figure=$(kib "$first_live")
select_shown "$first_figure"
second=$(row_name 2)
keys Down
select_shown "$second"
keys Up
select_shown "$first_figure"
keys j
select_shown "$second"
keys k
select_shown "$first_figure"
tested "Up, k"
tested "Down, j"
other_selected() { ! is_selected "$first_figure"; }
keys End
not_shown " $first_figure "
keys Home
select_shown "$first_figure"
tested "Home, End"
keys PPage
select_shown "$first_figure"
keys NPage
await 10 other_selected || fail "PgDn does not move"
keys PPage
select_shown "$first_figure"
tested "PgUp, PgDn"

# the stack is the selected site's, scrolls, and can be hidden
shown 'stack of the selected site'
jq -r --arg f "$first" --argjson l "$first_live" 'first(.sites[] | select(.live_bytes == $l and
	.stack[0].function == $f)) | .stack[] | "\(.function) +truth_c.c:\(.line)"' \
	"$WORK/truth.truth" >"$WORK/stack"
while read -r frame; do
	shown "^ +$frame"
done <"$WORK/stack"
stack_first() { capture; sed -n '/stack of/{n;p;}' "$SHOWN"; }
stack_is() { case $(stack_first) in *"$1"*) ;; *) return 1 ;; esac; }
second_frame=$(sed -n 's/ .*//;2p' "$WORK/stack")
keys ]
await 10 stack_is "$second_frame" || fail "] does not scroll: $(stack_first)"
keys [
await 10 stack_is "$first" || fail "[ does not scroll back: $(stack_first)"
tested "[, ]"
keys Enter
not_shown 'stack of the selected'
keys Enter
shown 'stack of the selected'
tested Enter

# order
keys '>'
shown 'growth[v]'
keys '>'
shown "alloc'd[v]"
most=$(jq -r '.sites | sort_by(-.alloc_bytes) | .[0].stack[0].function' "$WORK/truth.truth")
keys Home
row_shown 1 "$most"
keys r
shown "alloc'd\^"
keys Home
not_shown "^ .* [1-9][0-9.]* MiB .* $most\$"
tested r
keys '<' '<'
shown 'live[v]'
tested "<, >"

# filter, while typing
keys Home /
keys -l realloc_moves
shown '^/realloc_moves'
shown "of [0-9]+ sites with realloc_moves"
capture
sed -n '8,/stack of/p' "$SHOWN" | sed '$d' | grep -q . || fail "nothing passes the filter"
! sed -n '8,/stack of/p' "$SHOWN" | sed '$d' | grep -v realloc_moves | grep -q '[^ ]' ||
	fail "the filter lets others pass: $(cat "$SHOWN")"
keys BSpace BSpace BSpace
shown '^/realloc_mo '
keys Enter
not_shown '^/'
tested "/"
keys Escape
not_shown 'sites with'
row_shown 1 "$first"
tested Esc

# pause: the clock stands still, and goes on
clock() { capture; sed -n '1s/.*exact *\([^ ].*[^ ]\) *$/\1/p' "$SHOWN"; }
keys p
shown PAUSED
stands=$(clock)
moved() { [ "$(clock)" != "$stands" ]; }
! await 1 moved || fail "the clock goes on in a pause"
keys p
not_shown PAUSED
await 10 moved || fail "the clock does not go on after a pause"
keys Space
shown PAUSED
keys Space
not_shown PAUSED
tested "p, Space"

# threads
keys t
shown "thread +tid +allocs"
shown "^>1 +$VICTIM +$(totals alloc_count) " "the only thread"
keys t
shown 'live[v]'
tested t

# a snapshot: valid, and of this moment
keys s
shown "saved [0-9]+ sites, .* to memattach-$VICTIM-1.json"
cp "$WORK/memattach-$VICTIM-1.json" "$REPORT"
json_valid
json_expect .session.detached null
json_expect .totals.live_bytes "$(totals live_bytes)"
json_expect '[.sites[] | select(.frames[0].function == null)] | length' 0
keys s
shown "saved .* to memattach-$VICTIM-2.json"
"$MEMATTACH" diff "$WORK/memattach-$VICTIM-1.json" "$WORK/memattach-$VICTIM-2.json" \
	>"$WORK/diff" 2>&1 || fail "diff of the two: $(cat "$WORK/diff")"
tested s

# help: complete, and left by any key
keys '?'
shown '^ Keys'
sed -n 's/^   \([^ ].\{12\}\).*/\1/p' "$SHOWN" | sed 's/ *$//' | sort >"$WORK/help"
keys x
not_shown '^ Keys'
keys h
shown '^ Keys'
keys q	# leaves the help, not memattach
not_shown '^ Keys'
shown 'live[v]'
tested "?, h"

keys q
screen_end
expect "$STATUS" 0 "exit status"
tested "q, Ctrl-C"	# Ctrl-C: screen-ends.sh
tested L	# screen-leaks.sh
grep -q 'memattach .* watched process' "$WORK/after" || fail "no report after the screen"
pristine_check "$VICTIM"
ended truth

sort "$WORK/tested" | cmp -s - "$WORK/help" ||
	fail "keys in the help and keys tried: $(sort "$WORK/tested" | diff - "$WORK/help")"
