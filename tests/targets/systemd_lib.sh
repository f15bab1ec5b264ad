# SPDX-License-Identifier: MIT
# A booted system in a container, its units and what they are asked. Sourced by systemd.sh.
# shellcheck shell=sh disable=SC2034,SC2154
UNITS="redis-server nginx postgresql@15-main"
: "${SYSTEM_TAR:=$BUILDDIR/systemd-root.tar}"
ROOT=$WORK/root
REQUESTS=0	# loads that have ended without a failure
LOADS=''

# --- the system ---------------------------------------------------------------

packages_built() {
	[ "${UNITS_KEPT:-}" ] && ls "$BUILDDIR"/deb/memattachd_*.deb >/dev/null 2>&1 && return
	make -C "$BUILDDIR" deb >"$WORK/deb" 2>&1 || fail "make deb: $(tail -n 60 "$WORK/deb")"
}

# With what the packages depend on: there is no network in it.
system_made() {
	if [ ! -s "$SYSTEM_TAR" ]; then
		mmdebstrap --format=tar --variant=minbase \
			--include=systemd,systemd-sysv,dbus,redis-server,redis-tools \
			--include=nginx-light,postgresql-15,wrk,procps,jq,libcap2-bin \
			--include=libunwind8,libdw1,libelf1,libjansson4,libseccomp2,libsqlite3-0 \
			--include=libprotobuf-c1,libzstd1,zlib1g,libncursesw6,libinih1,libsystemd0 \
			--include=libzydis4.0,libmicrohttpd12,passwd \
			bookworm "$SYSTEM_TAR.new" >"$WORK/mm" 2>&1 ||
			skip "no system by mmdebstrap: $(tail -n 3 "$WORK/mm")"
		mv "$SYSTEM_TAR.new" "$SYSTEM_TAR"
	fi
	mkdir "$ROOT"
	tar -C "$ROOT" -xf "$SYSTEM_TAR" || fail "$SYSTEM_TAR"
	cp "$BUILDDIR"/deb/memattach_*.deb "$BUILDDIR"/deb/memattachd_*.deb "$ROOT/root/"
	# apt's own user may not read there.
	chmod 755 "$ROOT/root"
}

leader_found() {
	LEADER=$(cat "/proc/$NSPAWN/task/$NSPAWN/children" | tr ' ' '\n' | while read -r pid; do
		grep -qs '^NSpid:.*	1$' "/proc/$pid/status" && echo "$pid"
	done)
	[ "$LEADER" ]
}

inside() { nsenter -t "$LEADER" -a -- "$@"; }

is_up() { inside systemctl is-system-running | grep -qE 'running|degraded'; }

system_booted() {
	# Its own filter of system calls would be on every process in it.
	SYSTEMD_SECCOMP=0 systemd-nspawn -q -D "$ROOT" -b --register=no --keep-unit --console=pipe \
		--private-network \
		--capability=all >"$WORK/boot" 2>&1 </dev/null &
	NSPAWN=$!
	own "$NSPAWN"
	await 60 leader_found || fail "no container: $(cat "$WORK/boot")"
	own "$LEADER"
	await 120 is_up || fail "not up: $(cat "$WORK/boot")"
	for unit in $UNITS; do
		await 60 inside systemctl is-active "$unit" ||
			fail "$unit: $(inside systemctl status "$unit")"
	done
}

# packages_installed [OPTION]: as a user would.
packages_installed() {
	inside sh -c "apt-get install -qq -y --no-install-recommends ${1:-} /root/memattach*.deb" \
		>"$WORK/install" 2>&1 </dev/null || fail "$(cat "$WORK/install")"
}

# --- its units ----------------------------------------------------------------

main_of() {
	inside systemctl show -p MainPID --value "$1"
}

# Processes of a unit that stay, by the numbers that they have here.
unit_processes() {
	for group in $(find /sys/fs/cgroup -path "*/$1.service/cgroup.procs"); do
		cat "$group"
	done | sort -un
}

status() { inside memattach status --json; }

# watched UNIT: its main process is, and figures of it are there.
watched() {
	status | jq -e --argjson pid "$(main_of "$1")" '.processes[] |
		select(.pid == $pid and .state == "watched" and .figures.alloc_count != null)'
}

# memory_of GROUP: bytes, of either version of control groups.
memory_of() {
	cat "$1/memory.current" 2>/dev/null || cat "$1/memory.usage_in_bytes"
}

recording_of() {
	status | jq -r --argjson pid "$(main_of "$1")" \
		'.processes[] | select(.pid == $pid) | .recording'
}

journal_says() { inside journalctl -q -o cat -u memattachd | grep -q "$1"; }

# No process of the container has anything of memattach's.
nothing_mapped() {
	inside sh -c 'grep -ls /memfd:memattach- /proc/[0-9]*/maps' >"$WORK/mapped" 2>/dev/null
	[ ! -s "$WORK/mapped" ] || fail "still mapped: $(cat "$WORK/mapped")"
	inside sh -c 'ls -l /proc/[0-9]*/fd 2>/dev/null | grep memfd:memattach-' >"$WORK/mapped"
	[ ! -s "$WORK/mapped" ] || fail "still open: $(cat "$WORK/mapped")"
}

# --- load ---------------------------------------------------------------------

# load NAME COMMAND...: its status and output are looked at by load_end.
load() {
	load_name=$1
	shift
	inside "$@" >"$WORK/load.$load_name" 2>&1 &
	own $!
	LOADS="$LOADS $load_name:$!"
}

# Says when the machine itself stood for more than half a second: then clients wait for nobody.
pulse() {
	pulse_before=$(date +%s%N)
	while sleep 0.1; do
		pulse_now=$(date +%s%N)
		[ $((pulse_now - pulse_before)) -lt 600000000 ] ||
			echo "$(date +%T): the machine stood for $((pulse_now - pulse_before)) ns"
		pulse_before=$pulse_now
	done
}

# load_begin SECONDS: clients of all three.
load_begin() {
	LOADS=''
	pulse >"$WORK/pulse" &
	PULSE=$!
	own "$PULSE"
	renice -n -10 -p "$PULSE" >/dev/null
	load redis sh -c "end=\$((\$(date +%s) + $1)); while [ \$(date +%s) -lt \$end ]; do
		redis-benchmark -q -c 8 -n 20000 -t set,get,lpush,lpop || exit 1; done"
	load nginx wrk -t 1 -c 8 -d "${1}s" http://127.0.0.1/
	inside setpriv --reuid=postgres --regid=postgres --init-groups \
		/usr/lib/postgresql/15/bin/pgbench -q -i postgres >"$WORK/pgbench" 2>&1 ||
		fail "$(cat "$WORK/pgbench")"
	load postgres setpriv --reuid=postgres --regid=postgres --init-groups \
		/usr/lib/postgresql/15/bin/pgbench -c 4 -T "$1" postgres
}

load_end() {
	for load_one in $LOADS; do
		wait "${load_one#*:}" ||
			fail "load ${load_one%:*}: $(cat "$WORK/load.${load_one%:*}")"
		REQUESTS=$((REQUESTS + 1))
	done
	kill "$PULSE"
	! grep -iE 'non-2xx|socket errors|error' "$WORK/load.nginx" "$WORK/load.redis" ||
		fail "requests failed; $(cat "$WORK/pulse")"
	grep -q 'failed transactions: 0 ' "$WORK/load.postgres" ||
		fail "$(cat "$WORK/load.postgres")"
}
