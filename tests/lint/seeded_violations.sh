#!/bin/sh
# SPDX-License-Identifier: MIT
# Each lint fails where it should: a small tree that is right passes all of
# them, and one wrong thing put into it makes the lint that it is for fail,
# saying where.
lints=$(cd "$(dirname "$0")" && pwd)
: "${CC:=cc}"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
spdx='/* SPDX-License-Identifier: MIT */'
failures=0

# A tree with one file a layer, all of it right.
plant() {
	mkdir -p "$scratch/tree/.ci" && cd "$scratch/tree" || exit 99
	mkdir -p src/base src/live inject/abi inject/shim inject/tracee inject/arch/x86_64
	mkdir -p cli tests/unit packaging/deps docs
	printf '%s\n#include <stdint.h>\n' "$spdx" | tee src/base/log.h inject/abi/ring_abi.h \
		inject/arch/x86_64/tsc.h src/live/sites.h >/dev/null
	{
		echo "$spdx"
		printf '#include "%s"\n' inject/abi/ring_abi.h inject/arch/x86_64/tsc.h
	} >inject/shim/shim.c
	printf '%s\n/* ptrace(2) */\n#include "src/base/log.h"\n' "$spdx" |
		tee src/live/sites.c cli/main.c inject/tracee/tracee.c tests/unit/test_sites.c \
			>/dev/null
	for folder in . src/base inject inject/shim src cli tests tests/unit docs; do
		(cd "$folder" && echo '# SPDX-License-Identifier: MIT' &&
			find . -type f \( -name '*.[ch]' \) | sed 's|^[.]/|\t|; s|$| \\|') >makefile
		mv makefile "$folder/Makefile.am"
	done
	for file in configure.ac GNUmakefile bootstrap .ci/run; do
		echo '# SPDX-License-Identifier: MIT' >"$file"
	done
	cp -a "$scratch/tree" "$scratch/good"
}

# The tree is right again.
good_tree() {
	rm -rf "$scratch/tree"
	cp -a "$scratch/good" "$scratch/tree" && cd "$scratch/tree" || exit 99
}

# Runs lint $1 on the tree; its output in $output, its status is the function's.
run_lint() {
	output=$(SRCDIR="$scratch/tree" CC="$CC" LIBRARY_CFLAGS='' SHIM="$scratch/shim.so" \
		sh "$lints/$1.sh" 2>&1)
}

passes() {
	run_lint "$1" && return
	echo "FAIL $1: fails where nothing is wrong: $output"
	failures=$((failures + 1))
}

# Lint $1 fails on the tree as it is now and says $2; then the tree is right again.
catches() {
	if run_lint "$1"; then
		echo "FAIL $1: does not see: $2"
		failures=$((failures + 1))
	elif ! echo "$output" | grep -qF -e "$2"; then
		echo "FAIL $1: fails without saying '$2': $output"
		failures=$((failures + 1))
	fi
	good_tree
}

# Adds line $2 to file $1.
add() { printf '%b\n' "$2" >>"$1"; }

# Builds the C program $1 as a shim, with the flags $2...
build_shim() {
	program=$1
	shift
	echo "$program" | $CC -x c -O1 -fPIC -shared -nostdlib -fno-stack-protector "$@" \
		-o "$scratch/shim.so" - || exit 99
}

# Lint shim_symbols fails on the program $2, built with the flags $3..., and says $1.
catches_shim() {
	said=$1
	shift
	build_shim "$@"
	catches shim_symbols "$said"
}

repeat() { awk -v n="$1" -v line="$2" 'BEGIN { while (n--) print line }'; }

plant
for lint in layers headers ptrace_calls style listed; do passes $lint; done

