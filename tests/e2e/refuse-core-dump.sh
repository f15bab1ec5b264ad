#!/bin/sh
# SPDX-License-Identifier: MIT
# A process that writes its core dump is refused at once, and the dump goes on.
. "$(dirname "$0")/lib.sh"
case $(cat /proc/sys/kernel/core_pattern) in
*'|'* | */*) skip "core dumps do not go to a file in the working folder" ;;
esac
# shellcheck disable=SC3045	# dash and bash have it
[ "$(ulimit -H -c)" = unlimited ] || skip "core dumps are limited"
[ "$(df -Pk "$WORK" | awk 'NR == 2 { print int($4 / 1048576) }')" -ge 5 ] || skip "no 5 GiB of disk"
printf '#!/bin/sh\ncd "%s" && exec "%s/processes" --kind=dumping\n' "$WORK" "$VICTIMS" \
	>"$WORK/dumping"
chmod +x "$WORK/dumping"

dumped() { find "$WORK" -name 'core*' -printf '%s'; }
has_grown() { [ "$(dumped)" -gt "$before" ]; }
is_dumping() { grep -q '^CoreDumping:[[:space:]]*1' "/proc/$VICTIM/status"; }

VICTIMS=$WORK
victim dumping dumping
is_dumping || fail "the dump is over already"
before=$(dumped)
for command in "-d 1 -p" "check -p" "leaks -p"; do
	# shellcheck disable=SC2086
	attach $command "$VICTIM"
	expect "$STATUS" 3 "exit status of $command"
	said_one_line 'is writing a core dump'
done
await 10 has_grown || fail "it stands still"
is_dumping || [ "$(dumped)" -ge 4294967296 ] || fail "it was cut short"
ended dumping
