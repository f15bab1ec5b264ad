#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian packages in a booted systemd of their own (systemd-nspawn): redis, nginx and PostgreSQL
# as units under load for SECONDS_WATCHED are watched by memattachd's rules; a unit that is
# restarted is watched again; reload, upgrade and stop do what they should; no request fails, every
# process is as it was; after a purge nothing is left. The packages are those of `make deb`, the
# system is made by mmdebstrap once (systemd-root.tar in the build folder).
# UNITS_KEPT=1: leaves the packages in $BUILDDIR/deb as they are, if they are there.
. "$(dirname "$0")/../e2e/lib.sh"
needs mmdebstrap systemd-nspawn nsenter jq dh
is_root || skip "only root makes containers"
: "${SECONDS_WATCHED:=120}"
. "$SRCDIR/tests/targets/systemd_lib.sh"

# --- a system with the packages -----------------------------------------------

packages_built
system_made
system_booted
packages_installed
expect "$(inside systemctl is-enabled memattachd)" disabled "memattachd, installed"
expect "$(inside systemctl is-active memattachd)" inactive "memattachd, installed"
expect "$(inside stat -c '%U %a' /var/lib/memattach)" "memattach 750" "the folder of recordings"
exposure=$(inside systemd-analyze security --no-pager memattachd.service | tail -n 1)
note "$exposure"
echo "$exposure" | awk '{ for (i = 1; i <= NF; i++) if ($i + 0 > 0) { n++; bad = $i > 2.0 } }
	END { exit bad || n != 1 }' || fail "exposed by more than 2.0"

# --- watched by rule ----------------------------------------------------------

inside sh -c 'cat >/etc/memattach/conf.d/test.conf' <<-END
	[defaults]
	attach-after = 0
	spread = 0
	snapshot-every = 2s
	[watch redis]
	unit = redis-server
	[watch nginx]
	unit = nginx
	[watch postgres]
	unit = postgresql@15-main
	name = postgres
END
# Where root may raise no limit (LimitRTPRIO) the same comes by a capability.
if ! inside prlimit --rtprio=1 true 2>/dev/null; then
	note "no limit can be raised here: CAP_SYS_NICE in place of LimitRTPRIO"
	inside mkdir -p /etc/systemd/system/memattachd.service.d
	inside sh -c 'cat >/etc/systemd/system/memattachd.service.d/nice.conf' <<-END
		[Service]
		CapabilityBoundingSet=CAP_SYS_NICE
		AmbientCapabilities=CAP_SYS_NICE
	END
	inside systemctl daemon-reload
fi
for unit in $UNITS; do
	for pid in $(unit_processes "$unit"); do
		pristine_take "$pid"
		echo "$pid" >>"$WORK/taken"
	done
done
[ "$(wc -l <"$WORK/taken")" -ge 6 ] || fail "few processes: $(cat "$WORK/taken")"
load_begin $((SECONDS_WATCHED / 2))
inside systemctl enable --now memattachd >"$WORK/enable" 2>&1 || fail "$(cat "$WORK/enable")"
for unit in $UNITS; do
	await 60 watched "$unit" || fail "$unit: $(status) $(inside journalctl -u memattachd)"
	note "$unit: watched"
done
expect "$(inside ps -o user= -C memattachd | sort -u)" memattach "who memattachd runs as"
inside ps -L -o cls= -C memattachd | grep -q FF || fail "keepers have no real-time priority"
inside ps -L -o cls= -C memattachd | grep -q TS || fail "all have real-time priority"
load_end

# --- restarted, reloaded, upgraded --------------------------------------------

main=$(inside systemctl show -p MainPID --value memattachd)
inside systemctl restart redis-server
await 60 watched redis-server || fail "redis, restarted: $(status)"
load_begin $((SECONDS_WATCHED / 2))
begun=$(recording_of redis-server)
inside systemctl reload memattachd || fail "reload: $(inside systemctl status memattachd)"
await 60 journal_says "settings read again: 3 rules" || fail "$(inside journalctl -u memattachd)"
expect "$(inside systemctl show -p MainPID --value memattachd)" "$main" "memattachd, reloaded"
expect "$(recording_of redis-server)" "$begun" "its recording after the reload"
inside journalctl -q -o cat MEMATTACH_TARGET_PID="$(main_of redis-server)" MEMATTACH_EVENT=watched |
	grep -q . || fail "no event of redis in the journal"
load_end
packages_installed --reinstall
for unit in $UNITS; do
	await 60 watched "$unit" || fail "$unit, after the upgrade: $(status)"
done

# --- stopped ------------------------------------------------------------------

