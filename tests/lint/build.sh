# SPDX-License-Identifier: MIT
# What the tests that build memattach another way share: a scratch folder ($scratch),
# and in $BUILDDIR/$source what a release contains, so that a tree that is
# configured itself serves too. Both go when the test ends.
# shellcheck shell=sh
: "${BUILDDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/memattach-build.XXXXXX") || exit 99
source=private-source.$$	# distdir takes a path below the build folder only
build_done() {
	chmod -R u+w "$scratch" "$BUILDDIR/$source" 2>/dev/null
	rm -rf "$scratch" "$BUILDDIR/$source"
}
trap build_done EXIT
trap 'exit 1' HUP INT PIPE TERM
unset MAKEFLAGS MAKELEVEL MFLAGS

# Runs a step and shows its output, which is in $scratch/log, only if it fails.
step() {
	"$@" >"$scratch/log" 2>&1 && return
	tail -n 200 "$scratch/log"
	echo "FAIL: $*"
	exit 1
}

# configure_private OPTIONS...: a configured tree in $scratch/build, where it leaves the shell.
configure_private() {
	mkdir "$scratch/build" || exit 99
	step make -C "$BUILDDIR" distdir distdir="$source"
	cd "$scratch/build" || exit 99
	step "$BUILDDIR/$source/configure" "$@"
}
