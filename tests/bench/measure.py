#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""measure.py --programs DIR --results DIR: one run of all measurements, into a JSON file.

Repetition by repetition, every configuration in each, in another order each time: what the
machine does meanwhile meets all of them alike. Prints the name of the file.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import attach
import overhead
import runner

BUSY = {"sleeping target": 0, "busy target": 2}
SCHEMA = 1


def first_line(command):
    """The first line that a command prints; None: it is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        return None
    return (done.stdout or done.stderr).splitlines()[0].strip() if done.returncode == 0 else None


def cpu_field(name):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(name):
                return line.split(":", 1)[1].strip()
    return "unknown"


def machine():
    """The machine without its name."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": cpu_field("model name"), "cores": os.cpu_count(), "kernel": platform.release(),
            "libc": os.confstr("CS_GNU_LIBC_VERSION"), "memory_gib": round(pages / 2**30, 1),
            "virtual": "hypervisor" in cpu_field("flags").split()}


def versions(tools):
    asked = {"memattach": [tools["memattach"], "--version"],
             "heaptrack": [tools["heaptrack"], "--version"],
             "gdb": [tools["gdb"], "--version"], "valgrind": [tools["valgrind"], "--version"],
             "bpftrace": [tools["bpftrace"], "--version"],
             "compiler": [os.environ.get("CC", "cc").split()[0], "--version"]}
    return {name: first_line(command) if command[0] else None
            for name, command in asked.items()}


def find_tools(programs, work, built=("heartbeat", "ringwatch", *overhead.PROGRAMS)):
    """Paths of the programs that were built and the tools that are installed (None: not)."""
    tools = {name: os.path.join(programs, name) for name in built}
    tools |= {name: shutil.which(name) for name in ("heaptrack", "gdb", "valgrind", "bpftrace")}
    return tools | {"memattach": os.environ["MEMATTACH"], "work": work}


def rotated(items, by):
    by %= len(items)
    return items[by:] + items[:by]


def note(text):
    print(text, file=sys.stderr, flush=True)


def measure_attach(tools, repetition, rows):
    for target, busy in BUSY.items():
        for name, session in rotated(attach.sessions(tools), repetition):
            row = session(tools, busy)
            rows.append({"target": target, "tool": name, "repetition": repetition, **row})
            note(f"  {target}, {name}: {row.get('outcome', 'ok')} {row.get('gap_us', '')}")


def measure_overhead(tools, repetition, scale, rows):
    for program in overhead.PROGRAMS:
        for config in rotated(overhead.names(tools), repetition):
            row = overhead.run(tools, program, config, scale)
            keep(rows, row, program=program, config=config, way="run", repetition=repetition)
    for config in rotated(overhead.attached_names(tools), repetition):
        row = overhead.attached(tools, overhead.ATTACHED, config, scale)
        keep(rows, row, program=overhead.ATTACHED, config=config, way="attached",
             repetition=repetition)


def keep(rows, row, **key):
    rows.append(key | row)
    note(f"  {key['program']}, {key['way']}, {key['config']}: {row['outcome']}, "
         f"{row.get('wall', 0):.3f} s")


def measure(tools, repetitions, scale):
    run = {"schema": SCHEMA, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
           "machine": machine(), "versions": versions(tools), "repetitions": repetitions,
           "scale": scale, "load_begin": os.getloadavg()[0], "attach": [], "overhead": [],
           "programs": overhead.PROGRAMS, "watched_s": attach.WATCHED,
           "first_interval_s": attach.FIRST_INTERVAL}
    began = time.monotonic()
    for repetition in range(repetitions):
        note(f"repetition {repetition + 1} of {repetitions}")
        measure_attach(tools, repetition, run["attach"])
        measure_overhead(tools, repetition, scale, run["overhead"])
    return run | {"load_end": os.getloadavg()[0], "took_s": time.monotonic() - began}


def save(run, folder):
    path = os.path.join(folder, time.strftime("%Y%m%dT%H%M%SZ.json", time.gmtime()))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)
        file.write("\n")
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--results", required=True, help="folder for the figures")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the usual work")
    options = parser.parse_args()
    runner.adopt_orphans()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="memattach-bench-work.") as work:
        tools = find_tools(options.programs, work)
        try:
            run = measure(tools, options.repetitions, options.scale)
        finally:
            runner.end_all()
        print(save(run, options.results))


if __name__ == "__main__":
    main()
