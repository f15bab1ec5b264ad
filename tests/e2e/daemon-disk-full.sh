#!/bin/sh
# SPDX-License-Identifier: MIT
# The disk that memattachd's recordings go to is full: when it begins to watch, and later. Processes
# are watched all the same, figures are told, and the recording is written once there is room.
. "$(dirname "$0")/lib.sh"
. "$E2E/daemon_lib.sh"
needs jq sqlite3 nsenter
is_root || skip "needs root, to mount a small file system"
may_mount || skip "no mount namespaces here"
mkdir "$state"

# What the daemon sees there; SQLite itself must look from there (it follows /proc/PID/root).
disk() { echo "/proc/$DAEMON/root$state"; }
fill() { cat /dev/zero >"$(disk)/ballast" 2>/dev/null; }
free_some() { rm "$(disk)/ballast"; }
recording() { set -- "$(disk)/churn"/*.memattach && [ -s "$1" ] && basename "$1"; }
# recorded: seconds of the last interval in the recording.
recorded() {
	of=$(recording) && nsenter -t "$DAEMON" -m sqlite3 "$state/churn/$of" \
		'SELECT CAST(max(time) AS INT) FROM snapshots' 2>/dev/null
}
recorded_beyond() { [ "$(recorded)" -ge "$1" ] 2>/dev/null; }
# told: seconds of the last figures that were told.
told() {
	"$MEMATTACH" status --json --control="$control" |
		jq "[.processes[] | select(.pid == $VICTIM and .figures) |
			.seconds - .figures.age][0] // 0 | floor"
}
told_beyond() { [ "$(told)" -ge "$1" ] 2>/dev/null; }

victim one churn --threads=1
pristine_take "$VICTIM"
rules "[watch churn]
exe = $VICTIMS/churn"
# shellcheck disable=SC2016
begin unshare -m sh -c 'mount -t tmpfs -o size=16m none "$1" && cat /dev/zero >"$1/ballast"
	[ -e "$1/ballast" ] || exit 77
	shift
	exec "$@"' sh "$state"

armed "$VICTIM"
await 20 told_beyond 2 || fail "no figures without a recording: $(told) $(cat "$log")"
! recording || fail "there was room: $(ls -l "$(disk)/churn")"
free_some
await 20 recorded_beyond 1 || fail "nothing is recorded: $(ls -l "$(disk)/churn"; cat "$log")"

# Again, in the midst of it: figures go on, the recording does not.
fill
before=$(told)
await 30 told_beyond $((before + 4)) || fail "no figures while the disk is full: $(cat "$log")"
stood=$(recorded)
[ "$stood" -le $((before + 1)) ] || fail "recorded until $stood s, full at $before s"
free_some
await 30 recorded_beyond $((before + 5)) || fail "it does not go on: $(recorded) $(cat "$log")"
# shellcheck disable=SC2012
expect "$(ls "$(disk)/churn" | grep -c 'memattach$')" 1 "recordings"
file=$(recording)
exec 7<"$(disk)/churn"
end
cp "/proc/self/fd/7/$file" "$WORK/whole.memattach" || fail "no recording is left"
exec 7<&-
says 2 "no room on the disk" || fail "not said twice: $(cat "$log")"
says 2 "there is room again" || fail "not said twice: $(cat "$log")"
"$MEMATTACH" report --json "$WORK/whole.memattach" >"$WORK/whole.json" 2>"$ERRORS" ||
	fail "it can't be read: $(cat "$ERRORS")"
jq -en 'input |
	.session.detached == "pristine" and .totals.alloc_count > 0 and (.sites | length) > 0' \
	"$WORK/whole.json" >"$WORK/out" || fail "not whole: $(jq -c .session "$WORK/whole.json")"
pristine_check "$VICTIM"
checked one
finished one
