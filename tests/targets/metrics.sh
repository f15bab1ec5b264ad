#!/bin/sh
# SPDX-License-Identifier: MIT
# A real Prometheus scrapes memattachd, promtool finds nothing to complain of, and what queries
# return is what memattach status says; the real pprof reads its profiles over HTTP.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq curl prometheus promtool python3
. "$E2E/daemon_lib.sh"
. "$E2E/metrics_lib.sh"
. "$E2E/exports.sh"

port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}
PORT=$(port) QUERY=$(port)
CURL=
URL=http://127.0.0.1:$PORT
victim one churn --threads=2
ONE=$VICTIM
pristine_take "$ONE"
cp "$BUILDDIR/tests/victims/ticking" "$VICTIMS" || fail "no copy"
victim loser ticking --every=100 --lose=20000
LOSER=$VICTIM
pristine_take "$LOSER"
rules "[http]
listen = 127.0.0.1:$PORT
open = yes
[watch churn]
exe = $VICTIMS/churn
[watch loser]
exe = $VICTIMS/ticking
snapshot-every = 1s"
begin
armed "$ONE"
await 20 has_figures || fail "no figures: $(cat "$log")"
promtool check metrics <"$WORK/body" >"$WORK/promtool" 2>&1 ||
	fail "promtool: $(cat "$WORK/promtool")"
[ ! -s "$WORK/promtool" ] || fail "promtool: $(cat "$WORK/promtool")"

cat >"$WORK/scrape.yml" <<END
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: memattach
    static_configs:
      - targets: ["127.0.0.1:$PORT"]
END
background prometheus prometheus --config.file="$WORK/scrape.yml" \
	--storage.tsdb.path="$WORK/tsdb" --web.listen-address="127.0.0.1:$QUERY"

# query EXPRESSION: its one value.
query() {
	curl -s --max-time 60 --get --data-urlencode "query=$1" \
		"http://127.0.0.1:$QUERY/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
}
is_up() { [ "$(query 'up{job="memattach"}')" = 1 ]; }
await 60 is_up || fail "it is not scraped: $(tail -n 5 "$WORK/prometheus.err")"

# While the victim allocates, what was scraped is older than what status says.
kill -STOP "$ONE"
queries_equal() {
	equal_before=$(status_figures)
	for pair in $FIGURES; do
		wanted=$(echo "$equal_before" | jq ".${pair%:*}")
		got=$(query "memattach_target_${pair#*:}{pid=\"$ONE\"}")
		[ "$(jq -n "$wanted == ${got:-null}")" = true ] || {
			echo "$pair: $got, not $wanted" >"$WORK/differs"
			return 1
		}
	done
}
await 30 queries_equal || fail "not what status says: $(cat "$WORK/differs")"
kill -CONT "$ONE"
grown() {
	[ "$(query "rate(memattach_target_allocations_total{pid=\"$ONE\"}[5s]) > bool 0")" = 1 ]
}
await 30 grown || fail "no rate of allocations"

# What it lost is in its recording a second later.
is_in_profile() {
	[ "$(query "memattach_target_live_bytes{pid=\"$LOSER\"} > bool 0")" = 1 ]
}
if pprof_built; then
	await 30 is_in_profile || fail "nothing is lost: $(cat "$log")"
	sleep 3
	for path in "debug/pprof/heap?pid=$LOSER" "targets/$LOSER/debug/pprof/allocs"; do
		PPROF_TMPDIR=$WORK/pprof "$PPROF" -top -symbolize=none "$URL/$path" \
			>"$WORK/top" 2>"$WORK/top.err" || fail "pprof: $(cat "$WORK/top.err")"
		case $path in
		*heap*) grep -q '^Type: inuse_space' "$WORK/top" ;;
		*) grep -q '^Type: alloc_space' "$WORK/top" ;;
		esac || fail "pprof shows something else: $(cat "$WORK/top")"
		grep -qE '^ *[0-9.]+[kM]?B' "$WORK/top" || fail "nothing in it: $(cat "$WORK/top")"
	done
else
	note "no pprof here"
fi
end
pristine_check "$ONE"
pristine_check "$LOSER"
finished one
