#!/bin/sh
# SPDX-License-Identifier: MIT
# What is paid has the hooks of calls that record nothing in it: a program that does nothing but
# allocate pays some nanoseconds for each, which are far more than its few samples cost.
. "$(dirname "$0")/lib.sh"
needs jq
victim tight load --threads=1 --work=0
tell tight r
checked tight
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 2 --sample=256M --json
expect "$STATUS" 0 "exit status"
note "tight: $(json '[.session.overhead_percent, .totals.alloc_count, .session.duration] | @csv')"
json_expect '.totals.alloc_count > 1e6' true
json_expect '.session.overhead_percent / 100 * .session.duration > .totals.alloc_count * 5e-10' true
pristine_check "$VICTIM"
finished tight

# Hooks that keep all registers cost several times as much. Where they seem to take all of the
# time, the program has none for itself that this could be a percentage of: null.
victim own own_malloc
tell own "$(printf %70s '' | tr ' ' c)"
attach -p "$VICTIM" -d 1 --sample=1M --json
expect "$STATUS" 0 "exit status"
note "own: $(json '[.session.overhead_percent, .totals.alloc_count, .session.duration] | @csv')"
json_expect '.totals.alloc_count > 1e5' true
json_expect '(.session.overhead_percent // 1e6) / 100 * .session.duration >
	.totals.alloc_count * 15e-9' true
ended own