load_begin 5
inside systemctl stop memattachd || fail "stop: $(inside systemctl status memattachd)"
load_end
ended=$(inside systemctl show -p Result -p ExecMainStatus --value memattachd)
[ "$(echo $ended)" = "success 0" ] ||
	fail "memattachd, stopped: $ended: $(inside journalctl -q -u memattachd | tail -n 100)"
nothing_mapped
while read -r pid; do
	is_gone "$pid" || pristine_check "$pid"
done <"$WORK/taken"
# What systemd has forked and is about to be the program is a process of its unit, too.
for recording in "$ROOT"/var/lib/memattach/*/*.memattach; do
	"$MEMATTACH" report "$recording" --json >"$REPORT" 2>"$ERRORS" ||
		{ grep -q 'ends before its first interval' "$ERRORS" && continue; } ||
		fail "$recording can't be read: $(cat "$ERRORS")"
	echo "$(json .target.pid) $(json .session.detached) $(json .session.events.alloc)"
	json '.session | [.attach_stop_us_max, .detach_stop_us_max] | max' >>"$WORK/stops"
done >"$WORK/recordings"
stops="longest stop of each, us: $(sort -n "$WORK/stops" | awk '{ us[NR] = $1 }
	END { print us[1], "to", us[NR] ", median", us[int((NR + 1) / 2)] }')"
grep -q " pristine [1-9]" "$WORK/recordings" || fail "recordings: $(cat "$WORK/recordings")"
grep -vE " (pristine|target-ended) " "$WORK/recordings" && fail "$(cat "$WORK/recordings")"

# --- searched for leaks, a hundred times --------------------------------------

# As the unit's user, by memattachd: what is read is a copy of redis, and none stays.
redis=$(unit_processes redis-server | head -n 1)
group=$(find /sys/fs/cgroup -path '*/redis-server.service/cgroup.procs' | head -n 1)
group=${group%/cgroup.procs}
before=$(memory_of "$group")
inside systemctl start memattachd || fail "$(inside systemctl status memattachd)"
await 60 watched redis-server || fail "redis, to be searched: $(status)"
for search in $(seq 100); do
	inside memattach leaks --daemon -p "$(main_of redis-server)" >"$WORK/search" 2>&1 ||
		[ $? -eq 1 ] || fail "search $search: $(cat "$WORK/search")"
done
inside systemctl stop memattachd || fail "stop: $(inside systemctl status memattachd)"
expect "$(inside systemctl show -p ExecMainStatus --value memattachd)" 0 "after the searches"
expect "$(unit_processes redis-server | head -n 1)" "$redis" "the process of redis"
expect "$(unit_processes redis-server | wc -l)" 1 "processes of redis after 100 searches"
after=$(memory_of "$group")
[ "$after" -lt $((before + before / 2 + 16777216)) ] ||
	fail "memory of redis-server's group: $before bytes before 100 searches, $after after"
note "redis: $before bytes before 100 searches for leaks, $after after"

# --- by its socket ------------------------------------------------------------

inside systemctl enable --now memattachd.socket >"$WORK/enable" 2>&1 || fail "$(cat "$WORK/enable")"
expect "$(inside systemctl is-active memattachd)" inactive "memattachd, before it is asked"
inside memattach status --json >"$WORK/status.json" || fail "the socket does not start it"
expect "$(inside systemctl is-active memattachd)" active "memattachd, asked"
for unit in $UNITS; do
	await 60 watched "$unit" || fail "$unit, started by the socket: $(status)"
done
inside systemctl restart memattachd || fail "restart: $(inside systemctl status memattachd)"
inside memattach status >"$WORK/status" || fail "after a restart: $(cat "$WORK/status")"
inside systemctl stop memattachd 2>"$WORK/stop" || fail "$(cat "$WORK/stop")"
nothing_mapped

# --- purged -------------------------------------------------------------------

inside rm -rf /etc/systemd/system/memattachd.service.d	# ours
inside apt-get purge -qq -y memattach memattachd >"$WORK/purge" 2>&1 || fail "$(cat "$WORK/purge")"
left=$(find "$ROOT" -xdev -name '*memattach*' ! -path "$ROOT/root/*" ! -path "$ROOT/proc/*" \
	! -path "$ROOT/var/log/*" ! -path "$ROOT/tmp/*")
[ -z "$left" ] || fail "left after the purge: $left"
! grep memattach "$ROOT/etc/passwd" "$ROOT/etc/group" "$ROOT/etc/shadow" || fail "its user is left"
note "redis, nginx, PostgreSQL: $(wc -l <"$WORK/recordings") recordings, $REQUESTS loads," \
	"$stops, $exposure"
