#!/bin/sh
# SPDX-License-Identifier: MIT
# Real programs at work, in exact mode, twice: with every recognised stack compared with what
# libunwind finds in its copy, and without, to see which share of the stacks is still copied after
# one second (SECONDS_PLAIN), and what recognition takes of the program's time (perf, where it is
# installed). Each is watched for SECONDS_WATCHED. Rows of all runs are kept in
# targets-recognition.tsv in the build folder, and add up in the table that this ends with; one
# mismatch fails it. PROGRAMS: only those.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq python3
. "$E2E/servers.sh"
: "${SECONDS_WATCHED:=20}" "${SECONDS_PLAIN:=10}"
: "${RECOGNITION_RESULTS:=$BUILDDIR/targets-recognition.tsv}"
MEMATTACH_DEBUG=1
export MEMATTACH_DEBUG
ATTACH_LIMIT=$((SECONDS_WATCHED * 10 + 120))
bad=0

# copied WHEN: of that line of the debug output, the recognised stacks and those that were copied.
copied() {
	sed -n "s/.*stacks $1: //p" "$ERRORS" | tail -n 1 | sed 's/unasked.*//' |
		tr -c '0-9\n' ' ' | awk '{ n = 0; for (i = 2; i <= NF; i++) n += $i; print $1, n }'
}

# From here to timed_end the victim's time is sampled; TIMED: milliseconds of it in recognition.
timed_begin() {
	command -v perf >/dev/null 2>&1 || return
	setpriv --pdeathsig=KILL perf record -q -e cpu-clock -F 997 -p "$VICTIM" \
		-o "$WORK/perf.data" >/dev/null 2>&1 &
	SAMPLER=$!
}

timed_end() {
	[ "$SAMPLER" ] || return
	kill -INT "$SAMPLER" 2>/dev/null
	wait "$SAMPLER" 2>/dev/null
	SAMPLER=
	TIMED=$(python3 -B "$SRCDIR/tests/targets/shim_time.py" "$WORK/perf.data" \
		"$BUILDDIR/inject/shim/memattach-shim.so" | cut -d' ' -f1)
}

# watched PROGRAM VERIFY SECONDS [OPTION]: a session with the process $VICTIM, and its row.
watched() {
	SAMPLER='' TIMED=''
	[ "$2" = 1 ] || timed_begin
	attach -p "$VICTIM" -d "$3" --exact --verify-stacks="$2" --json --view=overview ${4:-}
	timed_end
	case $STATUS in
	0 | 4)	;;
	*)	fail "$1: exit status $STATUS" ;;
	esac
	early=$(copied 'in the first second') all=$(copied 'in all')
	echo "${early:-$all} $all $(jq -r '[(.session.events | .alloc + .free + .map + .unmap),
		.session.stacks.audited, .session.stacks.mismatched] | join(" ")' "$REPORT")" |
		awk -v OFS='\t' -v name="$1" -v verify="$2" -v timed="${TIMED:--}" \
		    -v now="$(date -u +%Y-%m-%dT%H:%M:%SZ)" '
			{ print now, name, verify, $5, $3, $4, $3 - $1, $4 - $2, $6, $7,
				timed }' \
			>>"$RECOGNITION_RESULTS"
	note "$1: $(sed -n 's/.*memattach: //; s/stacks in all: //p' "$ERRORS" | tail -n 1)"
	json_expect .session.stacks.mismatched 0 || bad=1
}

# program NAME COMMAND...: both sessions with that process, which goes on for long enough.
program() {
	program_name=$1
	shift
	case " ${PROGRAMS:-$program_name} " in *" $program_name "*) ;; *) return ;; esac
	command -v "$1" >/dev/null 2>&1 || { note "$1 is not installed"; return; }
	(cd "$WORK" && exec env --default-signal=INT,QUIT setpriv --pdeathsig=KILL "$@" \
		</dev/null >"$WORK/$program_name.out" 2>&1) &
	VICTIM=$!
	own "$VICTIM"
	await 20 works "$VICTIM" || fail "$program_name: $(tail -n 3 "$WORK/$program_name.out")"
	both "$program_name"
	kill -KILL "$VICTIM" 2>/dev/null
	wait "$VICTIM" 2>/dev/null
}

# It has taken some CPU time: more than a start does.
works() { [ "$(awk '{ print $14 + $15 }' "/proc/$1/stat")" -gt 30 ]; }

# both NAME: a program that has ended was too short, and is said to be.
both() {
	watched "$1" 65536 "$SECONDS_PLAIN"
	is_gone "$VICTIM" && { note "$1 has ended: too little work"; return; }
	watched "$1" 1 "$SECONDS_WATCHED" --on-overflow=block
}

# --- work for each -------------------------------------------------------------

cat >"$WORK/work.py" <<'END'
import glob, json, os
files = sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py"))
while True:
    for name in files:
        text = open(name, encoding="utf-8", errors="replace").read()
        compile(text, name, "exec")
        json.loads(json.dumps([{"key": [1, "2", 3.0], "text": text[:200]}] * 200))
