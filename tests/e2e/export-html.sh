#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of export --to=html says what report --json says, and no name can break out of it. It is
# looked at by a browser in export-html-chromium.sh.
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/html.sh"

html_record
"$MEMATTACH" export "$WORK/recording" --to=html -o "$WORK/page.html" 2>"$ERRORS" ||
	fail "export --to=html"
attach report --json "$WORK/recording"
json_expect '.leaks.groups | length > 0' true
python3 "$E2E/check_html.py" "$REPORT" "$WORK/page.html" || fail "the page"

python3 "$E2E/forge_sites.py" "$WORK/recording" 300 5 || fail "forge_sites.py"
"$MEMATTACH" export "$WORK/recording" --to=html >"$WORK/page.html" 2>"$ERRORS" ||
	fail "export of hostile names"
attach report --json "$WORK/recording"
jq -en 'input |
	[.sites[].frames[].function] | any(. and contains("</script>"))' "$REPORT" >/dev/null ||
	fail "no hostile name"
python3 "$E2E/check_html.py" "$REPORT" "$WORK/page.html" || fail "the page with hostile names"
