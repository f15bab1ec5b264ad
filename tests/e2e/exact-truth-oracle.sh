#!/bin/sh
# SPDX-License-Identifier: MIT
# The victims' own books agree with an independent count at the allocator's symbols.
# Without this, a mistake in a victim's books would be taken for the truth.
. "$(dirname "$0")/lib.sh"
needs jq
for victim in truth_c truth_cxx "truth_threads --threads=4" "truth_sites 32 5"; do
	# shellcheck disable=SC2086
	printf 'gq' | LD_PRELOAD=$TOOLS/oracle.so "$VICTIMS"/$victim >"$WORK/out" 2>"$WORK/err" ||
		fail "$victim: status $?"
	sed -n 's/^oracle //p' "$WORK/err" | jq -S . >"$WORK/oracle"
	[ -s "$WORK/oracle" ] || fail "$victim: the oracle said nothing"
	sed -n 's/^truth //p' "$WORK/out" | jq -S '.totals | del(.temporary_count)' >"$WORK/truth"
	if ! grep -q '"peaks":true' "$WORK/out"; then
		sed -i '/peak_live_bytes/d' "$WORK/oracle" "$WORK/truth"
	fi
	diff "$WORK/oracle" "$WORK/truth" || fail "$victim"
done
