#!/bin/sh
# SPDX-License-Identifier: MIT
# What is lost, and how, equals the victim's own book: block by block, kind by kind, to the
# byte. With nothing watched, for blocks from before the attach; and watched exactly, for blocks
# from after it, which have sites then.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/leaky.sh"

# Exit status 1 says that something is definitely lost.
expect_status() {
	if grep -qE '^block .*"kind":"(definite|ring)"' "$WORK/leaky.out"; then
		expect "$STATUS" 1 "$what: exit status"
	else
		expect "$STATUS" 0 "$what: exit status"
	fi
}

# before PROGRAM KINDS [ENVIRONMENT]: built, then looked at.
before() {
	what="$1 $2 ${3-}, from before the attach"
	if [ -n "${3-}" ]; then
		export "${3?}"
		victim leaky "$1" "$2"
		unset "${3%%=*}"
	else
		victim leaky "$1" "$2"
	fi
	leaky_look glibc
	expect_status
	ended leaky
}

# after PROGRAM KINDS: built while it is watched.
after() {
	what="$1 $2, from after the attach"
	victim leaky "$1" "$2"
	leaky_watched
	expect_status
	json_expect .session.lost.alloc 0
	ended leaky
}

kinds_of() {
	victim leaky "$1"
	leaky_kinds alone - >"$WORK/kinds"
	ended leaky
}

for program in leaky leaky_cxx; do
	kinds_of $program
	before $program --kind=
	after $program --kind=
	while read -r kind; do
		dealt 8 || continue
		before $program "--kind=$kind"
		after $program "--kind=$kind"
	done <"$WORK/kinds"
done
# Heaps of other alignment, on huge pages.
before leaky --kind=arenas GLIBC_TUNABLES=glibc.malloc.hugetlb=1
expect "$wrong" 0 "comparisons that failed"
