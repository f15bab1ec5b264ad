#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that nobody prepared, attached to cold in the midst of their work, with a leak report:
# they free thousands of blocks from before the attach, all of which are judged, and none is wrong.
TEST_LIMIT=${TEST_LIMIT:-400}
. "$(dirname "$0")/lib.sh"
needs jq python3
. "$E2E/servers.sh"
ATTACH_LIMIT=120

# worth PROGRAM: it is installed, and among those that are taken.
worth() { installed "$1" && dealt 3; }
installed() { command -v "$1" >/dev/null 2>&1 || { note "$1 is not installed"; return 1; }; }
said() { await 60 grep -q ready "$WORK/$1.out" || fail "$1: $(cat "$WORK/$1.err")"; }

# watch NAME PID SECONDS OLDER: so many older blocks it frees at the least.
watch() {
	attach -p "$2" $EXACT --leaks -d "$3" --json
	case $STATUS in
	0 | 1) ;;
	3)	# as node, where this kernel or its own filter forbids what loading needs
		grep -q "Operation not supported" "$ERRORS" || fail "$1: refused"
		note "$1: refused: $(cat "$ERRORS")"
		return ;;
	*) fail "$1: exit status $STATUS" ;;
	esac
	json_valid
	expect "$(json '.wrong_frees | length')" 0 "$1: wrong frees ($(json '.wrong_frees[0]'))"
	note "$1: $(json '[.session.older_blocks, .totals.free_unknown_count] | @text')"
	json_expect .session.older_blocks.judged true
	json_expect .session.lost.alloc 0
	[ "$(json .totals.free_unknown_count)" -ge "$4" ] || fail "$1: too few older blocks freed"
}

cat >"$WORK/busy.py" <<'END'
import ctypes, json, os, random, re, sqlite3, ssl, subprocess, threading, time
lock = threading.Lock()
kept = [json.loads(json.dumps({str(i): [str(i) * 40] * 3 for i in range(300)})) for _ in range(40)]
large = [bytearray(random.randrange(1000, 400000)) for _ in range(300)]

def work(seed):
    chance = random.Random(seed)
    base = sqlite3.connect(":memory:")
    base.execute("create table t(a, b)")
    while True:
        base.executemany("insert into t values(?, ?)", [(i, "x" * i) for i in range(200)])
        base.execute("delete from t")
        with lock:
            kept[chance.randrange(40)] = json.loads(json.dumps(kept[chance.randrange(40)]))
            large[chance.randrange(300)] = bytearray(chance.randrange(1000, 400000))
        re.sub("a+", "b", "xay" * 1000)
        time.sleep(0.001)

def children():
    while True:
        child = os.fork()
        if child == 0:
            kept.clear()
            large.clear()
            os._exit(0)
        os.waitpid(child, 0)
        subprocess.run(["true"])
        short = threading.Thread(target=lambda: [bytearray(5000) for _ in range(50)])
        short.start()
        short.join()

for i in range(3):
    threading.Thread(target=work, args=(i,), daemon=True).start()
threading.Thread(target=children, daemon=True).start()
print("ready", flush=True)
time.sleep(600)
END
for allocator in pymalloc malloc; do
	dealt 2 || continue
	background python env PYTHONMALLOC=$allocator python3 "$WORK/busy.py"
	said python
	watch "python3 ($allocator)" "$LAST" 4 100
	kill "$LAST"
done

if worth perl; then
	background perl perl -e 'my %h; $h{$_} = [$_, "x" x ($_ % 50)] for 1 .. 20000;
		$| = 1; print "ready\n"; my $n = 0;
		for (;;) {
			my $k = 1 + int(rand(20000));
			delete $h{$k};
			$h{$k} = [$k, "y" x ($k % 90)];
			select(undef, undef, undef, 0.001) if ++$n % 200 == 0
		}'
	said perl
	watch perl "$LAST" 3 1000
fi

if worth redis-server && installed redis-benchmark; then
	redis_start
	redis_load
	watch redis "$VICTIM" 4 1000
	redis_load_end
	attach_begin -p "$VICTIM" $EXACT --leaks --json
	attach_await "$VICTIM"
	redis-cli -p "$REDIS_PORT" flushall >/dev/null
	redis-cli -p "$REDIS_PORT" memory purge >/dev/null
	attach_end INT
	expect "$(json '.wrong_frees | length')" 0 "redis: wrong frees ($(json '.wrong_frees[0]'))"
fi

if worth nginx; then
	nginx_start
	cat >"$WORK/requests.py" <<-END
	import time
	from urllib.request import urlopen
	end = time.time() + 20
	while time.time() < end:
	    urlopen("http://127.0.0.1:$NGINX_PORT/").read()
	END
	background requests python3 "$WORK/requests.py"
	watch nginx "$VICTIM" 3 0
fi

if worth memcached; then
	memcached_start
	watch memcached "$VICTIM" 2 0
fi

if [ -n "$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null)" ] && dealt 3; then
	postgres_start
	postgres_load
	watch "a PostgreSQL backend" "$VICTIM" 3 0
	postgres_load_end
fi

if worth node; then
	background node node -e 'const zlib = require("zlib"); const kept = [];
		for (let i = 0; i < 5000; i++) kept.push(Buffer.alloc(5000 + i));
		console.log("ready"); let n = 0;
		setInterval(() => { for (let i = 0; i < 20; i++)
			kept[n++ % 5000] = zlib.gzipSync("x".repeat(n % 5000)) }, 5)'
	said node
	watch node "$LAST" 3 0
fi
