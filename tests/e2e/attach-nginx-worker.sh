#!/bin/sh
# SPDX-License-Identifier: MIT
# An nginx worker under wrk.
. "$(dirname "$0")/lib.sh"
needs jq python3 nginx wrk
. "$E2E/servers.sh"
nginx_start
background load $LOW wrk -t1 -c8 -d$((60 * PATIENCE)) "http://127.0.0.1:$NGINX_PORT/"
load=$LAST
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 3 --sample=4096 --json
report_good 50
pristine_check "$VICTIM"
kill -INT "$load" || fail "the load ended early: $(cat "$WORK/load.out")"
await 10 is_gone "$load"
grep -q 'Requests/sec' "$WORK/load.out" || fail "no figures from wrk: $(cat "$WORK/load.err")"
grep -E 'Socket errors|Non-2xx' "$WORK/load.out" && fail "the load saw errors"
kill -0 "$VICTIM" || fail "the worker is gone"
