#!/bin/sh
# SPDX-License-Identifier: MIT
# Every source, header, test and document stands in the Makefile.am that owns
# it, or in the sources.am beside it: a test that is not listed never runs, a
# file that is not listed is missing from the release.
. "$(dirname "$0")/lib.sh"

# All files in one process: a process a file is what takes time on slow machines.
# shellcheck disable=SC2016 # awk's
found=$({
	files_in 'src inject cli tests' '*.c' '*.h' '*.S' '*.lds' '*.sh' '*.cc' '*.cpp' '*.py'
	files_in docs '*.md' '*.1' '*.json'
} | awk '
	function parent(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }

	# The words of one list of folder.
	function read_list(folder, file,  line, words, n, i, got) {
		while ((got = (getline line < file)) > 0) {
			n = split(line, words, /[ \t\\]+/)
			for (i = 1; i <= n; i++)
				named[folder, words[i]] = 1
		}
		close(file)
		return got == 0
	}

	# Is there a Makefile.am in folder?
	function owns(folder) {
		if (!(folder in owner)) {
			owner[folder] = read_list(folder, folder "/Makefile.am")
			if (owner[folder])
				read_list(folder, folder "/sources.am")
		}
		return owner[folder]
	}

	{
		# the nearest one upwards
		for (folder = parent($0); !owns(folder) && folder != "."; )
			folder = parent(folder)
		if (!owns(folder)) {
			print $0 ": no Makefile.am above it"
			next
		}
		name = folder == "." ? $0 : substr($0, length(folder) + 2)
		plain = name	# automake knows the source of a listed program
		if ($0 ~ /^tests\/.*\.c$/)
			sub(/\.c$/, "", plain)
		if (!((folder, name) in named) && !((folder, plain) in named))
			print $0 ": not listed in " folder "/Makefile.am or sources.am"
	}')
[ -z "$found" ] || problem "$found"

# A file with steps that is not among those with steps has none where they are tested.
for file in $(grep -lE '\<step_(point|call|function)\(' inject/*.c inject/*/*.c \
	2>/dev/null); do
	sed -n '/^inject_step_sources/,/[^\\]$/p' inject/sources.am inject/Makefile.am 2>/dev/null |
		grep -qF "	${file#inject/}" ||
		problem "$file: has steps, and is not listed in inject_step_sources"
done
verdict
