#!/bin/sh
# SPDX-License-Identifier: MIT
# Users who fill memattachd's sockets keep nobody out: twelve users at the control socket who say
# nothing, one user at HTTP (by a Unix socket, by TCP) who sends a byte a second. Root and others
# are answered meanwhile, and a request that never ends is ended.
. "$(dirname "$0")/lib.sh"
needs jq curl python3 setpriv
is_root || skip "only root can be many users"
. "$E2E/daemon_lib.sh"
"$daemon" --version | grep -q libmicrohttpd || skip "memattachd was built without libmicrohttpd"
PORT=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
SLOW="GET / HTTP/1.1\r\nHost: localhost\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

# attack NAME PLACE USERS EACH TEXT: connections that stay until attack_end NAME.
attack() {
	attack_name=$1
	shift
	mkfifo "$WORK/$attack_name.in"
	python3 "$E2E/attack_connections.py" "$@" <"$WORK/$attack_name.in" \
		>"$WORK/$attack_name.out" 2>"$WORK/$attack_name.err" &
	own $!
	exec 9>"$WORK/$attack_name.in"
	await 20 grep -q ready "$WORK/$attack_name.out" || fail "$(cat "$WORK/$attack_name.err")"
}

attack_end() {
	exec 9>&-
	await 20 grep -q closed "$WORK/$1.out" || fail "$1 has not ended: $(cat "$WORK/$1.err")"
	rm "$WORK/$1.in"
}

# gets URL [OPTIONS]: it is answered, three times in a row.
gets() {
	for _ in 1 2 3; do
		code=$(curl -s -m 5 -o "$WORK/body" -w '%{http_code}' "$@")
		expect "$code" 200 "answer to $*: $(cat "$log")"
	done
}

asks() { "$@" timeout 8 "$MEMATTACH" status --control="$control" --json >"$REPORT" 2>"$ERRORS"; }

chmod 711 "$WORK"
victim one churn --threads=1
ONE=$VICTIM
pristine_take "$ONE"
settings() {
	rules "[http]
listen = $1
[watch churn]
exe = $VICTIMS/churn"
}
settings "unix:$WORK/http"
begin
armed "$ONE"

attack control "$control" 12 6 ""
for _ in 1 2 3; do
	asks env || fail "root is not answered: $(cat "$ERRORS")"
	json_expect '.processes | length' 1
	asks setpriv --reuid=2 --clear-groups ||
		fail "another user is not answered: $(cat "$ERRORS")"
	json_expect '.processes | length' 0
done
attack_end control

attack unix "$WORK/http" 1 40 "$SLOW"
gets --unix-socket "$WORK/http" http://localhost/metrics
ended_some() { sleep 3; attack_end unix; [ "$(sed -n 's/^closed //p' "$WORK/unix.out")" -ge 32 ]; }
sleep 11	# a request has ten seconds
gets --unix-socket "$WORK/http" http://localhost/metrics
ended_some || fail "requests that do not end stay: $(cat "$WORK/unix.out")"

settings "127.0.0.1:$PORT"
kill -HUP "$DAEMON"
reached() { curl -s -m 5 -o /dev/null "http://127.0.0.1:$PORT/metrics"; }
await 20 reached || fail "nobody serves at $PORT: $(cat "$log")"
attack tcp "127.0.0.1:$PORT" 0 80 "$SLOW"
gets "http://127.0.0.1:$PORT/metrics"
attack_end tcp

end
pristine_check "$ONE"
finished one
