#!/bin/sh
# SPDX-License-Identifier: MIT
# What is lost, and how, equals the victim's own book: block by block, kind by kind, to the
# byte. With nothing watched, for blocks from before the attach; and watched exactly, for blocks
# from after it, which have sites then.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3

# All kinds are tried, whatever the first says.
wrong=0
compare() {
	if python3 "$E2E/check_leaks.py" "$WORK/leaky.out" "$REPORT" "$@" \
		>"$WORK/compared" 2>&1; then
		note "$what: $(tail -n 1 "$WORK/compared")"
	else
		note "WRONG: $what: $(cat "$WORK/compared")"
		wrong=$((wrong + 1))
	fi
}

# Exit status 1 says that something is definitely lost.
expect_status() {
	if grep -qE '^block .*"kind":"(definite|ring)"' "$WORK/leaky.out"; then
		expect "$STATUS" 1 "$what: exit status"
	else
		expect "$STATUS" 0 "$what: exit status"
	fi
}

built() {
	tell leaky b
	answer leaky built
}

# Threads that do nothing but allocate may be inside the allocator in every picture.
look() {
	for _ in 1 2 3 4 5; do
		attach -p "$VICTIM" --leaks -d 0 --json
		grep -q 'at work in every picture' "$ERRORS" || break
	done
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
	attach -p "$VICTIM" --leaks -d 0 --json
	expect "$STATUS" 0 "$what: exit status before anything was built"
	cp "$REPORT" "$WORK/before.json"
	built
	pristine_take "$VICTIM"
	look
	expect_status
	pristine_check "$VICTIM"
	case $2 in *busy*) busy=--busy ;; *) busy= ;; esac
	compare --before="$WORK/before.json" $busy
	ended leaky
}

# after PROGRAM KINDS: built while it is watched.
after() {
	what="$1 $2, from after the attach"
	victim leaky "$1" "$2"
	attach_begin -p "$VICTIM" --exact --leaks --json
	attach_await "$VICTIM"
	built
	attach_end INT
	expect_status
	json_expect .session.detached pristine
	json_expect .session.lost.alloc 0
	compare --sites
	ended leaky
}

kinds_of() {
	victim leaky "$1"
	tell leaky l
	answer leaky listed
	sed -n 's/^alone //p' "$WORK/leaky.out" >"$WORK/kinds"
	ended leaky
}

for program in leaky leaky_cxx; do
	kinds_of $program
	before $program --kind=
	after $program --kind=
	while read -r kind; do
		before $program "--kind=$kind"
		after $program "--kind=$kind"
	done <"$WORK/kinds"
done
# Heaps of other alignment, on huge pages.
before leaky --kind=arenas GLIBC_TUNABLES=glibc.malloc.hugetlb=1
expect "$wrong" 0 "comparisons that failed"
