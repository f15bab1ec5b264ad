# SPDX-License-Identifier: MIT
# Starting Debian's servers on ports and folders of our own, and loading them.
# Sourced after lib.sh. Each *_start sets VICTIM, the process to attach to.
# shellcheck shell=sh disable=SC2034,SC2153,SC2154

# A port that was free a moment ago.
free_port() {
	python3 -c 'from socket import socket
s = socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# as_service COMMAND...: what refuses to run as root runs as nobody then. Sets LAST.
as_service() {
	service_name=$1
	shift
	if is_root; then
		background "$service_name" setpriv --reuid=nobody --regid=65534 --clear-groups \
			--pdeathsig=KILL "$@"
	else
		background "$service_name" setpriv --pdeathsig=KILL "$@"
	fi
}

# --- the server of `make demo` ---------------------------------------------------

# demo_server_start: for a minute at the most. DEMO is the process started.
demo_server_start() {
	$CC -D_GNU_SOURCE -g -O2 -pthread -o "$WORK/demo_server" "$SRCDIR/tests/demo_server.c" ||
		fail "the demo server does not compile"
	background demo "$WORK/demo_server" 60
	DEMO=$LAST
	await 20 test -s "$WORK/demo.out" || fail "the server does not start"
	VICTIM=$(head -n 1 "$WORK/demo.out")
}

# --- our own slow_server, see there --------------------------------------------

# counts KEY: a figure of the server's own.
counts() {
	tell server c
	answer server counts
	echo "${ANSWER#counts ok }" | jq ".$1"
}

enough_requests() { [ "$(counts requests)" -ge "$1" ]; }

# slow_server_start RATE SECONDS [REQUESTS]: under load, once so many were answered (500).
slow_server_start() {
	background server "$VICTIMS/slow_server"
	VICTIM_SELF=$LAST
	await 60 grep -q '^port' "$WORK/server.out" || fail "the server does not start"
	VICTIM=$(sed -n 's/^ready //p' "$WORK/server.out")
	background load "$VICTIMS/slow_server" "$(sed -n 's/^port //p' "$WORK/server.out")" \
		"$1" "$2"
	LOAD=$LAST
	await 60 enough_requests "${3:-500}" || fail "no load: $(cat "$WORK/load.err")"
}

# functions_of VERDICT: of every group with that verdict, the function that allocated.
functions_of() {
	json ". as \$r | .leaks.groups[] | select(.verdict == \"$1\") | .site as \$s |
		[\$r.sites[] | select(.id == \$s) | .frames[] | .function] |
		map(select(. != \"malloc\" and . != \"calloc\")) | .[0] // \"older\"" | sort -u
}

# --- redis -------------------------------------------------------------------

redis_start() {
	REDIS_PORT=$(free_port)
	background redis setpriv --pdeathsig=KILL redis-server --port "$REDIS_PORT" \
		--bind 127.0.0.1 --save '' --appendonly no --dir "$WORK"
	VICTIM=$LAST
	await 20 redis-cli -p "$REDIS_PORT" ping || fail "redis does not answer"
}

# Until redis_load_end; more requests than any test waits for.
redis_load() {
	background redis_load $LOW redis-benchmark -p "$REDIS_PORT" -c 8 -P 4 -r 100000 -d 100 \
		-n 100000000 -q -t set,get,lpush,lpop,hset
	REDIS_LOAD=$LAST
	await 20 redis_has_keys || fail "redis gets no load"
}

redis_has_keys() { [ "$(redis-cli -p "$REDIS_PORT" dbsize)" -gt 1000 ]; }

redis_errors() {
	redis-cli -p "$REDIS_PORT" info errorstats | grep -c '^errorstat_' || true
}

redis_load_end() {
	kill -0 "$REDIS_LOAD" 2>/dev/null ||
		fail "the load ended early: $(tail -n 3 "$WORK/redis_load.err")"
	kill -TERM "$REDIS_LOAD"
	await 10 is_gone "$REDIS_LOAD"
	[ ! -s "$WORK/redis_load.err" ] || fail "the load saw: $(cat "$WORK/redis_load.err")"
	expect "$(redis_errors)" 0 "errors that redis answered with"
	expect "$(redis-cli -p "$REDIS_PORT" ping)" PONG "redis"
}

# --- nginx -------------------------------------------------------------------

nginx_start() {
	NGINX_PORT=$(free_port)
	mkdir "$WORK/nginx"
	head -c 20000 /dev/zero | tr '\0' x >"$WORK/nginx/index.html"
	cat >"$WORK/nginx_conf" <<END
daemon off;
worker_processes ${NGINX_WORKERS:-1};
error_log $WORK/nginx/error.log;
pid $WORK/nginx/pid;
events { worker_connections 128; }
http {
	access_log off;
	gzip on; gzip_types *; gzip_min_length 1;
	client_body_temp_path $WORK/nginx; proxy_temp_path $WORK/nginx;
	fastcgi_temp_path $WORK/nginx; uwsgi_temp_path $WORK/nginx; scgi_temp_path $WORK/nginx;
	server { listen 127.0.0.1:$NGINX_PORT; root $WORK/nginx; }
}
END
	chmod -R a+rwX "$WORK/nginx"
	background nginx nginx -c "$WORK/nginx_conf" -p "$WORK/nginx"
	NGINX=$LAST
	await 20 nginx_has_worker || fail "nginx does not start: $(cat "$WORK/nginx.err")"
}

# Its master ends its worker when it is killed; KILL would leave the worker, so it is ours too.
nginx_has_worker() {
	NGINX_CHILDREN=$(cat "/proc/$NGINX/task/$NGINX/children")
	# shellcheck disable=SC2086
	[ "$(echo $NGINX_CHILDREN | wc -w)" -eq "${NGINX_WORKERS:-1}" ] || return 1
	VICTIM=$(echo "$NGINX_CHILDREN" | tr -s ' ' '\n' | sed -n 1p)
	own $NGINX_CHILDREN
	python3 -c "import socket; socket.create_connection(('127.0.0.1', $NGINX_PORT)).close()"
}

# --- memcached ---------------------------------------------------------------

memcached_start() {
	MEMCACHED_PORT=$(free_port)
	as_service memcached "$(command -v memcached)" -p "$MEMCACHED_PORT" -l 127.0.0.1 -U 0 \
		-t 2 -m 1024	# all that memcached_load.py stores
	VICTIM=$LAST
	await 20 python3 -c \
		"import socket; socket.create_connection(('127.0.0.1', $MEMCACHED_PORT)).close()" ||
		fail "memcached does not answer"
}

# --- PostgreSQL --------------------------------------------------------------

postgres_start() {
	POSTGRES_BIN=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort | tail -n 1)
	[ -n "$POSTGRES_BIN" ] || skip "PostgreSQL is not installed"
	POSTGRES_BIN=$(dirname "$POSTGRES_BIN")
	mkdir "$WORK/postgres"
	if is_root; then
		POSTGRES_USER=nobody
		chown nobody "$WORK/postgres"
	else
		POSTGRES_USER=$(id -un)
	fi
	as_postgres "$POSTGRES_BIN/initdb" -D "$WORK/postgres/data" -A trust -U bench --no-sync \
		>"$WORK/initdb.out" 2>&1 || fail "initdb: $(tail -n 3 "$WORK/initdb.out")"
	as_service postgres "${POSTGRES_PROGRAM:-$POSTGRES_BIN/postgres}" -D "$WORK/postgres/data" \
		-c listen_addresses= -c unix_socket_directories="$WORK/postgres" -c fsync=off
	POSTGRES=$LAST
	await 30 as_postgres "$POSTGRES_BIN/psql" -h "$WORK/postgres" -U bench \
		-c 'select 1' postgres ||
		fail "PostgreSQL does not answer: $(tail -n 3 "$WORK/postgres.err")"
	as_postgres "$POSTGRES_BIN/pgbench" -h "$WORK/postgres" -U bench -i -s 1 -q postgres \
		>"$WORK/pgbench.out" 2>&1 || fail "pgbench -i: $(tail -n 3 "$WORK/pgbench.out")"
}

as_postgres() {
	if is_root; then
		setpriv --reuid=nobody --regid=65534 --clear-groups env -C / "$@"
	else
		"$@"
	fi
}

postgres_load() {
	# shellcheck disable=SC2086 # words
	as_service pgbench $LOW "$POSTGRES_BIN/pgbench" -h "$WORK/postgres" -U bench \
		-c "${PGBENCH_CLIENTS:-1}" -T "${PGBENCH_SECONDS:-60}" postgres
	PGBENCH=$LAST
	await 20 postgres_has_backend || fail "no backend"
}

# One that is at its transactions: the first connection of pgbench only looks around.
postgres_has_backend() {
	VICTIM=$(as_postgres "$POSTGRES_BIN/psql" -h "$WORK/postgres" -U bench -At postgres -c \
		"select pid from pg_stat_activity where application_name = 'pgbench'
		and query ~ '^(BEGIN|UPDATE|SELECT abalance|INSERT|END)' limit 1")
	[ -n "$VICTIM" ]
}

# The logs are judged before the load is ended, which they would tell as well.
postgres_load_end() {
	kill -0 "$PGBENCH" 2>/dev/null || fail "pgbench ended early: $(cat "$WORK/pgbench.err")"
	kill -0 "$VICTIM" || fail "the backend is gone"
	! grep -iE 'error|abort' "$WORK/pgbench.err" || fail "pgbench saw errors"
	# Before the server was up it turned callers away, by FATAL.
	! grep -E 'ERROR|FATAL|PANIC' "$WORK/postgres.err" | grep -v 'starting up' ||
		fail "the server logged errors"
	kill -TERM "$PGBENCH"
	await 10 is_gone "$PGBENCH"
	kill -INT "$POSTGRES"
	await 20 is_gone "$POSTGRES" || fail "PostgreSQL does not end"
}
