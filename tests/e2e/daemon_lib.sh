# SPDX-License-Identifier: MIT
# memattachd with settings, a folder and a log of the test's own. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154
daemon=$BUILDDIR/cli/memattachd
[ -x "$daemon" ] || skip "memattachd is not built (inih)"
# Rules mean processes of the whole machine: victims are copies that no other test runs.
mkdir "$WORK/victims"
for program in churn leaky processes; do
	cp "$VICTIMS/$program" "$WORK/victims/" || fail "no copy of $program"
done
VICTIMS=$WORK/victims
config=$WORK/memattach.conf
state=$WORK/state
control=$WORK/control
log=$WORK/daemon.err

# rules TEXT: the settings.
rules() {
	cat >"$config" <<-END
		[defaults]
		attach-after = 0
		spread = 0
		snapshot-every = 1s
		retry-after = 1h
		$1
	END
}

# begin [COMMAND...]: the daemon, run by that.
begin() {
	unfiltered
	"$TOOLS/start" "$@" "$daemon" --config="$config" --state="$state" \
		--control="$control" \
		2>"$log" </dev/null >"$WORK/daemon.out" &
	DAEMON=$!
	own "$DAEMON"
}

# says COUNT WORDS: lines of the log that have them.
says() { [ "$(grep -c "$2" "$log")" -eq "$1" ]; }

# The daemon is told to stop; how it ended.
end() {
	kill -TERM "$DAEMON"
	wait "$DAEMON"
	expect $? "${1:-0}" "exit status of memattachd: $(cat "$log")"
}

# armed PID: it is watched, by the daemon.
armed() { "$TOOLS/ringwatch" "$1" armed 20000 >"$WORK/ringwatch" || fail "$(cat "$log")"; }
