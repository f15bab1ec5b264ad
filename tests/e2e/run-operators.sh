#!/bin/sh
# SPDX-License-Identifier: MIT
# Every form of operator new and delete is counted, call by call, under each allocator that has its
# own: preloaded, linked as a library and linked as an archive, from the program's first call on.
# Attached by the map loader, which can't hook what throws, the report names what it does not see.
. "$(dirname "$0")/lib.sh"
needs jq "${CXX%% *}"
cat >"$WORK/program.cc" <<'END'
#include <cstdlib>
#include <new>
#include <unistd.h>
#define EACH(number, get, release) p = get; p = seen(p, number), release
static void *volatile p;
static std::size_t calls[12];
static void *seen(void *block, int number)
{
	calls[number]++;
	return block;
}
static const std::align_val_t align{64};
static const std::nothrow_t &quiet = std::nothrow;
__attribute__((noinline)) static void work(int rounds)
{
	std::size_t size = 192;
	while (rounds-- > 0) {
		EACH(0, ::operator new(size), ::operator delete(p));
		EACH(1, ::operator new[](size), ::operator delete[](p));
		EACH(2, ::operator new(size, quiet), ::operator delete(p, quiet));
		EACH(3, ::operator new[](size, quiet), ::operator delete[](p, quiet));
		EACH(4, ::operator new(size, align), ::operator delete(p, align));
		EACH(5, ::operator new[](size, align), ::operator delete[](p, align));
		EACH(6, ::operator new(size, align, quiet), ::operator delete(p, align, quiet));
		EACH(7, ::operator new[](size, align, quiet), ::operator delete[](p, align, quiet));
		EACH(8, ::operator new(size), ::operator delete(p, size));
		EACH(9, ::operator new[](size), ::operator delete[](p, size));
		EACH(10, ::operator new(size, align), ::operator delete(p, size, align));
		EACH(11, ::operator new[](size, align), ::operator delete[](p, size, align));
	}
}
int main(int argc, char **)
{
	char command;
	if (argc > 1) {	/* attached: the work is done when it is asked for */
		free(malloc(1));
		if (write(1, "ready\n", 6) != 6 || read(0, &command, 1) != 1) return 9;
	}
	work(100);
	if (argc > 1 && (write(1, "done\n", 5) != 5 || read(0, &command, 1) != 1)) return 9;
	for (std::size_t count : calls)
		if (count != 100) return 8;
	return 0;
}
END

# compiled NAME [FLAGS]
compiled() {
	compiled_name=$1
	shift
	# shellcheck disable=SC2086
	$CXX -std=c++17 -g -O1 -w -fno-builtin -fno-allocation-dce -pthread \
		-o "$WORK/$compiled_name" "$WORK/program.cc" "$@" 2>"$ERRORS"
}

# counted WHAT: twelve lines of work(), each with a hundred blocks asked for and given back.
counted() {
	expect "$STATUS" 0 "exit status ($1)"
	json_valid
	expect "$(json '[.sites[] | select(.kind == "malloc") |
		{line: (.frames[] | select((.function // "") | startswith("work(")) | .line),
		 alloc_count, alloc_bytes, free_count}] | group_by(.line) |
		map([map(.alloc_count), map(.alloc_bytes), map(.free_count)] | map(add)) |
		[length, (unique | tostring)] | tostring')" '[12,"[[100,19200,100]]"]' \
		"lines, and [calls, bytes, frees] of each ($1)"
	json_expect .totals.free_unknown_count 0
	tried=$((tried + 1))
}

# operators WHAT PRELOAD PROGRAM
operators() {
	LD_PRELOAD=$2 timeout 60 "$MEMATTACH" run $EXACT --json -- "$WORK/$3" \
		>"$REPORT" 2>"$ERRORS" </dev/null
	STATUS=$?
	counted "$1"
}

# mapped LIBRARY: all twelve were counted, or the report says that events are missing, and which.
mapped() {
	background program env LD_PRELOAD="$1" "$WORK/program" attached
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 60 grep -q '^ready' "$WORK/program.out" || fail "the program does not start"
	pristine_take "$VICTIM"
	rm -f "$WORK/recording"
	attach_begin -p "$VICTIM" $EXACT --loader=map -o "$WORK/recording"
	attach_await "$VICTIM"
	tell program g
	await 60 grep -q '^done' "$WORK/program.out" || fail "the program does not work"
	attach_end INT
	expect "$STATUS" 0 "exit status by map ($1)"
	pristine_check "$VICTIM"
	ended program
	attach report "$WORK/recording"
	cp "$REPORT" "$WORK/text"
	attach report --json "$WORK/recording"
	json_valid
	json_expect .session.loader map
	if [ "$(json .session.partial)" = false ]; then
		counted "$1 by map"
		return
	fi
	! grep -q 'exact: every event' "$WORK/text" || fail "exact: $(cat "$WORK/text")"
	# Others that share its address are named by it.
	json '.target.allocators[].unhooked[]' | grep -F 'operator new(size_t) (' |
		grep -q 'may throw; needs the dlopen loader' ||
		fail "$1: operator new is not named: $(json .target.allocators)"
	grep -qF 'operator new(size_t)' "$WORK/text" ||
		fail "$1: the text does not name operator new: $(cat "$WORK/text")"
}

tried=0
compiled program || fail "compiling: $(cat "$ERRORS")"
operators "glibc and libstdc++" "" program
tried=0
for library in libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4; do
	[ -z "$(LD_PRELOAD=$library true 2>&1)" ] || continue
	note "$library"
	operators "$library, preloaded" "$library" program
	compiled linked -Wl,--no-as-needed "-l:$library" && operators "$library, linked" "" linked
	mapped "$library"
	archive=$($CXX -print-file-name="${library%.so*}.a")
	[ "$archive" != "${library%.so*}.a" ] && compiled inside "$archive" -ldl &&
		operators "${archive##*/}, inside" "" inside
done
[ "$tried" -gt 0 ] || skip "no allocator with operators of its own is installed"
