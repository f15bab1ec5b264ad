#!/bin/sh
# SPDX-License-Identifier: MIT
# The page in the program (packaging/html/report.html) is what its sources make: it names their
# hash, and where npm can get the packages it is built again and has to be the same to the byte.
tests=$(cd "$(dirname "$0")/.." && pwd)
E2E=$tests/e2e
. "$tests/lint/lib.sh"
: "${BUILDDIR:=$SRCDIR}"
page=packaging/html/report.html
note() { echo "$*"; }
. "$E2E/html.sh"

# As build.mjs computes it.
hash_of_sources() (
	cd packaging/html && LC_ALL=C &&
		sha256sum build.mjs package-lock.json package.json src/* | sha256sum | cut -c 1-64
)

# The same page in $1, made anew.
build_page() {
	mkdir "$1" && cp -r packaging/html/build.mjs packaging/html/package.json \
		packaging/html/package-lock.json packaging/html/src "$1" &&
		ln -s "$MODULES/node_modules" "$1/node_modules" &&
		(cd "$1" && node build.mjs page)
}

grep -q "\"resolved\"" packaging/html/package-lock.json &&
	problem "packaging/html/package-lock.json: has addresses of downloads"
grep -q "sources: $(hash_of_sources) " "$page" ||
	problem "$page: not made of the present sources;" \
		"cd packaging/html && npm ci && npm run build"
[ "$problems" -eq 0 ] || verdict
html_modules || { echo "SKIP: not built again, without npm's packages"; exit 77; }
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
build_page "$scratch/html" >"$scratch/out" 2>&1 || problem "build.mjs: $(cat "$scratch/out")"
cmp "$page" "$scratch/html/page" || problem "$page: another one is built"
verdict
