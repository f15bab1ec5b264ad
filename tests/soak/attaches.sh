#!/bin/sh
# SPDX-License-Identifier: MIT
# Attaches and detaches without number: of each program under load, in seven ways, ROUNDS (10) times
# each. No request fails, each detach is pristine, and so is what the process has, by its own
# account. Rows add up over runs in ATTACHES_RESULTS, for the table that this ends with: how long a
# thread stood still at the most, on the way in and on the way out. PROGRAMS: only those.
: "${TEST_LIMIT:=7200}"
. "$(dirname "$0")/../e2e/lib.sh"
needs jq python3
. "$E2E/servers.sh"
. "$E2E/daemon_lib.sh"
. "$SRCDIR/tests/targets/programs_lib.sh"
cp "$BUILDDIR/tests/victims/selfcheck" "$VICTIMS/" || fail "no copy of selfcheck"
: "${ROUNDS:=10}" "${ATTACHES_RESULTS:=$BUILDDIR/soak-attaches.tsv}"
: "${PROGRAMS:=redis nginx memcached postgres python3 node threads}"
BEGAN=$(date -u +%Y-%m-%dT%H:%M:%SZ)
DONE=0

# --- programs: NAME_begin sets VICTIM; NAME_over fails if a request did ---------------

redis_begin() { redis_start && redis_load; }
redis_over() { redis_load_end && ended_by TERM "$VICTIM" redis; }
nginx_begin() { nginx_start && http_load "$NGINX_PORT"; }
nginx_over() { http_load_end && ended_by TERM "$NGINX" nginx; }
memcached_begin() {
	memcached_start
	background load python3 "$E2E/memcached_load.py" "$MEMCACHED_PORT" "$TEST_LIMIT"
	MEMCACHED_LOAD=$LAST
	await 10 grep -q running "$WORK/load.out" || fail "no load: $(cat "$WORK/load.err")"
}
memcached_over() {
	printf q >"$WORK/load.in"
	await 20 is_gone "$MEMCACHED_LOAD" || fail "the load does not end"
	wait "$MEMCACHED_LOAD" || fail "the load saw errors: $(cat "$WORK/load.out")"
	ended_by TERM "$VICTIM" memcached
}
postgres_begin() {
	PGBENCH_SECONDS=$TEST_LIMIT
	postgres_start && postgres_load
}
postgres_over() { postgres_load_end; }
python3_begin() { python3_start; }
python3_over() { python3_end; }
node_begin() { node_start; }
node_over() { node_end; }
threads_begin() {
	victim threads selfcheck --kind=malloc-loop --threads=64
	checked threads
}
threads_over() { checked threads && finished threads; }

# --- ways -------------------------------------------------------------------

# row WAY: of the attach whose report is there.
row() {
	printf '%s\t%s\t%s\t%s\n' "$BEGAN" "$PROGRAM" "$1" \
		"$(json '.session | [.attach_stop_us_max, .detach_stop_us_max] | @tsv')" \
		>>"$ATTACHES_RESULTS"
	DONE=$((DONE + 1))
}

# by_hand WAY OPTIONS
by_hand() {
	by_hand_way=$1
	shift
	attach -p "$VICTIM" --json "$@"
	case " $* $STATUS" in
	*' --leaks '*1 | *0) ;;
	*) fail "$PROGRAM, $*: exit status $STATUS: $(cat "$ERRORS")" ;;
	esac
	json_expect .session.detached pristine
	row "$by_hand_way"
}

is_watched() {
	"$MEMATTACH" status --control="$control" --json >"$WORK/status" 2>/dev/null &&
		jq -e ".processes[] | select(.pid == $VICTIM and .state == \"watched\")" \
			"$WORK/status" >/dev/null
}
is_left() { ! grep -q memfd:memattach "/proc/$VICTIM/maps"; }

# By memattachd, which says nothing of stops but in its recording.
by_daemon() {
	"$MEMATTACH" attach --daemon -p "$VICTIM" --control="$control" >"$WORK/ask" 2>&1 ||
		fail "$PROGRAM: memattachd does not attach: $(cat "$WORK/ask" "$log")"
	await 20 is_watched || fail "$PROGRAM is not watched: $(cat "$log")"
	"$MEMATTACH" detach -p "$VICTIM" --control="$control" >"$WORK/ask" 2>&1 ||
		fail "$PROGRAM: memattachd does not detach: $(cat "$WORK/ask" "$log")"
	await 20 is_left || fail "$PROGRAM: something is left of memattachd"
	recording=$(find "$state" -name '*.memattach' -newer "$WORK/mark" | head -n 1)
	[ -n "$recording" ] || fail "$PROGRAM: no recording"
	attach report --json "$recording"
	json_expect .session.detached pristine
	row memattachd
	rm -f "$recording"
}

round() {
	by_hand sampled -d 0.1 --sample=64K
	by_hand 'sampled, map' -d 0.1 --sample=64K --loader=map
	by_hand exact -d 0.1 --exact
	by_hand 'exact, map' -d 0.1 --exact --loader=map
	by_hand leaks -d 0.1 --leaks
	by_hand 'leaks, map' -d 0.1 --leaks --loader=map
	: >"$WORK/mark"
	by_daemon
	pristine_check "$VICTIM"
}

# The table, of all runs.
table() {
	echo 'Longest stop of a thread of each attach, us.'
	echo '| program | way | attaches | in, median | 99 % | most | out, median | 99 % | most |'
	echo '|---|---|---|---|---|---|---|---|---|'
	python3 - "$ATTACHES_RESULTS" <<-'END'
		import collections, sys
		rows = collections.defaultdict(list)
		for line in open(sys.argv[1], encoding="utf-8"):
		    _, program, way, entering, leaving = line.rstrip("\n").split("\t")
		    rows[program, way].append((int(entering), int(leaving)))
		for (program, way), stops in rows.items():
		    figures = []
		    for side in zip(*stops):
		        side = sorted(side)
		        figures += [side[len(side) // 2], side[len(side) * 99 // 100], side[-1]]
		    print("|", " | ".join(map(str, [program, way, len(stops)] + figures)), "|")
		print(sum(map(len, rows.values())), "attaches and detaches, pristine each time")
	END
}

rules ''
begin
for PROGRAM in $PROGRAMS; do
	"${PROGRAM}_begin"
	pristine_take "$VICTIM"
	n=0
	while [ "$n" -lt "$ROUNDS" ]; do
		round
		n=$((n + 1))
	done
	"${PROGRAM}_over"
	note "$PROGRAM: $((7 * ROUNDS)) attaches"
done
end
table
