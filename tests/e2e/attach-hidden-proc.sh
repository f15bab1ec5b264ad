#!/bin/sh
# SPDX-License-Identifier: MIT
# As memattachd.service has it: no root but a user with capabilities, and a /proc that hides the
# processes of others from who has none (hidepid). Threads are stopped and unwound there as well:
# without that the shim can't come by dlopen, nor go while a stale word on a stack seems to be it.
. "$(dirname "$0")/lib.sh"
needs jq setpriv unshare
is_root || skip "only root mounts a /proc"
capabilities=+sys_ptrace,+dac_read_search,+checkpoint_restore
victim demo leaky
pristine_take "$VICTIM"
cat >"$WORK/hidden" <<-'END'
	mount -t proc -o hidepid=2 proc /proc || exit 77
	capabilities=$1
	shift
	exec setpriv --reuid=nobody --regid=65534 --clear-groups --inh-caps="$capabilities" \
		--ambient-caps="$capabilities" "$@"
END
hidden() { unshare -m --propagation private sh "$WORK/hidden" "$capabilities" "$@"; }
hidden sh -c "! ls /proc | grep -qx 1" || skip "this /proc can't hide processes, or setpriv not"
MEMATTACH_DEBUG=1 hidden "$MEMATTACH" -p "$VICTIM" -d 1 --json >"$REPORT" 2>"$ERRORS" ||
	fail "attach: $(grep -v request "$ERRORS" | tail -n 5)"
json_expect .session.detached pristine
json_expect .session.loader dlopen
pristine_check "$VICTIM"