add src/base/log.h '#include "inject/abi/ring_abi.h"'
catches layers 'src/base/log.h:3: may not include "inject/abi/ring_abi.h"'
add inject/tracee/tracee.c '#include "src/live/sites.h"'
catches layers 'inject/tracee/tracee.c:4: may not include'
add src/live/sites.c '#include "cli/main.h"'
catches layers 'src/live/sites.c:4: may not include'
mkdir src/elf
echo "$spdx" >src/elf/elf_image.h
add inject/tracee/tracee.c '#include "src/elf/elf_image.h"'
catches layers 'inject/tracee/tracee.c:4: may not include "src/elf/elf_image.h"'
mkdir src/modules
printf '%s\n#include "src/live/sites.h"\n' "$spdx" >src/modules/modules.h
add src/live/sites.c '#include "src/modules/modules.h"'
catches layers 'src/modules/modules.h:2: may not include "src/live/sites.h"'
mkdir src/added
echo '#include "src/base/log.h"' >src/added/added.c
catches layers 'src/added/added.c:1: folder src/added is not in layers.txt'
add cli/main.c '#include "inject/shim/shim.h"'
catches layers 'cli/main.c:4: may not include'
add cli/main.c '# include "sites.h"'
catches layers 'named from the root'
add inject/shim/shim.c '#include "src/base/log.h"'
catches layers 'inject/shim/shim.c:4: may not include'
add inject/shim/shim.c '#include <string.h>'
catches layers 'the shim reaches <string.h>'
add inject/arch/x86_64/tsc.h '#include <stdio.h>'
catches layers 'inject/arch/x86_64/tsc.h:3: the shim reaches <stdio.h>'

add src/live/sites.h 'int sites_count(struct sites *s, size_t n);'
catches headers 'src/live/sites.h: does not compile alone'
add src/live/sites.h 'struct sites { int n; };'
catches headers 'src/live/sites.h: does not compile alone'

add src/live/sites.c 'long f(void) { return ptrace (0, 0, 0, 0); }'
catches ptrace_calls 'src/live/sites.c:4:'
add cli/main.c 'long f(void) { /* */ return syscall(SYS_ptrace); }'
catches ptrace_calls 'cli/main.c:4:'

add src/lost.c "$spdx"
catches listed 'src/lost.c: not listed in src/Makefile.am or sources.am'
add inject/tracee/tracee.c 'void f(void) { step_point(); }'
catches listed 'inject/tracee/tracee.c: has steps'
add tests/unit/test_lost.c "$spdx"
catches listed 'tests/unit/test_lost.c: not listed'
add docs/LOST.md 'text'
catches listed 'docs/LOST.md: not listed'

mkdir -p packaging/html/src
echo 'x' | tee packaging/html/src/main.js packaging/html/build.mjs packaging/html/package.json \
	packaging/html/package-lock.json >packaging/html/report.html
catches html_bundle 'report.html: not made of the present sources'

echo 'int x;' >src/live/sites.c
catches style 'src/live/sites.c:1: no SPDX'
add src/live/sites.c 'int x; '
catches style 'src/live/sites.c:4: white space'
add src/live/sites.c "\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t\\t/* 4567 */"
catches style 'src/live/sites.c:4: more than 100 columns'
repeat 700 'int x;' >>src/live/sites.c
catches style 'src/live/sites.c: 703 lines'
repeat 200 'int x;' >>src/live/sites.h
catches style 'src/live/sites.h: 202 lines'
{ printf 'void f(void)\n{\n'; repeat 91 '	f();'; echo '}'; } >>src/live/sites.c
catches style 'src/live/sites.c:5: a function of more than 90 lines'
repeat 60 '#' >>src/Makefile.am
catches style 'src/Makefile.am: '

build_shim 'int f(void) { return 1; }'
passes shim_symbols
catches_shim 'undefined symbols' 'int g(void); int f(void) { return g(); }'
catches_shim 'thread-local symbols' 'static __thread int t; int *f(void) { return &t; }'
catches_shim 'a TLS segment' '__thread int t __attribute__((visibility("hidden"))); int *f(void)
	{ return &t; }' -ftls-model=initial-exec
catches_shim 'constructors' '__attribute__((constructor)) void f(void) { __asm__ volatile(""); }'
catches_shim 'run or need code' 'int f(void) { return 1; }' -Wl,--no-as-needed -lc
catches_shim 'other than RELATIVE' 'int n; int *p = &n; int **f(void) { return &p; }'
catches_shim 'writable sections' 'int n = 1; int *f(void) { return &n; }'
catches_shim 'writable pages' 'char b[20000]; char *f(void) { return b; }'
catches_shim 'executable stack' 'int f(void) { return 1; }' -Wl,-z,execstack
catches_shim 'indirect functions' 'static int g(void) { return 1; } static void *r(void)
	{ return g; } int f(void) __attribute__((ifunc("r")));'
[ $failures -eq 0 ] || exit 1
