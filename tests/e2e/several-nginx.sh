#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx's master and workers under wrk: by ids, and by unit where a control group can be made; a
# reload makes new workers, which are followed.
. "$(dirname "$0")/lib.sh"
needs jq python3 nginx wrk
. "$E2E/servers.sh"
. "$E2E/several_lib.sh"
unit=memattach-$$.service
groups=""

leave_groups() {
	tidy_up
	for group in $groups; do
		rmdir "$group/workers" "$group" 2>/dev/null
	done
}
trap leave_groups EXIT

NGINX_WORKERS=2
nginx_start
# So many connections that each worker accepts some of them: they keep theirs.
background load wrk -t1 -c64 -d$((TEST_LIMIT * PATIENCE)) "http://127.0.0.1:$NGINX_PORT/"
load=$LAST
workers=$NGINX_CHILDREN
for pid in $NGINX $workers; do
	pristine_take "$pid"
done

# nginx_good: of the last report; all are as they were.
nginx_good() {
	expect "$STATUS" 0 "exit status"
	several_valid
	sums_hold
	for pid in $NGINX $workers; do
		expect "$(of_process "$pid" .name)" nginx "name of $pid"
		expect "$(of_process "$pid" .detached)" pristine "how $pid was left"
		pristine_check "$pid"
	done
}

note "master and workers by their ids"
# shellcheck disable=SC2086
set -- $workers
attach -p "$NGINX" -p "$1" -p "$2" -d 3 --sample=4096 --json
nginx_good
expect "$(json '.processes | length')" 3 "processes"
[ "$(json '[.sites[] | select(.by_process | length == 2)] | length')" -ge 3 ] ||
	fail "the workers share no sites"

# One process's hierarchy of version 1 and that of version 2: made where the machine allows it.
for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
	[ -e "$root/cgroup.procs" ] || continue
	mkdir "$root/$unit" 2>/dev/null || continue
	group=$root/$unit
	groups="$group $groups"
	mkdir "$group/workers"
	note "by unit, its group in $root"
	echo "$NGINX" >"$group/cgroup.procs" || continue
	for pid in $workers; do
		echo "$pid" >"$group/workers/cgroup.procs"
	done
	attach --unit="${unit%.service}" -d 2 --sample=4096 --json
	nginx_good
	expect "$(json '.processes | length')" 3 "processes of the unit"
	for pid in $NGINX $workers; do	# out of this group again: the next finds them by its own
		echo "$pid" >"$root/cgroup.procs"
	done
done
[ -n "$groups" ] || note "no control group can be made here: --unit not tried on real ones"
attach --unit="no-such-$unit" -d 1
expect "$STATUS" 3 "exit status for a unit that is not there"
said_one_line 'no-such-.*(systemd does not run|no process)'

note "a reload: new workers are followed, old ones end"
attach_begin -p "$NGINX" -p "$1" -p "$2" --follow --sample=4096 --json
attach_await "$NGINX"
attach_await "$1"
attach_await "$2"
kill -HUP "$NGINX"
new_workers() {
	NGINX_CHILDREN=$(cat "/proc/$NGINX/task/$NGINX/children")
	for pid in $NGINX_CHILDREN; do
		case " $workers " in *" $pid "*) return 1 ;; esac
	done
	[ "$(echo "$NGINX_CHILDREN" | wc -w)" -eq 2 ]
}
await 60 new_workers || fail "no reload: $(cat "$WORK/nginx/error.log")"
own $NGINX_CHILDREN
for pid in $NGINX_CHILDREN; do
	attach_await "$pid"
done
attach_end
expect "$STATUS" 0 "exit status"
several_valid
sums_hold
for pid in $NGINX $NGINX_CHILDREN; do
	expect "$(of_process "$pid" .detached)" pristine "how $pid was left"
	"$TOOLS/ringwatch" "$pid" gone 0 >"$WORK/ringwatch" || fail "$pid keeps something of ours"
done
for pid in $workers; do
	expect "$(of_process "$pid" .detached)" target-ended "the old worker $pid"
done
pristine_check "$NGINX"

kill -INT "$load" || fail "the load ended early: $(cat "$WORK/load.out")"
await 10 is_gone "$load"
grep -q 'Requests/sec' "$WORK/load.out" || fail "no figures from wrk: $(cat "$WORK/load.err")"
grep -E 'Non-2xx' "$WORK/load.out" && fail "the load saw errors"
python3 -c "from urllib.request import urlopen
urlopen('http://127.0.0.1:$NGINX_PORT/').read()" ||
	fail "nginx does not answer"
