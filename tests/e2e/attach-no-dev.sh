#!/bin/sh
# SPDX-License-Identifier: MIT
# memattach where there is no /dev, as in some containers: a watch, a leak search, a command under
# run. Each is as elsewhere.
. "$(dirname "$0")/lib.sh"
needs jq unshare
is_root || skip "only root can take /dev away"
printf '#!/bin/sh\nmount -t tmpfs none /dev && [ ! -e /dev/null ] && exec "%s" "$@"\n' \
	"$MEMATTACH" >"$WORK/inside"
printf '#!/bin/sh\nexec unshare --mount sh "%s" "$@"\n' "$WORK/inside" >"$WORK/no_dev"
chmod +x "$WORK/no_dev"
unshare --mount mount -t tmpfs none /dev 2>/dev/null || skip "/dev can't be taken away here"
MEMATTACH=$WORK/no_dev

victim check selfcheck --kind=mix --threads=3
pristine_take "$VICTIM"
for loader in dlopen map; do
	attach -p "$VICTIM" -d 0.2 --exact --json --loader="$loader"
	expect "$STATUS" 0 "exit status with $loader"
	json_expect .session.detached pristine
	checked check
done
attach leaks -p "$VICTIM" --json
expect "$STATUS" 0 "exit status of leaks"
pristine_check "$VICTIM"
finished check
attach run --exact --json -- /bin/true
expect "$STATUS" 0 "exit status of run"
json_expect .session.loader map
