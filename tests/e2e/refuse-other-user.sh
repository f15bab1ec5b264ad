#!/bin/sh
# SPDX-License-Identifier: MIT
# Another user's process without rights: says which gate, touches nothing.
. "$(dirname "$0")/lib.sh"
needs setpriv
is_root || skip "needs root, to have two users"
victim other processes --kind=idle
pristine_take "$VICTIM"
cp "$MEMATTACH" "$WORK/memattach"
chmod 755 "$WORK/memattach"
setpriv --reuid=nobody --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
	env -C / "$WORK/memattach" -p "$VICTIM" -d 1 >"$REPORT" 2>"$ERRORS" </dev/null
expect "$?" 3 "exit status"
said_one_line 'user|permission|CAP_SYS_PTRACE|capabilit|root'
pristine_check "$VICTIM" --quiet
finished other
