#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen, the mode of the budget: an idle program allocates much at once. Its rate has an
# interval while it is an estimate, and beside the allocations stands their rate on average when
# nothing more comes.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"
victim bursts bursts
pristine_take "$VICTIM"
screen_begin 100 30 -p "$VICTIM" --interval=0.5
attach_await "$VICTIM"
shown 'rate +0 allocs/s; 0 allocs in all, 0/s on average; 0 frees/s, 0 B/s' "before the burst"
tell bursts 6
shown 'rate +[1-9][0-9.,]*( [kM])? allocs/s( \(95 %: .* to .*\))?; [1-9]' "the rate of the burst"
shown 'rate +0 allocs/s; [1-9][0-9.,]*( [kM])? allocs in all, [1-9][0-9.,]*( [kM])?/s on average' \
	"the rate on average"
answer bursts burst
keys q
screen_end
expect "$STATUS" 0 "exit status"
pristine_check "$VICTIM"
tmux_do kill-server
ended bursts
