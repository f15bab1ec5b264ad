#!/bin/sh
# SPDX-License-Identifier: MIT
# Names, lines and inlined functions are the same in whatever form a file has its debug information:
# compressed by zlib in both forms and by zstd, in .dwo files, shared by dwz. Where a file that it
# refers to is missing, that is said, in the process that is asked and in its child.
. "$(dirname "$0")/lib.sh"
needs objcopy readelf nm dwz

cd "$WORK" || exit 99
cat >inlined.c <<'END'
#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int x) { return rand() + x; }
__attribute__((noinline)) static int middle(int x) { return inner(x) * 2 + rand(); }
int main(int count, char **words) { return words ? middle(count) + 1 : 0; }
END
$CC -g -O1 inlined.c -o plain || fail "no program"

# answers FILE: what addresses of middle() are named, in a child and without one; errors to "said"
answers() {
	start=$(nm "$1" | sed -n 's/ [tT] middle$//p')
	for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
		printf '%x\n' $((0x$start + step))
	done >addresses
	"$TOOLS/symbols" -a "$1" <addresses >in_child 2>said || fail "$1: no names"
	"$TOOLS/symbols" "$1" <addresses >named 2>>said || fail "$1: no names without a child"
	cmp -s named in_child || fail "$1: a child names otherwise"
}

# same_answers FILE: those of plain, without a word
same_answers() {
	answers "$1"
	cmp -s named right || fail "$1: other names: $(diff named right)"
	[ ! -s said ] || fail "$1: $(cat said)"
}

# said_missing FILE WORDS: once by each process
said_missing() {
	answers "$1"
	[ "$(grep -c "$2" said)" = 2 ] || fail "$1: not said that $2: $(cat said)"
}

answers plain
cp named right
grep -q '	inner	' right || fail "inner() is not named: $(cat right)"

for form in zlib zlib-gnu zstd; do
	objcopy --compress-debug-sections=$form plain $form 2>/dev/null || continue
	readelf -SW $form | grep -q 'zdebug_info\|debug_info.* C ' || fail "$form: not compressed"
	same_answers $form
done

cp plain one
cp plain two
dwz -m common one two || fail "dwz"
same_answers one
mv common elsewhere
said_missing one 'file that dwz has made'

$CC -g -O1 -gsplit-dwarf inlined.c -o split || fail "no split program"
answers split
cp named right
grep -q '	inner	' right || fail "inner() of a .dwo file is not named: $(cat right)"
[ ! -s said ] || fail "split: $(cat said)"
rm ./*.dwo
said_missing split 'split files'
