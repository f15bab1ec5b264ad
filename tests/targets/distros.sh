#!/bin/sh
# SPDX-License-Identifier: MIT
# Releases of Debian, each in a root of its own by mmdebstrap: from a copy of the sources, `make`
# installs what it needs by packaging/deps and builds with warnings as errors, by gcc and by clang;
# `make demo` is looked at, and end-to-end tests that need no more are run. Which of the tests'
# packages a release does not have is printed, too. Roots are kept in the build folder. A row each.
# DISTROS: only those releases. COMPILERS: only those. SMOKE: other tests.
. "$(dirname "$0")/../e2e/lib.sh"
needs mmdebstrap chroot unshare tar
is_root || skip "roots of other systems can be made by root alone"
: "${ROOTS:=$BUILDDIR/targets-distros}"
: "${SMOKE:=exact-truth-c exact-truth-cxx exact-truth-threads leaks-running run-command trace-truth
	record-and-report leave-no-trace refuse-states attach-dead-leader}"
mkdir -p "$ROOTS"
problems=0

# made RELEASE: sets ROOT; the name of a release makes its root the first time.
made() {
	ROOT=$ROOTS/$1
	[ ! -e "$ROOT/made" ] || return 0
	rm -rf "$ROOT"
	# A mirror that stands still for a while has lists that are said to be out of date.
	mmdebstrap --quiet --variant=apt --include=make,ca-certificates \
		--aptopt='Acquire::Check-Valid-Until "false"' "$1" "$ROOT" \
		>"$WORK/mmdebstrap" 2>&1 </dev/null || return 1
	cp -L /etc/resolv.conf "$ROOT/etc/"
	touch "$ROOT/made"
}

# inside COMMAND...: in ROOT, with its own /proc and mounts, processes that end with it.
inside() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" &&
		mount --bind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" &&
		root=$0 && exec chroot "$root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$ROOT" "$@" </dev/null
}

# The sources as git has them, where it has: nothing that was built here.
sources() {
	rm -rf "$ROOT/src" && mkdir "$ROOT/src" || return 1
	if git -C "$SRCDIR" rev-parse HEAD >/dev/null 2>&1; then
		(cd "$SRCDIR" && git ls-files -z | xargs -0 tar -cf -) | tar -xf - -C "$ROOT/src"
	else
		(cd "$SRCDIR" && tar --exclude="$ROOTS" -cf - .) | tar -xf - -C "$ROOT/src"
	fi
}

# step NAME COMMAND...: in the root's sources; what it says is kept in NAME.log of the root.
step() {
	step_name=$1
	shift
	inside sh -c 'cd /src && exec "$@"' sh "$@" >"$ROOT/$step_name.log" 2>&1
}

# smoke COMPILER: so many of the tests passed, of so many.
smoke() {
	# shellcheck disable=SC2086 # words
	step "smoke-$1" make -C tests/e2e check TESTS="$(printf '%s.sh ' $SMOKE)"
	results=$ROOT/src/tests/e2e
	passed=$(cat "$results"/*.trs 2>/dev/null | grep -c '^:test-result: PASS')
	all=$(echo $SMOKE | wc -w)
	echo "$passed of $all"
	[ "$passed" -eq "$all" ]
}

# built RELEASE COMPILER CXX: prints its row, and counts what is wrong.
built() {
	build=fails demo=- smoke=-
	sources || fail "no copy of the sources"
	if step "build-$2" make CONFIGURE_FLAGS="--enable-werror CC=$2 CXX=$3"; then
		build='no warning'
		demo=fails
		! step "demo-$2" make demo || ! grep -q 'LEAK SUMMARY definitely lost: [1-9]' \
			"$ROOT/demo-$2.log" || demo='right, left pristine'
		grep -q 'left pristine' "$ROOT/demo-$2.log" || demo=fails
		step "programs-$2" make check-programs || build='tests fail to build'
		smoke=$(smoke "$2") || problems=$((problems + 1))
	fi
	case "$build $demo" in "no warning right"*) ;; *) problems=$((problems + 1)) ;; esac
	compiler=$(inside "$2" --version | sed -n '1s/.*[^0-9.]\([0-9]*\.[0-9.]*\).*/\1/p')
	libc=$(inside dpkg-query -W -f='${Version}' libc6)
	echo "| $1 | $2 $compiler | $libc | $build | $demo | $smoke |"
}

note "| release | compiler | glibc | build | make demo | tests |"
note "|---|---|---|---|---|---|"
for name in ${DISTROS:-bookworm trixie forky sid}; do
	if ! made "$name"; then
		note "| $name | | | no root: $(tail -n 1 "$WORK/mmdebstrap") | | |"
		problems=$((problems + 1))
		continue
	fi
	sources
	step lists apt-get -q update
	step packages sh packaging/deps/install-missing build
	step compilers apt-get install -y --no-install-recommends clang
	for compiler in ${COMPILERS:-gcc clang}; do
		case $compiler in
		gcc) built "$name" gcc g++ ;;
		*) built "$name" clang clang++ ;;
		esac
	done
	step unknown sh packaging/deps/install-missing --unknown build test targets
	unknown=$(tail -n 1 "$ROOT/unknown.log")
	note "$name, names without a package: ${unknown:-none}"
done
[ "$problems" -eq 0 ] || fail "$problems problems; the logs are in $ROOTS"
