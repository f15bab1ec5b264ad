#!/bin/sh
# SPDX-License-Identifier: MIT
# All of a PostgreSQL, found by its name: postmaster, its own processes, backends of pgbench; and
# the backends of connections that are made, and ended, meanwhile (--follow).
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"
. "$E2E/several_lib.sh"

# A name of its own: there may be other servers here, which are not ours to watch.
program=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort | tail -n 1)
[ -n "$program" ] || skip "PostgreSQL is not installed"
name=pg_$$
cp "$program" "$WORK/$name"
POSTGRES_PROGRAM=$WORK/$name
postgres_start
PGBENCH_CLIENTS=3 postgres_load

psql() { as_postgres "$POSTGRES_BIN/psql" -h "$WORK/postgres" -U bench -At postgres "$@"; }

processes() { for exe in /proc/[0-9]*/exe; do
	[ "$(readlink "$exe")" != "$WORK/$name" ] || echo "$exe" | cut -d/ -f3
done 2>/dev/null; }

there=$(processes)
[ "$(echo "$there" | wc -l)" -ge 7 ] || fail "too few processes: $there"
for pid in $there; do
	pristine_take "$pid"
done

attach_begin --name="$name" --follow --sample=4096 --json
attach_await "$POSTGRES"

# connect NAME: a connection that lasts; it is seen. Sets BACKEND.
connect() {
	background "$1" setpriv --pdeathsig=KILL "$POSTGRES_BIN/psql" -h "$WORK/postgres" \
		-U bench -At postgres
	printf 'select pg_backend_pid();\n' >"$WORK/$1.in"
	await 20 test -s "$WORK/$1.out" || fail "no connection: $(cat "$WORK/$1.err")"
	BACKEND=$(sed -n 1p "$WORK/$1.out")
	attach_await "$BACKEND"
}

# One that works while it is watched, and stays.
connect session
backend=$BACKEND
printf "select length(string_agg(repeat('x', 100), ',')) from generate_series(1, 200000);\n" \
	>"$WORK/session.in"
has_result() { [ "$(wc -l <"$WORK/session.out")" -ge 2 ]; }
await 30 has_result || fail "the session does not work: $(cat "$WORK/session.err")"

# One that ends while it is watched.
connect leaver
leaver=$BACKEND
printf '\\q\n' >"$WORK/leaver.in"
await 20 is_gone "$leaver" || fail "the backend $leaver did not end"

# Others come and go, for seconds and for a moment: watched or not, as it happens.
as_postgres "$POSTGRES_BIN/pgbench" -h "$WORK/postgres" -U bench -c 2 -T 2 postgres \
	>"$WORK/pgbench.2" 2>&1 || fail "pgbench: $(cat "$WORK/pgbench.2")"
for _ in 1 2 3 4 5 6 7 8; do
	expect "$(psql -c 'select 1')" 1 "a short connection"
done
attach_end
expect "$STATUS" 0 "exit status"
several_valid
sums_hold

for pid in $there; do
	[ "$(of_process "$pid" .watched)" = true ] ||
		fail "$pid was not watched: $(of_process "$pid" .problem)"
	is_gone "$pid" || pristine_check "$pid"
done
expect "$(of_process "$backend" .detached)" pristine "how the new backend was left"
"$TOOLS/ringwatch" "$backend" gone 0 >"$WORK/ringwatch" || fail "$backend keeps something of ours"
[ "$(of_process "$backend" .totals.alloc_bytes)" -gt 1000000 ] ||
	fail "of the new backend too little was seen: $(of_process "$backend" .totals)"
expect "$(of_process "$leaver" .watched)" true "the backend that ended"
expect "$(of_process "$leaver" .detached)" target-ended "how it was left"
expect "$(json "[.processes[] | select(.name != \"$name\")] | length")" 0 "processes of others"
# Those of pgbench do the same all the time; of the others some may not be watched for long enough.
[ "$(json '[.sites[].by_process | length] | max')" -ge 3 ] || fail "backends share no site"
for pid in $(processes); do	# some end meanwhile: autovacuum's workers
	"$TOOLS/ringwatch" "$pid" gone 0 >"$WORK/ringwatch" || is_gone "$pid" ||
		fail "$pid keeps something of ours"
done
printf 'select 42;\n' >"$WORK/session.in"
await 20 grep -q '^42$' "$WORK/session.out" || fail "the session is dead"
postgres_load_end
