#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""allocators.py --programs DIR --results DIR: shbench with glibc's, jemalloc's, mimalloc's and
tcmalloc's malloc over the number of its rounds, alone and with memattach attached.

Repetition by repetition, all that is compared one after the other. Prints the name of the file.
"""
import argparse
import os
import signal
import sys
import tempfile
import time

import configs
import measure
import runner
import watched

SCHEMA = 1
PROGRAM = "shbench"
ROUNDS = (10000, 30000, 100000, 300000, 1000000, 3000000, 10000000)
ALLOCATORS = ("glibc", "jemalloc", "mimalloc", "tcmalloc")
SHOWN = ("nothing", "memattach --counts", "memattach (default)", "memattach --sample=512K",
         "memattach --exact")


def here():
    return [name for name in ALLOCATORS if name == "glibc" or configs.library(name)]


def before(allocator):
    return [] if allocator == "glibc" else configs.preloaded(allocator)


def shown(tools):
    rows = [row for row in configs.CONFIGS if row.name in SHOWN]
    return configs.here(tools, rows)


def repetition(tools, options, number, rows):
    cells = [(allocator, config) for allocator in here() for config in shown(tools)]
    for rounds in [count for count in ROUNDS if count <= options.most]:
        for allocator, config in measure.rotated(cells, number):
            row = watched.attached(tools, config, PROGRAM, rounds, [options.threads],
                                   before(allocator))
            rows.append(row | {"allocator": allocator, "config": config.name, "rounds": rounds,
                               "repetition": number})
            measure.note(f"  {rounds}, {allocator}, {config.name}: {row['outcome']}, "
                         f"{row.get('cpu', 0) * 1e9 / rounds:.1f} ns a round")


def measure_all(tools, options):
    run = {"schema": SCHEMA, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
           "machine": measure.machine(), "versions": measure.versions(tools),
           "repetitions": options.repetitions, "threads": options.threads, "scale": 1,
           "load_begin": os.getloadavg()[0], "rows": []}
    began = time.monotonic()
    for number in range(options.repetitions):
        measure.note(f"repetition {number + 1} of {options.repetitions}")
        repetition(tools, options, number, run["rows"])
    return run | {"load_end": os.getloadavg()[0], "took_s": time.monotonic() - began}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--results", required=True, help="folder for the figures")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most", type=int, default=ROUNDS[-1], help="rounds at the most")
    options = parser.parse_args()
    runner.adopt_orphans()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="memattach-bench-work.") as work:
        tools = measure.find_tools(options.programs, work, ("ringwatch", PROGRAM))
        try:
            run = measure_all(tools, options)
        finally:
            runner.end_all()
        print(measure.save(run, options.results))


if __name__ == "__main__":
    main()
