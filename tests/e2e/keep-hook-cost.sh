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

# Hooks that keep all registers cost several times as much: those of an allocator of the
# program, and of functions that the user has named. paid NAME KIND COMMANDS [OPTIONS]
# Where they seem to take all of the time, the program has none for itself that this could be a
# percentage of: null.
paid() {
	paid_name=$1 kind=$2
	tell "$paid_name" "$3"
	shift 3
	attach -p "$VICTIM" -d 1 --sample=1M --json "$@"
	expect "$STATUS" 0 "exit status"
	calls=$(json "[.sites[] | select(.kind == \"$kind\") | .alloc_count] | add")
	note "$paid_name: $(json .session.overhead_percent), $calls"
	json_expect "$calls > 1e5" true
	seconds="(.session.overhead_percent // 1e6) / 100 * .session.duration"
	json_expect "$seconds > $calls * 15e-9" true
	ended "$paid_name"
}
victim own own_malloc
paid own malloc "$(printf %70s '' | tr ' ' c)"
victim pools pools
paid pools custom l --alloc-fn=pool_get:2 --free-fn=pool_put:2
