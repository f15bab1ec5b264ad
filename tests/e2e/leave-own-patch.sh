#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that patches its code while it is watched, in a page that memattach has patched as well:
# what it wrote stays, by both loaders and by a cleanup; all else is as it was.
. "$(dirname "$0")/lib.sh"
needs jq

# begin LOADER: a program, watched.
begin() {
	victim own ownpatch
	page=$(sed -n 's/^where ok \([0-9a-f]*\) .*/\1/p' "$WORK/own.out")
	[ -n "$page" ] || skip "no function of this libc lies beside one that is hooked"
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" $EXACT --json --loader="$1"
	attach_await "$VICTIM"
}

patches() {
	tell own p
	answer own patch
}

# left [--own=ADDRESS]: nothing is left but what the program wrote itself.
left() {
	"$TOOLS/ringwatch" "$VICTIM" gone 0 >"$WORK/ringwatch" || fail "something is still mapped"
	checked own
	pristine_check "$VICTIM" "$@"
}

# The page is a copy still, and the only one.
kept() {
	left --own="$page"
	! "$TOOLS/pristine" compare "$VICTIM" "$WORK/pristine.$VICTIM" >"$WORK/pristine.out" ||
		fail "the page that the program wrote to is the file's"
	grep -q '^1 differences: 1 pages of code of .* private copies, 0 before$' \
		"$WORK/pristine.out" || fail "$(cat "$WORK/pristine.out")"
}

# detached LOADER: as ever, to who asks memattach.
detached() {
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect .session.loader "$1"
}

for loader in map dlopen; do
	note "$loader"
	begin "$loader"
	patches
	detached "$loader"
	kept
	ended own

	note "$loader, taken back"
	begin "$loader"
	patches
	tell own u
	answer own undo
	detached "$loader"
	left
	ended own

	note "$loader, memattach killed"
	begin "$loader"
	attach_kill
	patches
	cleaned_up "$VICTIM"
	kept
	ended own
done
