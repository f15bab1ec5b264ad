#!/bin/sh
# SPDX-License-Identifier: MIT
# packaging/deps/install-missing asks for the packages of a tier that are not there, by the names of
# the machine's package manager, and for one that stands behind a command only where that command is
# missing. The commands that it calls are ours here: nothing is installed, nothing outside the
# test's folder touched.
. "$(dirname "$0")/lib.sh"

# stub NAME: a command in a folder that comes first in the path, its text from the standard input.
mkdir "$WORK/bin" "$WORK/deps" || exit 99
stub() {
	{ echo '#!/bin/sh'; cat; } >"$WORK/bin/$1"
	chmod 755 "$WORK/bin/$1"
}
stub id <<'END'
echo ${STUB_UID:-1000}
END
stub sudo <<'END'
exit 1
END
# Managers: what they are told goes to $WORK/told; what is there and to be had are two files.
for name in apt-get dnf pacman apk zypper; do
	stub "$name" <<END
echo "$name \$*" >>"$WORK/told"
case "\$*" in
"info -e "* | "-T "*) for package; do :; done; grep -qx "\$package" "$WORK/installed"; exit ;;
*repoquery* | "search -qe "*) printf '%s\n' "\$@" | grep -xFf "$WORK/known" ;;
"-Si "*) printf '%s\n' "\$@" | grep -xFf "$WORK/known" | sed 's/^/Name            : /' ;;
*"search -x"*) printf '%s\n' "\$@" | grep -xFf "$WORK/known" | sed 's/.*/  | & | text | package/' ;;
esac
exit 0
END
done
stub apt-cache <<END
printf '%s\n' "\$@" | grep -xFf "$WORK/known" | sed 's/^/Package: /'
END
stub dpkg-query <<END	# the last argument is the package
for package; do :; done
grep -qx "\$package" "$WORK/installed" && echo installed
END
stub rpm <<END
for package; do :; done
grep -qx "\$package" "$WORK/installed"
END
stub crb </dev/null
stub have-command </dev/null
cp "$SRCDIR/packaging/deps/install-missing" "$WORK/deps/" || exit 99
# nobody's policy is changed
sed -i "s|^policy=.*|policy=$WORK/policy-rc.d|" "$WORK/deps/install-missing"

# asked TIER...: STATUS, and in ASKED the packages of the line that it says to run.
asked() {
	: >"$WORK/told"
	(PATH=$WORK/bin:$PATH OS_RELEASE=$WORK/os-release STUB_UID=${AS:-1000} &&
		export OS_RELEASE STUB_UID && sh "$WORK/deps/install-missing" "$@") \
		>"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
	ASKED=$(sed -n 's/.*apt-get install -y --no-install-recommends //p' "$ERRORS")
}

# system LINE...: what /etc/os-release says.
system() { printf '%s\n' "$@" >"$WORK/os-release"; }

cat >"$WORK/deps/packages.txt" <<'END'
# a comment
release	apt	debian-12
release	apt	debian-forky
release	apt	ubuntu-24.04
release	dnf	fedora
release	dnf	rhel-9
release	pacman	arch
release	apk	alpine
release	zypper	opensuse-leap
# tier	apt	dnf	pacman	apk	zypper
build	one	one-rpm	one	one-apk,more-apk	one-zyp
build	three	three-rpm	-	three	three
test	two	two-rpm	two	two	two
test	have-command|four	-	-	-	-
test	no-such-command|five	-	-	-	-
test	no-such-command|one	-	-	-	-
test	new/old	-	-	-	-
test	seven	-	-	-	-
END
printf '%s\n' one two three four five old seven one-rpm three-rpm one-apk more-apk one-zyp \
	>"$WORK/known"
printf 'one\ntwo\n' >"$WORK/installed"

system ID=debian VERSION_ID='"12"'
asked build test
expect "$STATUS" 1 "exit status where packages can't be installed"
expect "$(echo $ASKED)" "three five old seven" "what is asked for"
! grep -q 'no package list' "$ERRORS" || fail "a release that is listed: $(cat "$ERRORS")"
asked build
expect "$(echo $ASKED)" "three" "what is asked for to build"
printf 'three\nfive\nseven\nnew\n' >>"$WORK/installed"	# of two names the other
asked build test
expect "$STATUS" 0 "exit status where all is there"
[ ! -s "$ERRORS" ] || fail "something is said: $(cat "$ERRORS")"
rm "$WORK/bin/have-command"
asked test
expect "$(echo $ASKED)" "four" "what is asked for without the command"
asked more
expect "$STATUS" 2 "exit status of a list that there is not"
! grep -q install "$WORK/told" || fail "packages are installed: $(cat "$WORK/told")"

