# SPDX-License-Identifier: MIT
# A leak report against the book of the victim `leaky` itself, which has its variants and its
# allocators. Sourced after lib.sh. $what names the case; $wrong counts those that differ.
# shellcheck shell=sh disable=SC2034,SC2154
wrong=0
LEAKY_OPTIONS=${LEAKY_OPTIONS:-}	# of memattach, for all reports from a picture

# leaky_compare OPTIONS: of check_leaks.py. All cases are tried, whatever the first says.
leaky_compare() {
	if python3 "$E2E/check_leaks.py" "$WORK/leaky.out" "$REPORT" "$@" \
		>"$WORK/compared" 2>&1; then
		note "$what: $(tail -n 1 "$WORK/compared")"
	else
		note "WRONG: $what: $(cat "$WORK/compared")"
		wrong=$((wrong + 1))
	fi
}

leaky_build() {
	tell leaky b
	answer leaky built
}

# Threads that do nothing but allocate may be inside the allocator in every picture.
leaky_search() {
	for _ in 1 2 3 4 5; do
		# shellcheck disable=SC2086
		attach -p "$VICTIM" --leaks -d 0 --json $LEAKY_OPTIONS
		grep -q 'at work in every picture' "$ERRORS" || break
	done
}

# leaky_look ALLOCATOR [OPTIONS]: at the victim that runs, before and after its blocks are built.
leaky_look() {
	leaky_search
	expect "$STATUS" 0 "$what: exit status before anything was built"
	cp "$REPORT" "$WORK/before.json"
	leaky_build
	pristine_take "$VICTIM"
	leaky_search
	pristine_check "$VICTIM"
	json_expect '[.leaks.heaps[].allocator] | join(" ")' "$1"
	shift
	case $what in *busy*) set -- "$@" --busy ;; esac
	leaky_compare --before="$WORK/before.json" "$@"
}

# leaky_watched OPTIONS: the blocks of the victim that runs are built while it is watched.
leaky_watched() {
	attach_begin -p "$VICTIM" $EXACT --leaks --json
	attach_await "$VICTIM"
	leaky_build
	attach_end INT
	json_expect .session.detached pristine
	leaky_compare --sites "$@"
}

# leaky_kinds WORD EXCLUDED: what the victim that runs lists as so marked, a line each; but for
# those that the pattern EXCLUDED names.
leaky_kinds() {
	tell leaky l
	answer leaky listed
	sed -n "s/^$1 //p" "$WORK/leaky.out" | grep -vxE "$2"
}
