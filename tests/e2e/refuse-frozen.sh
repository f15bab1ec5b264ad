#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that its control group keeps from running (docker pause, systemctl freeze): refused
# before; when it comes in mid-session, said, left dormant and taken out when it is thawed.
. "$(dirname "$0")/lib.sh"
name=memattach-e2e.$$
groups=

is_root || skip "only root makes control groups"
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	mkdir "$root/$name" 2>/dev/null || continue
	if [ -w "$root/$name/cgroup.freeze" ]; then
		groups="$groups $root/$name"
	else
		rmdir "$root/$name"
	fi
done
mkdir "/sys/fs/cgroup/freezer/$name" 2>/dev/null && groups="$groups /sys/fs/cgroup/freezer/$name"
[ -n "$groups" ] || skip "no control group can be frozen here"
trap 'thaw 2>/dev/null; tidy_up; for group in $groups; do rmdir "$group"; done 2>/dev/null' EXIT

# is_frozen, freeze, thaw: $group, by its version
is_frozen() {
	if [ -e "$group/freezer.state" ]; then
		grep -q FROZEN "$group/freezer.state"
	else
		grep -q 'frozen 1' "$group/cgroup.events"
	fi
}
freeze() {
	if [ -e "$group/freezer.state" ]; then
		echo FROZEN >"$group/freezer.state"
	else
		echo 1 >"$group/cgroup.freeze"
	fi
	await 10 is_frozen || fail "the group does not freeze"
}
thaw() {
	if [ -e "$group/freezer.state" ]; then
		echo THAWED >"$group/freezer.state"
	else
		echo 0 >"$group/cgroup.freeze"
	fi
}

for group in $groups; do
	note "$group"
	# One that only sleeps is kept elsewhere in the kernel than one that runs.
	victim idle waiter --kind=none
	echo "$VICTIM" >"$group/cgroup.procs"
	freeze
	attach -p "$VICTIM" -d 1
	expect "$STATUS" 3 "exit status, asleep"
	said_one_line 'is frozen by its control group'
	thaw
	finished idle

	victim frozen selfcheck --kind=malloc-loop --threads=4
	pristine_take "$VICTIM"
	echo "$VICTIM" >"$group/cgroup.procs"
	freeze
	attach -p "$VICTIM" -d 1
	expect "$STATUS" 3 "exit status"
	said_one_line 'is frozen by its control group; thaw it first'
	timeout 20 "$MEMATTACH" check -p "$VICTIM" >"$WORK/check" 2>&1
	expect "$?" 3 "exit status of check"
	is_frozen || fail "it is not frozen any more"
	thaw
	checked frozen
	pristine_check "$VICTIM"

	# In mid-session: what can't be taken out stays, harmless, and is taken out when it runs.
	attach_begin -p "$VICTIM" --json
	attach_await "$VICTIM"
	freeze
	attach_end
	expect "$STATUS" 5 "exit status"
	grep -q 'control group has frozen it' "$ERRORS" || fail "not said: $(cat "$ERRORS")"
	json_expect .session.detached dormant
	attach cleanup -p "$VICTIM"
	expect "$STATUS" 3 "exit status of a cleanup of what is frozen"
	said_one_line 'is frozen by its control group'
	thaw
	checked frozen
	attach cleanup -p "$VICTIM"
	expect "$STATUS" 0 "exit status of cleanup"
	pristine_check "$VICTIM"

	# For a moment only: it is waited for.
	attach_begin -p "$VICTIM" --json
	attach_await "$VICTIM"
	freeze
	kill -INT "$ATTACH" || fail "memattach is gone already"
	sleep 3
	thaw
	attach_wait
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	finished frozen
done
