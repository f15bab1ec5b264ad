#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker is a user who has processes of his own watched by hand, again and again, by programs
# called as others'. He takes neither the places nor the recordings of rules, of root, of others.
. "$(dirname "$0")/lib.sh"
needs jq setpriv
is_root || skip "only root can be other users"
may_trace_others || skip "no CAP_SYS_PTRACE"
. "$E2E/daemon_lib.sh"
chmod 1777 "$WORK"
own_copy=$WORK/memattach-user
cp "$MEMATTACH" "$own_copy" || fail "no copy"
mkdir "$WORK/theirs"
cp "$BUILDDIR/tests/victims/ticking" "$WORK/theirs/server" || fail "no copy"
cp "$BUILDDIR/tests/victims/ticking" "$VICTIMS/server" || fail "no copy"

# process UID PROGRAM: sets TARGET.
process() {
	count=$((${count:-0} + 1))
	mkfifo "$WORK/$count.in"
	setpriv --reuid="$1" --regid="$1" --clear-groups "$2" \
		<>"$WORK/$count.in" >"$WORK/$count.out" 2>&1 &
	TARGET=$!
	own "$TARGET"
	await 30 grep -q '^ready' "$WORK/$count.out" || fail "$2: $(cat "$WORK/$count.out")"
}

# asked UID COMMAND...: sets STATUS; its words are in $REPORT, $ERRORS.
asked() {
	asked_uid=$1
	shift
	setpriv --reuid="$asked_uid" --regid="$asked_uid" --clear-groups "$own_copy" "$@" \
		--control="$control" >"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
}

# watched UID PID
watched() {
	asked "$1" attach --daemon --json -p "$2"
	expect "$STATUS" 0 "user $1: $(cat "$ERRORS" "$log")"
}

# recordings FOLDER
recordings() { find "$state/$1" -name '*.memattach' | wc -l; }

ONE=61005
OTHER=61006
rules "keep-count = 2
[daemon]
max-targets = 8
[watch server]
exe = $VICTIMS/server
keep-count = 2"
begin
await 30 test -S "$control" || fail "no socket: $(cat "$log")"

note "a recording of root's, and one of another user's"
process 0 "$WORK/theirs/server"
roots=$TARGET
watched 0 "$roots"
json_expect .rule by-hand
asked 0 detach -p "$roots"
process $OTHER "$WORK/theirs/server"
others=$TARGET
watched $OTHER "$others"
json_expect .rule by-hand.$OTHER
other_recording=$(json .recording)
asked $OTHER detach -p "$others"
[ -f "$other_recording" ] || fail "no recording of the other's: $(cat "$log")"

note "many of one user's"
process $ONE "$WORK/theirs/server"
first=$TARGET
for _ in 1 2 3 4 5; do
	watched $ONE "$first"
	json_expect .rule by-hand.$ONE
	asked $ONE detach -p "$first"
	expect "$STATUS" 0 "detach: $(cat "$ERRORS" "$log")"
done
left=$(recordings by-hand.$ONE)
[ "$left" -ge 1 ] && [ "$left" -le 3 ] || fail "$left recordings of the user are left"
[ -f "$other_recording" ] || fail "the other's went"
expect "$(recordings by-hand)" 1 "recordings of root's"

note "places: two of eight are for what users ask for"
watched $ONE "$first"
process $ONE "$WORK/theirs/server"
watched $ONE "$TARGET"
asked $OTHER attach --daemon --json -p "$others"
expect "$STATUS" 3 "a third one: $(cat "$REPORT" "$ERRORS")"
said_one_line 'max-targets'
for _ in 1 2 3 4; do
	process 0 "$VICTIMS/server"
	armed "$TARGET"
done
watched 0 "$roots"

note "a program that a rule means is watched as the user asks, not as the rule says"
asked 0 detach -p "$roots"
asked $ONE detach -p "$first"
process $ONE "$VICTIMS/server"
armed "$TARGET"		# by the rule
asked $ONE detach -p "$TARGET"
expect "$STATUS" 0 "detach: $(cat "$ERRORS" "$log")"
before=$(recordings server)
watched $ONE "$TARGET"
json_expect .rule by-hand.$ONE
expect "$(recordings server)" "$before" "recordings of the rule"
end
