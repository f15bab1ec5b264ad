#!/bin/sh
# SPDX-License-Identifier: MIT
# CYCLES leak reports in a row on a loaded redis: no failure, no child left, nothing grows,
# no client sees an error.
: "${TEST_LIMIT:=300}"
. "$(dirname "$0")/lib.sh"
. "$E2E/leaks.sh"
needs jq redis-server redis-benchmark
. "$E2E/servers.sh"
. "$E2E/cycles.sh"
: "${CYCLES:=$(in_full 20 8)}"
redis_start
redis_load
fds=$(descriptors_of "$VICTIM")
file_maps_of "$VICTIM" >"$WORK/maps.before"
pristine_take "$VICTIM"
longest=0
for cycle in $(seq "$CYCLES"); do
	leaks "$VICTIM"
	[ -z "$(children_of "$VICTIM")" ] || fail "cycle $cycle: a child is left"
	pause=$(json .leaks.pause_us)
	[ "$pause" -le "$longest" ] || longest=$pause
done
pristine_check "$VICTIM"
file_maps_of "$VICTIM" >"$WORK/maps.after"
diff "$WORK/maps.before" "$WORK/maps.after" || fail "mappings changed"
# A loaded server opens and closes connections; what we leaked would be one a cycle.
[ "$(descriptors_of "$VICTIM")" -lt $((fds + CYCLES / 2 + 3)) ] || fail "descriptors grow"
redis_load_end
note "$CYCLES reports, the longest pause $longest us"
