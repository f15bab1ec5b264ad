# SPDX-License-Identifier: MIT
# The inputs that are kept in the sources, for scripts that run fuzzers.
# shellcheck shell=sh disable=SC2154

# corpus_unpack NAME FOLDER: into FOLDER/NAME, which is there afterwards, empty if none are kept.
corpus_unpack() {
	mkdir -p "$2/$1"
	[ ! -f "$SRCDIR/tests/fuzz/corpus/$1.tar.xz" ] ||
		tar -C "$2" -xJf "$SRCDIR/tests/fuzz/corpus/$1.tar.xz"
}
