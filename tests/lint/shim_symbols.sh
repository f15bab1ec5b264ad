#!/bin/sh
# SPDX-License-Identifier: MIT
# The built shim needs nothing from the process it is put into: no undefined
# symbol, no thread-local storage, no constructor, no other library; its only
# relocations are RELATIVE, and its only writable memory is its .bss page and
# what the dynamic loader itself writes to.
# shellcheck disable=SC2016 # awk programs
. "$(dirname "$0")/lib.sh"
shim=${SHIM:-${BUILDDIR:-$SRCDIR}/inject/shim/memattach-shim.so}
: "${READELF:=readelf}"
[ -f "$shim" ] || { echo "$shim is not built"; exit 1; }

# Lines of readelf's output for options $1 that match the awk condition $2 are problems: $3.
forbid() {
	found=$($READELF -W "$1" "$shim" | awk "$2")
	[ -z "$found" ] || problem "$3:
$found"
}

# Loads of the program header that are writable, in pages of 4 KiB.
writable_pages() {
	$READELF -lW "$shim" | awk '$1 == "LOAD" && / RW/ { print $6 }' |
		while read -r bytes; do echo $(((bytes + 4095) / 4096)); done |
		awk '{ n += $1 } END { print n + 0 }'
}

forbid --symbols '$7 == "UND" && NF >= 8' 'undefined symbols'
forbid --symbols '$4 == "TLS"' 'thread-local symbols'
forbid --symbols '$4 == "IFUNC"' 'indirect functions (resolvers run when it is loaded)'
forbid --segments '$1 == "TLS"' 'a TLS segment'
forbid --segments '$1 == "INTERP"' 'an interpreter'
forbid --segments '/GNU_STACK/ && / RWE /' 'an executable stack'
forbid --segments '$1 == "LOAD" && / RWE /' 'memory both writable and executable'
forbid --sections '/ [.]((preinit|init|fini)_array|ctors|dtors|init|fini) /' 'constructors'
forbid --dynamic '/[(](NEEDED|INIT|FINI|INIT_ARRAY|FINI_ARRAY|PREINIT_ARRAY|TEXTREL)[)]/' \
	'entries of the dynamic section that run or need code'
forbid --relocs '/R_X86_64_/ && !/R_X86_64_RELATIVE/' 'relocations other than RELATIVE'
# The guard's is called writable, as all without contents are; shim_layout.c looks at its rights.
may_be='bss|dynamic|got|got[.]plt|data[.]rel[.]ro[^ ]*|guard'
forbid --sections '/^ *[[]/ && / WA / && !/ [.]('"$may_be"') /' 'writable sections'
pages=$(writable_pages)
[ "$pages" -le 2 ] || problem "$pages writable pages: .bss has one, the loader one at the most"
$READELF -hW "$shim" | grep -q 'Type:  *DYN' || problem 'not a shared object'
verdict
