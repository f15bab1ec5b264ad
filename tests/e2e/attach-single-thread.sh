#!/bin/sh
# SPDX-License-Identifier: MIT
# Targets with a single thread, none of which waits in an easy place: a tight loop in
# malloc, one in user mode, one that only sleeps, polls, reads, waits on a futex, takes signals.
. "$(dirname "$0")/lib.sh"
needs jq python3
for kind in malloc-loop regs sleep poll select epoll read futex signals siglongjmp; do
	victim check selfcheck --kind="$kind" --threads=1
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 0.3 --sample=4096 --json
	note "$kind: status $STATUS $(json .session.loader 2>/dev/null) $(cat "$ERRORS")"
	expect "$STATUS" 0 "exit status for $kind"
	json_expect .session.detached pristine
	pristine_check "$VICTIM"
	checked check
	finished check
	case $ANSWER in *'"eintr":0'*) ;; *) fail "$kind saw an EINTR: $ANSWER" ;; esac
done
