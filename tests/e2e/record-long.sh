#!/bin/sh
# SPDX-License-Identifier: MIT
# A long recording of a busy server (SERVER: redis, postgres) for SECONDS_WATCHED at the default
# budget: an hour has to fit into 10 MB. A short one is judged by what its snapshots took, each of
# which costs the same; what is written once is counted whole.
: "${SECONDS_WATCHED:=12}" "${SERVER:=redis}"
: "${TEST_LIMIT:=$((SECONDS_WATCHED + 200))}"
. "$(dirname "$0")/lib.sh"
needs jq sqlite3
. "$E2E/servers.sh"
HOUR_BYTES=10000000
rows() { sqlite3 "$WORK/recording" "$1"; }

case $SERVER in
redis)
	needs redis-server redis-benchmark
	redis_start
	redis_load ;;
postgres)
	PGBENCH_SECONDS=$((SECONDS_WATCHED + 120))
	postgres_start
	postgres_load ;;
esac
pristine_take "$VICTIM"
ATTACH_LIMIT=$((SECONDS_WATCHED + 60))
attach -p "$VICTIM" -d "$SECONDS_WATCHED" -o "$WORK/recording" --json
expect "$STATUS" 0 "exit status"
json_expect .session.detached pristine
pristine_check "$VICTIM"
"${SERVER}_load_end"

snapshots=$(rows 'SELECT count(*) FROM snapshots WHERE reason = 0')
[ "$snapshots" -ge $((SECONDS_WATCHED * 8 / 10)) ] || fail "$snapshots snapshots"
bytes=$(stat -c %s "$WORK/recording")
# The tables that grow with the session.
growing=$(rows "SELECT sum(pgsize) FROM dbstat WHERE name IN
	('snapshots', 'snapshot_sites', 'timeline') OR name LIKE 'sqlite_autoindex_snapshot%'")
hour=$((bytes + growing * (3600 - SECONDS_WATCHED) / SECONDS_WATCHED))
[ "$hour" -le "$HOUR_BYTES" ] || fail "an hour takes $hour bytes ($growing of $bytes grow)"
began=$(date +%s%N)
attach report "$WORK/recording"
took=$((($(date +%s%N) - began) / 1000000))
expect "$STATUS" 0 "exit status of report"
note "$SERVER, $SECONDS_WATCHED s: $snapshots snapshots in $bytes bytes, $growing of them grow;" \
	"report answers in $took ms"
