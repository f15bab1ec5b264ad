#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd, its keepers and its analysts are killed at random moments, as an administrator, the
# watchdog or the out-of-memory killer would, and memattachd is started again each time. Its
# victims check themselves all the while; each is watched again, and left as it was at the end; what
# was recorded can be read. FAULTS (6) of them, dealt by SEED; `make check-targets TARGETS=faults`
# has 500.
: "${FAULTS:=6}" "${SEED:=$(date +%s)}"
: "${TEST_LIMIT:=$((120 + FAULTS * 6))}"
export FAULTS SEED
. "$(dirname "$0")/lib.sh"
needs jq awk
. "$E2E/daemon_lib.sh"
cp "$BUILDDIR/tests/victims/selfcheck" "$VICTIMS/" || fail "no copy of selfcheck"
all=$WORK/all.err	# what every memattachd has said

# --- who is there ---

# children PID...: of all their threads.
children() {
	for children_of in "$@"; do
		cat "/proc/$children_of/task"/*/children 2>/dev/null
	done | tr -s ' \n' ' '
}

# Is it in an analyst's filter?
is_analyst() {
	grep -q '^Seccomp:[[:space:]]*2' "/proc/$1/status" 2>/dev/null &&
		! grep -q '^Name:[[:space:]]*memattach-files' "/proc/$1/status"
}

# Sets KEEPERS and ANALYSTS: those of memattachd that run now.
look() {
	KEEPERS=$(children "$DAEMON") ANALYSTS=
	for look_pid in $(children $KEEPERS); do
		! is_analyst "$look_pid" || ANALYSTS="$ANALYSTS $look_pid"
	done
}

has_keeper() { look && [ -n "${KEEPERS# }" ]; }
has_analyst() { look && [ -n "$ANALYSTS" ]; }

# one_of NUMBER PID...: one of them, by the number.
one_of() {
	one_number=$1
	shift
	[ $# -gt 0 ] || return 0
	shift $((one_number % $#))
	echo "$1"
}

# --- faults ---

# All of it at once, as in a control group that has run out of memory.
kill_everything() {
	kill -STOP "$DAEMON"
	first=$(children "$DAEMON")
	second=$(children $first)
	kill -KILL "$DAEMON" $first $second $(children $second) 2>/dev/null
	for pid in $VICTIM_PIDS; do
		"$TOOLS/ringwatch" "$pid" inert 12000 >"$WORK/ringwatch" ||
			fail "fault $fault: hooks still record: $(cat "$WORK/ringwatch")"
	done
}

# inject KIND NUMBER
inject() {
	case $1 in
	kill)	kill -KILL "$DAEMON" ;;
	abort)	kill -ABRT "$DAEMON" ;;
	all)	kill_everything ;;
	keeper)	await 10 has_keeper || fail "fault $fault: no keeper: $(tail -n 20 "$log")"
		kill -KILL "$(one_of "$2" $KEEPERS)" 2>/dev/null ;;
	analyst) await 10 has_analyst || fail "fault $fault: no analyst: $(tail -n 20 "$log")"
		kill -KILL "$(one_of "$2" $ANALYSTS)" 2>/dev/null ;;
	stop)	kill -STOP "$DAEMON"
		sleep 1.5	# its keepers and analysts go on
		kill -KILL "$DAEMON" ;;
	esac
}

# Where it was killed it is started again.
restart() {
	case $1 in keeper | analyst) return ;; esac
	wait "$DAEMON" 2>/dev/null
	cat "$log" >>"$all"
	begin
}

# watched PID: it is, within the time that a retry may take.
watched() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$TOOLS/ringwatch" "$1" armed $((2000 * PATIENCE)) >"$WORK/ringwatch" && return
		! is_gone "$DAEMON" || break
	done
	fail "fault $fault: $1 is not watched again: $(tail -n 20 "$log")"
}

# unharmed NAME...
unharmed() {
	for name in "$@"; do
		tell "$name" c
	done
	for name in "$@"; do
		answer "$name" check
	done
}

# --- the run ---

victim mix selfcheck --kind=mix --threads=12
echo "$VICTIM_SELF" >"$WORK/supervisor.mix"
SELVES=$VICTIM_SELF VICTIM_PIDS=$VICTIM
pristine_take "$VICTIM"
victim busy selfcheck --kind=malloc-loop,poll,epoll --threads=3
echo "$VICTIM_SELF" >"$WORK/supervisor.busy"
SELVES="$SELVES $VICTIM_SELF" VICTIM_PIDS="$VICTIM_PIDS $VICTIM"
pristine_take "$VICTIM"
rules "keep-count = 10000
keep-bytes = 20G
[watch faults]
exe = $VICTIMS/selfcheck
exclude-pid-file = $WORK/supervisor.mix
exclude-pid-file = $WORK/supervisor.busy
retry-after = 1s"
note "seed $SEED, $FAULTS faults"

# What, a number to choose by, how long until then, is the next one to find all of them watched?
# The first are one of each kind, with all watched.
awk -v seed="$SEED" -v faults="$FAULTS" 'BEGIN {
	srand(seed)
	kinds = split("kill abort all keeper analyst stop", kind, " ")
	for (i = 1; i <= faults; i++)
		printf "%s %d %.3f %d\n", kind[i <= kinds ? i : 1 + int(rand() * kinds)],
			rand() * 1000, rand() * 0.8, i <= kinds || rand() < 0.5
}' >"$WORK/faults"

begin
fault=0
while read -r kind number delay settle <&3; do
	if [ "$settle" = 1 ]; then
		for pid in $VICTIM_PIDS; do
			watched "$pid"
		done
	fi
	fault=$((fault + 1))
	sleep "$delay"
	inject "$kind" "$number"
	restart "$kind"
	unharmed mix busy
done 3<"$WORK/faults"

for pid in $VICTIM_PIDS; do
	watched "$pid"
done
end
cat "$log" >>"$all"
for pid in $VICTIM_PIDS; do
	"$TOOLS/ringwatch" "$pid" gone 0 >/dev/null || fail "something is still in $pid"
	pristine_check "$pid"
done
eintr=0
for name in mix busy; do
	VICTIM_SELF=${SELVES%% *} SELVES=${SELVES#* }
	finished "$name"
	note "$ANSWER"
	eintr=$((eintr + $(echo "$ANSWER" | sed -n 's/.*"eintr":\([0-9]*\).*/\1/p')))
done

# At the most one EINTR for each kill between a stop and its restore, of each victim.
[ "$eintr" -le $((FAULTS * 2)) ] || fail "$eintr EINTR for $FAULTS faults"
recordings=0 early=0
for recording in "$state"/faults/*.memattach; do
	recordings=$((recordings + 1))
	"$MEMATTACH" report "$recording" --json >"$REPORT" 2>"$ERRORS" && continue
	grep -q "ends before its first interval" "$ERRORS" ||
		fail "$recording can't be read: $(cat "$ERRORS")"
	early=$((early + 1))	# its analyst was killed within its first second
done
[ $((early * 2)) -lt "$recordings" ] || fail "$early of $recordings recordings have nothing"
cut -d ' ' -f 1 "$WORK/faults" | sort | uniq -c
for event in "watched by" "left as it was" "is left in it, dormant" "had left in it is out" \
	"its session failed" "refused"; do
	note "$(grep -c "$event" "$all") x $event"
done
grep -q "had left in it is out" "$all" || fail "nothing was ever taken out"
[ "$recordings" -ge 2 ] || fail "no recordings"
note "$FAULTS faults by seed $SEED: $recordings recordings, $early of nothing, $eintr EINTR"
