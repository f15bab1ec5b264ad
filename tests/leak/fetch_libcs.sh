#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches the libcs of several Debian releases, for libc_versions.sh:
#
#	fetch_libcs.sh DIR [SUITE...]
#
# By apt-get, from the mirror that this machine is set up for, with signatures checked and with
# lists and state of its own: nothing is installed. Each libc is unpacked into DIR/VERSION; what is
# there already stays. LIBC_MIRROR names another mirror, as for releases that were archived.
# Exit status 0 at least one libc is in DIR, 77 none and no mirror can be reached, 99 otherwise.
set -u
LC_ALL=C
export LC_ALL
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

[ $# -ge 1 ] || { echo "usage: $0 DIR [SUITE...]"; exit 99; }
mkdir -p "$1" && DIR=$(cd "$1" && pwd) || exit 99
shift
[ $# -gt 0 ] || set -- bullseye bookworm trixie forky sid experimental

skip() {
	echo "SKIP: $*"
	exit 77
}

for program in apt-get dpkg-deb; do
	command -v "$program" >/dev/null || skip "no $program"
done
# shellcheck disable=SC2016
MIRROR=${LIBC_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' \
	'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian //p' | grep -v security | head -n 1)}
[ -n "$MIRROR" ] || skip "apt-get knows no Debian mirror"
[ -r "$KEYS" ] || skip "no keys of Debian's archive"

WORK=$(mktemp -d "${TMPDIR:-/tmp}/memattach-libcs.XXXXXX") || exit 99
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' HUP INT PIPE TERM
mkdir -p "$WORK/state/lists/partial" "$WORK/cache/archives/partial" "$WORK/package"

# apt COMMAND...: apt-get with nothing of the system's but its methods and keys.
apt() {
	apt-get -qq -o Dir::Etc::SourceList="$WORK/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State="$WORK/state" -o Dir::State::status="$WORK/state/status" \
		-o Dir::Cache="$WORK/cache" -o Acquire::Languages=none -o APT::Architecture=amd64 \
		-o Acquire::Check-Valid-Until=false -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=20 -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root "$@"
}

# fetch SUITE: its libc, into DIR/VERSION.
fetch() {
	echo "deb [signed-by=$KEYS] $MIRROR $1 main" >"$WORK/sources.list"
	rm -rf "$WORK/state/lists" "$WORK"/package/*
	mkdir -p "$WORK/state/lists/partial"
	: >"$WORK/state/status"
	apt update >"$WORK/log" 2>&1 && (cd "$WORK/package" && apt download libc6) \
		>>"$WORK/log" 2>&1 || return 1
	for package in "$WORK"/package/libc6_*.deb; do
		version=$(dpkg-deb -f "$package" Version) || return 1
		echo "$1: $version"
		[ -e "$DIR/$version/usr" ] || dpkg-deb -x "$package" "$DIR/$version" || return 1
	done
}

for suite; do
	fetch "$suite" || { echo "$suite: not fetched"; tail -n 2 "$WORK/log"; }
done
for libc in "$DIR"/*/usr; do
	[ -e "$libc" ] && exit 0
done
skip "no libc could be fetched"
