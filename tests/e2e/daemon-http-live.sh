#!/bin/sh
# SPDX-License-Identifier: MIT
# The report that memattachd serves follows the process, in a headless Chromium: figures move
# without a reload, what is looked at stays, and it says when memattachd is away, when the session
# ends, and when there is another one. A page in a file can ask nobody. http_live_drive.mjs drives.
. "$(dirname "$0")/lib.sh"
needs curl
SRCVICTIMS=$VICTIMS
. "$E2E/daemon_lib.sh"
"$daemon" --version | grep -q libmicrohttpd || skip "memattachd was built without libmicrohttpd"
. "$E2E/metrics_lib.sh"
. "$E2E/html.sh"
html_browser

cp "$SRCVICTIMS/many_stacks" "$VICTIMS/" || fail "no copy of many_stacks"
TOKEN=0123456789abcdefghij
echo "$TOKEN" >"$WORK/token"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
URL=http://127.0.0.1:$PORT
CURL=
WATCHED="[watch app]
exe = $VICTIMS/many_stacks
sample = 64
ring = 16M"
SERVED="[http]
listen = 127.0.0.1:$PORT
token-file = $WORK/token
$WATCHED"

victim app many_stacks --stacks=20
APP=$VICTIM
pristine_take "$APP"
rules "$SERVED"
begin
armed "$APP"
tell app ggg
is_served() {
	gets_soon 200 "/targets/$APP/report" -H "Authorization: Bearer $TOKEN" &&
		grep -q '"seconds":10' "$WORK/body"
}
await 20 is_served || fail "no report: $(head -c 300 "$WORK/body"; cat "$log")"
gets 200 / -H "Authorization: Bearer $TOKEN"
grep -q '<meta http-equiv="refresh" content="10">' "$WORK/body" || fail "the list stands still"

# --- in the browser -----------------------------------------------------------------------------

mkdir -p "$WORK/profile"
background drive node "$E2E/http_live_drive.mjs" "$MODULES" "$BROWSER" \
	"$URL/targets/$APP/report" "$TOKEN" "$WORK/profile"
DRIVE=$LAST
WANTS=0		# that were seen to

is_told() {
	[ "$(grep -c -E '^(want |driven$)' "$WORK/drive.out")" -gt "$WANTS" ] || is_gone "$DRIVE"
}

# next_want: what the driver waits for; sets WANT.
next_want() {
	await 60 is_told || fail "the driver hangs: $(cat "$WORK/drive.out" "$WORK/drive.err")"
	WANT=$(grep -E '^(want |driven$)' "$WORK/drive.out" | sed -n "$((WANTS + 1))p")
	[ "$WANT" ] || fail "the page: $(cat "$WORK/drive.out" "$WORK/drive.err" "$log")"
	WANTS=$((WANTS + 1))
}

reload() {
	rules "$1"
	kill -HUP "$DAEMON"
}

while next_want && [ "$WANT" != driven ]; do
	case $WANT in
	"want grow") tell app g ;;
	"want away") reload "$WATCHED" ;;
	"want back") reload "$SERVED" ;;
	"want restart")
		end
		pristine_check "$APP" --quiet
		begin
		armed "$APP"
		tell app ggg
		;;
	"want end")
		kill -0 "$APP" || fail "it ended before"
		tell app q
		await 20 is_gone "$APP" || fail "it does not end"
		;;
	esac
	echo >"$WORK/drive.in"
done
sed '/^want /d' "$WORK/drive.out"
end

# --- a page in a file ---------------------------------------------------------------------------

set -- "$state"/app/*.memattach
"$MEMATTACH" export "$1" --to=html -o "$WORK/page.html" 2>"$ERRORS" || fail "export --to=html"
head -c 400 "$WORK/page.html" | grep -q "default-src 'none'; script-src" || fail "no policy"
! head -c 400 "$WORK/page.html" | grep -q connect-src || fail "a file may ask"
! grep -q '^<script type="application/json" id="live-block">' "$WORK/page.html" ||
	fail "a file follows somebody"
