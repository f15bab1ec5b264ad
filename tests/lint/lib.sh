# SPDX-License-Identifier: MIT
# What the lints share. Each of them reads the tree at $SRCDIR and nothing else
# of it, so that seeded_violations.sh can show it a tree that is wrong.
# shellcheck shell=sh
: "${SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${CC:=cc}"
cd "$SRCDIR" || exit 99
problems=0

# One thing that is wrong, as file:line: what.
problem() {
	echo "$*"
	problems=$((problems + 1))
}

# Files below the folders $1 (a word list) whose names match one of the other
# arguments, sorted. Folders that are not there are none.
files_in() {
	folders=$1
	shift
	for pattern in "$@"; do
		for folder in $folders; do
			[ -d "$folder" ] || continue
			# nor what other programs wrote
			find "$folder" -name node_modules -prune -o -type f -name "$pattern" \
				! -name '*.pb-c.[ch]' -print
		done
	done | sort -u
}

# $1 without comments and without what stands in string literals; the line numbers stay.
without_comments() {
	awk '{
		line = $0; out = ""
		while (length(line)) {
			if (inside) {
				end = index(line, "*/")
				if (!end) break
				line = substr(line, end + 2); inside = 0
			} else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"/)) {
				token = substr(line, RSTART, 2)
				out = out substr(line, 1, RSTART - 1)
				line = substr(line, token == "/*" ? RSTART + 2 : RSTART + RLENGTH)
				if (token == "//") break
				if (token == "/*") inside = 1; else out = out "\"\""
			} else { out = out line; break }
		}
		print out
	}' "$1"
}

# Ends the lint: 0 nothing wrong, 1 otherwise.
verdict() {
	[ "$problems" -eq 0 ] || { echo "$problems problem(s)"; exit 1; }
	exit 0
}
