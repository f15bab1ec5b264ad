#!/bin/sh
# SPDX-License-Identifier: MIT
# memattachd watches 200 processes at a time, with the smallest rings: all are attached; memattachd,
# keepers and analysts hold less than 300 MB in all and take less than 1 % of the machine while the
# processes do little; one of them that loses memory is told of, and none of the others; all are
# left as they were. COUNT: so many instead. SECONDS_MEASURED (60): for how long.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq
. "$E2E/daemon_lib.sh"
: "${COUNT:=200}" "${SECONDS_MEASURED:=60}"
: "${MOST_PSS_KIB:=300000}" "${MOST_PERCENT:=1}"

# Three quarters sleep, a quarter do something each second, one loses memory.
start_victims() {
	for copy in loser many; do
		cp "$BUILDDIR/tests/victims/ticking" "$VICTIMS/$copy-$$" || fail "no copy"
	done
	ALL=''
	i=0
	while [ "$i" -lt "$COUNT" ]; do
		i=$((i + 1))
		case $i in
		1)	background "v$i" "$VICTIMS/loser-$$" --every=100 --lose=20000 ;;
		*[37]*)	background "v$i" "$VICTIMS/many-$$" --every=1000 ;;
		*)	background "v$i" "$VICTIMS/many-$$" --every=3600000 ;;
		esac
		ALL="$ALL $LAST"
	done
	LOSER=${ALL# }
	LOSER=${LOSER%% *}
	await 60 all_ready || fail "not all victims are ready"
}
all_ready() { [ "$(grep -l '^ready' "$WORK"/v*.out | wc -l)" -eq "$COUNT" ]; }

# Processes of memattachd, itself included.
family() {
	family_now=$DAEMON
	for _ in 1 2 3; do
		family_now="$family_now $(for family_parent in $family_now; do
			cat "/proc/$family_parent/task"/*/children 2>/dev/null
		done)"
		family_now=$(echo "$family_now" | tr -s ' ' '\n' | sort -un)
	done
	echo "$family_now"
}

# KiB of each kind that they hold: "total anonymous shared".
held() {
	for held_pid in "$@"; do
		cat "/proc/$held_pid/smaps_rollup" 2>/dev/null
	done | awk '/^Pss:/ { t += $2 } /^Pss_Anon:/ { a += $2 } /^Pss_Shmem:/ { s += $2 }
		END { print t, a, s }'
}

# Nanoseconds that they ran, and times that they were switched away from.
ran() {
	for ran_pid in "$@"; do
		cat "/proc/$ran_pid/task"/*/schedstat 2>/dev/null
	done | awk '{ sum += $1; n += $3 } END { printf "%.0f %d\n", sum, n }'
}

status() { "$MEMATTACH" status --control="$control" --json >"$WORK/status.json" 2>/dev/null; }
all_watched() {
	status && [ "$(jq '[.processes[] | select(.figures)] | length' "$WORK/status.json")" \
		-eq "$COUNT" ]
}

start_victims
for pid in $ALL; do
	pristine_take "$pid"
done
rules "[daemon]
max-targets = $COUNT
[watch loser]
exe = $VICTIMS/loser-$$
[watch many]
exe = $VICTIMS/many-$$
snapshot-every = ${SNAPSHOT_EVERY:-1min}
keep-count = 1000"
before=$(date +%s)
begin
await 120 all_watched ||
	fail "watched: $(jq '.processes | length' "$WORK/status.json"): $(tail -n 3 "$log")"
note "all $COUNT are watched after $(($(date +%s) - before)) s"
[ -z "${SETTLE_SECONDS:-}" ] || sleep "$SETTLE_SECONDS"

# --- what it takes --------------------------------------------------------------------------

set -- $(family)
processes=$#
began=$(date +%s%N)
spent=$(ran "$@") own_spent=$(ran "$DAEMON")
sleep "$SECONDS_MEASURED"	# a measurement's length
spent_now=$(ran "$@") own_now=$(ran "$DAEMON")
took=$(($(date +%s%N) - began))
percent() { awk -v a="${1% *}" -v b="${2% *}" -v t="$took" -v n="$3" \
	'BEGIN { printf "%.3f", (b - a) * 100 / t / n }'; }
all_percent=$(percent "$spent" "$spent_now" "$(nproc)")
own_percent=$(percent "$own_spent" "$own_now" 1)
pss=$(held "$@")
note "$processes processes: PSS $pss KiB (all, anonymous, shared);" \
	"$(held "$DAEMON") is memattachd's own"
note "all take $all_percent % of $(nproc) processors, memattachd itself $own_percent % of one;" \
	"$(((${spent_now#* } - ${spent#* }) * 1000000000 / took)) switches a second"
bad=''
[ "${pss%% *}" -lt "$MOST_PSS_KIB" ] || bad="$bad; they hold ${pss%% *} KiB"
awk -v p="$all_percent" -v m="$MOST_PERCENT" 'BEGIN { exit !(p < m) }' ||
	bad="$bad; they take $all_percent %"
awk -v p="$own_percent" 'BEGIN { exit !(p < 1) }' ||
	bad="$bad; memattachd itself takes $own_percent %"

# --- what it tells ----------------------------------------------------------------------------

grows_told() { grep -q "$LOSER loser.*: it grows: by" "$log"; }
await 120 grows_told || fail "nothing is told of $LOSER"
! grep 'it grows: by' "$log" | grep -v " $LOSER loser" || fail "others do not grow"

# --- the end ----------------------------------------------------------------------------------

end
for pid in $ALL; do
	pristine_check "$pid"
done
for name in "$WORK"/v*.in; do
	printf q >"$name"
done
all_good() { [ "$(grep -l '^verdict ok' "$WORK"/v*.out | wc -l)" -eq "$COUNT" ]; }
await 60 all_good || fail "not all victims are well"
[ -z "$bad" ] || fail "${bad#; }"
note "$COUNT processes: PSS ${pss%% *} KiB, $all_percent % of the machine," \
	"memattachd itself $own_percent % of a processor"
