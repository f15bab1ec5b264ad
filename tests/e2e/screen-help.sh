#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen: the help fits into 80 by 24; on a smaller terminal it says which lines are shown, and
# scrolls by each of the keys that move in lists; any other key leads back to where it was asked
# for. docs/SCREEN.md and the manual page show the same keys.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"

# The lines of the help that are on the screen.
lines() { capture; sed -n '/^ Keys/,$p' "$SHOWN" | grep '^   [^ ]' | sed 's/ *$//'; }

victim truth truth_c
pristine_take "$VICTIM"
screen_begin 80 24 -p "$VICTIM" $EXACT --interval=0.2
attach_await "$VICTIM"
shown 'rate .*allocs in all'

note "all of it at 80 by 24, and the same at 200 by 60"
keys '?'
shown '^any key: back$'
lines >"$WORK/all"
count=$(wc -l <"$WORK/all")
[ "$count" -ge 18 ] || fail "$count lines of help: $(cat "$SHOWN")"
! cut -c80- "$WORK/all" | grep -q . || fail "wider than the terminal: $(cat "$WORK/all")"
tmux_do resize-window -x 200 -y 60
shown '^any key: back$'
lines | cmp -s - "$WORK/all" || fail "another help at 200 by 60: $(lines | diff - "$WORK/all")"

note "as in the documents"
sed -n '/^ Keys/,/^any key/s/^   \([^ ]\)/   \1/p' "$SRCDIR/docs/SCREEN.md" >"$WORK/in-docs"
cmp -s "$WORK/in-docs" "$WORK/all" ||
	fail "docs/SCREEN.md: $(diff "$WORK/in-docs" "$WORK/all")"
sed -n '/^[.]Ss The live screen/,/^[.]El/s/^[.]It //p' "$SRCDIR/docs/man/memattach-attach.1.in" |
	sed 's/\\&//g; s/ , /, /' >"$WORK/in-page"
cut -c4-16 "$WORK/all" | sed 's/ *$//' >"$WORK/keys"
cmp -s "$WORK/in-page" "$WORK/keys" || fail "the page: $(diff "$WORK/in-page" "$WORK/keys")"

# at FIRST: ten lines from that one on are shown, and it is said which.
at() {
	shown "^$1 to $(($1 + 9)) of $count; Up Down .* any other key: back$"
	sed -n "$1,$(($1 + 9))p" "$WORK/all" >"$WORK/part"
	lines | cmp -s - "$WORK/part" || fail "not lines $1 to $(($1 + 9)): $(cat "$SHOWN")"
}
note "in 12 lines"
tmux_do resize-window -x 80 -y 12
last=$((count - 9))
at 1
keys Down
at 2
keys j
at 3
keys Up
at 2
keys k k k	# there is nothing above
at 1
keys NPage
at 11
keys NPage
at $last
keys Down j	# nor below
at $last
keys PPage
at $((last > 10 ? last - 10 : 1))
keys End
at $last
keys Home
at 1
keys End
at $last

note "resized"
tmux_do resize-window -x 20 -y 5
shown "^$last to $((last + 2)) of"
tmux_do resize-window -x 10 -y 3
shown '^too small$'
tmux_do resize-window -x 80 -y 12
at $last
tmux_do resize-window -x 80 -y 24
shown '^any key: back$'
lines | cmp -s - "$WORK/all" || fail "not all of it again: $(cat "$SHOWN")"

note "left, to where it was asked for"
keys Down	# all is shown: nothing to scroll, so it leaves, too
shown 'live[v] +growth'
keys t
shown 'thread +tid'
keys '?'
shown '^any key: back$'
keys Escape
shown 'thread +tid'
keys t L
shown 'still reachable'
keys h
shown '^any key: back$'
keys q
shown 'still reachable'
keys q
shown 'live[v] +growth'
keys q
screen_end
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
ended truth
