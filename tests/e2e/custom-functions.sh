#!/bin/sh
# SPDX-License-Identifier: MIT
# --alloc-fn, --realloc-fn, --free-fn: allocators of a program's own, over blocks of malloc's, that
# are seen beside it. Each allocator's figures equal the victim's own, exact and sampled, by both
# loaders; the blocks of malloc's that they cut up are there as without; what can't be watched is
# refused before anything is touched.
# shellcheck disable=SC2086 # EXACT is options
. "$(dirname "$0")/lib.sh"
needs jq

# figures FUNCTION KIND: of all sites that it called from, as the victim says them.
figures() {
	json '[.sites[] | select(.kind == "'"$2"'") | select([.frames[].function] |
		index("'"$1"'"))] | [length, map(.alloc_count), map(.alloc_bytes), map(.live_count),
		map(.live_bytes)] | "\(.[1] | add // 0) \(.[2] | add // 0) \(.[3] | add // 0) \(
		.[4] | add // 0)"'
}

# watched OPTIONS...: runs the victim's sequence under them, and compares.
watched() {
	victim pools pools
	pristine_take "$VICTIM"
	attach_begin -p "$VICTIM" --json --top 1000 --alloc-fn=linear_take:2 \
		--alloc-fn=pool_get:2 --free-fn=pool_put:2 --alloc-fn=stack_push:2*4 \
		--free-fn=stack_pop:2 --alloc-fn=registers_take:2 \
		--alloc-fn=wrapper_alloc --realloc-fn=wrapper_resize \
		--free-fn=wrapper_free "$@"
	attach_await "$VICTIM"
	tell pools r
	answer pools ran
	attach_end INT
	expect "$STATUS" 0 "exit status"
	json_expect .session.detached pristine
	json_expect '.session.lost | add' 0
	# the hooks are in the way of a function that asks malloc, and nobody's frame
	json_expect '[.sites[].frames[] | "\(.module) \(.function)" |
		select(test("memfd:memattach|memattach-shim| shim_"))] | join(" ")' ""
	for name in use_linear use_pool use_stack use_registers use_wrapper; do
		expect "$(figures $name custom)" \
			"$(sed -n "s/^truth $name //p" "$WORK/pools.out")" "$name, $*"
	done
	# 200 blocks at once, and one more: three chunks of 100, as of malloc
	expect "$(figures pool_grow malloc)" "3 14400 3 14400" "chunks of the pool, $*"
	# what a wrapper asks malloc for is malloc's as well; totals are malloc's alone
	expect "$(figures wrapper_alloc malloc)" "3 241 1 64" "malloc by wrapper_alloc, $*"
	json_expect '.totals.alloc_count == ([.sites[] | select(.kind == "malloc").alloc_count] |
		add)' true
	json_expect '.totals.live_bytes == ([.sites[] | select(.kind == "malloc").live_bytes] |
		add)' true
	json_expect '([.histogram[].count] | add) == .totals.alloc_count' true
	json_expect '[.target.allocators[] | select(.name == "custom") | .hooked[]] | sort |
		join(" ")' "linear_take pool_get pool_put registers_take stack_pop stack_push \
wrapper_alloc wrapper_free wrapper_resize"
	pristine_check "$VICTIM"
	ended pools
}

watched $EXACT
watched $EXACT --stacks=copy --loader=map
watched --sample=1 --on-overflow=block
watched $EXACT --track=malloc

# Functions of C++ that throw; our frame is in the way of exceptions where no unwinder knows it.
get=_ZN12_GLOBAL__N_14Pool3getEm put=_ZN12_GLOBAL__N_14Pool3putEPv
victim cxx pools_cxx
pristine_take "$VICTIM"
attach -p "$VICTIM" -d 1 --loader=map --alloc-fn=$get:2
expect "$STATUS" 3 "exit status of a function that throws by the map loader"
said_one_line "pools_cxx.: may throw; needs the dlopen loader"
attach_begin -p "$VICTIM" --json $EXACT --alloc-fn=$get:2 --free-fn=$put:2
attach_await "$VICTIM"
tell cxx r
answer cxx ran
attach_end INT
expect "$STATUS" 0 "exit status"
expect "$(figures "use_pool()" custom)" \
	"$(sed -n 's/^truth use_pool //p' "$WORK/cxx.out")" "in C++"
pristine_check "$VICTIM"
ended cxx

# By address, and in the text.
victim pools pools
low=$(sed -n 's/^\([0-9a-f]*\)-.* 00000000 .*pools$/\1/p' "/proc/$VICTIM/maps" | head -1)
offset=$(nm "$VICTIMS/pools" | sed -n 's/^\([0-9a-f]*\) T linear_take$/\1/p')
! readelf -h "$VICTIMS/pools" | grep -q 'Type:.*EXEC' || low=0	# there nm tells addresses
address=$(printf '0x%x' $((0x$low + 0x$offset)))
attach_begin -p "$VICTIM" $EXACT --alloc-fn="$address:2"
attach_await "$VICTIM"
tell pools r
answer pools ran
attach_end INT
expect "$STATUS" 0 "exit status"
grep -A1 "allocator custom in .*pools, 1 entry points hooked" "$REPORT" | grep -q "$address" ||
	fail "$(cat "$REPORT")"
grep -q 'live in 500 custom blocks' "$REPORT" || fail "no site of it: $(cat "$REPORT")"

# refused STATUS PATTERN OPTION...
refused() {
	refused_status=$1 refused_why=$2
	shift 2
	pristine_take "$VICTIM"
	attach -p "$VICTIM" -d 1 "$@"
	expect "$STATUS" "$refused_status" "exit status of $*"
	grep -q "$refused_why" "$ERRORS" || fail "$*: $(cat "$ERRORS")"
	pristine_check "$VICTIM" --quiet
}
refused 3 'no function no_such_function' --alloc-fn=no_such_function
refused 3 'or it is hooked already' --alloc-fn=malloc
refused 3 '0x10: \|no function 0x10' --alloc-fn=0x10
refused 2 'NAME:SIZE' --alloc-fn=pool_get:0
refused 2 'NAME:SIZE' --alloc-fn=pool_get:2x
refused 2 'NAME:BLOCK,SIZE' --realloc-fn=wrapper_resize:1
refused 2 'NAME:BLOCK' --alloc-fn=pool_get --free-fn=pool_put:7
refused 2 'name is missing' --alloc-fn=:2
refused 2 'given twice' --alloc-fn=pool_get:2 --free-fn=pool_get
refused 2 'name that function, too' --free-fn=pool_put
refused 2 'does not go with' --counts --alloc-fn=pool_get
ended pools
