#!/bin/sh
# SPDX-License-Identifier: MIT
# CYCLES leak reports in a row on a loaded PostgreSQL, its processes in turns (the postmaster,
# its helpers, backends): no failure, no child and no zombie left, no client sees an error.
: "${TEST_LIMIT:=300}"
. "$(dirname "$0")/lib.sh"
. "$E2E/leaks.sh"
: "${CYCLES:=$(in_full 20 8)}"
needs jq
. "$E2E/servers.sh"
. "$E2E/cycles.sh"
# shellcheck disable=SC2034
PGBENCH_CLIENTS=4 PGBENCH_SECONDS=$TEST_LIMIT
postgres_start
postgres_load
backend=$VICTIM

zombies() {
	for pid in $(children_of "$POSTGRES"); do
		grep -s '^State:.Z' "/proc/$pid/status"
	done
}

# What lives as long as the server, and backends of the load.
servers() { echo "$POSTGRES"; children_of "$POSTGRES"; }

pristine_take "$POSTGRES"
fds=$(descriptors_of "$POSTGRES")
done=0 longest=0
while [ "$done" -lt "$CYCLES" ]; do
	for pid in $(servers); do
		[ "$done" -lt "$CYCLES" ] || break
		attach -p "$pid" --leaks -d 0 --json
		# autovacuum's workers come and go
		case $STATUS in
		0 | 1)	;;
		*)	is_gone "$pid" || fail "cycle $done: exit status $STATUS"
			continue ;;
		esac
		json_expect .session.detached pristine
		[ "$pid" = "$POSTGRES" ] || [ -z "$(children_of "$pid")" ] ||
			fail "cycle $done: a child is left"
		pause=$(json .leaks.pause_us)
		[ "$pause" -le "$longest" ] || longest=$pause
		done=$((done + 1))
	done
	[ -z "$(zombies)" ] || { sleep 0.5; [ -z "$(zombies)" ] || fail "cycle $done: a zombie"; }
done
pristine_check "$POSTGRES"
[ "$(descriptors_of "$POSTGRES")" -le $((fds + 2)) ] || fail "descriptors grow"
VICTIM=$backend
postgres_load_end
note "$CYCLES reports, the longest pause $longest us"
