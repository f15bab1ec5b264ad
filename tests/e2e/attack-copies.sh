#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker is any process that memattachd searches for leaks as its unit runs it: another user,
# without CAP_KILL. None may keep a copy of itself, which takes its memory once more with each
# search and is watched in its turn: not when a search ends, nor when the keeper is killed.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/daemon_lib.sh"
. "$E2E/leaks.sh"
as_unit
cp "$BUILDDIR/tests/victims/ticking" "$BUILDDIR/tests/victims/waiter" "$VICTIMS/" || fail "no copy"
cat >"$WORK/on_event" <<END
#!/bin/sh
echo "\$MEMATTACH_EVENT \$MEMATTACH_TARGET_PID \$MEMATTACH_LEAKED_BLOCKS" >>"$WORK/events"
END
chmod +x "$WORK/on_event"

# copies: processes that run the victim's program, but the victim. What has ended runs none.
copies() {
	for copies_exe in /proc/[0-9]*/exe; do
		copies_pid=${copies_exe#/proc/}
		[ "${copies_pid%/exe}" = "$VICTIM" ] ||
			[ "$(readlink "$copies_exe" 2>/dev/null)" != "$1" ] ||
			echo "${copies_pid%/exe}"
	done
}
no_copies() { [ -z "$(copies "$1")" ]; }

# --- searched again and again by memattachd -------------------------------------------------------

victim loses ticking --every=20 --lose=5000
pristine_take "$VICTIM"
rules "[daemon]
on-event = $WORK/on_event
[watch ticking]
exe = $VICTIMS/ticking
leak-check = 1s"
cp "$daemon" "$WORK/unit/"
daemon=$WORK/unit/memattachd
begin sh "$E2E/as_unit.sh" memattachd
armed "$VICTIM"
searched() { [ "$(grep -cs "^leak $VICTIM " "$WORK/events")" -ge "$1" ]; }
most=0
end=$(($(date +%s) + 40 * PATIENCE))
until searched 3; do
	[ "$(date +%s)" -lt "$end" ] || fail "three searches: $(cat "$WORK/events" "$log")"
	now=$(copies "$VICTIMS/ticking" | wc -l)
	[ "$now" -le "$most" ] || most=$now
	sleep 0.05
done
[ "$most" -le 1 ] || fail "$most copies at a time"
"$MEMATTACH" detach -p "$VICTIM" --control="$control" >"$WORK/detached" 2>&1 ||
	fail "detach: status $?: $(cat "$WORK/detached" "$log")"
no_copies "$VICTIMS/ticking" || fail "left: $(copies "$VICTIMS/ticking")"
! grep dormant "$WORK/events" || fail "something was left dormant"
! grep '^watched' "$WORK/events" | grep -v "^watched $VICTIM " || fail "a copy was watched"
end
pristine_check "$VICTIM"
finished loses

# --- the keeper is killed while the copy is read --------------------------------------------------

victim held waiter --kind=none --ballast=160
picture_hold "$VICTIM"
expect "$(stat -c %u "/proc/$KEEPER")" 61001 "the keeper's user"
expect "$(cat "/proc/$PICTURE/oom_score_adj")" 1000 "the copy's oom_score_adj"
kill -KILL "$KEEPER"
await 20 is_gone "$PICTURE" || fail "the copy outlives its keeper"
picture_release
timeout 60 "$MEMATTACH" cleanup -p "$VICTIM" 2>"$ERRORS" || fail "cleanup"
no_child_stays "$VICTIM"
no_copies "$VICTIMS/waiter" || fail "left: $(copies "$VICTIMS/waiter")"
checked held
finished held
