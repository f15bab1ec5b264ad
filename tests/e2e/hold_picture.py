# SPDX-License-Identifier: MIT
"""hold_picture.py TARGET COMMAND...: runs memattach, stops its analyst while it reads the picture.

Prints "MEMATTACH KEEPER ANALYST PICTURE" (process ids) once the analyst is stopped, and waits for
the end of memattach, whose exit status is its own. Where memattach was done before it could be
stopped it is run again. Status 99: no picture was seen.
"""
import os
import signal
import subprocess
import sys
import time

PATIENCE = 60.0
SETTLED = 0.3
TRIES = 10


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def children(pid):
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads
            for child in read(f"/proc/{pid}/task/{thread}/children").split()]


def traced_by(pid, tracer):
    return f"TracerPid:\t{tracer}\n" in read(f"/proc/{pid}/status")


def analyst_of(keeper):
    """The one of its children that reads, not the one that opens files."""
    for child in children(keeper):
        if read(f"/proc/{child}/comm").strip() != "memattach-files":
            return child
    return None


def seek(target, command):
    """Keeper, analyst and picture, as soon as it is there; None when memattach has ended before."""
    end = time.monotonic() + PATIENCE
    while command.poll() is None and time.monotonic() < end:
        for keeper in children(command.pid):
            for child in children(target):
                if traced_by(child, keeper):
                    return keeper, analyst_of(keeper), child
    return None


def hold(target, arguments):
    """The command, and what seek saw of it, or None if it was too quick for us."""
    command = subprocess.Popen(arguments, stdin=subprocess.DEVNULL)
    seen = seek(target, command)
    if not seen:
        return command, None
    keeper, analyst, picture = seen
    os.kill(analyst, signal.SIGSTOP)
    time.sleep(SETTLED)  # it may just have said that it needs the picture no longer
    if traced_by(picture, keeper):
        return command, seen
    os.kill(analyst, signal.SIGCONT)
    return command, None


def main(target, arguments):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    for _ in range(TRIES):
        command, seen = hold(int(target), arguments)
        if seen:
            print(command.pid, *seen, file=sys.stderr, flush=True)
        status = command.wait()
        if seen:
            return status if status >= 0 else 128 - status
    return 99


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
