# SPDX-License-Identifier: MIT
# Packages of npm that tests use. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# npm_modules FOLDER NAME: what $SRCDIR/FOLDER/package-lock.json names, made once for all tests of
# this build in a folder NAME-... of it. Sets MODULES; false where it can't be had.
npm_modules() {
	command -v npm >/dev/null 2>&1 || { note "npm is not installed"; return 1; }
	npm_lock=$(sha256sum "$SRCDIR/$1/package-lock.json" | cut -c 1-16)
	MODULES=$BUILDDIR/$2-$npm_lock
	[ ! -d "$MODULES" ] || return 0
	npm_made=$(mktemp -d "$BUILDDIR/$2.XXXXXX") || return 1
	for npm_file in .npmrc package.json package-lock.json; do
		cp "$SRCDIR/$1/$npm_file" "$npm_made/" || return 1
	done
	if (cd "$npm_made" && timeout 100 npm ci >npm.out 2>&1); then
		# Another test may have been faster.
		mv -T "$npm_made" "$MODULES" 2>/dev/null || rm -rf "$npm_made"
		return 0
	fi
	note "npm ci: $(tail -n 1 "$npm_made/npm.out")"
	rm -rf "$npm_made"
	return 1
}

# readers_modules: ajv, speedscope and what drives a browser. Sets MODULES, or skips the test.
readers_modules() {
	needs node
	npm_modules tests/e2e/readers reader-packages ||
		skip "the packages of tests/e2e/readers can't be installed"
}

# Sets BROWSER, or skips the test.
browser() {
	BROWSER=$(command -v chromium || command -v chromium-browser) ||
		skip "chromium is not installed"
}
