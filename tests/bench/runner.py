# SPDX-License-Identifier: MIT
"""runner.py - starts the programs and tools of the benchmark, and looks after them.

Every command runs in a session of its own, is ended with all its descendants when it takes
too long, and is waited for: this process adopts the orphans of a tool that crashed, so that
their CPU time is counted too. Peak memory is read from /proc while they run; the kernel's
own figure for children is that of the largest process alone.
"""
import ctypes
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY = 0.05       # seconds between two looks at the memory of a tool


def adopt_orphans():
    """Orphans of our children become ours instead of init's."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid):
    """pid and all below it that run at this moment."""
    found = [pid]
    for parent in found:
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", encoding="ascii") as file:
                    found += [int(child) for child in file.read().split()]
        except OSError:
            pass        # it has ended meanwhile
    return found


def peak_kib(pid):
    """The peak resident memory of a process in KiB; 0: it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def end_all():
    """Ends everything that was started and still runs: this run has been interrupted."""
    kill_all(reversed(descendants(os.getpid())[1:]))


def is_program(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


class MemoryWatch(threading.Thread):
    """Peak memory of all processes of a command but the measured program itself."""

    def __init__(self, pid, program):
        super().__init__(daemon=True)
        self.pid, self.program = pid, program
        self.peaks, self.measured, self.over = {}, set(), threading.Event()

    def run(self):
        while not self.over.wait(LOOK_EVERY):
            for pid in descendants(self.pid):
                if is_program(pid, self.program):
                    self.measured.add(pid)      # before its exec it was taken for the tool
                else:
                    self.peaks[pid] = max(self.peaks.get(pid, 0), peak_kib(pid))

    def end(self):
        """Returns the sum of the peaks in KiB."""
        self.over.set()
        self.join()
        return sum(peak for pid, peak in self.peaks.items() if pid not in self.measured)


def outcome_of(returncode):
    """How a command ended, in words; "ok" for a good end."""
    if returncode == 0:
        return "ok"
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit status {returncode}"


class Command:
    """A running command, its output a pipe. program: the one whose memory is not the tool's."""

    def __init__(self, arguments, program="", mixed=False, stdin=subprocess.DEVNULL):
        self.errors = subprocess.STDOUT if mixed else tempfile.TemporaryFile("w+")
        self.cpu_before = children_cpu()
        self.started = time.monotonic_ns()
        self.process = subprocess.Popen(
            arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True, text=True)
        self.pid = self.process.pid
        self.memory = MemoryWatch(self.pid, program)
        if program:
            self.memory.start()

    def read_line(self, wanted, seconds):
        """Reads lines until one contains wanted. Returns the time (ns) it came, or None."""
        guard = threading.Timer(seconds, self.kill)
        guard.start()
        try:
            for line in self.process.stdout:
                if wanted in line:
                    return time.monotonic_ns()
        finally:
            guard.cancel()
        return None

    def write(self, text):
        try:
            self.process.stdin.write(text)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass        # how the process ended says more

    def kill(self):
        kill_all(reversed(descendants(self.pid)))

    def wait(self, seconds):
        """Waits for the end. Returns (outcome, rest of the output)."""
        try:
            text, _ = self.process.communicate(timeout=seconds)
            outcome = outcome_of(self.process.returncode)
        except subprocess.TimeoutExpired:
            self.kill()
            text, _ = self.process.communicate()
            outcome = f"not done after {seconds:.0f} s"
        return outcome, text or ""

    def complaint(self):
        """The last that it said on its standard error, if that was kept apart."""
        if self.errors is subprocess.STDOUT:
            return ""
        self.errors.seek(0)
        return self.errors.read()[-1000:]

    def cost(self, alive=()):
        """CPU seconds and peak KiB of the ended command, after its orphans have ended too.
        alive: our other children, which are not to be waited for."""
        reap_orphans(set(alive))
        peak = self.memory.end() if self.memory.ident else 0
        return children_cpu() - self.cpu_before, peak


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reap_orphans(keep, seconds=5.0):
    """Waits for all our children but keep; those that do not end are killed."""
    end = time.monotonic() + seconds
    while True:
        orphans = set(descendants(os.getpid())[1:]) - keep
        orphans = {pid for pid in orphans if parent_of(pid) == os.getpid()}
        if not orphans:
            return
        for pid in orphans:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0
