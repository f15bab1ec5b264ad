#!/bin/sh
# SPDX-License-Identifier: MIT
# The layers' arrows run one way: src/base <- inject <- src <- cli. The shim
# sees inject/abi/ring_abi.h, inject/arch, its own folder and freestanding headers.
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

# May file $1 include the project's header $2?
arrow_allowed() {
	case $2 in config.h) return 0 ;; esac
	case $1 in
	src/base/*) case $2 in src/base/*) return 0 ;; esac ;;
	inject/shim/*)
		case $2 in
		inject/abi/ring_abi.h | inject/abi/rules_abi.h | inject/abi/counts_abi.h | \
			inject/abi/marks_abi.h) return 0 ;;
		inject/arch/* | inject/shim/*) return 0 ;;
		esac ;;
	inject/*)
		case $2 in inject/shim/*) return 1 ;; src/base/* | inject/*) return 0 ;; esac ;;
	src/*) case $2 in inject/shim/*) return 1 ;; src/* | inject/*) return 0 ;; esac ;;
	cli/*) case $2 in inject/shim/*) return 1 ;; src/* | inject/* | cli/*) return 0 ;; esac ;;
	tests/*) return 0 ;;
	esac
	return 1
}

is_freestanding() {
	case " $freestanding $kernel_abi " in *" $1 "*) return 0 ;; esac
	return 1
}

check_project_include() {
	file=$1 line=$2 name=$3
	case $file$name in
	tests/*) ;;
	*) [ -f "$name" ] || [ "$name" = config.h ] ||
		problem "$file:$line: \"$name\": project headers are named from the root" ;;
	esac
	arrow_allowed "$file" "$name" || problem "$file:$line: may not include \"$name\" (layers)"
}

# One line of check_shim_closure: adds the header that it finds to the queue.
check_shim_include() {
	file=$1 line=$2 form=$3 name=$4
	if [ "$form" = '<' ]; then
		is_freestanding "$name" ||
			problem "$file:$line: the shim reaches <$name>: not freestanding"
		return
	fi
	arrow_allowed inject/shim/any "$name" || problem "$file:$line: the shim reaches \"$name\""
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

includes=$(files_in 'src inject cli tests' '*.c' '*.h' '*.S' '*.cc' '*.cpp' | all_includes)
while read -r file line form name; do
	[ "$form" != '"' ] || check_project_include "$file" "$line" "$name"
done <<END
$includes
END
# the shim can reach no others without breaking the arrows
shim_includes=$(echo "$includes" | grep '^inject/')
check_shim_closure
verdict
