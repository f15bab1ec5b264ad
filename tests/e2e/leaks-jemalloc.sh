#!/bin/sh
# SPDX-License-Identifier: MIT
# What is lost in programs that run with jemalloc, from before the attach: it equals the victim's
# own book, block by block, kind by kind, to the byte, and the sum of all equals jemalloc's
# own. Then a real redis, which Debian links with it.
TEST_LIMIT=${TEST_LIMIT:-400}
. "$(dirname "$0")/lib.sh"
needs jq python3 "${CC%% *}"
. "$E2E/leaky.sh"
. "$E2E/servers.sh"

library=$(find /usr/lib -name 'libjemalloc.so.2' 2>/dev/null | sort | head -n 1)
[ -n "$library" ] || skip "libjemalloc is not installed"
is_known_jemalloc "$library" || skip "libjemalloc is not 5.3.0"

sources=$SRCDIR/tests/victims
# pvalloc: not in jemalloc, glibc's is called. The others rely on glibc's layout: the byte behind a
# block is another's first here; new[] is told by a size that is not rounded up far; which
# block of a cycle leads is a matter of their order.
excluded='pvalloc|interior|new_array|containers'

compile() {
	compile_name=$1
	shift
	$CC -std=gnu11 -D_GNU_SOURCE -g -O2 -w -I"$SRCDIR" -pthread -o "$WORK/$compile_name" "$@" \
		-ldl || fail "can't build $compile_name"
}

# start PROGRAM [OPTION]...: with jemalloc.
start() {
	export LD_PRELOAD="$library"
	[ -z "${CONF-}" ] || export MALLOC_CONF="$CONF"
	victim leaky "$@"
	unset LD_PRELOAD MALLOC_CONF
}

# look_on PROGRAM KINDS: leaves the victim running.
look_on() {
	what="$1 $2 ${CONF-}"
	start "$1" "--kind=$2"
	leaky_look jemalloc --by-size
}

look() {
	look_on "$@"
	ended leaky
}

# kinds PROGRAM WORD: those so marked, separated by commas.
kinds() {
	start "$1"
	leaky_kinds "$2" "$excluded" | paste -sd , -
	ended leaky
}

# The caches of threads are jemalloc's own blocks: each has one of 28,672 bytes.
try_sum() {
	look_on leaky_jemalloc sum
	sum=$(sed -n 's/^allocated //p' "$WORK/leaky.out")
	expect "$(json '.leaks.heaps[0].live_bytes + 28672')" "$sum" "jemalloc's own sum"
	ended leaky
}

try_victims() {
	cp "$VICTIMS/leaky_cxx" "$WORK"
	VICTIMS=$WORK
	# sizes that are classes, for blocks that must have nothing behind their end
	compile leaky '-DEXACT(n)=((n) * 16 / 64 * 64 + 64)' "$sources/leaky.c" \
		"$sources/leaky_heaps.c" "$sources/leaky_threads.c" "$sources/leaky_book.c" \
		"$sources/victim.c"
	compile leaky_jemalloc -DLEAKY_BLOCKS=120000 "$sources/leaky_jemalloc.c" \
		"$sources/leaky_book.c" "$sources/victim.c"
	compile leaky_plug.so -shared -fPIC "$sources/leaky_plug.c"
	for program in leaky leaky_cxx leaky_jemalloc; do
		all=$(kinds $program kind) || fail "$all"
		alone=$(kinds $program alone) || fail "$alone"
		look $program "$all"
		for kind in $(echo "$alone" | tr , ' '); do
			[ "$kind" = sum ] || ! dealt 16 || look $program "$kind"
		done
	done
	try_sum
	for CONF in tcache:false background_thread:true,narenas:2 percpu_arena:percpu \
		tcache_max:4096,slab_sizes:1-128:4 tcache_max:1048576,dirty_decay_ms:0; do
		! dealt 4 || look leaky_jemalloc classes,large,crossed,by_hand
	done
	CONF=
}

redis_info() {
	redis-cli -p "$REDIS_PORT" info memory | tr -d '\r' | sed -n "s/^$1://p"
}

# redis: what is live is what jemalloc says, within what comes and goes meanwhile.
try_redis() {
	redis_start
	redis-cli -p "$REDIS_PORT" eval "for i = 1, 100000 do
		redis.call('set', 'key' .. i, string.rep('x', 100)) end" 0 >"$WORK/filled" 2>&1
	expect "$(redis-cli -p "$REDIS_PORT" dbsize)" 100000 "redis: keys ($(cat "$WORK/filled"))"
	[ "$1" = idle ] || redis_load
	pristine_take "$VICTIM"
	leaky_search
	pristine_check "$VICTIM"
	said=$(redis_info allocator_allocated)
	json_valid
	json_expect .leaks.covers_older_blocks true
	json_expect '[.leaks.heaps[].allocator] | join(" ")' jemalloc
	live=$(json '.leaks.heaps[0].live_bytes')
	count=$(json '.leaks.heaps[0].live_count')
	note "redis, $1: $count blocks, $live bytes; jemalloc says $said;" \
		"$(json .leaks.definitely_lost.count) definitely," \
		"$(json .leaks.possibly_lost.count) possibly lost"
	# three a key: the entry, the key and the value
	[ "$count" -ge 300000 ] || fail "redis has more blocks than that"
	if [ "$1" = idle ]; then
		# blocks in threads' caches are allocated for jemalloc
		[ $((live - said)) -lt $((said / 50)) ] &&
			[ $((said - live)) -lt $((said / 20)) ] ||
			fail "redis: jemalloc says something else"
	fi
	json_expect .leaks.definitely_lost.count 0
	# its strings are held by their middle
	json_expect '.leaks.possibly_lost.count < 1000' true
	expect "$STATUS" 0 "redis: exit status"
	[ "$1" = idle ] || redis_load_end
	redis-cli -p "$REDIS_PORT" shutdown nosave >/dev/null 2>&1
	await 20 is_gone "$VICTIM" || fail "redis does not end"
}

try_victims
expect "$wrong" 0 "comparisons that failed"
if command -v redis-server >/dev/null 2>&1; then
	try_redis idle
	try_redis "under load"
fi
