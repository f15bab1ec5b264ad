#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd tells Prometheus by a file and over HTTP, and serves recordings to pprof and browsers:
# the same figures as memattach status, to those who may have them, by a process that is started
# again when it is killed.
. "$(dirname "$0")/lib.sh"
needs jq curl
. "$E2E/daemon_lib.sh"
"$daemon" --version | grep -q libmicrohttpd || skip "memattachd was built without libmicrohttpd"
. "$E2E/metrics_lib.sh"

# --- what is wrong ------------------------------------------------------------------------------

rules "[http]
listen = 0.0.0.0:9095
[watch churn]
exe = $VICTIMS/churn"
"$daemon" --check-config --config="$config" 2>"$log"
expect $? 2 "exit status where other machines could ask"
grep -q "0.0.0.0:9095 can be reached from other machines" "$log" || fail "$(cat "$log")"

# --- by a Unix socket, and the file -------------------------------------------------------------

chmod 711 "$WORK"
cp "$VICTIMS/churn" "$VICTIMS/a\"b"
victim one 'a"b' --threads=1
ONE=$VICTIM
pristine_take "$ONE"
rules "[daemon]
metrics-file = $WORK/memattach.prom
metrics-every = 1s
metrics-sites = 2
[http]
listen = unix:$WORK/http
[watch churn]
exe = $VICTIMS/a\"b"
begin
armed "$ONE"
await 20 has_figures || fail "no figures: $(cat "$WORK/body" "$log")"
await 20 equal_status || fail "not what status says: $(cat "$WORK/differs" "$log")"
await 20 grep -q "^memattach_target_live_bytes{pid=\"$ONE\",name=\"a\\\\\"b\",rule=\"churn\"} " \
	"$WORK/memattach.prom" || fail "the file: $(cat "$WORK/memattach.prom" "$log")"
has_sites() {
	sed -n "s/^memattach_site_live_bytes{pid=\"$ONE\",.*site=\"[0-9]*\",//p" \
		"$WORK/memattach.prom" >"$WORK/sites"
	grep -q 'function="[a-z_]*",place="churn.c:[0-9]*"} [0-9]' "$WORK/sites"
}
await 20 has_sites || fail "no names of call paths: $(cat "$WORK/memattach.prom" "$log")"
[ "$(wc -l <"$WORK/sites")" -le 2 ] || fail "more than two: $(cat "$WORK/sites")"
gets 200 /targets
expect "$(jq -r ".processes[] | select(.pid == $ONE) | .rule" "$WORK/body")" churn "/targets"
gets 200 /
grep -q "<td>a&#34;b</td>" "$WORK/body" || fail "the page: $(cat "$WORK/body")"
gets 200 "/targets/$ONE/report"
grep -q '</script>' "$WORK/body" && grep -q memattach-snapshot "$WORK/body" ||
	fail "no report: $(head -c 300 "$WORK/body")"
if grep -q 'define HAVE_PPROF' "$BUILDDIR/config.h"; then
	for path in "/debug/pprof/heap?pid=$ONE" "/targets/$ONE/debug/pprof/allocs"; do
		gets 200 "$path"
		gzip -t "$WORK/body" || fail "$path is no profile"
	done
fi
gets 404 /targets/1/report
gets 404 /none
gets 400 /debug/pprof/heap
gets 405 /metrics -X POST -d x=y
gets 405 /metrics -I

# Another user's processes are nobody's business.
if is_root; then
	setpriv --reuid=nobody --regid=65534 --clear-groups curl -s --max-time 60 \
		--unix-socket "$WORK/http" http://localhost/metrics >"$WORK/nobody" ||
		fail "nobody gets no answer"
	grep -q '^memattach_targets{state="watched"} 0' "$WORK/nobody" || fail "nobody sees more"
	! grep "pid=\"$ONE\"" "$WORK/nobody" || fail "nobody sees $ONE"
fi

# --- it is killed -------------------------------------------------------------------------------

# server: the process that serves.
server() {
	for server_pid in $(cat "/proc/$DAEMON/task/$DAEMON/children"); do
		[ "$(cat "/proc/$server_pid/comm")" != memattach-http ] || echo "$server_pid"
	done
}
SERVER=$(server)
[ "$SERVER" ] || fail "nobody serves"
expect "$(sed -n 's/^CapEff:.//p' "/proc/$SERVER/status")" 0000000000000000 "its capabilities"
expect "$(sed -n 's/^Seccomp:.//p' "/proc/$SERVER/status")" 2 "its filter"
kill -KILL "$SERVER"
await 20 says 1 "what serves HTTP was killed by signal 9" || fail "not said: $(cat "$log")"
gets 200 /metrics	# who asks meanwhile waits at the socket
[ "$(server)" != "$SERVER" ] || fail "it is the same process"

# --- by TCP -------------------------------------------------------------------------------------

PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
URL=http://127.0.0.1:$PORT
served_by() {
	rules "[http]
listen = 127.0.0.1:$PORT
$1
[watch churn]
exe = $VICTIMS/a\"b"
	kill -HUP "$DAEMON"
}
CURL=
served_by ""
await 20 gets_soon 200 /metrics || fail "nobody serves at $URL: $(cat "$log")"
[ ! -e "$WORK/http" ] || fail "the socket is left"
[ ! -e "$WORK/memattach.prom" ] || fail "the file is left"
gets 403 /targets
gets 403 "/targets/$ONE/report"
gets 403 /metrics -H "Host: example.org"
echo 0123456789abcdefghij >"$WORK/token"
served_by "token-file = $WORK/token"
await 20 gets_soon 401 /metrics || fail "no token is asked for: $(cat "$log")"
gets 401 /metrics -H "Authorization: Bearer 0123456789abcdefghik"
gets 200 /targets -H "Authorization: Bearer 0123456789abcdefghij"
served_by "open = yes"
await 20 gets_soon 200 /targets || fail "not open: $(cat "$log")"

end
pristine_check "$ONE"
finished one
