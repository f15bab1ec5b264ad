#!/bin/sh
# SPDX-License-Identifier: MIT
# memcached under load from several connections.
. "$(dirname "$0")/lib.sh"
needs jq python3 memcached
. "$E2E/servers.sh"
memcached_start
background load $LOW python3 "$E2E/memcached_load.py" "$MEMCACHED_PORT"
load=$LAST
await 10 grep -q running "$WORK/load.out" || fail "no load: $(cat "$WORK/load.err")"
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 3 --sample=4096 --json
report_good
[ "$(json .session.stacks.unwound)" -ge 200 ] || fail "too few stacks to judge them by"
pristine_check "$VICTIM"
printf q >"$WORK/load.in"
await 20 is_gone "$load" || fail "the load does not end"
wait "$load" || fail "the load saw errors: $(cat "$WORK/load.out" "$WORK/load.err")"
