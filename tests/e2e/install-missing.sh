#!/bin/sh
# SPDX-License-Identifier: MIT
# packaging/deps/install-missing asks for the packages of a list that are not there, and for one
# that stands behind a command only where that command is missing. The commands that it calls
# are ours here, and refuse: nothing is installed, nothing outside the test's folder touched.
. "$(dirname "$0")/lib.sh"

# stub NAME: a command in a folder that comes first in the path, its text from the standard input.
mkdir "$WORK/bin" "$WORK/deps" || exit 99
stub() {
	{ echo '#!/bin/sh'; cat; } >"$WORK/bin/$1"
	chmod 755 "$WORK/bin/$1"
}
stub id <<'END'
echo 1000
END
stub sudo <<'END'
exit 1
END
stub apt-get <<END
echo "\$@" >>"$WORK/apt"
END
stub dpkg-query <<END	# the last argument is the package
for package; do :; done
grep -qx "\$package" "$WORK/installed" && echo installed
END
stub have-command </dev/null
cp "$SRCDIR/packaging/deps/install-missing" "$WORK/deps/" || exit 99

# asked LIST...: STATUS, and in ASKED the packages of the line that it says to run.
asked() {
	(PATH=$WORK/bin:$PATH && sh "$WORK/deps/install-missing" "$@") >"$REPORT" 2>"$ERRORS" \
		</dev/null
	STATUS=$?
	ASKED=$(sed -n 's/.*apt-get install -y --no-install-recommends //p' "$ERRORS")
}

# shellcheck disable=SC1091 # not a file of ours
system=$(. /etc/os-release && echo "${ID:-unknown}-${VERSION_ID:-unknown}")
printf 'one\ntwo\n' >"$WORK/installed"
printf '# a comment\none\nthree # why\n' >"$WORK/deps/$system.txt"
cat >"$WORK/deps/$system-test.txt" <<'END'
two
have-command|four
no-such-command|five	# why
no-such-command|one
six
END

asked build test
expect "$STATUS" 1 "exit status where packages can't be installed"
expect "$(echo $ASKED)" "three five six" "what is asked for"
asked build
expect "$(echo $ASKED)" "three" "what is asked for to build"
printf 'three\nfive\nsix\n' >>"$WORK/installed"
asked build test
expect "$STATUS" 0 "exit status where all is there"
[ ! -s "$ERRORS" ] || fail "something is said: $(cat "$ERRORS")"
rm "$WORK/bin/have-command"
asked test
expect "$(echo $ASKED)" "four" "what is asked for without the command"
asked more
expect "$STATUS" 2 "exit status of a list that there is not"
rm "$WORK/deps/$system.txt"
asked build
expect "$STATUS" 0 "exit status on a system without a list"
grep -q "no package list for $system" "$ERRORS" || fail "not said: $(cat "$ERRORS")"
[ ! -e "$WORK/apt" ] || fail "apt-get was called: $(cat "$WORK/apt")"

# The lists that are shipped: each line a package, or a command and a package, none twice.
for list in "$SRCDIR"/packaging/deps/*.txt; do
	sed 's/[[:space:]]*#.*//' "$list" | grep -v '^$' >"$WORK/lines"
	! grep -vE '^([a-z0-9.+-]+\|)?[a-z0-9][a-z0-9.+-]+$' "$WORK/lines" ||
		fail "$list: no such line"
	expect "$(sed 's/.*|//' "$WORK/lines" | sort | uniq -d)" "" "packages twice in $list"
done
grep -q '^npm|npm' "$SRCDIR/packaging/deps/debian-12-test.txt" || fail "npm is not wanted"
