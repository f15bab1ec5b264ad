# SPDX-License-Identifier: MIT
# What the tests of the HTML report share. Sourced after lib.sh.
# shellcheck shell=sh disable=SC2034,SC2154
. "${E2E:-$SRCDIR/tests/e2e}/npm.sh"

# $WORK/recording: of a victim with leaks that are held, and lost, watched exactly.
html_record() {
	victim leaky leaky
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --leaks --json --interval=0.1 -o "$WORK/recording"
	attach_await "$VICTIM"
	tell leaky b
	answer leaky built
	attach_end INT
	pristine_check "$VICTIM"
	ended leaky
}

# html_drive [@MOMENT]: exports $WORK/recording and does with the page what a user would, in
# Chromium.
html_drive() {
	html_of=$WORK/recording${1:-}
	"$MEMATTACH" export "$html_of" --to=html -o "$WORK/page.html" 2>"$ERRORS" ||
		fail "export --to=html"
	note "page: $(($(wc -c <"$WORK/page.html") / 1024)) KiB"
	attach report --json "$html_of"
	expect "$STATUS" 0 "exit status of report"
	mkdir -p "$WORK/profile"
	timeout -k 10 "${BROWSER_LIMIT:-300}" node "$E2E/html_drive.mjs" "$MODULES" "$BROWSER" \
		"$WORK/page.html" "$REPORT" "$WORK/profile" \
		${KEEP_PICTURES:+"$KEEP_PICTURES"} 2>&1 ||
		fail "the page in Chromium"
}

# html_browser: what it takes to open a page, or the test is skipped. Sets BROWSER and MODULES.
html_browser() {
	needs jq python3 node
	browser
	html_modules || skip "playwright-core can't be installed"
}

# html_modules: packaging/html with its packages. Sets MODULES; false where they can't be had.
html_modules() { npm_modules packaging/html html-packages; }
