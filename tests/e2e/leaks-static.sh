#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that can't be watched and yet searched for leaks: static ones of glibc without symbols,
# in which no allocator can be hooked, and static ones of musl that handle no signals, in which no
# thread can be borrowed. What is lost equals the victim's own book, and they are left pristine.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/leaky.sh"

VICTIMS=$WORK
sources=$SRCDIR/tests/victims
leaky="$sources/leaky.c $sources/leaky_heaps.c $sources/leaky_threads.c"

# build NAME COMPILER OPTION...: static; fails where that can't be done here.
build() {
	build_name=$1
	shift
	"$@" -static -std=gnu11 -D_GNU_SOURCE -O2 -w -I"$SRCDIR" -pthread -o "$WORK/$build_name" \
		"$sources/leaky_book.c" "$sources/victim.c" >"$WORK/build" 2>&1
}

# refused NAME PATTERN OPTION...: says so in a line, and nothing has changed.
refused() {
	refused_name=$1
	refused_why=$2
	shift 2
	victim leaky "$refused_name" --kind=chain
	pristine_take "$VICTIM"
	attach -p "$VICTIM" "$@"
	expect "$STATUS" 3 "$refused_name: exit status of $*"
	said_one_line "$refused_why"
	pristine_check "$VICTIM" --quiet
	ended leaky
}

# look NAME ALLOCATOR KINDS [OPTION]
look() {
	what="$1 $3 ${4-}"
	LEAKY_OPTIONS=${4-}
	victim leaky "$1" "--kind=$3"
	leaky_look "$2"
	ended leaky
}

# look_at_all NAME ALLOCATOR EXCLUDED [OPTION]: all kinds at once, and alone those that must be.
look_at_all() {
	victim leaky "$1"
	all=$(leaky_kinds kind "$3" | paste -sd , -)
	alone=$(leaky_kinds alone "$3" | sort -u)
	ended leaky
	for kinds in "$all" $alone; do
		[ "$kinds" = "$all" ] || dealt 4 || continue
		look "$1" "$2" "$kinds" ${4+"$4"}
	done
}

tried=0
# A static program opens no libraries.
# shellcheck disable=SC2086
if build glibc $CC -s $leaky "$sources/leaky_place.c"; then
	tried=1
	refused glibc 'no allocator.*--leaks -d 0' -d 1
	look_at_all glibc glibc 'dlopen|none'
	look_at_all glibc glibc 'dlopen|none' --snapshot=stop
fi

# Not in musl: coroutines, and the last bytes of a block that were not asked for.
cat >"$WORK/missing.c" <<-'END'
	int getcontext(void *c) { return c ? -1 : 0; }
	void makecontext(void) {}
	int swapcontext(void) { return -1; }
END
# shellcheck disable=SC2086
if command -v musl-gcc >/dev/null && build musl musl-gcc '-Dpvalloc(bytes)=valloc(bytes)' \
	-DLEAKY_BLOCKS=120000 -Wl,-z,stack-size=1048576 $leaky "$WORK/missing.c"; then
	tried=1
	refused musl 'signal handler.*--snapshot=stop' --leaks -d 0
	refused musl 'signal handler.*--leaks -d 0 --snapshot=stop' -d 1
	look_at_all musl musl 'dlopen|none|coroutine|rounded_end|arenas' --snapshot=stop
	look musl musl arenas --snapshot=stop
fi
[ $tried -eq 1 ] || skip "no static libc to build the victims with"
expect "$wrong" 0 "comparisons that failed"
