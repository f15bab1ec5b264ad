#!/bin/sh
# SPDX-License-Identifier: MIT
# memattach in a filter of system calls, as memattachd.service is, and a target in one: the kernel
# shows it no filters, memattach-filters does, by systemd's own way of starting it. Nobody else is
# believed; whatever is asked, it answers or ends.
. "$(dirname "$0")/lib.sh"
needs jq python3 systemd-socket-activate
sees_filters || skip "no filters of system calls can be read here"
may_mount || skip "no mount namespaces"
helper=$BUILDDIR/cli/memattach-filters
[ -x "$helper" ] || skip "built without memattachd"

# with_listener COMMAND...: where /run is our own, with systemd's listener; $LISTENER: another one.
cat >"$WORK/with_listener" <<'END'
mount -t tmpfs none /run || exit 99
if [ "$LISTENER" ]; then
	$LISTENER >/dev/null 2>&1 &
	listener=$!
	until [ -S /run/memattach-filters ]; do sleep 0.02; done
fi
"$@"
status=$?
[ -z "$LISTENER" ] || kill "$listener"
exit "$status"
END
# The program that lib.sh runs as memattach.
cat >"$WORK/memattach" <<END
#!/bin/sh
exec unshare -m sh "$WORK/with_listener" python3 "$E2E/without_perf.py" "$MEMATTACH" "\$@"
END
chmod 755 "$WORK/memattach"
systemds="systemd-socket-activate --seqpacket --accept --inetd -l /run/memattach-filters $helper"

# tried KIND STATUS: attaches to a target with such a filter.
tried() {
	victim "$1" seccomped --kind="$1"
	pristine_take "$VICTIM"
	(MEMATTACH=$WORK/memattach && attach -p "$VICTIM" -d 0.3 --json; exit "$STATUS")
	expect $? "$2" "exit status for $1"
	pristine_check "$VICTIM" --quiet
	finished "$1"
}

# --- without it, with it ------------------------------------------------------------------------

export LISTENER=
tried allow 3
said_one_line "seccomp.*can't be read.*memattach-filters.socket"
LISTENER=$systemds
for kind in allow many; do
	tried "$kind" 0
	json_expect .session.detached pristine
done
# One that is gone meanwhile is not needed on the way out.
cat >"$WORK/once" <<END
#!/bin/sh
rm /run/memattach-filters
exec "$helper"
END
chmod 755 "$WORK/once"
LISTENER="${systemds%"$helper"}$WORK/once"
tried allow 0
json_expect .session.detached pristine
LISTENER=$systemds
for kind in errno kill; do
	tried "$kind" 3
	said_one_line 'seccomp.*refuses call'
done

# --- who is believed ----------------------------------------------------------------------------
# Somebody else's listener that allows all.

cat >"$WORK/liar.py" <<'END'
import os, socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("/run/memattach-filters")
os.chown("/run/memattach-filters", 65534, 65534)
os.setuid(65534)
s.listen(4)
while True:
    c = s.accept()[0]
    question = c.recv(4096)
    question and c.send(question[:8] + struct.pack("4Q", 2, 511, 0, 0) + question[40:-4] + bytes(4))
END
LISTENER="python3 $WORK/liar.py"
tried errno 3
said_one_line "can't be read"

# --- what it is asked ---------------------------------------------------------------------------

"$helper" </dev/null 2>"$ERRORS" && fail "it takes a file for a connection"
said_one_line 'memattach-filters.socket'
cat >"$WORK/ask.py" <<'END'
import array, os, socket, struct, subprocess, sys
helper = sys.argv[1]
def ask(packet, fds=()):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen([helper], stdin=theirs, stderr=subprocess.PIPE) as process:
        theirs.close()
        if packet is not None:
            ours.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                     array.array("i", fds))] if fds else [])
        else:
            ours.shutdown(socket.SHUT_WR)
        answer = ours.recv(4096)
        process.communicate()
        return process.returncode, answer
def question(fd_count, kind=0x746c6966, version=2):
    return struct.pack("<Ii5Q512sII", kind, 0, version, 0, 0, 0, 0, b"", 0, fd_count)
def status(answer):
    return struct.unpack_from("<i", answer, 4)[0]
for packet, fds in ((None, ()), (b"", ()), (b"x", ()), (b"y" * 3000, ()), (question(0, 1), ()),
                    (question(1), ()), (question(0), (0,)), (question(0, version=1), ())):
    code, answer = ask(packet, fds)
    if code != 6 or answer:
        sys.exit(f"{packet!r}: exit status {code}, answer {answer!r}")
child = subprocess.Popen(["sleep", "60"])
pidfd = os.pidfd_open(child.pid)
code, answer = ask(question(1), (pidfd,))
values = struct.unpack_from("<5Q", answer, 8)
if code or status(answer) or values != (2, 0b11111111110, values[2], 0, 0):
    sys.exit(f"no filter: {code} {answer[:48]!r}")
child.kill()
child.wait()
for name, fds, error in (("ended", (pidfd,), -3), ("no pidfd", (0,), -3), ("none", (), -9)):
    code, answer = ask(question(len(fds)), fds)
    if code or status(answer) != error:
        sys.exit(f"{name}: {code} {status(answer)}")
code, answer = ask(question(6), (0, 1, 2, 0, 1, 2))
if code or status(answer) != -3:
    sys.exit(f"six: {code}")
END
python3 "$WORK/ask.py" "$helper" >"$WORK/asked" 2>&1 || fail "$(cat "$WORK/asked")"
