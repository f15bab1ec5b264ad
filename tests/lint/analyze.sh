#!/bin/sh
# SPDX-License-Identifier: MIT
# `make analyze`: cppcheck, clang-tidy (.clang-tidy says what) and gcc -fanalyzer over the
# program, those that are installed. Run by hand: their findings want a reader, so
# nothing here fails a build. It only prints.
#
#	analyze.sh [FILE...]	only those, by their names from the root
. "$(dirname "$0")/lib.sh"
: "${BUILDDIR:=$SRCDIR}"
[ -f "$BUILDDIR/config.h" ] || { echo "$BUILDDIR is not configured"; exit 99; }
flags="-std=gnu11 -include $BUILDDIR/config.h -I$SRCDIR -I$BUILDDIR ${LIBRARY_CFLAGS:-}"
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(files_in 'src inject cli' '*.c')

installed() {
	command -v "$1" >/dev/null && return
	echo "=== $1 is not installed"
	return 1
}

if installed cppcheck; then
	echo "=== cppcheck"
	cppcheck -q -j2 --std=c11 --enable=warning,performance,portability --inline-suppr \
		--template='{file}:{line}: {severity}: {message} [{id}]' -D_GNU_SOURCE -I. "$@" 2>&1
fi
if installed clang-tidy; then
	echo "=== clang-tidy"
	printf '%s\n' "$@" | xargs -P 2 -n 6 sh -c 'flags=$1; shift
		clang-tidy --quiet "$@" -- $flags 2>/dev/null' sh "$flags" |
		grep -E '(warning|error): ' | sort -u
fi
if installed gcc; then
	echo "=== gcc -fanalyzer"
	for file; do
		# shellcheck disable=SC2086 # words
		gcc $flags -O1 -fanalyzer -c -o /dev/null "$file" 2>&1
	done | grep -E '(warning|error): ' | sort -u
fi
exit 0