END
cat >"$WORK/work.js" <<'END'
const zlib = require('zlib');
let kept = new Map(), n = 0;
function turn() {
	for (let i = 0; i < 200; i++) {
		const text = JSON.stringify({ n, list: [1, 2, { a: 'b'.repeat(n % 100) }] });
		kept.set(n % 1000, Buffer.alloc(100 + n % 5000).toString('base64') + text);
		new Function('a', `return a + ${n} + /x${n % 50}+/.exec("xxx")`)(n);
		if (n % 20 === 0) zlib.deflateSync(text);
		n++;
	}
	setImmediate(turn);
}
turn();
END
cat >"$WORK/work.pl" <<'END'
my (%h, $n);
while (1) {
	my @words = map { "word" . ($_ * 7919 % 1000) } 1 .. 500;
	$h{$_}{$n % 10} .= "x" for @words;
	%h = () if ++$n % 50 == 0;
	my $text = join " ", sort { $a cmp $b } @words;
	$text =~ s/(\w+)(\d)/$2$1/g;
	eval "sub made { return $n + \$_[0] } made($n)";
}
END
cat >"$WORK/work.gdb" <<'END'
set pagination off
set width 0
set max-value-size unlimited
while 1
	info scope main
	info functions ^watch_
	ptype struct watch
	info line watch_begin
	list watch_begin
	info types ring
	print sizeof(struct session)
end
END
cat >"$WORK/work.cmake" <<'END'
foreach(round RANGE 1000000)
	set(list "")
	foreach(i RANGE 200)
		list(APPEND list "item${i}")
		string(REGEX REPLACE "i([a-z]+)" "\\1" out "${list}")
	endforeach()
	list(SORT list)
	string(JSON value GET "{\"a\": [1, 2, {\"b\": \"c\"}]}" a 2 b)
endforeach()
END
cat >"$WORK/Work.java" <<'END'
import java.net.URI;
import java.util.List;
import javax.tools.*;
public class Work {
	static class Source extends SimpleJavaFileObject {
		final String text;
		Source(String text) {
			super(URI.create("string:///A.java"), Kind.SOURCE);
			this.text = text;
		}
		public CharSequence getCharContent(boolean ignore) { return text; }
	}
	public static void main(String[] a) throws Exception {
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		for (int n = 0; ; n++) {
			StringBuilder text = new StringBuilder("class A {");
			for (int i = 0; i < 50; i++)
				text.append("int f" + i + "(int x) { return x + " + n + i + "; }");
			compiler.getTask(null, null, null, List.of("-d", a[0], "-proc:none"), null,
					 List.of(new Source(text + "}"))).call();
		}
	}
}
END
{
	echo '#include <algorithm>'
	for header in functional map memory regex string unordered_map vector; do
		echo "#include <$header>"
	done
	i=0
	while [ $i -lt 2500 ]; do
		cat <<END
struct T$i { int a[$i + 1]; bool operator<(const T$i &o) const { return a[0] < o.a[0]; } };
int f$i(std::map<T$i, std::vector<std::string>> &m, std::vector<T$i> &v)
{
	std::function<int(int)> g = [&](int n) { return n + (int)v.size() * $i; };
	std::sort(v.begin(), v.end());
	for (auto &[key, list] : m) list.push_back(std::to_string(g(key.a[0])));
	return g((int)m.size());
}
END
		i=$((i + 1))
	done
} >"$WORK/work.cc"

# --- the programs --------------------------------------------------------------

# server NAME START LOAD END: of servers.sh, under load.
server() {
	case " ${PROGRAMS:-$1} " in *" $1 "*) ;; *) return ;; esac
	command -v "$5" >/dev/null 2>&1 || { note "$5 is not installed"; return; }
	"$2"
	"$3"
	both "$1"
	"$4"
}

sql="create table if not exists t(a integer primary key, b text);
insert into t(b) values (hex(randomblob(20))), ('one'), ('two'); select count(*), max(b) from t
where b like '%7A%'; update t set b = b || 'x' where a % 97 = 7; delete from t where a % 200 = 0;"
server redis redis_start redis_load redis_load_end redis-server
server postgres postgres_start postgres_load postgres_load_end psql
PYTHONMALLOC=malloc program python3 /usr/bin/python3 "$WORK/work.py"
program node node "$WORK/work.js"
program perl perl "$WORK/work.pl"
program gdb gdb -nx -batch -x "$WORK/work.gdb" "$BUILDDIR/cli/memattach"
g++ -E -o "$WORK/work.ii" "$WORK/work.cc" 2>/dev/null
program cc1plus "$(g++ -print-prog-name=cc1plus)" -quiet -fpreprocessed -O2 -o "$WORK/gcc.s" \
	"$WORK/work.ii"
program clang clang++ -O2 -S -o "$WORK/clang.s" "$WORK/work.cc"
echo "$sql" >"$WORK/work.sql"
program sqlite3 sqlite3 :memory: ".read '|while cat $WORK/work.sql; do :; done'"
program cmake cmake -P "$WORK/work.cmake"
program java java -Xmx256m "$WORK/Work.java" "$WORK"

# --- all runs together ---------------------------------------------------------

awk -F '\t' '
	{ seen[$2] = 1; mismatched += $10; all_mismatched[$2] += $10 }
	$3 == 1 { events[$2] += $4; audited[$2] += $9 }
	$3 != 1 { late[$2] += $7 + $8; copied[$2] += $8 }
	$11 + 0 { known[$2] += $5; ms[$2] += $11 }
	function each(p) { return known[p] ? sprintf("%.0f", ms[p] * 1e6 / known[p]) : "-" }
	END {
		printf "%-10s %12s %12s %10s %14s %10s %10s\n", "program", "events", "audited",
			"mismatched", "after 1 s", "copied %", "ns a stack"
		for (p in seen) {
			printf "%-10s %12d %12d %10d %14d %10.3f %10s\n", p, events[p],
				audited[p], all_mismatched[p], late[p],
				late[p] ? 100 * copied[p] / late[p] : 0, each(p)
			e += events[p]; a += audited[p]; n += audited[p] > 0
		}
		printf "%d programs, %d events, %d stacks compared, %d mismatched\n", n, e, a,
			mismatched
	}' "$RECOGNITION_RESULTS" >"$BUILDDIR/targets-recognition.txt"
cat "$BUILDDIR/targets-recognition.txt"
exit $bad
