#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""counts.py MEMATTACH FOLDER [ROUNDS [PAIRS]] - see counts.sh. FOLDER: pairs and ringwatch."""
import json
import os
import random
import signal
import statistics
import subprocess
import sys

MEMATTACH, FOLDER = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
PAIRS = int(sys.argv[4]) if len(sys.argv) > 4 else 1000000
THREADS = (1, 2, 4, 8)
WAYS = {"nothing": None, "--counts=totals": ["--counts=totals"],
        "--counts=histogram": ["--counts=histogram"], "--counts=sites": ["--counts=sites"],
        "--exact": ["--exact"]}


def attach(pid, options):
    tool = subprocess.Popen([MEMATTACH, "-p", str(pid), "--json", *options],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    subprocess.run([os.path.join(FOLDER, "ringwatch"), str(pid), "armed", "20000"], check=True,
                   stdout=subprocess.DEVNULL)
    return tool


def detach(tool, pairs):
    """Ends it; what it has seen is what was done."""
    tool.send_signal(signal.SIGINT)
    report = json.loads(tool.communicate()[0])
    seen = report["totals"]["alloc_count"] + report["session"]["lost"]["alloc"]
    if seen < pairs:
        sys.exit(f"{seen} allocations seen, of {pairs}")


def nanoseconds(threads, options):
    """Processor time of the target, a pair of calls."""
    result = os.path.join(FOLDER, "result.json")
    pairs = PAIRS // threads * threads
    target = subprocess.Popen([os.path.join(FOLDER, "pairs"), str(PAIRS), result, "wait"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=os.environ | {"BENCH_THREADS": str(threads)})
    target.stdout.readline()
    tool = attach(target.pid, options) if options else None
    target.stdin.write(b"g")
    target.stdin.flush()
    target.stdout.readline()
    if tool:
        detach(tool, pairs)
    target.stdin.write(b"q")
    target.stdin.close()
    target.wait()
    with open(result, encoding="utf-8") as file:
        return json.load(file)["cpu"] * 1e9 / pairs


def main():
    print("| threads | " + " | ".join(WAYS) + " |")
    print("|---|" + "---|" * len(WAYS))
    for threads in THREADS:
        took = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way in random.sample(list(WAYS), len(WAYS)):
                took[way].append(nanoseconds(threads, WAYS[way]))
        cells = []
        for way, times in took.items():
            ratio = statistics.median(t / bare for t, bare in zip(times, took["nothing"]))
            cells.append(f"{statistics.median(times):.0f}" +
                         (f" ({ratio:.2f})" if way != "nothing" else ""))
        print(f"| {threads} | " + " | ".join(cells) + " |", flush=True)


main()