# installs MANAGER-LINE: as root, what it tells the manager at the end.
installs() {
	AS=0
	printf 'nothing\n' >"$WORK/installed"
	asked build
	AS=1000
	expect "$STATUS" 0 "exit status as root: $(cat "$ERRORS")"
	expect "$(tail -n 1 "$WORK/told")" "$1" "what the manager is told"
}
installs "apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends one three"
[ ! -e "$WORK/policy-rc.d" ] || fail "servers may not start after it"

# By family; one of the names is in no package there, which is said.
system ID=fedora VERSION_ID=41
installs "dnf install -y --setopt=install_weak_deps=False one-rpm three-rpm"
system ID='"rocky"' 'ID_LIKE="rhel centos fedora"' VERSION_ID='"9.4"'
installs "dnf install -y --setopt=install_weak_deps=False one-rpm three-rpm"
grep -q '^dnf install -y epel-release' "$WORK/told" || fail "no EPEL: $(cat "$WORK/told")"
! grep -q 'no package list' "$ERRORS" || fail "RHEL's kin: $(cat "$ERRORS")"
system ID=arch
installs "pacman -S --needed --noconfirm one"
system ID=alpine VERSION_ID=3.20.1
printf 'three\n' >"$WORK/left"
grep -vx three "$WORK/known" >"$WORK/fewer" && mv "$WORK/fewer" "$WORK/known"
installs "apk add one-apk more-apk"
grep -q 'no package of: three' "$ERRORS" || fail "not said: $(cat "$ERRORS")"
system ID=opensuse-leap VERSION_ID=15.6
installs "zypper --non-interactive install --no-recommends one-zyp"

# nearest NAME LINE...: the release whose names are tried on a system that is not listed.
nearest() {
	name=$1
	shift
	system "$@"
	asked build
	grep -q "no package list for .*: the names of $name are tried" "$ERRORS" ||
		fail "$*: $(cat "$ERRORS")"
}
nearest debian-12 ID=debian VERSION_ID=11
nearest debian-12 ID=debian VERSION_ID=14
nearest debian-forky ID=debian VERSION_CODENAME=duke
nearest ubuntu-24.04 ID=ubuntu VERSION_ID=26.04
nearest ubuntu-24.04 ID=linuxmint 'ID_LIKE="ubuntu debian"' VERSION_ID=22
system ID=debian VERSION_CODENAME=forky
asked build
! grep -q 'no package list' "$ERRORS" || fail "forky is listed: $(cat "$ERRORS")"

# A system of no family that has none of the managers.
rm "$WORK/bin/apt-get" "$WORK/bin/dnf" "$WORK/bin/pacman" "$WORK/bin/apk" "$WORK/bin/zypper"
mkdir "$WORK/few" && for name in awk cut dirname grep sed sh cat tr; do
	ln -s "$(command -v "$name")" "$WORK/few/$name"
done
system ID=plan9
(PATH=$WORK/bin:$WORK/few OS_RELEASE=$WORK/os-release && export OS_RELEASE &&
	sh "$WORK/deps/install-missing" build) 2>"$ERRORS" || fail "exit status without a manager"
grep -q 'no package list for plan9' "$ERRORS" || fail "not said: $(cat "$ERRORS")"

# The table that is shipped: each row has a name or none for each manager, no name twice in a tier.
shipped=$SRCDIR/packaging/deps/packages.txt
bad=$(awk '/^(build|test|targets)/ && NF != 6; /^release/ && NF != 3' "$shipped")
[ -z "$bad" ] || fail "rows of packages.txt: $bad"
names='[a-zA-Z0-9.+-]+'
awk '/^(build|test|targets)/ { for (i = 2; i <= NF; i++) print $i }' "$shipped" | tr ',/' '\n\n' |
	grep -vE "^($names\|)?$names$" >"$WORK/odd" && fail "odd names: $(cat "$WORK/odd")"
for column in 2 3 4 5 6; do
	expect "$(awk -v c=$column '/^(build|test|targets)/ && $c != "-" { print $c }' "$shipped" |
		tr ',' '\n' | sort | uniq -d)" "" "names twice in column $column"
done
grep -q '^targets	.*	npm|npm' "$shipped" || fail "npm is not wanted"
