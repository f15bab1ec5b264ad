#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts each server as the end-to-end tests do, on the loopback and in a folder of its own, has
# servers.py measure it, and ends it. What is not installed is left out.
#
#	servers.sh PROGRAMS FILE [OPTIONS of servers.py]
#
# ONLY_SERVERS: names of those to measure.
TEST_LIMIT=7200
. "$(dirname "$0")/../e2e/lib.sh"
. "$E2E/servers.sh"
: "${ONLY_SERVERS:=redis nginx memcached postgres}"
programs=$1
into=$2
shift 2

has() { command -v "$1" >/dev/null 2>&1; }

# measured NAME PROTOCOL ADDRESS CONNECTIONS [OPTIONS]
measured() {
	measured_name=$1 protocol=$2 address=$3 connections=$4
	shift 4
	python3 "$SRCDIR/tests/bench/servers.py" "$measured_name" --into "$into" \
		--programs "$programs" --protocol "$protocol" --address "$address" \
		--connections "$connections" "$@" || fail "$measured_name"
}

server_redis() {
	has redis-server || return
	redis_start
	measured redis redis "$REDIS_PORT" 8 --pid "$VICTIM" \
		--text 'SET, GET, LPUSH, RPOP, HSET of small values' \
		--version "$(redis-server --version | cut -d' ' -f1-3)" "$@"
	kill -TERM "$VICTIM"
}

server_nginx() {
	has nginx || return
	nginx_start
	measured nginx http "$NGINX_PORT" 8 --pid "$VICTIM" \
		--text 'a page of 20 kB, compressed for each request' \
		--version "$(nginx -v 2>&1)" "$@"
	kill -TERM "$NGINX"
}

server_memcached() {
	has memcached || return
	memcached_start
	measured memcached memcached "$MEMCACHED_PORT" 4 --pid "$VICTIM" \
		--text 'set and get of values of 50 to 4,050 bytes' \
		--version "$(memcached --version)" "$@"
	kill -TERM "$VICTIM"
}

# The backend that answers the one connection.
server_postgres() {
	[ -n "$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null)" ] || return
	postgres_start
	measured PostgreSQL postgres "$WORK/postgres/.s.PGSQL.5432" 1 --warm 500 \
		--find "'$POSTGRES_BIN/psql' -h '$WORK/postgres' -U bench -At postgres -c \"
			select pid from pg_stat_activity where application_name = 'bench_load'\"" \
		--text 'reads of the tables of pgbench, three in a message: a row, a sum, a join' \
		--version "$("$POSTGRES_BIN/postgres" --version)" "$@"
	kill -INT "$POSTGRES"
	await 20 is_gone "$POSTGRES" || fail "PostgreSQL does not end"
}

for server in $ONLY_SERVERS; do
	"server_$server" "$@"
done
