#!/bin/sh
# SPDX-License-Identifier: MIT
# The measurable part of the style (docs/HACKING.md): the SPDX line, lengths of
# files, functions and lines, no white space at the end of a line.
. "$(dirname "$0")/lib.sh"
LC_ALL=C
export LC_ALL

# Headers that may be longer than 200 lines, each for a reason.
# inject/abi/ring_abi.h: all of the shared memory, which the shim must see in one header.
long_headers='inject/abi/ring_abi.h'

code() {
	files_in 'src inject cli tests packaging' '*.c' '*.h' '*.S' '*.lds' '*.cc' '*.cpp' '*.sh' \
		'*.py' '*.m4' '*.js' '*.mjs' '*.css' Makefile.am sources.am install-missing \
		'*.service.in' | grep -v '^packaging/m4/ax_'
	printf '%s\n' configure.ac Makefile.am GNUmakefile bootstrap .ci/run
}

text() {
	files_in docs '*.md' '*.1' '*.json'
	[ ! -f NEWS ] || echo NEWS
}

# All files in one process: a process a file is what takes time on slow machines.
# Functions are found by kernel style: { and } alone in the first column.
# shellcheck disable=SC2016 # awk's
found=$({ code | sed 's/^/code /'; text | sed 's/^/text /'; } | awk -v long="$long_headers" '
	function problem(where, what) { print where ": " what }

	function columns(line,  parts, n, i, at) {
		gsub(/[\200-\277]/, "", line)
		n = split(line, parts, "\t")
		at = length(parts[1])
		for (i = 2; i <= n; i++)
			at = (int(at / 8) + 1) * 8 + length(parts[i])
		return at
	}

	function most(file) {
		if (file == "configure.ac")
			return 199
		if (file ~ /Makefile\.am$/)
			return 59
		if (file ~ /\.h$/)
			return file == long ? 0 : 199
		return file ~ /\.(c|S|cc|cpp)$/ ? 699 : 0
	}

	function check_line(file, n, line) {
		if (n <= 2 && index(line, "SPDX-License-Identifier: MIT"))
			licensed = 1
		if (length(line) > 12 && columns(line) > 100)
			problem(file ":" n, "more than 100 columns")
		if (line ~ /^{/)
			start = n
		if (line ~ /^}[ \t\r]*$/ && start) {
			if (n - start > 91 && file ~ /\.(c|cc|cpp)$/)
				problem(file ":" start, "a function of more than 90 lines")
			start = 0
		}
	}

	function check(kind, file,  n, got, line) {
		n = licensed = start = 0
		while ((got = (getline line < file)) > 0) {
			n++
			if (line ~ /[ \t\r]$/)
				problem(file ":" n, "white space at the end")
			if (kind == "code")
				check_line(file, n, line)
		}
		close(file)
		if (got < 0)
			problem(file, "missing")
		else if (kind == "code" && !licensed)
			problem(file ":1", "no SPDX-License-Identifier: MIT in the first line" \
				" (second after #!)")
		if (kind == "code" && most(file) && n > most(file))
			problem(file, n " lines, " most(file) " at the most")
	}

	{ check($1, $2) }')
[ -z "$found" ] || problem "$found"
verdict
