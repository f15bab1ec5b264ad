#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that nobody prepared, attached to cold: nothing is called definitely lost that is not.
# What may be is explained in docs/LEAKS.md, one by one: as many blocks, and no more.
TEST_LIMIT=${TEST_LIMIT:-300}
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"

looked=0
wrong=0

# look NAME PID KNOWN: of KNOWN blocks we know that and why they are lost.
look() {
	attach -p "$2" --leaks -d 0 --json
	case $STATUS in
	0 | 1) ;;
	3) note "$1: refused: $(cat "$ERRORS")" && return ;;
	4) note "$1: had ended" && return ;;
	*) fail "$1: exit status $STATUS" ;;
	esac
	json_valid
	# Nothing lost among no blocks would say nothing.
	if [ "$(json .leaks.covers_older_blocks)" != true ]; then
		note "$1: not searched, its older blocks are not covered"
		return
	fi
	looked=$((looked + 1))
	is_gone "$2" && fail "$1 is gone"
	lost=$(json .leaks.definitely_lost.count)
	note "$1: $lost definitely, $(json .leaks.possibly_lost.count) possibly lost," \
		"$(json .leaks.still_reachable.count) reachable"
	[ "$lost" -le "$3" ] && return
	wrong=$((wrong + 1))
	note "WRONG: $1: $3 at the most are known:"
	jq -c '.leaks.groups[] | select(.verdict == "definitely-lost") |
		[.count, .bytes, .indirect_count, .type, .addresses[:4]]' "$REPORT"
}

# worth PROGRAM: it is installed, and among those that are taken.
worth() { installed "$1" && dealt 2; }
installed() { command -v "$1" >/dev/null 2>&1 || { note "$1 is not installed"; return 1; }; }

# said NAME: it said that it is ready.
said() { await 60 grep -q ready "$WORK/$1.out" || fail "$1: $(cat "$WORK/$1.err")"; }

try_python() {
	cat >"$WORK/busy.py" <<-END
	import asyncio, ctypes, decimal, email, json, logging, re, sqlite3, ssl, threading, time
	import urllib.request, xml.etree.ElementTree
	base = sqlite3.connect(":memory:")
	base.execute("create table t(a, b)")
	base.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(5000)])
	for _ in range(3):
	    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
	kept = [json.loads(json.dumps({str(i): [i] * 3 for i in range(500)})) for _ in range(20)]
	print("ready", flush=True)
	time.sleep(600)
	END
	background python python3 "$WORK/busy.py"
	said python
	look python3 "$LAST" 0
}

try_perl() {
	worth perl || return 0
	background perl perl -MData::Dumper -MPOSIX -e \
		'my %h; $h{$_} = [$_, "x" x ($_ % 50)] for 1 .. 20000; my $s = Dumper(\%h);
		$s =~ s/1/2/g; $| = 1; print "ready\n"; sleep 600'
	said perl
	look perl "$LAST" 0
}

try_node() {
	worth node || return 0
	background node node -e 'const zlib = require("zlib"); const kept = [];
		require("http").createServer((q, r) => r.end("x")).listen(0, "127.0.0.1");
		for (let i = 0; i < 200; i++) zlib.gzipSync("x".repeat(i * 100));
		for (let i = 0; i < 50000; i++) kept.push({ i });
		console.log("ready"); setTimeout(() => kept, 600000)'
	said node
	look node "$LAST" 0
}

# Its collector is at work all the time, in memory that no copy of it has.
try_busy_node() {
	worth node || return 0
	background node node -e 'let kept = []; console.log("ready"); setInterval(() => {
		for (let i = 0; i < 2000; i++)
			kept.push({ a: Buffer.alloc(9000), b: new Uint8Array(100), c: "x" + i });
		if (kept.length > 20000) kept = kept.slice(10000);
	}, 10)'
	said node
	look "busy node" "$LAST" 0
}

# Blocked in the middle of its output, and waiting for more to look up.
try_git() {
	worth git || return 0
	git init -q "$WORK/git" && git -C "$WORK/git" config user.email a@b.c &&
		git -C "$WORK/git" config user.name a || fail "git"
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		seq "$i" 3000 >"$WORK/git/file$((i % 7))"
		git -C "$WORK/git" add . && git -C "$WORK/git" commit -qm "$i" || fail "git"
	done
	mkfifo "$WORK/full"
	sleep 600 <>"$WORK/full" &
	own "$!"
	background gitlog sh -c "exec git -C '$WORK/git' --no-pager log -p --stat >'$WORK/full'"
	gitlog=$LAST
	await 20 grep -q pipe_write "/proc/$gitlog/wchan" || sleep 1	# no wchan: give it a moment
	look "git log" "$gitlog" 0
	background gitcat git -C "$WORK/git" cat-file --batch
	gitcat=$LAST
	git -C "$WORK/git" rev-list --objects --all | cut -d' ' -f1 | head -n 50 >"$WORK/gitcat.in"
	await 20 test -s "$WORK/gitcat.out"
	look "git cat-file" "$gitcat" 0
}

try_servers() {
	if worth redis-server; then
		redis_start
		redis_load
		look redis "$VICTIM" 0
		redis_load_end
	fi
	if worth nginx; then
		nginx_start
		python3 -c "from urllib.request import urlopen
for i in range(50): urlopen('http://127.0.0.1:$NGINX_PORT/').read()"
		look nginx "$VICTIM" 0
	fi
	if worth memcached; then
		memcached_start
		look memcached "$VICTIM" 0
	fi
	if [ -n "$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null)" ] && dealt 2; then
		postgres_start
		postgres_load
		look "a PostgreSQL backend" "$VICTIM" 2
		postgres_load_end
	fi
}

try_compiler() {
	compiler=$($CXX -print-prog-name=cc1plus 2>/dev/null)
	[ -x "$compiler" ] || return 0
	cat >"$WORK/large.cc" <<-END
	#include <algorithm>
	#include <array>
	#include <map>
	#include <regex>
	#include <string>
	template<int N> struct F {
		static std::map<std::array<int, N>, std::vector<std::string>> m;
		static void f() {
			m[{}].push_back(std::to_string(N));
			std::sort(m[{}].begin(), m[{}].end());
			F<N - 1>::f();
		}
	};
	template<int N> std::map<std::array<int, N>, std::vector<std::string>> F<N>::m;
	template<> struct F<0> {
		static bool f() { return std::regex_match("a", std::regex("a+")); }
	};
	int main() { F<60>::f(); }
	END
	background compiler "$compiler" -quiet -imultiarch x86_64-linux-gnu -D_GNU_SOURCE -O2 \
		"$WORK/large.cc" -o "$WORK/large.s"
	sleep 1		# anywhere in its work will do
	look "$(basename "$compiler")" "$LAST" 1
}

: "${CXX:=c++}"
try_python
try_perl
try_node
try_busy_node
try_git
try_servers
try_compiler
[ "$looked" -gt 0 ] || skip "nothing to look at"
expect "$wrong" 0 "programs with false leaks"
