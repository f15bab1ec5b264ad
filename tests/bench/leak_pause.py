#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""leak_pause.py [--runs=N] [MEGABYTES...]: how long the picture of a leak report stops its target.

A victim (this script again) touches that much anonymous memory in pages of 4 KiB (huge ones are
switched off) and keeps eight threads: some at work, some asleep. $MEMATTACH is run on it with
`--leaks -d 0`; printed are the least, the median and the greatest pause, in milliseconds, with
the limit that is promised, and what a plain fork of the same victim takes at the same time on
this machine: the kernel's share, below which no picture can get. Exit status 1 when a median is
over its limit.
"""
import ctypes
import json
import mmap
import os
import statistics
import subprocess
import sys
import threading
import time

MEGABYTE = 1 << 20
PAGE = 4096
THREADS = 8
MADV_NOHUGEPAGE = 15
PR_SET_THP_DISABLE = 41
PROMISED = ((100, 5.0), (2048, 40.0))   # megabytes, milliseconds


def limit_for(megabytes):
    """Between the promised points on a line, beyond them in proportion."""
    (low, low_ms), (high, high_ms) = PROMISED
    if megabytes <= low:
        return low_ms
    return low_ms + (high_ms - low_ms) * (megabytes - low) / (high - low)


def work(turn):
    """Every other thread sleeps; the rest compute and sleep by turns."""
    while True:
        if turn % 2:
            time.sleep(3600)
        sum(range(2000))
        time.sleep(0.002)


def fork_ms(memory):
    """After every page was written to: one that is shared already costs less."""
    for at in range(0, len(memory), PAGE):
        memory[at] = 1
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0)
    took = time.monotonic() - begin
    os.waitpid(child, 0)
    for at in range(0, len(memory), PAGE):
        memory[at] = 1
    return took * 1000


def be_victim(megabytes):
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    memory = mmap.mmap(-1, megabytes * MEGABYTE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(MADV_NOHUGEPAGE)
    fork = min(fork_ms(memory) for _ in range(3))
    for turn in range(THREADS - 1):
        threading.Thread(target=work, args=(turn,), daemon=True).start()
    print(fork, flush=True)
    sys.stdin.read()


def pause_ms(pid):
    """Of one report; None when there was none."""
    report = subprocess.run([os.environ.get("MEMATTACH", "memattach"), "-p", str(pid), "--leaks",
                             "-d", "0", "--json"], stdout=subprocess.PIPE, check=False,
                            stdin=subprocess.DEVNULL)
    if report.returncode not in (0, 1):
        return None
    return json.loads(report.stdout)["leaks"]["pause_us"] / 1000


def measure(megabytes, runs):
    victim = subprocess.Popen([sys.executable, __file__, f"--victim={megabytes}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        fork = float(victim.stdout.readline())
        pauses = [pause_ms(victim.pid) for _ in range(runs)]
    finally:
        victim.stdin.close()
        victim.wait()
    if None in pauses:
        sys.exit(f"{megabytes} MB: memattach failed")
    median, limit = statistics.median(pauses), limit_for(megabytes)
    print(f"{megabytes:6} MB  {THREADS} threads  least {min(pauses):6.1f}  median {median:6.1f}  "
          f"greatest {max(pauses):6.1f} ms  limit {limit:.0f} ms, a fork {fork:.1f} ms")
    return median <= limit


def main(arguments):
    options = [argument for argument in arguments if argument.startswith("--")]
    sizes = [int(argument) for argument in arguments if not argument.startswith("--")]
    runs = 7
    for option in options:
        name, _, value = option.partition("=")
        if name == "--victim":
            be_victim(int(value))
            return 0
        if name != "--runs":
            sys.exit(__doc__)
        runs = int(value)
    good = [measure(size, runs) for size in sizes or [size for size, _ in PROMISED]]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
