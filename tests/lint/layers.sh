#!/bin/sh
# SPDX-License-Identifier: MIT
# Folders include each other in one direction, which layers.txt has. Whatever the shim includes,
# through any number of headers, is freestanding.
layers=$(cd "$(dirname "$0")" && pwd)/layers.txt
. "$(dirname "$0")/lib.sh"

# C11's freestanding headers, and the numbers of the kernel's ABI (no code, no libc).
freestanding='float.h iso646.h limits.h stdalign.h stdarg.h stdbool.h stddef.h'
freestanding="$freestanding stdint.h stdnoreturn.h"
kernel_abi='asm/unistd.h linux/futex.h linux/mman.h linux/prctl.h linux/seccomp.h'

# "file line form name" of each #include in the files named on standard input, of all of them in
# one process; form is < or a double quote.
all_includes() {
	awk '{
		n = 0
		while ((getline text < $0) > 0) {
			n++
			if (text !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
				continue
			sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
			form = substr(text, 1, 1)
			text = substr(text, 2)
			sub(/[>"].*/, "", text)
			print $0, n, form, text
		}
		close($0)
	}'
}

# The includes on standard input that layers.txt does not allow.
not_allowed() {
	awk -v list="$layers" '
	BEGIN {
		while ((getline line < list) > 0) {
			count = split(line, word, " ")
			if (count == 0 || word[1] ~ /^#/)
				continue
			place[word[1]] = ++places
			apart[word[1]] = word[2] == "only"
			for (i = 3; i <= count; i++)
				only[word[1], word[i]] = 1
		}
	}
	function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
	$3 == "\"" && $1 !~ /^tests\// && $4 != "config.h" {
		from = folder($1)
		to = folder($4)
		if (!(from in place))
			print $1 ":" $2 ": folder " from " is not in layers.txt"
		else if (from != to && (!(to in place) || place[to] > place[from] || apart[to] ||
					(apart[from] && !((from, to) in only))))
			print $1 ":" $2 ": may not include \"" $4 "\" (layers.txt)"
	}'
}

is_freestanding() {
	case " $freestanding $kernel_abi " in *" $1 "*) return 0 ;; esac
	return 1
}

check_place() {
	case $1$3 in
	tests/*) ;;
	*) [ -f "$3" ] || [ "$3" = config.h ] ||
		problem "$1:$2: \"$3\": project headers are named from the root" ;;
	esac
}

# One line of check_shim_closure: adds the header that it finds to the queue.
check_shim_include() {
	file=$1 line=$2 form=$3 name=$4
	if [ "$form" = '<' ]; then
		is_freestanding "$name" ||
			problem "$file:$line: the shim reaches <$name>: not freestanding"
		return
	fi
	[ ! -f "$name" ] || queue="$queue $name"
}

# Everything that the shim includes, through any number of headers, is freestanding.
check_shim_closure() {
	queue=$(files_in inject/shim '*.c' '*.h' '*.S' | tr '\n' ' ')
	seen=' '
	# shellcheck disable=SC2086 # a list of words
	while set -- $queue && [ $# -gt 0 ]; do
		file=$1
		queue=${queue#*"$file"}
		case $seen in *" $file "*) continue ;; esac
		seen="$seen$file "
		while read -r includer line form name; do
			[ "$includer" != "$file" ] ||
				check_shim_include "$file" "$line" "$form" "$name"
		done <<-END
			$shim_includes
		END
	done
}

[ -s "$layers" ] || problem "$layers: not there"
includes=$(files_in 'src inject cli tests' '*.c' '*.h' '*.S' '*.cc' '*.cpp' | all_includes)
while read -r file line form name; do
	[ "$form" != '"' ] || check_place "$file" "$line" "$name"
done <<END
$includes
END
while read -r sentence; do
	[ -z "$sentence" ] || problem "$sentence"
done <<END
$(echo "$includes" | not_allowed)
END
# the shim can reach no others
shim_includes=$(echo "$includes" | grep '^inject/')
check_shim_closure
verdict
