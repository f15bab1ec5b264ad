#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian's redis under load, counted: sites and sizes add up, nearly all stacks have names, and it
# is left as it was, without an error for the clients.
. "$(dirname "$0")/lib.sh"
needs jq python3 redis-server redis-benchmark
. "$E2E/servers.sh"
redis_start
redis_load
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 3 --counts --json
expect "$STATUS" 0 "exit status"
json_valid
json_expect .session.detached pristine
json_expect '.totals.alloc_count > 1000' true
blocks='[.sites[] | select(.kind == "malloc")'
json_expect "($blocks | .alloc_count] | add) == .totals.alloc_count" true
json_expect "($blocks | .alloc_bytes] | add) == .totals.alloc_bytes" true
json_expect '([.histogram[] | .count] | add) == .totals.alloc_count' true
json_expect '.counts.by_caller.count * 20 <= .totals.alloc_count' true
json_expect .counts.sites_left_out.count 0
json_expect .session.stacks.mismatched 0
pristine_check "$VICTIM"
redis_load_end
