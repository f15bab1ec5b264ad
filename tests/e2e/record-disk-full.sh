#!/bin/sh
# SPDX-License-Identifier: MIT
# A disk that is full while -o is written: one line says so, the target is restored.
. "$(dirname "$0")/lib.sh"

is_root || skip "needs root, to mount a small file system"
mkdir "$WORK/small"
unshare -m sh -c : 2>/dev/null || skip "no mount namespaces here"
victim check selfcheck --kind=malloc-loop --threads=2
pristine_take "$VICTIM"
# shellcheck disable=SC2016
unshare -m sh -c 'mount -t tmpfs -o size=16k none "$1" || exit 77
	exec timeout 60 "$2" -p "$3" -d 2 --sample=512 -o "$1/recording"' \
	sh "$WORK/small" "$MEMATTACH" "$VICTIM" >"$WORK/out" 2>"$ERRORS"
STATUS=$?
[ "$STATUS" -ne 77 ] || skip "tmpfs can't be mounted"
case $STATUS in [1-6]) ;; *) fail "exit status $STATUS" ;; esac
grep -qiE 'space|full|disk' "$ERRORS" || fail "the message does not say why: $(cat "$ERRORS")"
pristine_check "$VICTIM"

# A place where nothing can be written is refused before the target is touched.
attach -p "$VICTIM" -d 1 -o /nonexistent/recording
case $STATUS in 2 | 3) ;; *) fail "exit status $STATUS for a folder that is not there" ;; esac
said_one_line 'nonexistent'
checked check
finished check
