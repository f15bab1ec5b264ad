#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen under a shell with job control: Ctrl-Z gives the terminal back and the session goes
# on, fg brings the screen back, at the size that the terminal has then. Where no screen can be
# drawn, or --plain is given, there are plain lines.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"
needs bash

victim truth truth_c
pristine_take "$VICTIM"
env LC_ALL=C TERM=xterm tmux -S "$TMUX_SOCKET" -f /dev/null new-session -d -x 80 -y 24 \
	'bash --norc --noprofile' || fail "tmux does not start"
shown '[$#>] *$'

keys "'$MEMATTACH' -p $VICTIM --exact --interval=0.2" Enter
shown 'rate .*allocs in all'
screen_process || fail "no memattach"
attach_await "$VICTIM"
keys C-z
shown Stopped
expect "$(tmux_do display-message -p '#{alternate_on} #{cursor_flag}')" "0 1" "screen, cursor"
is_stopped() { grep -q '^State:.T' "/proc/$ATTACH/status"; }
is_stopped || fail "the front is not stopped"
truth truth	# is seen: keeper and analyst do not stop
tmux_do resize-window -x 100 -y 30
keys clear Enter fg Enter
shown "^ live .* in $(jq .totals.live_count "$WORK/truth.truth") blocks"
full_size() {
	capture && [ "$(wc -l <"$SHOWN")" -eq 30 ] && tail -n 1 "$SHOWN" | grep -q '^? help'
}
await 20 full_size || fail "not at the new size: $(cat "$SHOWN")"
expect "$(tmux_do display-message -p '#{alternate_on}')" 1 "alternate screen"
keys q
shown '[$#>] *$'
await 20 is_gone "$ATTACH" || fail "memattach does not end"
pristine_check "$VICTIM"

# plain lines, and no screen
for how in "TERM=dumb '$MEMATTACH' -p $VICTIM" "'$MEMATTACH' -p $VICTIM --plain"; do
	keys clear Enter
	not_shown 'live .* peak'
	keys "$how --interval=0.2" Enter
	shown 's  live .* peak .*/s' "plain lines of $how"
	expect "$(tmux_do display-message -p '#{alternate_on}')" 0 "alternate screen of $how"
	screen_process || fail "no memattach"
	keys C-c
	await 30 is_gone "$ATTACH" || fail "memattach does not end: $how"
	pristine_check "$VICTIM"
done
keys clear Enter "stty -a >'$WORK/modes'" Enter
await 10 test -s "$WORK/modes"
{ grep -q ' icanon' "$WORK/modes" && grep -q ' echo ' "$WORK/modes"; } ||
	fail "modes: $(cat "$WORK/modes")"
ended truth
