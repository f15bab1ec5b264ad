#!/bin/sh
# SPDX-License-Identifier: MIT
# Every source, header, test and document stands in the Makefile.am that owns
# it, or in the sources.am beside it: a test that is not listed never runs, a
# file that is not listed is missing from the release.
. "$(dirname "$0")/lib.sh"

# The Makefile.am that owns file $1: the nearest one upwards.
owner_of() {
	folder=$(dirname "$1")
	while [ ! -f "$folder/Makefile.am" ]; do
		[ "$folder" != . ] || return 1
		folder=$(dirname "$folder")
	done
	echo "$folder"
}

# Is $2 a word of the lists of folder $1?
names() {
	cat "$1/Makefile.am" "$1/sources.am" 2>/dev/null |
		tr -s '[:space:]\\' '\n' | grep -qxF -e "$2"
}

for file in \
	$(files_in 'src inject cli tests' '*.c' '*.h' '*.S' '*.lds' '*.sh' '*.cc' '*.cpp' '*.py') \
	$(files_in docs '*.md' '*.1' '*.json'); do
	folder=$(owner_of "$file") || { problem "$file: no Makefile.am above it"; continue; }
	name=${file#"$folder"/}
	names "$folder" "$name" && continue
	case $file in
	tests/*.c) # automake knows the source of a listed program
		names "$folder" "${name%.c}" && continue ;;
	esac
	problem "$file: not listed in $folder/Makefile.am or sources.am"
done
verdict
