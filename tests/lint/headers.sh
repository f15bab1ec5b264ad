#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header compiles alone, and twice in a row, without a warning. The build shows that of a
# header that is guarded and the first that its own source includes.
. "$(dirname "$0")/lib.sh"

# The headers that some X.c includes first as X.h
first_of_their_source() {
	files_in 'src inject cli tests' '*.c' | xargs awk '
		FNR == 1 { seen = 0 }
		/^#include/ && !seen++ {
			own = FILENAME
			sub(/c$/, "h", own)
			if ($2 == "\"" own "\"")
				print own
		}'
}

compiles_alone() {
	# shellcheck disable=SC2086 # lists of words
	printf '#include "%s"\n#include "%s"\n' "$1" "$1" |
		$CC -std=gnu11 -D_GNU_SOURCE -I. ${LIBRARY_CFLAGS:-} -Wall -Wextra -Wshadow \
			-Wconversion -Werror -fsyntax-only -x c -
}

built=" $(first_of_their_source | xargs grep -l '^#ifndef MEMATTACH_' /dev/null | tr '\n' ' ')"
for header in $(files_in 'src inject cli tests' '*.h'); do
	case $built in *" $header "*) continue ;; esac
	compiles_alone "$header" || problem "$header: does not compile alone"
done
verdict
