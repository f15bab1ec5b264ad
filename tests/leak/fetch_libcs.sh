#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches the libcs of several Debian and Ubuntu releases, for libc_versions.sh:
#
#	fetch_libcs.sh DIR [SUITE|ubuntu/SUITE...]
#
# By apt-get, from the mirror that this machine is set up for and from Ubuntu's, with signatures
# checked and with lists and state of its own: nothing is installed. Each libc is unpacked into
# DIR/VERSION; what is there already stays. LIBC_MIRROR and UBUNTU_MIRROR name other mirrors, as for
# releases that were archived. Ubuntu's keys are those of the package ubuntu-keyring, which is taken
# from Debian's mirror if it isn't installed. A source that can't be reached is left out.
# Exit status 0 at least one libc is in DIR, 77 none and no mirror can be reached, 99 otherwise.
set -u
LC_ALL=C
export LC_ALL
DEBIAN_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
UBUNTU_KEYS=/usr/share/keyrings/ubuntu-archive-keyring.gpg
UBUNTU_MIRROR=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
KEYRING_SUITE=trixie	# has the package ubuntu-keyring; bookworm has not

[ $# -ge 1 ] || { echo "usage: $0 DIR [SUITE|ubuntu/SUITE...]"; exit 99; }
mkdir -p "$1" && DIR=$(cd "$1" && pwd) || exit 99
shift
[ $# -gt 0 ] || set -- bullseye bookworm trixie forky sid experimental ubuntu/trusty \
	ubuntu/xenial ubuntu/bionic ubuntu/focal ubuntu/jammy ubuntu/noble ubuntu/questing \
	ubuntu/resolute

skip() {
	echo "SKIP: $*"
	exit 77
}

for program in apt-get dpkg-deb; do
	command -v "$program" >/dev/null || skip "no $program"
done
# shellcheck disable=SC2016
DEBIAN_MIRROR=${LIBC_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' \
	'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian //p' | grep -v security | head -n 1)}

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

# download KEYS MIRROR SUITE PACKAGE: into $WORK/package, which then holds nothing else.
download() {
	echo "deb [signed-by=$1] $2 $3 main" >"$WORK/sources.list"
	rm -rf "$WORK/state/lists" "$WORK"/package/*
	mkdir -p "$WORK/state/lists/partial"
	: >"$WORK/state/status"
	apt -o APT::Update::Error-Mode=any update >"$WORK/log" 2>&1 &&
		(cd "$WORK/package" && apt download "$4") >>"$WORK/log" 2>&1
}

# fetch KEYS MIRROR SUITE: its libc, into DIR/VERSION.
fetch() {
	download "$1" "$2" "$3" libc6 || return 1
	for package in "$WORK"/package/libc6_*.deb; do
		version=$(dpkg-deb -f "$package" Version) || return 1
		echo "$3: $version"
		[ -e "$DIR/$version/usr" ] || dpkg-deb -x "$package" "$DIR/$version" || return 1
	done
}

not_fetched() {
	echo "$1: not fetched"
	tail -n 2 "$WORK/log"
}

fetch_debian() {
	[ -n "$DEBIAN_MIRROR" ] || { echo "$1: apt-get knows no Debian mirror"; return; }
	[ -r "$DEBIAN_KEYS" ] || { echo "$1: no keys of Debian's archive"; return; }
	fetch "$DEBIAN_KEYS" "$DEBIAN_MIRROR" "$1" || not_fetched "$1"
}

# Sets UBUNTU_KEYS to a keyring that can be read.
find_ubuntu_keys() {
	[ ! -r "$UBUNTU_KEYS" ] || return 0
	[ -n "$DEBIAN_MIRROR" ] && [ -r "$DEBIAN_KEYS" ] &&
		download "$DEBIAN_KEYS" "$DEBIAN_MIRROR" "$KEYRING_SUITE" ubuntu-keyring &&
		dpkg-deb -x "$WORK"/package/ubuntu-keyring_*.deb "$WORK/keyring" &&
		UBUNTU_KEYS=$WORK/keyring$UBUNTU_KEYS && [ -r "$UBUNTU_KEYS" ]
}

fetch_ubuntu() {
	find_ubuntu_keys || { echo "$1: no keys of Ubuntu's archive"; return; }
	fetch "$UBUNTU_KEYS" "$UBUNTU_MIRROR" "$1" || not_fetched "$1"
}

for suite; do
	case $suite in
	ubuntu/*) fetch_ubuntu "${suite#ubuntu/}" ;;
	*) fetch_debian "$suite" ;;
	esac
done
for libc in "$DIR"/*/usr; do
	[ -e "$libc" ] && exit 0
done
skip "no libc could be fetched"
