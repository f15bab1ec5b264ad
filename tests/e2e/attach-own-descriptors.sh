#!/bin/sh
# SPDX-License-Identifier: MIT
# A thread with descriptors of its own (unshare(CLONE_FILES)) makes no calls for memattach: what it
# opened would be looked for among the process's files, and left open, or those be taken for it.
. "$(dirname "$0")/lib.sh"
needs jq

# attached OPTIONS-OF-VICTIM OPTIONS: STATUS; the process's files are what they were, ours are gone.
attached() {
	note "$*"
	# shellcheck disable=SC2086
	victim owntable owntable $1
	shift
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 0.3 --json "$@"
	pristine_check "$VICTIM"
	tell owntable c
	answer owntable checked
	ended owntable
}

for files in none other memfd; do
	for loader in map auto dlopen; do
		attached --files=$files --loader=$loader
		expect "$STATUS" 0 "exit status"
		json_expect .session.detached pristine
	done
done
# the heir of a first thread that has ended has its table
attached "--leader=ends --files=memfd" --loader=map
expect "$STATUS" 0 "exit status"
json_expect .session.detached pristine
for loader in map auto; do
	attached "--leader=deep --files=memfd" --loader=$loader
	expect "$STATUS" 3 "exit status"
	said_one_line 'descriptors are not the process'
done
