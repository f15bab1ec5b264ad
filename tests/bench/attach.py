# SPDX-License-Identifier: MIT
"""attach.py - how long a tool holds a process when it attaches and when it leaves.

The target, heartbeat.c, notes its own gaps; here they are sorted into those while the tool
attached, watched and left. memattach has two sessions in each repetition: one with --json, for
its own figures, and one with --plain at the shortest interval, for the time to its first snapshot.
"""
import json
import os
import re
import signal
import subprocess
import time

from runner import Command

PATIENCE = 60.0         # seconds until something counts as hanging
WATCHED = 0.5           # seconds between attach and detach
FIRST_INTERVAL = 0.01   # the shortest that memattach takes


class Victim:
    """A heartbeat process, and what can be seen of it from outside."""

    def __init__(self, tools, busy):
        self.command = Command([tools["heartbeat"], str(busy)])
        self.pid = self.command.pid
        self.command.read_line("ready", PATIENCE)
        time.sleep(0.2)         # threads start, caches fill: not the tool's gaps
        self.before = self.shape()

    def shape(self):
        """What a tool may leave behind: map lines, threads, descriptors."""
        try:
            with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="replace") as file:
                lines = [line for line in file if not is_own_memory(line)]
            return {"maps": len(lines), "threads": len(os.listdir(f"/proc/{self.pid}/task")),
                    "fds": len(os.listdir(f"/proc/{self.pid}/fd"))}
        except OSError:
            return None

    def end(self, windows):
        """Ends it. Returns its outcome, what was left, the largest gap (us) of each window."""
        after = self.shape()
        left = {key: after[key] - self.before[key] for key in after} if after else None
        self.command.process.terminate()
        outcome, text = self.command.wait(PATIENCE)
        result = {"target_end": outcome, "left": left}
        if outcome == "ok":
            beats = json.loads(text)
            result |= {"realtime": beats["realtime"], "gaps_lost": beats["lost"],
                       "gap_us": {name: largest(beats["gaps"], *window) / 1000
                                  for name, window in windows.items()}}
        return result


def is_own_memory(line):
    """Whether a line of maps is the target's own memory: a heap or an arena, which may split."""
    fields = line.split()
    return len(fields) == 5 or fields[5] == "[heap]"


def largest(gaps, start, end):
    """The largest gap that overlaps the window; 0: none."""
    return max((length for begin, length in gaps if begin < end and begin + length > start),
               default=0)


def nothing(tools, busy):
    victim = Victim(tools, busy)
    start = time.monotonic_ns()
    time.sleep(2 * WATCHED)
    return victim.end({"watched": (start, time.monotonic_ns())})


def windows_of(start, armed, leaving, end):
    return {"attach": (start, armed), "watched": (armed, leaving), "detach": (leaving, end)}


def await_armed(tools, pid):
    """Until memattach's hooks record. Returns whether they do."""
    return subprocess.run([tools["ringwatch"], str(pid), "armed", "20000"],
                          stdout=subprocess.DEVNULL, check=False).returncode == 0


def memattach_json(tools, busy):
    """Its own figures, next to what the target saw."""
    victim = Victim(tools, busy)
    tool = Command([tools["memattach"], "-p", str(victim.pid), "--json"])
    armed_at = time.monotonic_ns() if await_armed(tools, victim.pid) else None
    time.sleep(WATCHED)
    leaving = time.monotonic_ns()
    tool.process.send_signal(signal.SIGINT)
    outcome, text = tool.wait(PATIENCE)
    end = time.monotonic_ns()
    result = victim.end(windows_of(tool.started, armed_at or leaving, leaving, end))
    result["outcome"] = outcome if armed_at else "never armed"
    result["complaint"] = tool.complaint()
    if outcome == "ok":
        session = json.loads(text)["session"]
        result |= {key: session[key] for key in
                   ("attach_stop_us_max", "detach_stop_us_max", "detached", "loader")}
    return result


def memattach_first(tools, busy):
    """From the start of the command to the first snapshot on its standard output."""
    victim = Victim(tools, busy)
    tool = Command([tools["memattach"], "-p", str(victim.pid), "--plain",
                    f"--interval={FIRST_INTERVAL}"])
    first = tool.read_line("live", PATIENCE)
    tool.process.send_signal(signal.SIGINT)
    outcome, _ = tool.wait(PATIENCE)
    result = victim.end({})
    result["outcome"] = outcome if first else f"no snapshot, {outcome}"
    if first:
        result["first_ms"] = (first - tool.started) / 1e6
    return result


def heaptrack(tools, busy):
    """By bash: Debian's sh runs no clean-up on Ctrl-C, and the hooks would stay for good."""
    victim = Victim(tools, busy)
    tool = Command(["bash", tools["heaptrack"], "-o", os.path.join(tools["work"], "attached"),
                    "-p", str(victim.pid)], mixed=True)
    armed = tool.read_line("injection finished", PATIENCE)
    time.sleep(WATCHED)
    leaving = time.monotonic_ns()
    tool.process.send_signal(signal.SIGINT)
    outcome, _ = tool.wait(PATIENCE)
    end = time.monotonic_ns()
    result = victim.end(windows_of(tool.started, armed or leaving, leaving, end))
    # Its shell ends by the signal that asked it to.
    good = re.fullmatch("ok|killed by SIGINT|exit status 130", outcome)
    result["outcome"] = ("ok" if good else outcome) if armed else "never injected"
    if armed:
        result["first_ms"] = (armed - tool.started) / 1e6
    return result


def sessions(tools):
    """(name, function) of all that can be measured here, in the order of one repetition."""
    known = [("nothing", nothing), ("memattach", memattach_json),
             ("memattach, first snapshot", memattach_first)]
    if tools["heaptrack"] and tools["gdb"]:
        known.append(("heaptrack", heaptrack))
    return known
