#!/bin/sh
# SPDX-License-Identifier: MIT
# clang builds all of it, the tests' programs too, without a warning (or gcc, where
# clang is the compiler of the tree under test).
. "$(dirname "$0")/build.sh"
case ${CC:-cc} in *clang*) other_cc=gcc other_cxx=g++ ;; *) other_cc=clang other_cxx=clang++ ;; esac
for program in $other_cc $other_cxx; do
	command -v $program >/dev/null || { echo "SKIP: $program is not installed"; exit 77; }
done

configure_private CC=$other_cc CXX=$other_cxx CFLAGS=-O1 CXXFLAGS=-O1 --enable-werror
step make -j2
step make -j2 check TESTS=
# -Werror turns the compiler's warnings into failures, not the linker's.
if grep -n 'warning:' "$scratch/log"; then
	echo "FAIL: warnings while the tests' programs were built"
	exit 1
fi
