#!/bin/sh
# SPDX-License-Identifier: MIT
# Live screen: L ends it with a search for leaks, though none was asked for at the start.
. "$(dirname "$0")/lib.sh"
. "$E2E/screen_lib.sh"

victim leaks leaky --kind=chain
pristine_take "$VICTIM"
screen_begin 80 24 -p "$VICTIM" --exact --interval=0.2
attach_await "$VICTIM"
shown 'rate .*allocs in all'
tell leaks b
answer leaks built
shown 'build_chain'
keys L
screen_end
expect "$STATUS" 1 "exit status with definite leaks"
grep -q 'watched process' "$WORK/after" || fail "no report"
grep -q '#1  definitely lost: ' "$WORK/after" || fail "no leaks in the report"
pristine_check "$VICTIM"
ended leaks
