#!/bin/sh
# SPDX-License-Identifier: MIT
# The attacker's debug information is a small file whose sections claim gigabytes that are holes: it
# takes no more memory than a session may have, as our own or as files in memory, in a session, in
# its report and in a leak search. Plain, and compressed.
. "$(dirname "$0")/lib.sh"
needs jq python3 objcopy "${CC%% *}"
cat >"$WORK/loses.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct kept { struct kept *next; char bytes[92]; };
struct kept *volatile list;
__attribute__((noinline)) void keeps(void)
{
	struct kept *more = malloc(sizeof(*more));
	more->next = list;
	list = more;
}
int main(void)
{
	puts("ready");
	for (fflush(stdout);; usleep(1000))
		keeps();
}
END
$CC -g -O0 -w -Wl,--build-id -o "$WORK/loses" "$WORK/loses.c" &&
	objcopy --only-keep-debug "$WORK/loses" "$WORK/loses.debug" &&
	objcopy --strip-debug --add-gnu-debuglink="$WORK/loses.debug" "$WORK/loses" ||
	fail "no program with a debug file"
chmod 755 "$WORK/loses"

# A section in the place where the file ends now, with what it had, so long in all; z: as if it was
# compressed, and were so long before.
cat >"$WORK/lengthen.py" <<'END'
import struct, sys
path, wanted, length, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
data = bytearray(open(path, "rb").read())
table, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
section = lambda i: table + i * size
text, = struct.unpack_from("<Q", data, section(names) + 24)
for i in range(count):
    name, = struct.unpack_from("<I", data, section(i))
    if data[text + name:data.index(0, text + name)].decode() != wanted:
        continue
    flags, _, at, had = struct.unpack_from("<QQQQ", data, section(i) + 8)
    end = (len(data) + 15) & ~15
    old = bytes(data[at:at + had])
    if how == "z":
        old = struct.pack("<IIQQ", 1, 0, length, 1) + old
        flags |= 0x800
    struct.pack_into("<QQQQ", data, section(i) + 8, flags, 0, end,
                     len(old) if how == "z" else length)
    with open(path, "wb") as file:
        file.write(data)
        file.seek(end)
        file.write(old)
        if how != "z":
            file.truncate(end + length)
    sys.exit(0)
sys.exit("no section " + wanted)
END
# How much memory a command takes at the most, in KiB: its processes, and files in memory.
cat >"$WORK/most.py" <<'END'
import resource, subprocess, sys, time
def shared():
    for line in open("/proc/meminfo"):
        if line.startswith("Shmem:"):
            return int(line.split()[1])
before = most = shared()
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
while child.poll() is None:
    most = max(most, shared())
    time.sleep(0.002)
own = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(own, most - before, file=open(sys.argv[1], "w"))
sys.exit(child.returncode)
END

# bounded NAME ARGUMENTS...
bounded() {
	bounded_name=$1
	shift
	python3 "$WORK/most.py" "$WORK/most" "$MEMATTACH" "$@" >"$REPORT" 2>"$ERRORS"
	STATUS=$?
	[ "$STATUS" -le 1 ] || fail "$bounded_name: status $STATUS: $(cat "$ERRORS")"
	note "$bounded_name: $(cat "$WORK/most") KiB"
	read -r own shared <"$WORK/most"
	# other tests have files in memory, too, but none has that many
	[ "$own" -lt 400000 ] && [ "$shared" -lt 2000000 ] ||
		fail "$bounded_name: $own KiB of its own, $shared KiB of files in memory"
}

# The control: its names come from the debug file.
background victim "$WORK/loses"
VICTIM=$LAST
await 30 grep -q ready "$WORK/victim.out" || fail "the victim does not run"
attach -p "$VICTIM" -d 0.3 --exact --view=hotspots
grep -q 'loses.c:8' "$REPORT" || fail "the debug file is not read: $(cat "$REPORT" "$ERRORS")"
kill -KILL "$VICTIM"

for form in .debug_str:p .debug_info:p .debug_line:p .debug_abbrev:p .debug_info:z; do
	dealt 2 || continue
	cp "$WORK/loses.debug" "$WORK/kept"
	python3 "$WORK/lengthen.py" "$WORK/loses.debug" "${form%:*}" 4900000000 "${form#*:}" ||
		fail "no such section"
	rm -f "$WORK/recording"
	background victim "$WORK/loses"
	VICTIM=$LAST VICTIM_SELF=$LAST
	await 30 grep -q ready "$WORK/victim.out" || fail "the victim does not run"
	pristine_take "$VICTIM"
	bounded "$form, a session" -p "$VICTIM" -d 0.3 --exact --max-memory=64M \
		-o "$WORK/recording" --view=hotspots
	grep -q 'keeps' "$REPORT" || fail "$form: no function: $(cat "$REPORT" "$ERRORS")"
	# what can't be read is said, unless it could be
	grep -q 'loses.c:8' "$REPORT" || grep -q "loses: its debug information can't be read: it is\
 larger than what --max-memory leaves for it" "$ERRORS" ||
		fail "$form: nothing is said of the names that are missing: $(cat "$ERRORS")"
	bounded "$form, a search" -p "$VICTIM" -d 0.3 --exact --leaks --max-memory=64M
	bounded "$form, leaks" leaks -p "$VICTIM"
	bounded "$form, its report" report "$WORK/recording" hotspots
	bounded "$form, symbols" symbolize "$WORK/recording"
	pristine_check "$VICTIM"
	kill -KILL "$VICTIM"
	wait "$VICTIM" 2>/dev/null
	mv "$WORK/kept" "$WORK/loses.debug"
done
