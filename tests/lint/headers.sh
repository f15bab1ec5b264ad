#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header compiles alone, and twice in a row, without a warning.
. "$(dirname "$0")/lib.sh"

compiles_alone() {
	# shellcheck disable=SC2086 # lists of words
	printf '#include "%s"\n#include "%s"\n' "$1" "$1" |
		$CC -std=gnu11 -D_GNU_SOURCE -I. ${LIBRARY_CFLAGS:-} -Wall -Wextra -Wshadow \
			-Wconversion -Werror -fsyntax-only -x c -
}

for header in $(files_in 'src inject cli tests' '*.h'); do
	compiles_alone "$header" || problem "$header: does not compile alone"
done
verdict
