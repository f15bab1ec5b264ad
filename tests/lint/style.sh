#!/bin/sh
# SPDX-License-Identifier: MIT
# The measurable part of the style (docs/HACKING.md): the SPDX line, lengths of
# files, functions and lines, no white space at the end of a line.
. "$(dirname "$0")/lib.sh"

# Headers that may be longer than 200 lines, each for a reason.
long_headers='
inject/ring_abi.h	all of the shared memory, which the shim must see in one header
'

# "file: what" if $1 has more than $2 lines.
at_most() {
	lines=$(wc -l <"$1")
	[ "$lines" -le "$2" ] || problem "$1: $lines lines, $2 at the most"
}

check_spdx() {
	head -n 2 "$1" | grep -q 'SPDX-License-Identifier: MIT' ||
		problem "$1:1: no SPDX-License-Identifier: MIT in the first line (second after #!)"
}

check_columns() {
	for line in $(expand "$1" |
		awk '{ gsub(/[\200-\277]/, "") } length($0) > 100 { print NR }'); do
		problem "$1:$line: more than 100 columns"
	done
}

check_trailing_space() {
	for line in $(grep -nE '[[:blank:]]+$' "$1" | cut -d: -f1); do
		problem "$1:$line: white space at the end"
	done
}

# Functions are found by kernel style: { and } alone in the first column.
check_functions() {
	for line in $(awk '/^{/ { start = NR }
		/^}[[:space:]]*$/ && start { if (NR - start > 91) print start; start = 0 }' "$1"
	); do
		problem "$1:$line: a function of more than 90 lines"
	done
}

check_length() {
	case $1 in
	configure.ac) at_most "$1" 199 ;;
	*Makefile.am) at_most "$1" 59 ;;
	*.h) echo "$long_headers" | grep -q "^$1	" || at_most "$1" 199 ;;
	*.c | *.S | *.cc | *.cpp) at_most "$1" 699 ;;
	esac
}

LC_ALL=C
export LC_ALL
folders='src inject cli tests packaging'
for file in $(files_in "$folders" '*.c' '*.h' '*.S' '*.lds' '*.cc' '*.cpp' '*.sh' '*.py' '*.m4' \
	'*.js' '*.mjs' '*.css' \
	Makefile.am sources.am install-missing '*.service.in' | grep -v '^packaging/m4/ax_') \
	configure.ac Makefile.am GNUmakefile bootstrap .ci/run; do
	[ -f "$file" ] || { problem "$file: missing"; continue; }
	check_spdx "$file"
	check_columns "$file"
	check_trailing_space "$file"
	check_length "$file"
	case $file in *.c | *.cc | *.cpp) check_functions "$file" ;; esac
done
for file in $(files_in docs '*.md' '*.1' '*.json') NEWS; do
	[ ! -f "$file" ] || check_trailing_space "$file"
done
verdict
